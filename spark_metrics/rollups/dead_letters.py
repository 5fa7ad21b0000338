"""History of each dead-letter topic and queue."""

from __future__ import annotations

import polars as pl

from spark_metrics.rollups.aggregates import flow_of_samples, last_known, windows

SERIES = ("cluster", "source", "name")
COUNTERS = ("log_end",)


def dead_letter_minutes(samples: pl.DataFrame) -> pl.DataFrame:
    """Roll the samples of dead-letter topics up to minutes.

    A poll is unknown when the retained depth was, or the unprocessed depth although there is a
    redrive group; without one there is no unprocessed depth.

    Args:
        samples: Rows of ``dead_letters`` with their differences.
    """
    unknown = pl.col("retained").is_null() | (
        pl.col("redrive_group").is_not_null() & pl.col("unprocessed").is_null()
    )
    aggregates = [
        pl.col("unprocessed").max().alias("unprocessed_max"),
        last_known("unprocessed").alias("unprocessed_last"),
        pl.col("retained").max().alias("retained_max"),
        last_known("retained").alias("retained_last"),
        *flow_of_samples("log_end", "arrived"),
        pl.col("resets").sum(),
        pl.len().alias("samples"),
        unknown.sum().alias("unknown_samples"),
        pl.col("interval_seconds").first(),
    ]
    return windows(samples, SERIES, aggregates, number="_series")
