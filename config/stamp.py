"""Whether a file was written anew."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int, int]
"""When it was written, its size, and which file it is: one may be put in the place of another."""


def stamp_of(path: Path | None) -> Stamp | None:
    """Return what changes when a file is written anew; None where there is none."""
    if path is None:
        return None
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a path with a zero byte
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
