"""The list of topics and one topic in detail, prepared for their pages: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import polars as pl

from alerting.checks.retention_deadline import DeadlineState
from alerting.current.topics import replication
from alerting.inputs.facts import slowest_first
from alerting.status.model import Status
from app.style.columns import DASH, NEVER
from app.style.format import brief_time_left, count, exact, listing, rate, size
from app.style.theme import Badge, BadgeStyle
from app.ui.group_badges import BADGE_STYLES
from app.ui.group_list import trends
from lake.replication import with_replication
from scaling.advisers.retention import ACT_WITHIN_SECONDS

WINDOW = "Messages a second, the mean of the last five minutes."
"""What the present rates of a topic are."""

REPLICATION: dict[str, BadgeStyle] = {
    "offline": BadgeStyle(
        word="offline",
        symbol="✖",
        icon=":material/cloud_off:",
        colour="red",
        meaning="A partition has no leader.",
    ),
    "under min ISR": BadgeStyle(
        word="under min ISR",
        symbol="●",
        icon=":material/error:",
        colour="red",
        meaning="Fewer in-sync replicas than min.insync.replicas: producers with acks=all are "
        "refused.",
    ),
    "under-replicated": BadgeStyle(
        word="under-replicated",
        symbol="▲",
        icon=":material/warning:",
        colour="orange",
        meaning="Fewer in-sync replicas than replicas.",
    ),
    "unknown": BadgeStyle(
        word="unknown",
        symbol="?",
        icon=":material/help:",
        colour="violet",
        meaning="It could not be read.",
    ),
    "in sync": BadgeStyle(
        word="in sync",
        symbol="✓",
        icon=":material/check:",
        colour="gray",
        meaning="All replicas are in sync.",
    ),
}
"""What can be wrong with a partition's replicas, worst first."""


def rows(topics: pl.DataFrame) -> pl.DataFrame:
    """Return one row a topic of ``topic_status``, the busiest first."""
    labels = {state: badge_style.label for state, badge_style in REPLICATION.items()}
    replication = pl.col("replication").fill_null("unknown")
    return topics.with_columns(
        pl.concat_list(replication.replace_strict(labels, default="unknown")).alias("label"),
        hot_partitions().alias("hot"),
        retention_seconds().alias("retention_seconds"),
    ).sort("arrival_per_second", "topic", descending=[True, False], nulls_last=True)


def losses(readers: pl.DataFrame) -> str:
    """Say which topics' messages retention deletes before a group reads them; nothing of none.

    Args:
        readers: Rows of ``readers``.
    """
    lost = _lost(readers)
    topics = lost["topic"].unique().sort().to_list()
    groups = lost["group"].unique().sort().to_list()
    if not topics:
        return ""
    deleted = f"{listing(topics)} {'deletes' if len(topics) == 1 else 'delete'}"
    reads = "reads" if len(groups) == 1 else "read"
    return f"{deleted} messages before {listing(groups)} {reads} them"


def reaches_unread(readers: pl.DataFrame, now: datetime) -> tuple[str, Badge | Literal["off"]]:
    """Say how soon retention deletes a message that a group has not read, and its colour.

    Args:
        readers: Rows of ``readers`` of one topic.
        now: The present.
    """
    if not _lost(readers).is_empty():
        return "deletes unread", "red"
    first = readers["data_loss_at"].min()
    if not isinstance(first, datetime):
        return "by age", "off"
    left = (first - now).total_seconds()
    is_near = left <= ACT_WITHIN_SECONDS
    return f"unread: in {brief_time_left(left)}", "red" if is_near else "off"


def losing_first(topics: pl.DataFrame, readers: pl.DataFrame) -> pl.DataFrame:
    """Return topics with those that ``losses`` names first.

    Args:
        topics: Rows of ``rows``.
        readers: Rows of ``readers``.
    """
    loses = pl.col("topic").is_in(_lost(readers)["topic"].unique().to_list())
    return topics.sort(loses, descending=True, maintain_order=True)


def with_readers(topics: pl.DataFrame, readers: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Add the badge of the worst status of each topic's readers as ``reading``; none without any.

    Args:
        topics: Rows of ``rows``.
        readers: Rows of ``readers``.
        groups: Rows of ``group_status``.
    """
    worst_first = [status.value for status in BADGE_STYLES]
    labels = [badge_style.label for badge_style in BADGE_STYLES.values()]
    is_lost = pl.col("loss").eq_missing(pl.lit(DeadlineState.LOST.value))
    status = (
        pl.when(is_lost)
        .then(pl.lit(Status.LOSING_DATA.value))
        .otherwise(pl.col("status").fill_null(Status.UNKNOWN.value))
    )
    worst = (
        readers.join(groups.select("group", "status"), on="group", how="left")
        .group_by("topic")
        .agg(status.replace_strict(worst_first, range(len(worst_first))).min().alias("worst"))
        .select(
            "topic",
            pl.concat_list(
                pl.col("worst").replace_strict(range(len(labels)), labels, return_dtype=pl.String)
            ).alias("reading"),
        )
    )
    return topics.join(worst, on="topic", how="left", maintain_order="left").with_columns(
        pl.col("reading").fill_null(pl.lit([], pl.List(pl.String)))
    )


def replication_of_all(topics: pl.DataFrame) -> str:
    """Say what the replicas of all topics are, where they are the same.

    Args:
        topics: Rows of ``rows``.
    """
    labels = topics["label"].list.first().unique().to_list()
    words = {one.label: one.word for one in REPLICATION.values()}
    return f"Replication of all: {words[labels[0]]}. " if len(labels) == 1 else ""


def _lost(readers: pl.DataFrame) -> pl.DataFrame:
    return readers.filter(pl.col("loss") == DeadlineState.LOST.value)


def with_trends(shown: pl.DataFrame, history: pl.DataFrame | None) -> pl.DataFrame:
    """Add each topic's course of arrivals."""
    if history is None or history.is_empty():
        return shown.with_columns(pl.lit(None, pl.List(pl.Float64)).alias("trend"))
    courses = trends(history, "topic", "arrival_per_second")
    return shown.join(courses, on="topic", how="left", maintain_order="left")


def totals(topics: pl.DataFrame) -> str:
    """Return the sums of rows of ``topic_status`` in a sentence; what is unknown is not in them."""
    known = {
        column: topics[column].drop_nulls()
        for column in ("arrival_per_second", "partitions", "size_bytes")
    }
    arriving, partitions, sizes = (sum(one) if one.len() else None for one in known.values())
    lacking = max(topics.height - one.len() for one in known.values())
    without = f", without {count(lacking, 'topic')} not read in full" if lacking else ""
    said = f"arriving {rate(arriving)}, {exact(partitions)} partitions, {size(sizes)} on disk"
    return f"Together: {said}{without}"


def hot_partitions() -> pl.Expr:
    """Return the hot partitions by name: a bare number would be taken for how many there are.

    Where none is hot that is a dash: names stand out.
    """
    hot = pl.col("hot_partitions")
    return (
        pl.when(hot.list.len() == 0)
        .then(pl.lit(DASH))
        .otherwise(pl.format("partition {}", hot.cast(pl.List(pl.String)).list.join(", ")))
    )


def retention_seconds() -> pl.Expr:
    """Return how long a topic keeps messages; ``NEVER`` ends where it deletes none by age."""
    deletes = pl.col("cleanup_policy").fill_null("delete").str.contains("delete", literal=True)
    seconds = pl.col("retention_seconds")
    return (
        pl.when(pl.col("unknown_reason").is_not_null() & seconds.is_null())
        .then(None)
        .when(seconds.is_null() | ~deletes)
        .then(NEVER)
        .otherwise(seconds)
    )


def partition_rows(
    partitions: pl.DataFrame, rates: pl.DataFrame, hot: Sequence[int]
) -> pl.DataFrame:
    """Return one row a partition of a topic: rate, leader, replicas, ends.

    Rates are those of ``app.data.recent_samples.latest_rates``.
    """
    return (
        with_replication(partitions)
        .with_columns(replication().cast(pl.String))
        .join(
            rates.select("partition", pl.col("arrival_per_second").alias("arrival")),
            on="partition",
            how="left",
        )
        .with_columns(
            pl.col("partition").is_in(list(hot)).alias("is_hot"),
            pl.col("replication")
            .map_elements(lambda state: [REPLICATION[state].label], return_dtype=pl.List(pl.String))
            .alias("label"),
            as_text("replicas"),
            as_text("in_sync_replicas"),
            (pl.col("log_end") - pl.col("log_start")).alias("retained"),
        )
        .sort("partition")
    )


def tier_rows(partitions: pl.DataFrame) -> pl.DataFrame:
    """Return one row a partition of a tiered topic; none where no partition says that it is.

    A topic is tiered as a whole: of a partition that does not say, it is not known what lies where.
    Columns beside those of the samples: ``remote_only``, records that have left the disks;
    ``not_copied``, records that remote storage does not have yet.
    """
    return (
        partitions.filter(pl.col("remote_log_end").is_not_null().any())
        .with_columns(
            (pl.col("local_log_start") - pl.col("log_start")).alias("remote_only"),
            (pl.col("log_end") - pl.col("remote_log_end")).alias("not_copied"),
        )
        .sort("partition")
    )


def tier_sentence(tiers: pl.DataFrame) -> str:
    """Return how much of a topic lies where: unknown where a row of ``tier_rows`` is."""
    remote, waiting = (
        None if tiers[name].null_count() else int(tiers[name].sum())
        for name in ("remote_only", "not_copied")
    )
    return f"Offsets in remote storage alone: {exact(remote)}; not copied yet: {exact(waiting)}."


def as_text(column: str) -> pl.Expr:
    """Return a list of brokers as text."""
    return pl.col(column).cast(pl.List(pl.String)).list.join(", ").alias(column)


def reader_rows(readers: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return one row a group that reads a topic, with its lag there; the slowest first."""
    labels = {status.value: badge_style.label for status, badge_style in BADGE_STYLES.items()}
    with_groups = readers.join(
        groups.select("group", "status", "since", "since_at_least", "members"),
        on="group",
        how="left",
    )
    return slowest_first(
        with_groups.with_columns(
            pl.concat_list(pl.col("status").replace_strict(labels, default="unknown")).alias(
                "label"
            )
        )
    )
