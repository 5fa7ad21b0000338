"""History of each consumer group."""

from __future__ import annotations

import polars as pl

from lake.carried import series_ids
from spark_metrics.rollups.aggregates import (
    flow_of_polls,
    flow_of_samples,
    lag_of_samples,
    last_known,
    total,
    windows,
)
from spark_metrics.rollups.samples import with_cadence

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
    aggregates = [
        *lag_of_samples(),
        pl.col("time_lag_seconds").max().alias("time_lag_seconds_max"),
        last_known("time_lag_seconds").alias("time_lag_seconds_last"),
        pl.col("lost_messages").max().alias("lost_messages_max"),
        last_known("members").alias("members_last"),
        last_known("_seen").alias("partitions_last"),
        pl.col("unknown_partitions").max().alias("unknown_partitions_max"),
        *flow_of_samples("log_end", "arrived"),
        *flow_of_samples("committed", "consumed"),
        total("resets"),
        pl.len().alias("samples"),
        is_unknown.sum().alias("unknown_samples"),
        pl.col("interval_seconds").first(),
    ]
    seen = pl.when(pl.col("partitions") > 0).then("partitions").alias("_seen")
    rows = polls.with_columns(series_ids(polls, SERIES), seen).sort("_series", "observed_at")
    return windows(rows, SERIES, aggregates, number="_series", histogram=True)
