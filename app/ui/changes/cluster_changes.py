"""What changed in a cluster: rows of ``cluster_events`` as a table."""

from __future__ import annotations

import polars as pl

from alerting.inputs.event_phrases import event_phrase
from app.data.context import View
from app.ui import components, tables
from app.ui.changes import controller
from app.ui.tables import Column


def draw(view: View, events: pl.DataFrame, *, key: str, nothing: str) -> None:
    """List events, the newest first; see ``controller.folded``.

    Args:
        view: The frame of the page.
        events: Rows of ``cluster_events``.
        key: The table's name on the page.
        nothing: What to say where there are none.
    """
    if events.is_empty():
        components.nothing(f"{nothing} {view.period}.", icon=":material/check:")
        return
    shown = controller.folded(events).with_columns(
        pl.struct("kind", "subject", "before", "after")
        .map_elements(event_phrase, return_dtype=pl.String())
        .alias("what"),
        pl.concat_str("before", "after", separator=" → ", ignore_nulls=True).alias("change"),
    )
    tables.show(
        shown.sort("observed_at", "kind", "subject", descending=[True, False, False]),
        {
            "observed_at": Column("seen", "time", help="At which poll it was seen.", width=102),
            "what": Column("what", width=276),
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
