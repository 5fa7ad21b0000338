"""History of consumer lag and of partitions, as kafka_exporter and KMinion left it in Prometheus.

Every value is one that an exporter gave. What it did not give is null: KMinion tells the lag of a
group and not what it committed, neither tells a time lag.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import polars as pl

from collectors.prometheus.client import Series, selector
from collectors.source.answer import LARGEST_INT

Ask = Callable[[str], list[Series]]
"""Asks for the history of a query."""

EXPORTER_COMMITTED = "kafka_consumergroup_current_offset"
MINION_LAG = "kminion_kafka_consumer_group_topic_partition_lag"
LEADER = "kafka_topic_partition_leader"

NEVER_COMMITTED = "nothing was ever committed"
BEYOND_THE_END = "committed beyond the end: the topic was recreated or truncated"
NO_END = "the exporter gave no end offset"
NO_COMMITTED = "committed: KMinion tells only the lag"
NO_TIME_LAG = "time lag: exporters do not tell it"
NO_LEADER = "the exporter saw no leader"

# Sums and differences of two such numbers are 64 bits still.
_BEYOND = 2.0**62
_LONGEST_PARTITION = 10
_AT = "at"  # seconds since 1970
_INSTANCE = "instance"
_PARTITION = ("topic", "partition")
_GROUP = ("group", *_PARTITION)
_EXPORTER_LABELS = {"group": "consumergroup", "topic": "topic", "partition": "partition"}
_MINION_LABELS = {"group": "group_id", "topic": "topic_name", "partition": "partition_id"}


def group_offsets(ask: Ask, names: Collection[str], labels: Mapping[str, str]) -> pl.DataFrame:
    """Return rows of ``group_offsets`` with the moment ``at``, none of them twice."""
    read = _Reader(ask, names, labels)
    found = []
    if EXPORTER_COMMITTED in names:
        found.append(_of_exporter(read))
    if MINION_LAG in names:
        found.append(_of_minion(read))
    if not found:
        return pl.DataFrame(schema={_AT: pl.Int64()})
    # Where several instances or exporters tell the same, the first one is believed: values of
    # two of them, read at different times, do not belong together.
    rows = pl.concat(found, how="diagonal_relaxed")
    return (
        rows.sort("rank", _INSTANCE, maintain_order=True)
        .unique([_AT, *_GROUP], keep="first", maintain_order=True)
        .drop("rank", _INSTANCE)
    )


def partitions(ask: Ask, names: Collection[str], labels: Mapping[str, str]) -> pl.DataFrame:
    """Return rows of ``partitions`` with the moment ``at``, none of them twice.

    Only of kafka_exporter, and only where it tells leaders: a partition without one would be taken
    for offline. It tells how many replicas there are and not which, so ``replicas`` and
    ``in_sync_replicas`` hold as many nulls.
    """
    if LEADER not in names:
        return pl.DataFrame(schema={_AT: pl.Int64()})
    read = _Reader(ask, names, labels)
    rows = read.joined(
        _PARTITION,
        _EXPORTER_LABELS,
        {
            "log_end": "kafka_topic_partition_current_offset",
            "log_start": "kafka_topic_partition_oldest_offset",
            "leader": LEADER,
            "is_preferred": "kafka_topic_partition_leader_is_preferred",
            "replica_count": "kafka_topic_partition_replicas",
            "in_sync_count": "kafka_topic_partition_in_sync_replica",
        },
    )
    leader = pl.when(pl.col("leader") >= 0).then(pl.col("leader"))
    log_end = pl.when(pl.col("log_end") >= 0).then(pl.col("log_end"))
    return (
        rows.sort(_INSTANCE)
        .unique([_AT, *_PARTITION], keep="first", maintain_order=True)
        .select(
            _AT,
            *_PARTITION,
            leader.cast(pl.Int32()).alias("leader"),
            pl.when(pl.col("is_preferred") == 1)
            .then(leader)
            .cast(pl.Int32())
            .alias("preferred_leader"),
            _unnamed("replica_count").alias("replicas"),
            _unnamed("in_sync_count").alias("in_sync_replicas"),
            pl.when(pl.col("log_start") >= 0).then(pl.col("log_start")).alias("log_start"),
            log_end.alias("log_end"),
            pl.when(leader.is_null())
            .then(pl.lit(NO_LEADER))
            .when(log_end.is_null())
            .then(pl.lit(NO_END))
            .alias("unknown_reason"),
        )
    )


def _of_exporter(read: _Reader) -> pl.DataFrame:
    groups = read.joined(
        _GROUP,
        _EXPORTER_LABELS,
        {"raw": EXPORTER_COMMITTED, "reported": "kafka_consumergroup_lag"},
    )
    ends = read.joined(
        _PARTITION,
        _EXPORTER_LABELS,
        {
            "end": "kafka_topic_partition_current_offset",
            "start": "kafka_topic_partition_oldest_offset",
        },
    )
    rows = groups.join(ends, on=[_AT, _INSTANCE, *_PARTITION], how="left")
    # -1 in both stands for a partition without a commit.
    rows = rows.with_columns(
        pl.when(pl.col("raw") >= 0).then(pl.col("raw")).alias("committed"),
        pl.when(pl.col("start") >= 0).then(pl.col("start")).alias("log_start"),
        pl.when(pl.col("end") >= 0).then(pl.col("end")).alias("end"),
    )
    committed, reported = pl.col("committed"), pl.col("reported")
    # It reads the end once more after the commits and tells the difference: that end belongs to
    # them. The one that it tells by itself was read before them, in large clusters by seconds.
    rows = rows.with_columns(
        pl.when(committed.is_not_null() & reported.is_not_null())
        .then(committed + reported)
        .otherwise(pl.col("end"))
        .alias("log_end")
    )
    gap = pl.col("log_end") - committed
    return _finished(
        rows.with_columns(
            gap.clip(lower_bound=0).alias("lag"),
            (pl.col("log_start") - committed).clip(lower_bound=0).alias("lost_messages"),
            pl.when(committed.is_null())
            .then(pl.lit(NEVER_COMMITTED))
            .when(pl.col("log_end").is_null())
            .then(pl.lit(NO_END))
            .when(gap < 0)
            .then(pl.lit(BEYOND_THE_END))
            .alias("why"),
        ),
        rank=0,
    )


def _of_minion(read: _Reader) -> pl.DataFrame:
    groups = read.joined(_GROUP, _MINION_LABELS, {"lag": MINION_LAG})
    ends = read.joined(
        _PARTITION,
        _MINION_LABELS,
        {
            "log_end": "kminion_kafka_topic_partition_high_water_mark",
            "log_start": "kminion_kafka_topic_partition_low_water_mark",
        },
    )
    nothing = pl.lit(None, pl.Int64())
    return _finished(
        groups.join(ends, on=[_AT, _INSTANCE, *_PARTITION], how="left").with_columns(
            pl.col("lag").clip(lower_bound=0),
            nothing.alias("committed"),
            nothing.alias("lost_messages"),
            pl.lit(NO_COMMITTED).alias("why"),
        ),
        rank=1,
    )


def _finished(rows: pl.DataFrame, rank: int) -> pl.DataFrame:
    """Return the columns of the table; what has no lag is not late."""
    return rows.select(
        _AT,
        _INSTANCE,
        *_GROUP,
        "committed",
        "log_start",
        "log_end",
        "lag",
        "lost_messages",
        pl.when(pl.col("lag") == 0).then(0.0).alias("time_lag_seconds"),
        pl.coalesce("why", pl.when(pl.col("lag") > 0).then(pl.lit(NO_TIME_LAG))).alias(
            "unknown_reason"
        ),
        pl.lit(rank).alias("rank"),
    )


def _unnamed(count: str) -> pl.Expr:
    """Return as many nulls as a column counts; null where it is null."""
    known = pl.col(count) >= 0
    nothing = pl.lit(None, pl.Int32()).repeat_by(pl.when(known).then(pl.col(count)).otherwise(0))
    return pl.when(known).then(nothing)


class _Reader:
    """Reads histories of exporters into columns."""

    def __init__(self, ask: Ask, names: Collection[str], labels: Mapping[str, str]) -> None:
        self._ask = ask
        self._names = names
        self._labels = labels

    def joined(
        self, keys: Sequence[str], labels: Mapping[str, str], metrics: Mapping[str, str]
    ) -> pl.DataFrame:
        """Return one row a moment, instance and key, with a column a metric, null where absent."""
        on = [_AT, _INSTANCE, *keys]
        rows: pl.DataFrame | None = None
        for column, name in metrics.items():
            frame = self._column(column, name, keys, labels)
            rows = (
                frame
                if rows is None
                else rows.join(frame, on=on, how="full", coalesce=True, nulls_equal=True)
            )
        assert rows is not None  # noqa: S101 (every caller names a metric)
        return rows

    def _column(
        self, column: str, name: str, keys: Sequence[str], labels: Mapping[str, str]
    ) -> pl.DataFrame:
        columns: dict[str, list[str | int]] = {key: [] for key in (_AT, _INSTANCE, *keys, column)}
        for series in self._series(name, keys, labels):
            identity = [series.labels.get(labels[key], "") for key in keys]
            number = identity[-1]
            if not all(identity) or not (number.isascii() and number.isdigit()):
                continue
            if len(number) > _LONGEST_PARTITION or int(number) > LARGEST_INT:
                continue
            points = [(at, value) for at, value in series.points if abs(value) < _BEYOND]
            instance = series.labels.get(_INSTANCE, "")
            columns[_AT] += [round(at) for at, _ in points]
            columns[column] += [round(value) for _, value in points]
            columns[_INSTANCE] += [instance] * len(points)
            for key, text in zip(keys, identity, strict=True):
                columns[key] += [int(text) if key == "partition" else text] * len(points)
        schema = {
            key: pl.Int32() if key == "partition" else pl.String() for key in (_INSTANCE, *keys)
        }
        return pl.DataFrame(columns, schema={_AT: pl.Int64(), **schema, column: pl.Int64()})

    def _series(
        self, name: str, keys: Sequence[str], labels: Mapping[str, str]
    ) -> Sequence[Series]:
        if name not in self._names:
            return ()
        by = ",".join((_INSTANCE, *(labels[key] for key in keys)))
        return self._ask(f"max by ({by}) ({selector(self._labels, name=name)})")
