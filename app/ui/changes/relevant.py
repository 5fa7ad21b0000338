"""Which rows of ``cluster_events`` concern a group, a topic or the cluster: pure functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from alerting.inputs.event_phrases import BROKER_BACK, BROKER_MISSING
from app.style.format import listing
from app.ui.changes.events import MOVES
from lake import deploy_marks
from lake.schemas.bronze import NAMED_TOPICS

_OF_BROKERS = (BROKER_MISSING, BROKER_BACK, "broker added", "broker unregistered")


def about(events: pl.DataFrame, group: str | None, topics: Sequence[str]) -> pl.DataFrame:
    """Return the rows of ``cluster_events`` that concern a group or topics, or the whole cluster.

    Args:
        events: All of them.
        group: A group; None: topics alone.
        topics: Topics, such as those that the group reads.
    """
    is_group = (pl.col("group") == (group or "")).fill_null(value=False)
    # Of a broker with many topics not all are named.
    many = pl.col("topics").list.len() >= NAMED_TOPICS
    moved = pl.col("kind").is_in(list(MOVES)) & ~many.fill_null(value=False)
    found = events.filter((_of_cluster() & ~moved) | _of_topics(topics) | is_group)
    return _told_of(found, topics)


def about_topic(events: pl.DataFrame, topic: str, brokers: Collection[int]) -> pl.DataFrame:
    """Return the rows of ``cluster_events`` that are about one topic, its schemas or its brokers.

    Args:
        events: All of them.
        topic: The topic.
        brokers: Those that hold its replicas; none: they are unknown, and any may.
    """
    of_brokers = pl.col("kind").is_in(_OF_BROKERS)
    if brokers:
        of_brokers &= pl.col("subject").is_in([str(one) for one in brokers])
    return _told_of(events.filter(_of_topics([topic]) | of_brokers), [topic])


def _told_of(events: pl.DataFrame, topics: Collection[str]) -> pl.DataFrame:
    """Let moves that several topics share name these: of all their partitions a few are told."""
    rows = events.select("kind", "topics", "detail").iter_rows()
    details = [
        _shared(moved, topics) or detail if kind in MOVES and moved else detail
        for kind, moved, detail in rows
    ]
    return events.with_columns(pl.Series("detail", details, dtype=pl.String))


def _shared(moved: Sequence[str], topics: Collection[str]) -> str:
    """Say whose partitions moved, some of these topics' among others; nothing of these alone."""
    own = [topic for topic in moved if topic in topics]
    others = len(moved) - len(own)
    more = " or more" if len(moved) >= NAMED_TOPICS else ""
    if not own:
        return f"partitions of {len(moved)}{more} topics"
    said = f"partitions of {listing(own)}"
    return f"{said}, and of {others}{more} other topic{'s' * (others > 1)}" if others else ""


def about_cluster(events: pl.DataFrame) -> pl.DataFrame:
    """Return those about the cluster as a whole, its brokers and users, and all deploys."""
    return events.filter(_of_cluster() | (pl.col("kind") == deploy_marks.KIND))


def _of_cluster() -> pl.Expr:
    about_one = pl.col("topic").is_not_null() | pl.col("group").is_not_null()
    return ~about_one & ~pl.col("kind").str.starts_with("schema ")


def _of_topics(topics: Sequence[str]) -> pl.Expr:
    subjects = [f"{topic}-{part}" for topic in topics for part in ("key", "value")]
    of_registry = pl.col("subject").str.replace(r"^:\.[^:]*:", "")
    is_subject = pl.col("kind").str.starts_with("schema ")
    named = pl.col("topics").list.set_intersection(pl.lit(list(topics), pl.List(pl.String)))
    return (
        pl.col("topic").is_in(list(topics)).fill_null(value=False)
        | (named.list.len() > 0).fill_null(value=False)
        | (is_subject & of_registry.is_in(subjects).fill_null(value=False))
    )
