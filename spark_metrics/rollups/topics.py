"""History of each topic."""

from __future__ import annotations

import polars as pl

from lake.change_encoding.expand import series_ids
from lake.replication import IS_OFFLINE, IS_UNDER_MIN_ISR, IS_UNDER_REPLICATED, number_of
from spark_metrics.rollups.aggregates import (
    coverage,
    flow_of_polls,
    flow_of_samples,
    per_second,
    total,
    windows,
)
from spark_metrics.rollups.runs import Runs

SERIES = ("cluster", "topic")
COUNTERS = ("log_end",)


def topic_polls(partitions: pl.DataFrame) -> pl.DataFrame:
    """Return what each poll saw of each topic.

    Args:
        partitions: Rows of ``partitions`` with their differences.

    Returns:
        One row a poll and topic: partitions, how many of them are under-replicated, under the
        minimum of in-sync replicas (null where that minimum is unknown), without a leader; sums
        over the partitions that are known; ``busiest``, the messages that the busiest partition
        got in the poll's whole minute.
    """
    rows = partitions.with_columns(
        series_ids(partitions, SERIES).alias("_topic"),
        (pl.col("log_end") - pl.col("log_start")).alias("retained"),
    )
    polls = rows.group_by("_topic", "observed_at").agg(
        *(pl.col(name).first() for name in (*SERIES, "window_start", "interval_seconds")),
        pl.len().alias("partitions"),
        IS_UNDER_REPLICATED.sum().alias("under_replicated"),
        number_of(IS_UNDER_MIN_ISR).alias("under_min_isr"),
        IS_OFFLINE.sum().alias("offline"),
        total("retained"),
        total("log_end"),
        total("size_bytes"),
        pl.col("retained").null_count().alias("unknown_partitions"),
        *flow_of_polls("log_end"),
        pl.col("resets").sum(),
    )
    minute = ["_topic", "window_start"]
    busiest = (
        rows.group_by("_topic", "_series", "window_start")
        .agg(total("log_end_gain").alias("busiest"))
        .group_by(minute)
        .agg(pl.col("busiest").max())
    )
    return polls.join(busiest, on=minute)


def topic_minutes(polls: pl.DataFrame) -> pl.DataFrame:
    """Roll what polls saw of topics up to minutes.

    A poll is unknown when the offsets of any partition were.
    """
    is_unknown = (pl.col("unknown_partitions") > 0).alias("_is_unknown")
    runs = Runs(polls.with_columns(is_unknown).sort("_topic", "observed_at"), "_topic")
    aggregates = {
        "retained_last": runs.last("retained"),
        "log_end_last": runs.last("log_end"),
        "size_bytes_last": runs.last("size_bytes"),
        "partitions_last": runs.last("partitions"),
        "under_replicated_max": runs.most("under_replicated"),
        "under_min_isr_max": runs.most("under_min_isr"),
        "offline_max": runs.most("offline"),
        "busiest": runs.most("busiest"),
        **flow_of_samples(runs, "log_end", "arrived"),
        "resets": runs.total("resets"),
        "unknown_samples": runs.total("_is_unknown"),
        **coverage(runs),
    }
    ratio = per_second("busiest", "arrived").alias("busiest_partition_ratio")
    return windows(runs, SERIES, aggregates).with_columns(ratio)
