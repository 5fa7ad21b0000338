"""History of each cluster."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_metrics.rollups.aggregates import flow_of_samples, last_known
from spark_metrics.rollups.samples import MINUTE_SECONDS, of_kafka, window_start

SERIES = ("cluster",)
POLL = ("cluster", "observed_at")

_SUMS = {
    "topics": "int",
    "partitions": "int",
    "under_replicated": "int",
    "under_min_isr": "int",
    "offline": "int",
    "groups": "int",
    "lag": "bigint",
    "brokers_known": "int",
    "brokers_alive": "int",
    "log_end_gain": "bigint",
    "committed_gain": "bigint",
    "resets": "int",
    "failed": "int",
}
_WORST = {"time_lag_seconds": "double"}
_SHORTEST = {
    "log_end_seconds": "double",
    "committed_seconds": "double",
    "interval_seconds": "double",
}


def cluster_polls(
    topics: DataFrame, groups: DataFrame, brokers: DataFrame, collections: DataFrame
) -> DataFrame:
    """Return what each poll saw of each cluster.

    What a section did not say stays null: a poll without brokers is not a poll of no brokers.

    Args:
        topics: What polls saw of topics.
        groups: What polls saw of groups.
        brokers: Rows of ``brokers``.
        collections: Rows of ``collections``; a skipped poll was none, and neither is the note
            of a collector whose samples could not be written, nor a poll of another system.
    """
    one = F.lit(1)
    polled = (F.coalesce(F.col("status"), F.lit("")) != "skipped") & (F.col("section") != "lake")
    polled &= of_kafka()
    parts = (
        _part(
            topics,
            topics=one,
            **{
                name: F.col(name)
                for name in (
                    "partitions",
                    "under_replicated",
                    "under_min_isr",
                    "offline",
                    "log_end_gain",
                    "log_end_seconds",
                    "resets",
                )
            },
        ),
        _part(
            groups,
            groups=one,
            **{
                name: F.col(name)
                for name in ("lag", "time_lag_seconds", "committed_gain", "committed_seconds")
            },
        ),
        _part(
            brokers.dropDuplicates([*POLL, "broker_id"]),
            brokers_known=one,
            brokers_alive=F.col("is_alive").cast("int"),
        ),
        _part(
            collections.where(polled),
            failed=F.col("status").isin("failed", "partial").cast("int"),
            interval_seconds=F.col("interval_seconds"),
        ),
    )
    first, *others = parts
    for other in others:
        first = first.unionByName(other)
    return first.groupBy(*POLL).agg(
        *(F.sum(name).alias(name) for name in _SUMS),
        *(F.max(name).alias(name) for name in _WORST),
        *(F.min(name).alias(name) for name in _SHORTEST),
    )


def _part(rows: DataFrame, **columns: Column) -> DataFrame:
    """Return rows with every column of a poll, null where this source does not say it."""
    types = _SUMS | _WORST | _SHORTEST
    return rows.select(
        *POLL,
        *(columns.get(name, F.lit(None)).cast(type_).alias(name) for name, type_ in types.items()),
    )


def cluster_minutes(polls: DataFrame) -> DataFrame:
    """Roll what polls saw of clusters up to minutes.

    A poll is unknown when one of its sections failed, or worked in part only.
    """
    last = {
        name: last_known(name, "observed_at").alias(f"{name}_last")
        for name in ("topics", "partitions", "groups", "under_replicated", "under_min_isr")
    }
    minute = window_start(F.col("observed_at"), MINUTE_SECONDS).alias("window_start")
    return polls.groupBy(*SERIES, minute).agg(
        F.max("brokers_known").alias("brokers_known_max"),
        F.min("brokers_alive").alias("brokers_alive_min"),
        *last.values(),
        last_known("offline", "observed_at").alias("offline_last"),
        last_known("lag", "observed_at").alias("lag_last"),
        *(
            F.max(name).alias(f"{name}_max")
            for name in (
                "under_replicated",
                "under_min_isr",
                "offline",
                "lag",
                "time_lag_seconds",
            )
        ),
        *flow_of_samples("log_end", "arrived"),
        *flow_of_samples("committed", "consumed"),
        F.sum("resets").alias("resets"),
        F.count(F.lit(1)).alias("samples"),
        F.count_if(F.col("failed") > 0).alias("unknown_samples"),
        F.min("interval_seconds").alias("interval_seconds"),
    )
