"""Completing rows of a history table, and rolling them up into longer windows."""

from __future__ import annotations

import polars as pl

from lake.change_encoding.expand import series_ids
from lake.schemas.grain import Grain
from lake.schemas.model import Column, Table
from spark_metrics.rollups import histogram
from spark_metrics.rollups.aggregates import QUANTILE, per_second, samples_expected
from spark_metrics.rollups.runs import Runs

_RATES = {"arrival_per_second": "arrived", "consumption_per_second": "consumed"}


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
        table: The history table; its columns say how they merge.
        grain: The coarser grain.
    """
    series = tuple(name for name in table.key if name not in ("grain_seconds", "window_start"))
    start = pl.col("window_start").dt.truncate(f"{grain.seconds}s").alias("_start")
    numbered = rows.with_columns(series_ids(rows, series), start)
    runs = Runs(numbered.sort("_series", "window_start"), "_series", "_start")
    columns = {name: runs.first(name) for name in series}
    columns["window_start"] = runs.first("_start")
    for column in table.columns:
        if column.merge not in (None, "histogram") and column.name in rows.columns:
            columns[column.name] = _merged(column, runs)
    if histogram.BUCKETS in table.polars_schema:
        columns[histogram.BUCKETS], columns[histogram.COUNTS] = histogram.merged(runs)
    windows = pl.DataFrame(columns)
    if histogram.BUCKETS in table.polars_schema:
        p95 = histogram.quantile(QUANTILE, "lag_min", "lag_max")
        windows = windows.with_columns(p95.alias("lag_p95"))
    return finished(windows, table, grain)


def _merged(column: Column, runs: Runs) -> pl.Series:
    """Return what a column comes to in each window, as its definition says."""
    match column.merge:
        case "last":
            return runs.last(column.name)
        case "sum":
            return runs.total(column.name)
        case "max":
            return runs.most(column.name)
        case "min":
            return runs.least(column.name)
        case "mean" if column.weight is not None:
            weights = runs.rows[column.weight]
            sums = weights.list.sum() if weights.dtype == pl.List else weights
            return runs.weighted_mean(column.name, sums)
    raise ValueError(f"nothing says how {column.name} merges")


def sorted_by_series(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return rows with each series' together, so that a reader of one opens little."""
    series = [name for name in table.key if name not in ("cluster", "grain_seconds", table.time)]
    return rows.sort(*series, table.time)


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
        "hour": start.dt.hour() // grain.partition_hours * grain.partition_hours,
    }
