"""Whether files of certificates and keys were replaced."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Sequence

Marks = Sequence[tuple[str, int, int, int]]


def marks_of(files: Iterable[str], *, trusts_the_system: bool) -> Marks:
    """Return what tells one state of files from another.

    Args:
        files: Paths; those that are not there have a mark as well.
        trusts_the_system: Whether the authorities of the system are among what matters.
    """
    named = list(files)
    if trusts_the_system:
        default = ssl.get_default_verify_paths()
        named += [path for path in (default.cafile, default.capath) if path]
    marks = []
    for file in named:
        try:
            stat = os.stat(file)
        except (OSError, ValueError):  # ValueError: a path with a zero byte
            marks.append((file, 0, 0, 0))
        else:
            marks.append((file, stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return marks
