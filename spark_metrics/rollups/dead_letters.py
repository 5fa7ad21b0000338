"""History of each dead-letter topic and queue."""

from __future__ import annotations

import polars as pl

from spark_metrics.rollups.aggregates import coverage, flow_of_samples, windows
from spark_metrics.rollups.runs import Runs

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
    runs = Runs(samples.with_columns(unknown.alias("_is_unknown")), "_series")
    aggregates = {
        "unprocessed_max": runs.most("unprocessed"),
        "unprocessed_last": runs.last("unprocessed"),
        "retained_max": runs.most("retained"),
        "retained_last": runs.last("retained"),
        **flow_of_samples(runs, "log_end", "arrived"),
        "resets": runs.total("resets"),
        "unknown_samples": runs.total("_is_unknown"),
        **coverage(runs),
    }
    return windows(runs, SERIES, aggregates)
