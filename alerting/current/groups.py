"""Rows of the present that tell what groups are doing: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from alerting.checks.loss_deadline import GroupLosses, NextLoss, is_losing, next_loss
from alerting.checks.retention_deadline import DeadlineState
from alerting.evaluate.evaluation import ClusterEvaluation
from alerting.inputs.frames import Frames
from alerting.inputs.polls import PARTITION_LAG
from alerting.inputs.windows import GroupKey
from alerting.status.group_status import group_status
from alerting.status.model import GroupStatus, LagNumbers, PartitionStatus, Status
from lake.schemas.current import GROUP_PARTITION_STATUS, GROUP_STATUS, READERS
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_OFFSETS, GROUPS

BREAK_SECONDS = 300.0
"""After a break as long as this, nobody knows whether a status has held all the time."""

_EPOCH_MICROSECONDS = 1_000_000.0
_FLOW = (
    "lag",
    "time_lag_seconds",
    "arrival_per_second",
    "consumption_per_second",
    "growth_per_second",
    "drain_seconds",
    "lost_messages",
    "last_lost_at",
    "stalled_seconds",
    "commit_gap_seconds",
    "samples",
)
_DATED = ("status", "since", "since_at_least")
_STATUS = ("status", "reason", "since", "since_at_least", "is_lasting")


def group_rows(
    found: ClusterEvaluation, lag: pl.DataFrame, previous: pl.DataFrame | None
) -> pl.DataFrame:
    """Return the rows of ``group_status``."""
    frames = found.frames
    first_loss = ("data_loss_at", "data_loss_topic", "data_loss_partition")
    rows = _frame(
        GROUP_STATUS,
        ("group", *_STATUS, *_FLOW, "unknown_partitions", *first_loss, "loses_now"),
        (
            (
                key.group,
                *_status(status),
                *_flow(status.numbers),
                status.unknown_partitions,
                *_loss(next_loss(found.losses.get(key.group, {})), frames, status),
                is_losing(status, frames),
            )
            for key, status in (_unread(frames) | dict(found.statuses)).items()
        ),
    )
    facts = frames.last(GROUPS).select(
        *("group", "members", "idle_members", "kind", "type", "state", "coordinator"),
        "observed_at",
    )
    read = lag.group_by("group").agg(
        pl.len().alias("partitions"), pl.col("topic").unique().sort().alias("topics")
    )
    rows = rows.join(facts, on="group", how="left").join(read, on="group", how="left")
    rows = _with_known_lag(rows, previous)
    return _dated(rows, ("group",), previous, frames.sampled_at)


def _with_known_lag(rows: pl.DataFrame, previous: pl.DataFrame | None) -> pl.DataFrame:
    """Add the newest lag that was known in full; while it is not, that of the evaluation before."""
    names = ["known_lag", "known_lag_at"]
    is_known = pl.col("lag").is_not_null() & (pl.col("unknown_partitions") == 0)
    before = (GROUP_STATUS.empty if previous is None else previous).select("group", *names)
    return rows.join(before, on="group", how="left").with_columns(
        pl.when(is_known).then(pl.col(now)).otherwise(pl.col(name)).alias(name)
        for now, name in zip(("lag", "observed_at"), names, strict=True)
    )


def _unread(frames: Frames) -> dict[GroupKey, GroupStatus]:
    """Return the groups that are known, as unknown, where no offset could be read from the lake.

    No check says so of each of them: the table is what is wrong.
    """
    if GROUP_OFFSETS.name not in frames.errors:
        return {}
    nothing = group_status((), now=frames.now)
    return {GroupKey(frames.cluster, group): nothing for group in frames.newest(GROUPS)["group"]}


def partition_rows(found: ClusterEvaluation, previous: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rows of ``group_partition_status``: of groups that are not OK."""
    key = ("group", "topic", "partition")
    rows = _frame(
        GROUP_PARTITION_STATUS,
        (*key, *_STATUS, *_FLOW, "is_subscribed", "decides"),
        (
            (
                group,
                part.topic,
                part.partition,
                *_status(part),
                *_flow(part.numbers),
                part.subscribed,
                part.decides,
            )
            for group, part in _classified(found)
            if found.statuses[GroupKey(found.frames.cluster, group)].status is not Status.OK
        ),
    )
    polled = found.frames.rows(GROUPS)["observed_at"].max()
    rows = rows.with_columns(pl.lit(polled, pl.Datetime("us", "UTC")).alias("observed_at"))
    return _dated(rows, key, previous, found.frames.sampled_at)


def reader_rows(lag: pl.DataFrame, losses: GroupLosses, now: float) -> pl.DataFrame:
    """Return the rows of ``readers``: how late each group is on each of its topics.

    Args:
        lag: Rows of ``partition_lag``.
        losses: What retention deletes unread next.
        now: The present in Unix seconds.
    """
    waiting = pl.col("lag")
    columns = ("topic", "group", "loss", "data_loss_at")
    coming = _frame(
        READERS,
        columns,
        (
            (topic, group, loss.state.value, _loss_at(loss, now))
            for group, by_topic in losses.items()
            for topic, loss in by_topic.items()
        ),
    )
    return (
        lag.group_by("topic", "group")
        .agg(
            pl.when(waiting.count() > 0).then(waiting.sum()).alias("lag"),
            waiting.null_count().alias("unknown_partitions"),
            pl.col("time_lag_seconds").max(),
            pl.len().alias("partitions"),
        )
        .join(coming, on=["topic", "group"], how="left")
        .with_columns(pl.col("loss").fill_null(DeadlineState.NONE.value))
        .sort("topic", "group")
    )


def with_silent_readers(
    readers: pl.DataFrame, groups: pl.DataFrame, previous: pl.DataFrame | None
) -> pl.DataFrame:
    """Add what groups read when they were last seen, without numbers, while they are unknown.

    Args:
        readers: Rows of ``reader_rows``.
        groups: Rows of ``group_status``.
        previous: Rows of ``readers`` of the evaluation before.
    """
    if previous is None:
        return readers
    unknown = groups.filter(pl.col("status") == Status.UNKNOWN.value)["group"]
    silent = previous.filter(
        pl.col("group").is_in(unknown.implode())
        & ~pl.col("group").is_in(readers["group"].implode())
    ).with_columns(
        pl.lit(None, pl.Int64()).alias("lag"),
        pl.lit(None, pl.Float64()).alias("time_lag_seconds"),
        pl.col("partitions").alias("unknown_partitions"),
        pl.lit(DeadlineState.UNKNOWN.value).alias("loss"),
        pl.lit(None, pl.Datetime("us", "UTC")).alias("data_loss_at"),
    )
    return pl.concat([readers, silent.select(readers.columns).cast(readers.schema)]).sort(
        "topic", "group"
    )


def partition_lag(found: ClusterEvaluation) -> pl.DataFrame:
    """Return how late each group is on each partition that it reads (``PARTITION_LAG``)."""
    classified = pl.DataFrame(
        [
            (group, part.topic, part.partition, part.numbers.lag, part.numbers.behind_seconds)
            for group, part in _classified(found)
            if part.subscribed
        ],
        schema=PARTITION_LAG,
        orient="row",
    )
    return pl.concat([found.clear_partitions, classified])


def _classified(found: ClusterEvaluation) -> Iterator[tuple[str, PartitionStatus]]:
    """Yield the partitions of all groups that were classified in full."""
    clear = set(found.clear_partitions["group"].unique())
    for key, status in found.statuses.items():
        if key.group not in clear:
            for part in status.partitions:
                yield key.group, part


def _status(status: GroupStatus | PartitionStatus) -> tuple[Any, ...]:
    return (
        status.status.value,
        status.reason,
        _microseconds(status.since),
        status.began_before_window,
        status.is_lasting,
    )


def _flow(numbers: LagNumbers) -> tuple[Any, ...]:
    return (
        numbers.lag,
        numbers.behind_seconds,
        numbers.arrival_per_second,
        numbers.consumption_per_second,
        numbers.growth_per_second,
        numbers.drain_seconds,
        numbers.lost_messages,
        _microseconds(numbers.last_lost_at),
        numbers.without_commit_seconds,
        numbers.commit_period_seconds,
        numbers.samples,
    )


def _loss(loss: NextLoss, frames: Frames, status: GroupStatus) -> tuple[Any, ...]:
    if loss.is_lost and not is_losing(status, frames):
        loss = replace(loss, is_lost=False)  # the next loss is to come
    at = _loss_at(loss, frames.now)
    if at is None or loss.partition is None:
        return None, None, None
    return at, loss.partition.topic, loss.partition.partition


def _loss_at(loss: NextLoss, now: float) -> int | None:
    """Return when messages are lost; None also where some are already: what is next is no news."""
    is_coming = loss.state is DeadlineState.COMING and loss.seconds is not None
    return _microseconds(now + (loss.seconds or 0.0)) if is_coming else None


def _microseconds(at: float | None) -> int | None:
    return None if at is None else round(at * _EPOCH_MICROSECONDS)


def _frame(table: Table, names: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Return rows whose times are microseconds."""
    types = table.polars_schema
    moment = pl.Datetime("us", "UTC")
    schema = {name: pl.Int64() if types[name] == moment else types[name] for name in names}
    times = [name for name in schema if types[name] == moment]
    frame = pl.DataFrame(list(rows), schema=schema, orient="row")
    return frame.with_columns(pl.col(times).cast(moment))


def _dated(
    rows: pl.DataFrame, key: tuple[str, ...], previous: pl.DataFrame | None, sampled_at: float
) -> pl.DataFrame:
    """Keep ``since`` while a status stays, and fill it in where only watching can tell.

    Each evaluation dates a status from the samples that it remembers, of which fewer are left the
    older they are. So the first date stays. A status that cannot be dated begins with the first
    evaluation that finds it. What had another status at the evaluation before was watched: it
    began then, and not before; see ``alerting.evaluate.watched`` for alerts.
    """
    at = pl.lit(round(sampled_at * _EPOCH_MICROSECONDS)).cast(pl.Datetime("us", "UTC"))
    since = pl.coalesce("since", at)
    may_be_older = pl.col("since").is_null() | pl.col("since_at_least")
    if previous is None:
        nothing = [pl.lit(None, GROUP_STATUS.polars_schema[f"known_{name}"]) for name in _DATED]
        return rows.with_columns(
            since.alias("since"),
            may_be_older.alias("since_at_least"),
            *(none.alias(f"known_{name}") for none, name in zip(nothing, _DATED, strict=True)),
        )
    before = previous.filter(pl.col("evaluated_at") >= at - pl.duration(seconds=BREAK_SECONDS))
    is_unknown = pl.col("status") == Status.UNKNOWN.value
    joined = rows.join(
        before.select(
            *key,
            pl.col("status").alias("_status"),
            *(
                # What came between is not known, and nobody acts on what was so for a moment.
                pl.when(is_unknown & (pl.col("since") >= at - pl.duration(seconds=BREAK_SECONDS)))
                .then(f"known_{name}")
                .when(~is_unknown)
                .then(name)
                .alias(f"_known_{name}")
                for name in _DATED
            ),
            *(pl.when(is_unknown).then(name).alias(f"_unknown_{name}") for name in _DATED[1:]),
        ),
        on=key,
        how="left",
        maintain_order="left",
    )
    was_other = pl.col("_status").ne(Status.UNKNOWN.value).fill_null(False)
    dated = {"since": since, "since_at_least": may_be_older & ~was_other}
    comes_back = pl.col("_known_status").eq(pl.col("status")).fill_null(False)
    stays_unknown = is_unknown & pl.col("_status").eq(pl.col("status")).fill_null(False)
    return joined.with_columns(
        *(
            pl.when(comes_back & pl.col("_known_since").is_not_null())
            .then(f"_known_{name}")
            .when(stays_unknown & pl.col("_unknown_since").is_not_null())
            .then(f"_unknown_{name}")
            .otherwise(value)
            .alias(name)
            for name, value in dated.items()
        ),
        *(pl.when(is_unknown).then(f"_known_{name}").alias(f"known_{name}") for name in _DATED),
    ).drop("_status", "^_known_.*$", "^_unknown_.*$")
