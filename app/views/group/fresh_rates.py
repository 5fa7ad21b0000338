"""A group's rates since it is read again, until those of its status are known: pure functions."""

from __future__ import annotations

import polars as pl

from lake.schemas.bronze import IN_TOTALS

SINCE_RETURN = "fresh_seconds"
"""A column of how long the polls are that rates are told from; null where they are the status's."""

_MISSED = 2.5
"""Polls further apart than so many intervals have one missing between them."""


def with_fresh_rates(
    group: pl.DataFrame, samples: pl.DataFrame, interval_seconds: float
) -> pl.DataFrame:
    """Tell rates that a status lacks from the polls since the last one that could not be read.

    Args:
        group: The group's row of ``group_status``.
        samples: Its rows of ``group_offsets`` of the last minutes, up to the evaluated poll.
        interval_seconds: The cadence of the polls.
    """
    row = group.row(0, named=True)
    is_known = None not in (row["arrival_per_second"], row["consumption_per_second"])
    found = None if is_known else _since_return(samples, interval_seconds)
    if found is None:
        return group.with_columns(pl.lit(None, pl.Float64).alias(SINCE_RETURN))
    arrival, consumption, seconds = found
    shrinks = consumption > arrival and row["lag"] is not None
    return group.with_columns(
        pl.lit(arrival).alias("arrival_per_second"),
        pl.lit(consumption).alias("consumption_per_second"),
        pl.lit(arrival - consumption).alias("growth_per_second"),
        pl.lit(row["lag"] / (consumption - arrival) if shrinks else None, pl.Float64).alias(
            "drain_seconds"
        ),
        pl.lit(seconds).alias(SINCE_RETURN),
    )


def _since_return(
    samples: pl.DataFrame, interval_seconds: float
) -> tuple[float, float, float] | None:
    """Return what arrives and is consumed a second, and over how many; None of fewer polls than 2.

    Polls go back to where an offset is not known, went back, or a poll or partition is missing.
    """
    ends = pl.col("log_end", "committed")
    polls = (
        samples.filter(IN_TOTALS)
        .sort("topic", "partition")
        .group_by("observed_at")
        .agg(
            pl.format("{}-{}", "topic", "partition").alias("partitions"),
            ends,
            pl.any_horizontal(ends.is_null()).any().alias("lacks"),
        )
        .sort("observed_at", descending=True)
        .rows(named=True)
    )
    if not polls or polls[0]["lacks"]:
        return None
    last = first = polls[0]
    for before in polls[1:]:
        gap = (first["observed_at"] - before["observed_at"]).total_seconds()
        if (
            before["lacks"]
            or gap > _MISSED * interval_seconds
            or before["partitions"] != first["partitions"]
            or any(
                old > new
                for name in ("log_end", "committed")
                for old, new in zip(before[name], first[name], strict=True)
            )
        ):
            break
        first = before
    seconds = (last["observed_at"] - first["observed_at"]).total_seconds()
    if not seconds:
        return None
    arrival, consumption = (
        (sum(last[name]) - sum(first[name])) / seconds for name in ("log_end", "committed")
    )
    return arrival, consumption, seconds
