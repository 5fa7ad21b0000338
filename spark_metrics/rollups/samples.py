"""From samples to differences between them: what every history table begins with."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

MINUTE_SECONDS = 60
GAP_INTERVALS = 4
"""A difference over more polls than this is a gap: nobody knows when the messages came."""
DEFAULT_GAP_SECONDS = 60.0
"""The same where a poll says nothing of its cadence (``collectors once``)."""


def window_start(moment: Column, grain_seconds: int) -> Column:
    """Return the beginning of the window (UTC) that a moment falls into."""
    return F.timestamp_seconds(F.floor(F.unix_seconds(moment) / grain_seconds) * grain_seconds)


def cadences(collections: DataFrame) -> DataFrame:
    """Return how often each cluster was to be polled, minute by minute.

    Args:
        collections: Rows of the bronze table.

    Returns:
        cluster, window_start (minute), interval_seconds (the shortest that was asked for; null
        where no poll of the minute had a cadence). What is collected around a Kafka cluster has
        cadences of its own, which say nothing about the cluster's.
    """
    minute = window_start(F.col("observed_at"), MINUTE_SECONDS)
    interval = F.col("interval_seconds")
    return collections.groupBy("cluster", minute.alias("window_start")).agg(
        F.coalesce(F.min(F.when(of_kafka(), interval)), F.min(interval)).alias("interval_seconds")
    )


def of_kafka() -> Column:
    """Tell which rows of ``collections`` are about a Kafka cluster itself."""
    return F.coalesce(F.col("source"), F.lit("kafka")) == "kafka"


def with_cadence(samples: DataFrame, cadence: DataFrame) -> DataFrame:
    """Add window_start (minute) and interval_seconds, the cadence of that minute, or null."""
    minute = window_start(F.col("observed_at"), MINUTE_SECONDS)
    return samples.withColumn("window_start", minute).join(
        cadence, ["cluster", "window_start"], "left"
    )


def differences(samples: DataFrame, series: Sequence[str], counters: Sequence[str]) -> DataFrame:
    """Drop repeated samples and add what each counter gained since it was last known.

    A difference belongs to the later of its two samples. It is taken from the newest earlier
    sample in which the counter was known, and only if that is at most ``GAP_INTERVALS`` of the
    later sample's cadence away (``DEFAULT_GAP_SECONDS`` without a cadence). A counter that went
    backwards starts anew: no difference, one reset.

    Args:
        samples: Samples with interval_seconds, ``series`` and ``counters``.
        series: The columns that name what is counted.
        counters: Columns that only grow.

    Returns:
        The samples, one a moment and series, with ``<counter>_gain`` (null: not covered),
        ``<counter>_seconds`` (time that the gain covers, null likewise) and ``resets``.
    """
    in_order = Window.partitionBy(*series).orderBy("observed_at", "poll_id", *counters)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    repeated = F.lead("observed_at").over(in_order) == F.col("observed_at")
    once = samples.withColumn("_repeated", F.coalesce(repeated, F.lit(False)))
    once = once.where(~F.col("_repeated")).drop("_repeated")
    limit = F.coalesce(F.col("interval_seconds") * GAP_INTERVALS, F.lit(DEFAULT_GAP_SECONDS))
    gains: dict[str, Column] = {}
    resets = F.lit(0)
    for counter in counters:
        known_at = F.when(F.col(counter).isNotNull(), F.col("observed_at"))
        earlier = F.last(F.col(counter), ignorenulls=True).over(before)
        earlier_at = F.last(known_at, ignorenulls=True).over(before)
        seconds = (F.unix_micros(F.col("observed_at")) - F.unix_micros(earlier_at)) / 1_000_000
        gain = F.when(seconds <= limit, F.col(counter) - earlier)
        gains[f"{counter}_gain"] = F.when(gain >= 0, gain)
        gains[f"{counter}_seconds"] = F.when(gain >= 0, seconds)
        resets = resets + F.coalesce((gain < 0).cast("int"), F.lit(0))
    return once.withColumns({**gains, "resets": resets})
