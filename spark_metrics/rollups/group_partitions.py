"""History of each partition of each consumer group."""

from __future__ import annotations

import polars as pl

from spark_metrics.rollups.aggregates import (
    flow_of_samples,
    lag_of_samples,
    last_known,
    windows,
)

SERIES = ("cluster", "group", "topic", "partition")
COUNTERS = ("log_end", "committed")


def group_partition_minutes(samples: pl.DataFrame) -> pl.DataFrame:
    """Roll the samples of group partitions up to minutes.

    Args:
        samples: Rows of ``group_offsets`` with their differences.

    Returns:
        One row a series and minute, with the columns that ``finished`` completes.
    """
    aggregates = [
        *lag_of_samples(),
        pl.col("time_lag_seconds").max().alias("time_lag_seconds_max"),
        last_known("time_lag_seconds").alias("time_lag_seconds_last"),
        last_known("committed").alias("committed_last"),
        last_known("log_start").alias("log_start_last"),
        last_known("log_end").alias("log_end_last"),
        pl.col("lost_messages").max().alias("lost_messages_max"),
        *flow_of_samples("log_end", "arrived"),
        *flow_of_samples("committed", "consumed"),
        pl.col("resets").sum(),
        pl.len().alias("samples"),
        pl.col("lag").null_count().alias("unknown_samples"),
        pl.col("interval_seconds").first(),
    ]
    return windows(samples, SERIES, aggregates, number="_series", histogram=True)
