"""The aggregates that history tables have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from spark_metrics.rollups.histogram import BUCKETS, COUNTS, histogram_of
from spark_metrics.rollups.runs import Runs

QUANTILE = 0.95


def total(name: str) -> pl.Expr:
    """Return the sum of what is known; null where nothing is."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)


def per_second(amount: str, seconds: str) -> pl.Expr:
    """Return amount ÷ seconds, null where no time is covered."""
    return pl.when(pl.col(seconds) > 0).then(pl.col(amount) / pl.col(seconds))


def samples_expected(grain_seconds: int) -> pl.Expr:
    """Return how many polls a window should hold by ``interval_seconds``; null without one."""
    polls = (grain_seconds / pl.col("interval_seconds") + 0.5).floor()
    return polls.clip(lower_bound=1).cast(pl.Int32)


def flow_of_samples(runs: Runs, counter: str, name: str) -> dict[str, pl.Series]:
    """Return what a counter gained in each window, and the time that this covers.

    Args:
        runs: Samples that carry the differences of the counter.
        counter: The counter.
        name: ``arrived`` or ``consumed``.
    """
    return {
        name: runs.total(f"{counter}_gain"),
        f"{name}_seconds": runs.total(f"{counter}_seconds"),
    }


def flow_of_polls(counter: str) -> list[pl.Expr]:
    """Return what the parts of a poll (partitions, topics) gained together.

    The time covered is the shortest that a part's difference covers: a part that was unknown for
    a while brings the messages of all that time with it, but the others covered it already.
    """
    return [total(f"{counter}_gain"), pl.col(f"{counter}_seconds").min()]


def coverage(runs: Runs) -> dict[str, pl.Series]:
    """Return how many samples each window has, and the cadence."""
    return {"samples": runs.lengths(), "interval_seconds": runs.first("interval_seconds")}


def windows(runs: Runs, series: Sequence[str], aggregates: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return one row a window: the columns that name its series, window_start, aggregates."""
    names = {name: runs.first(name) for name in (*series, "window_start")}
    return pl.DataFrame({**names, **aggregates})


def lag_of_samples(runs: Runs) -> dict[str, pl.Series]:
    """Return the lag columns of minutes, from their samples' ``lag``. ``lag_p95`` is exact."""
    buckets, counts = histogram_of(runs, "lag")
    return {
        "lag_min": runs.least("lag"),
        "lag_mean": runs.mean("lag"),
        "lag_max": runs.most("lag"),
        "lag_last": runs.last("lag"),
        "lag_p95": runs.quantile("lag", QUANTILE),
        BUCKETS: buckets,
        COUNTS: counts,
    }
