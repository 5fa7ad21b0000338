"""What changed, as a list: the same on all pages that have one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from app.data.context import View
from app.style.columns import Column, room_left
from app.ui import components, tables
from app.ui.changes import events
from app.ui.changes.events import Event

_SEEN, _WHAT = 102, 320
_SCHEMA = pl.Schema(
    {
        "at": pl.Datetime("us", "UTC"),
        "what": pl.String(),
        "detail": pl.String(),
        "about": pl.String(),
    }
)


def draw(view: View, found: Sequence[Event], *, key: str, nothing: str) -> None:
    """List events, the newest first, those that are alike and of one minute in a row.

    The file has a row for each.

    Args:
        view: The frame of the page.
        found: The events.
        key: The list's name on the page.
        nothing: What to say where there are none.
    """
    if not found:
        components.nothing(nothing, icon=":material/check:")
        return
    tables.show(
        rows(events.together(found)),
        {
            "at": Column("seen", "time", help="At which poll it was seen.", width=_SEEN),
            "what": Column("what", width=_WHAT, names=True),
            "detail": Column("detail", unknown="", width=room_left([_SEEN, _WHAT])),
        },
        view=view,
        key=key,
        alt="What changed, the newest first",
        noun="changes",
        rows_shown=8,
        every=lambda: rows(sorted(found, key=lambda one: one.at, reverse=True)),
        in_file={"about": Column("about")},
    )


def rows(found: Sequence[Event]) -> pl.DataFrame:
    """Return a row for each event."""
    return pl.DataFrame(
        [
            {"at": one.at, "what": one.what, "detail": one.detail, "about": one.sort.value}
            for one in found
        ],
        schema=_SCHEMA,
    )
