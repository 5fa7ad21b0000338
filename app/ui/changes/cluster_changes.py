"""What changed in a cluster: rows of ``cluster_events`` as a table."""

from __future__ import annotations

import polars as pl

from app.data.context import View
from app.ui import components, tables
from app.ui.tables import Column


def draw(view: View, events: pl.DataFrame, *, key: str, nothing: str) -> None:
    """List events, the newest first.

    Args:
        view: The frame of the page.
        events: Rows of ``cluster_events``.
        key: The table's name on the page.
        nothing: What to say where there are none.
    """
    if events.is_empty():
        components.nothing(f"{nothing} {view.period}.", icon=":material/check:")
        return
    change = pl.concat_str("before", "after", separator=" → ", ignore_nulls=True)
    tables.show(
        events.sort("observed_at", "kind", "subject", descending=[True, False, False]).with_columns(
            change.alias("change")
        ),
        {
            "observed_at": Column("seen", "time", help="At which poll it was seen.", width=102),
            "kind": Column("what", width=156),
            "subject": Column("of", width=120),
            "change": Column("before → after", width=240),
            "detail": Column("detail", unknown="", width=400),
        },
        view=view,
        key=key,
        alt="What changed, the newest first",
        noun="changes",
        in_file={
            "before": Column("before", unknown=""),
            "after": Column("after", unknown=""),
        },
    )
