"""History of each partition of each consumer group."""

from __future__ import annotations

import polars as pl

from spark_metrics.rollups.aggregates import coverage, flow_of_samples, lag_of_samples, windows
from spark_metrics.rollups.runs import Runs

SERIES = ("cluster", "group", "topic", "partition")
COUNTERS = ("log_end", "committed")


def group_partition_minutes(samples: pl.DataFrame) -> pl.DataFrame:
    """Roll the samples of group partitions up to minutes.

    Args:
        samples: Rows of ``group_offsets`` with their differences.

    Returns:
        One row a series and minute, with the columns that ``finished`` completes.
    """
    runs = Runs(samples, "_series")
    aggregates = {
        **lag_of_samples(runs),
        "time_lag_seconds_max": runs.most("time_lag_seconds"),
        "time_lag_seconds_last": runs.last("time_lag_seconds"),
        "committed_last": runs.last("committed"),
        "log_start_last": runs.last("log_start"),
        "log_end_last": runs.last("log_end"),
        "lost_messages_max": runs.most("lost_messages"),
        **flow_of_samples(runs, "log_end", "arrived"),
        **flow_of_samples(runs, "committed", "consumed"),
        "resets": runs.total("resets"),
        "unknown_samples": runs.unknown("lag"),
        **coverage(runs),
    }
    return windows(runs, SERIES, aggregates)
