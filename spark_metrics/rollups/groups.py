"""History of each consumer group."""

from __future__ import annotations

import polars as pl

from lake.change_encoding.expand import series_ids
from lake.differences import with_cadence
from spark_metrics.rollups.aggregates import (
    coverage,
    flow_of_polls,
    flow_of_samples,
    lag_of_samples,
    total,
    windows,
)
from spark_metrics.rollups.runs import Runs

SERIES = ("cluster", "group")
POLL = (*SERIES, "observed_at")


def group_polls(offsets: pl.DataFrame, groups: pl.DataFrame, cadence: pl.DataFrame) -> pl.DataFrame:
    """Return what each poll saw of each group.

    Args:
        offsets: Rows of ``group_offsets`` with their differences.
        groups: Rows of ``groups``.
        cadence: What ``cadences`` returns.

    Returns:
        One row a poll and group: lag (sum over the partitions that are known, null if none is),
        partitions, unknown_partitions, the worst time lag, lost messages, members, differences.
    """
    numbered = offsets.with_columns(series_ids(offsets, SERIES).alias("_group"))
    parts = (
        numbered.group_by("_group", "observed_at")
        .agg(
            *(pl.col(name).first() for name in SERIES),
            total("lag"),
            pl.len().cast(pl.Int32).alias("partitions"),
            pl.col("lag").null_count().cast(pl.Int32).alias("unknown_partitions"),
            pl.col("time_lag_seconds").max(),
            total("lost_messages"),
            *flow_of_polls("log_end"),
            *flow_of_polls("committed"),
            pl.col("resets").sum(),
        )
        .drop("_group")
    )
    described = groups.group_by(*POLL).agg(pl.col("members").max())
    polls = parts.join(described, on=POLL, how="full", coalesce=True).with_columns(
        pl.col("partitions", "unknown_partitions").fill_null(0)
    )
    return with_cadence(polls, cadence)


def group_minutes(polls: pl.DataFrame) -> pl.DataFrame:
    """Roll what polls saw of groups up to minutes.

    A poll is unknown when the lag of any partition was, or when it saw the group without any
    partition.
    """
    is_unknown = (pl.col("unknown_partitions") > 0) | (pl.col("partitions") == 0)
    seen = pl.when(pl.col("partitions") > 0).then("partitions")
    rows = polls.with_columns(
        series_ids(polls, SERIES), is_unknown.alias("_is_unknown"), seen.alias("_seen")
    )
    runs = Runs(rows.sort("_series", "observed_at"), "_series")
    aggregates = {
        **lag_of_samples(runs),
        "time_lag_seconds_max": runs.most("time_lag_seconds"),
        "time_lag_seconds_last": runs.last("time_lag_seconds"),
        "lost_messages_max": runs.most("lost_messages"),
        "members_last": runs.last("members"),
        "partitions_last": runs.last("_seen"),
        "unknown_partitions_max": runs.most("unknown_partitions"),
        **flow_of_samples(runs, "log_end", "arrived"),
        **flow_of_samples(runs, "committed", "consumed"),
        "resets": runs.total("resets"),
        "unknown_samples": runs.total("_is_unknown"),
        **coverage(runs),
    }
    return windows(runs, SERIES, aggregates)
