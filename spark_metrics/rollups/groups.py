"""History of each consumer group."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_metrics.rollups.aggregates import (
    flow_of_polls,
    flow_of_samples,
    lag_of_samples,
    last_known,
    with_histogram,
)

SERIES = ("cluster", "group")


def group_polls(offsets: DataFrame, groups: DataFrame) -> DataFrame:
    """Return what each poll saw of each group.

    Args:
        offsets: Rows of ``group_offsets`` with their differences.
        groups: Rows of ``groups`` with window_start and interval_seconds.

    Returns:
        One row a poll and group: lag (sum over the partitions that are known, null if none is),
        partitions, unknown_partitions, the worst time lag, lost messages, members, differences.
    """
    seen = offsets.select(
        *SERIES,
        "observed_at",
        "window_start",
        "interval_seconds",
        "partition",
        "lag",
        "time_lag_seconds",
        "lost_messages",
        F.lit(None).cast("int").alias("members"),
        "log_end_gain",
        "log_end_seconds",
        "committed_gain",
        "committed_seconds",
        "resets",
    ).unionByName(
        groups.select(*SERIES, "observed_at", "window_start", "interval_seconds", "members"),
        allowMissingColumns=True,
    )
    return seen.groupBy(*SERIES, "observed_at", "window_start").agg(
        F.sum("lag").alias("lag"),
        F.count("partition").alias("partitions"),
        (F.count("partition") - F.count("lag")).cast("int").alias("unknown_partitions"),
        F.max("time_lag_seconds").alias("time_lag_seconds"),
        F.sum("lost_messages").alias("lost_messages"),
        F.max("members").alias("members"),
        *flow_of_polls("log_end"),
        *flow_of_polls("committed"),
        F.sum("resets").alias("resets"),
        F.max("interval_seconds").alias("interval_seconds"),
    )


def group_minutes(polls: DataFrame) -> DataFrame:
    """Roll what polls saw of groups up to minutes.

    A poll is unknown when the lag of any partition was, or when it saw the group without any
    partition.
    """
    minutes = polls.groupBy(*SERIES, "window_start").agg(
        *lag_of_samples(),
        F.max("time_lag_seconds").alias("time_lag_seconds_max"),
        last_known("time_lag_seconds", "observed_at").alias("time_lag_seconds_last"),
        F.max("lost_messages").alias("lost_messages_max"),
        last_known("members", "observed_at").alias("members_last"),
        F.max_by("partitions", F.when(F.col("partitions") > 0, F.col("observed_at"))).alias(
            "partitions_last"
        ),
        F.max("unknown_partitions").alias("unknown_partitions_max"),
        *flow_of_samples("log_end", "arrived"),
        *flow_of_samples("committed", "consumed"),
        F.sum("resets").alias("resets"),
        F.count(F.lit(1)).alias("samples"),
        F.count_if((F.col("unknown_partitions") > 0) | (F.col("partitions") == 0)).alias(
            "unknown_samples"
        ),
        F.max("interval_seconds").alias("interval_seconds"),
    )
    return with_histogram(minutes)
