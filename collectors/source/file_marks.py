"""Whether files of certificates and keys were replaced."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from pathlib import Path

from config.stamp import Stamp, stamp_of

Marks = Sequence[tuple[str, Stamp | None]]


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
    return [(file, stamp_of(Path(file))) for file in named]
