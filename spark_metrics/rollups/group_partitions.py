"""History of each partition of each consumer group."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_metrics.rollups.aggregates import (
    flow_of_samples,
    lag_of_samples,
    last_known,
    with_histogram,
)

SERIES = ("cluster", "group", "topic", "partition")
COUNTERS = ("log_end", "committed")


def group_partition_minutes(samples: DataFrame) -> DataFrame:
    """Roll the samples of group partitions up to minutes.

    Args:
        samples: Rows of ``group_offsets`` with their differences.

    Returns:
        One row a series and minute, with the columns that ``finished`` completes.
    """
    minutes = samples.groupBy(*SERIES, "window_start").agg(
        *lag_of_samples(),
        F.max("time_lag_seconds").alias("time_lag_seconds_max"),
        last_known("time_lag_seconds", "observed_at").alias("time_lag_seconds_last"),
        last_known("committed", "observed_at").alias("committed_last"),
        last_known("log_start", "observed_at").alias("log_start_last"),
        last_known("log_end", "observed_at").alias("log_end_last"),
        F.max("lost_messages").alias("lost_messages_max"),
        *flow_of_samples("log_end", "arrived"),
        *flow_of_samples("committed", "consumed"),
        F.sum("resets").alias("resets"),
        F.count(F.lit(1)).alias("samples"),
        F.count_if(F.col("lag").isNull()).alias("unknown_samples"),
        F.max("interval_seconds").alias("interval_seconds"),
    )
    return with_histogram(minutes)
