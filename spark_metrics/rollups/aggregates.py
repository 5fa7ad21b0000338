"""The aggregates that history tables have in common."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from spark_metrics.rollups.histogram import bucket, with_histogram

QUANTILE = 0.95
WINDOW = "_window"
"""The number of a row's window, while rows are rolled up."""


def total(name: str) -> pl.Expr:
    """Return the sum of what is known; null where nothing is."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)


def last_known(name: str) -> pl.Expr:
    """Return the newest value of a window that is not null, of rows in the order of time."""
    return pl.col(name).last(ignore_nulls=True)


def per_second(amount: str, seconds: str) -> pl.Expr:
    """Return amount ÷ seconds, null where no time is covered."""
    return pl.when(pl.col(seconds) > 0).then(pl.col(amount) / pl.col(seconds))


def samples_expected(grain_seconds: int) -> pl.Expr:
    """Return how many polls a window should hold by ``interval_seconds``; null without one."""
    polls = (grain_seconds / pl.col("interval_seconds") + 0.5).floor()
    return polls.clip(lower_bound=1).cast(pl.Int32)


def flow_of_samples(counter: str, name: str) -> list[pl.Expr]:
    """Return what a counter gained in a window, and the time that this covers.

    Args:
        counter: The counter whose differences the samples carry.
        name: ``arrived`` or ``consumed``.
    """
    return [
        total(f"{counter}_gain").alias(name),
        total(f"{counter}_seconds").alias(f"{name}_seconds"),
    ]


def flow_of_polls(counter: str) -> list[pl.Expr]:
    """Return what the parts of a poll (partitions, topics) gained together.

    The time covered is the shortest that a part's difference covers: a part that was unknown for
    a while brings the messages of all that time with it, but the others covered it already.
    """
    return [total(f"{counter}_gain"), pl.col(f"{counter}_seconds").min()]


def windows(
    rows: pl.DataFrame,
    series: Sequence[str],
    aggregates: Sequence[pl.Expr],
    *,
    number: str,
    histogram: bool = False,
) -> pl.DataFrame:
    """Aggregate rows to one a series and window_start.

    Args:
        rows: Rows with window_start.
        series: The columns that name the series.
        aggregates: What to tell of a window; rows are in the order of time.
        number: A column that numbers the series; each series' rows are together.
        histogram: Whether to add the histogram of ``lag``.
    """
    starts = (pl.col(number) != pl.col(number).shift(1)) | (
        pl.col("window_start") != pl.col("window_start").shift(1)
    )
    rows = rows.with_columns(starts.fill_null(True).cum_sum().set_sorted().alias(WINDOW))
    names = [pl.col(name).first() for name in (*series, "window_start")]
    made = rows.group_by(WINDOW, maintain_order=True).agg(*names, *aggregates)
    if histogram:
        buckets = rows.select(WINDOW, bucket("lag").alias("bucket"), pl.lit(1).alias("count"))
        made = with_histogram(made, buckets, WINDOW)
    return made.drop(WINDOW)


def lag_of_samples() -> list[pl.Expr]:
    """Return the lag columns of a minute, to be aggregated over its samples' ``lag``.

    ``lag_p95`` is exact, with linear interpolation between neighbours (the usual definition,
    R's type 7).
    """
    lag = pl.col("lag")
    return [
        lag.min().alias("lag_min"),
        lag.mean().alias("lag_mean"),
        lag.max().alias("lag_max"),
        last_known("lag").alias("lag_last"),
        lag.quantile(QUANTILE, "linear").alias("lag_p95"),
    ]
