"""History of each dead-letter topic and queue."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_metrics.rollups.aggregates import flow_of_samples, last_known

SERIES = ("cluster", "source", "name")
COUNTERS = ("log_end",)


def dead_letter_minutes(samples: DataFrame) -> DataFrame:
    """Roll the samples of dead-letter topics up to minutes.

    A poll is unknown when the retained depth was, or the unprocessed depth although there is a
    redrive group; without one there is no unprocessed depth.

    Args:
        samples: Rows of ``dead_letters`` with their differences.
    """
    unknown = F.col("retained").isNull() | (
        F.col("redrive_group").isNotNull() & F.col("unprocessed").isNull()
    )
    return samples.groupBy(*SERIES, "window_start").agg(
        F.max("unprocessed").alias("unprocessed_max"),
        last_known("unprocessed", "observed_at").alias("unprocessed_last"),
        F.max("retained").alias("retained_max"),
        last_known("retained", "observed_at").alias("retained_last"),
        *flow_of_samples("log_end", "arrived"),
        F.sum("resets").alias("resets"),
        F.count(F.lit(1)).alias("samples"),
        F.count_if(unknown).alias("unknown_samples"),
        F.max("interval_seconds").alias("interval_seconds"),
    )
