"""The version of how tables are written, which every table carries in its description."""

from __future__ import annotations

import re

FORMAT = 1
"""Raise it when an older program would read rows wrongly. A new column does not ask for it: older
files are read with nulls there."""

DESCRIPTION = f"Headroom, format {FORMAT}"
_WRITTEN = re.compile(r"Headroom, format (\d+)")


def refusal(description: str | None) -> str | None:
    """Return why this program must not use a table; None where it may.

    A table without a version was made before there was one: it has format 1.
    """
    written = _WRITTEN.fullmatch(description or "")
    if written is None or int(written[1]) <= FORMAT:
        return None
    return (
        f"it was written by a newer Headroom (format {written[1]}, this one knows {FORMAT}): "
        "install that version, or restore a backup from before"
    )
