"""What changed in a cluster: rows of ``cluster_events`` as marks for charts and as a table."""

from __future__ import annotations

import polars as pl

from app.data import queries
from app.data.context import View
from app.style.charts.base import ChartEvent
from app.ui import components, tables
from app.ui.tables import Column

LISTED = 500

# Marked by broker_events, from the history, which reaches further back.
_MARKED_OTHERWISE = ("broker missing", "broker back")
_OF_A_SUBJECT = pl.col("kind").str.starts_with("schema ")
"""What a Schema Registry says of one of its subjects."""


def of_topic(events: pl.DataFrame, topic: str) -> pl.DataFrame:
    """Return what happened to a topic, its partitions and the subjects that are named after it."""
    subject = pl.col("subject")
    of_registry = subject.str.replace(r"^:\.[^:]*:", "")
    partition = subject.str.strip_prefix(f"{topic}-").str.contains(r"^\d+$")
    is_partition = pl.col("kind").is_in(["unclean election", "log truncated"])
    is_topic = pl.col("kind").str.contains("topic") | (pl.col("kind") == "partitions added")
    return events.filter(
        (is_topic & (subject == topic))
        | (is_partition & subject.str.starts_with(f"{topic}-") & partition)
        | (_OF_A_SUBJECT & of_registry.is_in([f"{topic}-key", f"{topic}-value"]))
    )


def of_cluster(events: pl.DataFrame) -> pl.DataFrame:
    """Return what happened to the cluster as a whole, its brokers and its users."""
    kind = pl.col("kind")
    return events.filter(
        ~kind.str.contains("topic")
        & ~_OF_A_SUBJECT
        & ~kind.is_in(["partitions added", *_MARKED_OTHERWISE])
    )


def marks(events: pl.DataFrame) -> tuple[ChartEvent, ...]:
    """Return events as marks: one for those of a kind that one poll has seen."""
    rows = events.select("observed_at", "kind").unique().sort("observed_at", "kind")
    return tuple(
        ChartEvent(
            at=at,
            text=kind,
            kind="act" if kind in ("unclean election", "log truncated") else "quiet",
        )
        for at, kind in rows.iter_rows()
    )


def cluster_marks(view: View) -> tuple[ChartEvent, ...]:
    """Return the marks of the cluster as a whole; none where they cannot be read."""
    with components.guarded():
        return marks(of_cluster(queries.cluster_events(view)))
    return ()


def topic_marks(view: View, topic: str) -> tuple[ChartEvent, ...]:
    """Return the marks of a topic; none where they cannot be read."""
    with components.guarded():
        return marks(of_topic(queries.cluster_events(view), topic))
    return ()


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
    tables.show(
        events.sort("observed_at", "kind", "subject", descending=[True, False, False]).head(LISTED),
        {
            "observed_at": Column("seen", "time", help="At which poll it was seen.", width=110),
            "kind": Column("what", width=190),
            "subject": Column("of", width=150),
            "before": Column("before", unknown="", width=190),
            "after": Column("after", unknown="", width=190),
            "detail": Column("detail", unknown="", width="large"),
        },
        view=view,
        key=key,
        alt="What changed, the newest first",
        total=events.height,
        noun="changes",
    )
