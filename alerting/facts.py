"""From rows of the lake to the facts that decisions are taken from: pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from alerting.attention_facts import (
    ClusterFact,
    CollectionFact,
    DeadLetterFact,
    GroupFact,
    MissingBroker,
)
from alerting.samples import GroupStatus

RATE_SECONDS = 300.0
"""Over how much of the past a present rate is taken."""


def group_facts(
    cluster: str, statuses: Mapping[str, GroupStatus], groups: pl.DataFrame
) -> tuple[GroupFact, ...]:
    """Return every group with its status, its coordinator and its kind."""
    known = {row[0]: row[1:] for row in groups.select("group", "coordinator", "kind").iter_rows()}
    return tuple(
        GroupFact(cluster, group, status, *known.get(group, ()))
        for group, status in statuses.items()
    )


def cluster_fact(cluster: str, brokers: pl.DataFrame, partitions: pl.DataFrame) -> ClusterFact:
    """Return the state of brokers and replication.

    Args:
        cluster: The cluster's name.
        brokers: Rows of ``brokers`` of the last minutes.
        partitions: Rows of ``partitions`` of the last minutes.
    """
    newest = at_newest_poll(brokers)
    missing = newest.filter(pl.col("is_alive").eq(False)).sort("broker_id")
    replication = with_replication(partitions)
    bad = pl.any_horizontal("is_under_replicated", "is_under_min_isr", "is_offline")
    now = at_newest_poll(replication)
    return ClusterFact(
        cluster,
        brokers=newest.height or None,
        missing=tuple(
            MissingBroker(
                broker_id,
                _unix(since_when(brokers.filter(pl.col("broker_id") == broker_id), is_missing)),
            )
            for broker_id in missing["broker_id"].to_list()
        ),
        has_controller=None if newest.is_empty() else bool(newest["is_controller"].any()),
        under_replicated=_count(now, "is_under_replicated"),
        under_min_isr=_count(now, "is_under_min_isr"),
        offline=_count(now, "is_offline"),
        since=_unix(since_when(replication, bad)),
    )


is_missing = pl.col("is_alive").eq(False)
"""Whether a row of ``brokers`` is of a broker that does not answer."""


def since_when(rows: pl.DataFrame, is_so: pl.Expr) -> datetime | None:
    """Return the first poll of the unbroken run up to the newest in which any row is so.

    None where the newest poll is not so, and where it was so in every poll that was looked at: then
    it began earlier, and when is not known.
    """
    polls = rows.group_by("observed_at").agg(is_so.any().alias("so")).sort("observed_at")
    if polls.is_empty() or not polls["so"].last():
        return None
    fine = polls.filter(~pl.col("so").fill_null(False))["observed_at"].max()
    if fine is None:
        return None
    moment = polls.filter(pl.col("observed_at") > fine)["observed_at"].min()
    return moment if isinstance(moment, datetime) else None


def at_newest_poll(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the newest poll among them."""
    return rows.filter(pl.col("observed_at") == pl.col("observed_at").max())


def same_polls(frames: Sequence[pl.DataFrame], tolerance: timedelta) -> list[pl.DataFrame]:
    """Return the tables' rows up to the newest poll that all of them have.

    Sections of a poll are written one by one: while the newest is on its way, one table has it and
    another has not. A table that is behind by more than the tolerance is not on its way, it
    failed; the others do not wait for it.

    Args:
        frames: Rows of bronze tables.
        tolerance: How far a table may be behind and still be waited for.
    """
    ends = [end for frame in frames if isinstance(end := frame["observed_at"].max(), datetime)]
    if not ends:
        return list(frames)
    newest = max(ends)
    common = min(end for end in ends if newest - end <= tolerance)
    return [frame.filter(pl.col("observed_at") <= common) for frame in frames]


def dead_letter_rows(recent: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """Return the newest row of each dead-letter topic, with what is derived from it.

    Args:
        recent: Rows of ``dead_letters`` of the last minutes.
        topics: The newest row of each topic.

    Returns:
        The rows with ``arrival_per_second`` (over the last minutes, null where it cannot be told),
        ``top_reason`` with its ``top_share``, ``retention_seconds`` and ``deleted_at``, when
        retention will reach the oldest unprocessed message.
    """
    key = ("source", "name")
    end = recent["observed_at"].max()
    window = recent
    if isinstance(end, datetime):
        window = recent.filter(
            pl.col("observed_at") >= pl.lit(end) - pl.duration(seconds=int(RATE_SECONDS))
        )
    grown = pl.col("log_end").last() - pl.col("log_end").first()
    passed = (
        pl.col("observed_at").last() - pl.col("observed_at").first()
    ).dt.total_microseconds() / 1e6
    rates = (
        window.filter(pl.col("log_end").is_not_null())
        .sort("observed_at")
        .group_by(*key)
        .agg(
            pl.when((pl.col("log_end").diff().min() >= 0) & (passed > 0))
            .then(grown / passed)
            .alias("arrival_per_second")
        )
    )
    retention = topics.select(pl.col("topic").alias("name"), "retention_seconds")
    rows = (
        at_newest_poll(recent)
        .join(rates, on=key, how="left")
        .join(retention, on="name", how="left")
        .sort("source", "name")
    )
    tops = [_top(reasons) for reasons in rows["reasons"].to_list()]
    return rows.with_columns(
        pl.Series("top_reason", [name for name, _ in tops], dtype=pl.String),
        pl.Series("top_share", [share for _, share in tops], dtype=pl.Float64),
        (
            pl.col("oldest_unprocessed_at")
            + pl.duration(microseconds=(pl.col("retention_seconds") * 1e6).cast(pl.Int64))
        ).alias("deleted_at"),
    )


def _top(reasons: list[dict[str, Any]] | None) -> tuple[str | None, float | None]:
    if not reasons:
        return None, None
    total = sum(reason["value"] or 0 for reason in reasons)
    first = max(reasons, key=lambda reason: reason["value"] or 0)
    if not total:
        return None, None
    return short_class(first["key"]), (first["value"] or 0) / total


def short_class(name: str) -> str:
    """Return a class without its package: ``ValueError``."""
    return name.rsplit(".", 1)[-1]


def dead_letter_facts(cluster: str, rows: pl.DataFrame) -> tuple[DeadLetterFact, ...]:
    """Return the dead-letter topics; see ``dead_letter_rows`` for the rows."""
    return tuple(
        DeadLetterFact(
            cluster,
            row["source"],
            row["name"],
            origin=row["origin"],
            redrive_group=row["redrive_group"],
            unprocessed=row["unprocessed"],
            retained=row["retained"],
            arrivals_per_second=row["arrival_per_second"],
            deleted_at=_unix(row["deleted_at"]),
            top_reason=(
                f"{row['top_reason']} ({row['top_share']:.0%})" if row["top_reason"] else None
            ),
            unknown_reason=row["unknown_reason"],
        )
        for row in rows.iter_rows(named=True)
    )


def section_rows(collections: pl.DataFrame) -> pl.DataFrame:
    """Return each section's newest attempt and its newest success.

    Args:
        collections: Rows of ``collections``.

    Returns:
        The newest row of each section with ``last_success_at``; a partial success counts, for most
        of it is there.
    """
    worked = pl.col("status").is_in(["ok", "partial"])
    return (
        collections.sort("observed_at")
        .group_by("section", maintain_order=True)
        .agg(
            pl.all().last(),
            pl.col("observed_at").filter(worked).max().alias("last_success_at"),
            pl.len().alias("attempts"),
            (pl.col("status") == "failed").sum().alias("failures"),
            (pl.col("status") == "skipped").sum().alias("skips"),
        )
        .sort("section")
    )


def collection_facts(cluster: str, sections: pl.DataFrame) -> tuple[CollectionFact, ...]:
    """Return the sections; see ``section_rows`` for the rows."""
    return tuple(
        CollectionFact(
            cluster,
            row["section"],
            row["status"],
            last_success_at=_unix(row["last_success_at"]),
            interval_seconds=row["interval_seconds"],
            error=row["error"],
        )
        for row in sections.iter_rows(named=True)
    )


def _count(rows: pl.DataFrame, column: str) -> int | None:
    """Return how many rows are so; None where there is no row or one of them does not tell."""
    if rows.is_empty() or rows[column].null_count():
        return None
    return int(rows[column].sum())


def _unix(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


def with_replication(partitions: pl.DataFrame) -> pl.DataFrame:
    """Add what is wrong with a partition's replicas, as DESIGN's terms define it.

    Args:
        partitions: Rows of ``partitions``.

    Returns:
        The rows with ``is_under_replicated`` (in-sync replicas < replicas), ``is_under_min_isr``
        (< min.insync.replicas; null where that setting is unknown) and ``is_offline`` (no leader).
    """
    in_sync = pl.col("in_sync_replicas").list.len()
    return partitions.with_columns(
        (in_sync < pl.col("replicas").list.len()).alias("is_under_replicated"),
        (in_sync < pl.col("min_in_sync_replicas")).alias("is_under_min_isr"),
        pl.col("leader").is_null().alias("is_offline"),
    )
