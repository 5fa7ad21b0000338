"""Completing rows of a history table, and rolling them up into longer windows."""

from __future__ import annotations

import polars as pl

from lake.carried import series_ids
from lake.grain import Grain
from lake.schema import Table
from spark_metrics.rollups import histogram
from spark_metrics.rollups.aggregates import QUANTILE, per_second, samples_expected
from spark_metrics.rollups.runs import Runs

_RATES = {"arrival_per_second": "arrived", "consumption_per_second": "consumed"}
_DERIVED = ("grain_seconds", "samples_expected", "date", "part", *_RATES)
_LAST = ("interval_seconds",)
_SUMS = (
    "arrived",
    "arrived_seconds",
    "consumed",
    "consumed_seconds",
    "resets",
    "samples",
    "unknown_samples",
)
_LAG = (histogram.BUCKETS, histogram.COUNTS, "lag_p95")


def finished(rows: pl.DataFrame, table: Table, grain: Grain) -> pl.DataFrame:
    """Add what follows from other columns, and bring all into the table's order and types.

    Args:
        rows: Rows of one grain with window_start, the key and the aggregates; ``generated`` may be
            missing.
        table: The history table.
        grain: The grain.
    """
    names = table.polars_schema.names()
    derived = {"samples_expected": samples_expected(grain)}
    if "generated" not in rows.columns:
        derived["generated"] = pl.lit(None)
    for rate, amount in _RATES.items():
        if rate in names:
            derived[rate] = per_second(amount, f"{amount}_seconds")
    return placed(rows.with_columns(**derived), table, grain)


def coarser(rows: pl.DataFrame, table: Table, grain: Grain) -> pl.DataFrame:
    """Roll the rows of one grain up into the next: all rows of a window must be there.

    Args:
        rows: Rows of the finer grain.
        table: The history table; its columns' names say how they merge.
        grain: The coarser grain.
    """
    series = tuple(name for name in table.key if name not in ("grain_seconds", "window_start"))
    start = pl.col("window_start").dt.truncate(f"{grain.seconds}s").alias("_start")
    numbered = rows.with_columns(series_ids(rows, series), start)
    runs = Runs(numbered.sort("_series", "window_start"), "_series", "_start")
    columns = {name: runs.first(name) for name in series}
    columns["window_start"] = runs.first("_start")
    for name in table.polars_schema.names():
        if name not in (*table.key, *_DERIVED, *_LAG) and name in rows.columns:
            columns[name] = _merged(table, name, runs)
    if histogram.BUCKETS in table.polars_schema:
        columns[histogram.BUCKETS], columns[histogram.COUNTS] = histogram.merged(runs)
    windows = pl.DataFrame(columns)
    if histogram.BUCKETS in table.polars_schema:
        p95 = histogram.quantile(QUANTILE, "lag_min", "lag_max")
        windows = windows.with_columns(p95.alias("lag_p95"))
    return finished(windows, table, grain)


def _merged(table: Table, name: str, runs: Runs) -> pl.Series:
    """Return the aggregate of one column, by its name."""
    if name == "lag_mean":
        return runs.weighted_mean(name, runs.rows.select(histogram.size()).to_series())
    if name == "busiest_partition_ratio":
        # The busiest partition's share in each minute, weighted by the minute's messages.
        return runs.weighted_mean(name, runs.rows["arrived"])
    if name in _LAST or name.endswith("_last"):
        return runs.last(name)
    if name in _SUMS:
        return runs.total(name)
    if name == "generated" or name.endswith("_max"):
        return runs.most(name)
    if name.endswith("_min"):
        return runs.least(name)
    raise ValueError(f"{table.name}: nothing says how {name} merges")


def placed(rows: pl.DataFrame, table: Table, grain: Grain) -> pl.DataFrame:
    """Add the columns that the table is partitioned by to rows of one grain, as read from files."""
    place = _place(grain)
    return rows.select(
        place.get(name, pl.col(name)).cast(type_).alias(name)
        for name, type_ in table.polars_schema.items()
    )


def _place(grain: Grain) -> dict[str, pl.Expr]:
    start = pl.col("window_start")
    return {
        "grain_seconds": pl.lit(grain.seconds),
        "date": start.dt.date(),
        "part": start.dt.hour() // grain.part_hours * grain.part_hours,
    }
