"""History of each topic."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_metrics.rollups.aggregates import flow_of_polls, flow_of_samples, last_known

SERIES = ("cluster", "topic")
COUNTERS = ("log_end",)


def topic_polls(partitions: DataFrame) -> DataFrame:
    """Return what each poll saw of each topic.

    Args:
        partitions: Rows of ``partitions`` with their differences.

    Returns:
        One row a poll and topic: partitions, how many of them are under-replicated, under the
        minimum of in-sync replicas (null where that minimum is unknown), without a leader; sums
        over the partitions that are known; ``busiest``, the messages that the busiest partition
        got in the poll's whole minute.
    """
    partition_minute = Window.partitionBy(*SERIES, "partition", "window_start")
    in_sync = F.size("in_sync_replicas")
    retained = F.col("log_end") - F.col("log_start")
    least = F.col("min_in_sync_replicas")
    found = F.count_if(in_sync < least)
    # Where that setting is not permitted to be read, none found does not mean none.
    under_least = F.when((found > 0) | (F.count(least) == F.count(F.lit(1))), found)
    return (
        partitions.withColumn("_arrived", F.sum("log_end_gain").over(partition_minute))
        .groupBy(*SERIES, "observed_at", "window_start")
        .agg(
            F.count(F.lit(1)).alias("partitions"),
            F.count_if(in_sync < F.size("replicas")).alias("under_replicated"),
            under_least.alias("under_min_isr"),
            F.count_if(F.col("leader").isNull()).alias("offline"),
            F.sum(retained).alias("retained"),
            F.sum("log_end").alias("log_end"),
            F.sum("size_bytes").alias("size_bytes"),
            (F.count(F.lit(1)) - F.count(retained)).alias("unknown_partitions"),
            F.max("_arrived").alias("busiest"),
            *flow_of_polls("log_end"),
            F.sum("resets").alias("resets"),
            F.max("interval_seconds").alias("interval_seconds"),
        )
    )


def topic_minutes(polls: DataFrame) -> DataFrame:
    """Roll what polls saw of topics up to minutes.

    A poll is unknown when the offsets of any partition were.
    """
    minutes = polls.groupBy(*SERIES, "window_start").agg(
        last_known("retained", "observed_at").alias("retained_last"),
        last_known("log_end", "observed_at").alias("log_end_last"),
        last_known("size_bytes", "observed_at").alias("size_bytes_last"),
        last_known("partitions", "observed_at").alias("partitions_last"),
        F.max("under_replicated").alias("under_replicated_max"),
        F.max("under_min_isr").alias("under_min_isr_max"),
        F.max("offline").alias("offline_max"),
        F.max("busiest").alias("_busiest"),
        *flow_of_samples("log_end", "arrived"),
        F.sum("resets").alias("resets"),
        F.count(F.lit(1)).alias("samples"),
        F.count_if(F.col("unknown_partitions") > 0).alias("unknown_samples"),
        F.max("interval_seconds").alias("interval_seconds"),
    )
    share = F.when(F.col("arrived") > 0, F.col("_busiest") / F.col("arrived"))
    return minutes.withColumn("busiest_partition_ratio", share).drop("_busiest")
