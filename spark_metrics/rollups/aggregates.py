"""The aggregates that history tables have in common."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_metrics.rollups.histogram import bucket, counted

QUANTILE = 0.95


def last_known(value: str, at: str) -> Column:
    """Return the newest value of a window that is not null.

    Args:
        value: The column.
        at: The column that says which value is newer.
    """
    return F.max_by(F.col(value), F.when(F.col(value).isNotNull(), F.col(at)))


def per_second(amount: str, seconds: str) -> Column:
    """Return amount ÷ seconds, null where no time is covered."""
    return F.when(F.col(seconds) > 0, F.col(amount) / F.col(seconds))


def samples_expected(grain_seconds: int) -> Column:
    """Return how many polls a window should hold by ``interval_seconds``; null without one."""
    interval = F.col("interval_seconds")
    polls = F.greatest(F.lit(1), F.round(F.lit(grain_seconds) / interval).cast("int"))
    return F.when(interval.isNotNull(), polls)


def lag_of_samples() -> list[Column]:
    """Return the lag columns of a minute, to be aggregated over its samples' ``lag``.

    ``lag_p95`` is exact, with linear interpolation between neighbours (the usual definition,
    R's type 7). ``_buckets`` holds the bucket of each known sample, for ``with_histogram``.
    """
    lag = F.col("lag")
    return [
        F.min(lag).alias("lag_min"),
        F.avg(lag).alias("lag_mean"),
        F.max(lag).alias("lag_max"),
        last_known("lag", "observed_at").alias("lag_last"),
        F.percentile(lag, F.lit(QUANTILE)).alias("lag_p95"),
        F.collect_list(bucket(lag)).alias("_buckets"),
    ]


def flow_of_samples(counter: str, name: str) -> list[Column]:
    """Return what a counter gained in a window, and the time that this covers.

    Args:
        counter: The counter whose differences the samples carry.
        name: ``arrived`` or ``consumed``.
    """
    return [
        F.sum(f"{counter}_gain").alias(name),
        F.sum(f"{counter}_seconds").alias(f"{name}_seconds"),
    ]


def with_histogram(minutes: DataFrame) -> DataFrame:
    """Replace ``_buckets`` by the histogram's two columns."""
    return minutes.withColumns(counted(F.col("_buckets"))).drop("_buckets")


def flow_of_polls(counter: str) -> list[Column]:
    """Return what the parts of a poll (partitions, topics) gained together.

    The time covered is the shortest that a part's difference covers: a part that was unknown for
    a while brings the messages of all that time with it, but the others covered it already.
    """
    return [
        F.sum(f"{counter}_gain").alias(f"{counter}_gain"),
        F.min(f"{counter}_seconds").alias(f"{counter}_seconds"),
    ]
