"""History of each topic."""

from __future__ import annotations

import polars as pl

from lake.carried import series_ids
from spark_metrics.rollups.aggregates import (
    flow_of_polls,
    flow_of_samples,
    last_known,
    per_second,
    total,
    windows,
)

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
    in_sync = pl.col("in_sync_replicas").list.len()
    least = pl.col("min_in_sync_replicas")
    rows = partitions.with_columns(
        series_ids(partitions, SERIES).alias("_topic"),
        (pl.col("log_end") - pl.col("log_start")).alias("retained"),
        (in_sync < least).alias("_under"),
        (in_sync < pl.col("replicas").list.len()).alias("_behind"),
    )
    found = pl.col("_under").sum()
    # Where that setting is not permitted to be read, none found does not mean none.
    under_least = pl.when((found > 0) | (least.null_count() == 0)).then(found)
    polls = rows.group_by("_topic", "observed_at").agg(
        *(pl.col(name).first() for name in (*SERIES, "window_start", "interval_seconds")),
        pl.len().alias("partitions"),
        pl.col("_behind").sum().alias("under_replicated"),
        under_least.alias("under_min_isr"),
        pl.col("leader").null_count().alias("offline"),
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
    aggregates = [
        last_known("retained").alias("retained_last"),
        last_known("log_end").alias("log_end_last"),
        last_known("size_bytes").alias("size_bytes_last"),
        last_known("partitions").alias("partitions_last"),
        pl.col("under_replicated").max().alias("under_replicated_max"),
        pl.col("under_min_isr").max().alias("under_min_isr_max"),
        pl.col("offline").max().alias("offline_max"),
        pl.col("busiest").max(),
        *flow_of_samples("log_end", "arrived"),
        pl.col("resets").sum(),
        pl.len().alias("samples"),
        (pl.col("unknown_partitions") > 0).sum().alias("unknown_samples"),
        pl.col("interval_seconds").first(),
    ]
    rows = polls.sort("_topic", "observed_at")
    minutes = windows(rows, SERIES, aggregates, number="_topic")
    return minutes.with_columns(per_second("busiest", "arrived").alias("busiest_partition_ratio"))
