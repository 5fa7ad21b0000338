"""Completing rows of a history table, and rolling them up into longer windows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lake.schema import Table
from lake.tables import GRAINS_SECONDS
from spark_metrics.rollups import histogram
from spark_metrics.rollups.aggregates import QUANTILE, last_known, per_second, samples_expected
from spark_metrics.rollups.samples import window_start

MINUTE, HOUR, DAY = GRAINS_SECONDS
PARTITIONED_BY = ("date", "grain_seconds", "part")
"""A round replaces whole parts: the minutes of an hour, the hours of a day, a day."""

_RATES = {"arrival_per_second": "arrived", "consumption_per_second": "consumed"}
_DERIVED = ("grain_seconds", "samples_expected", "date", "part", *_RATES)
_LAST = ("interval_seconds",)
_SUMS = ("arrived", "consumed", "resets", "samples", "unknown_samples")


def finished(rows: DataFrame, table: Table, grain_seconds: int) -> DataFrame:
    """Add what follows from other columns, and bring all into the table's order and types.

    Args:
        rows: Rows of one grain with window_start, the key and the aggregates.
        table: The history table.
        grain_seconds: The grain.
    """
    derived = {"samples_expected": samples_expected(grain_seconds)}
    names = table.polars_schema.names()
    for rate, amount in _RATES.items():
        if rate in names:
            derived[rate] = per_second(amount, f"{amount}_seconds")
    if "generated" not in rows.columns:
        derived["generated"] = F.lit(None)
    return _arranged(rows, table, derived | _place(grain_seconds))


def placed(rows: DataFrame, table: Table, grain_seconds: int) -> DataFrame:
    """Add the columns that the table is partitioned by to rows of one grain, as read from files."""
    return _arranged(rows, table, _place(grain_seconds))


def _place(grain_seconds: int) -> dict[str, Column]:
    start = F.col("window_start")
    return {
        "grain_seconds": F.lit(grain_seconds),
        "date": F.to_date(start),
        "part": F.hour(start) if grain_seconds == MINUTE else F.lit(0),
    }


def _arranged(rows: DataFrame, table: Table, derived: dict[str, Column]) -> DataFrame:
    """Return the table's columns in its order and types."""
    return rows.select(
        *(
            derived.get(column.name, F.col(column.name)).cast(column.spark_type).alias(column.name)
            for column in table.columns
        )
    )


def coarser(rows: DataFrame, table: Table, grain_seconds: int) -> DataFrame:
    """Roll the rows of one grain up into the next: all rows of a window must be there.

    Args:
        rows: Rows of the finer grain.
        table: The history table; its columns' names say how they merge.
        grain_seconds: The coarser grain.
    """
    names = [name for name in table.polars_schema.names() if name not in (*table.key, *_DERIVED)]
    has_lag = histogram.BUCKETS in names
    weight = histogram.size()
    aggregates: list[Column] = []
    for name in names:
        column = F.col(name)
        if name in (histogram.BUCKETS, histogram.COUNTS, "lag_p95"):
            continue
        if name == "lag_mean":
            merged = F.sum(column * weight) / F.sum(F.when(column.isNotNull(), weight))
        elif name == "busiest_partition_ratio":
            # The busiest partition's share in each minute, weighted by the minute's messages.
            arrived = F.when(column.isNotNull(), F.col("arrived"))
            merged = F.sum(column * arrived) / F.sum(arrived)
        elif name in _LAST or name.endswith("_last"):
            merged = last_known(name, "window_start")
        elif name in _SUMS or name in ("arrived_seconds", "consumed_seconds"):
            merged = F.sum(column)
        elif name == "generated":
            merged = F.bool_or(column)
        elif name.endswith("_max"):
            merged = F.max(column)
        elif name.endswith("_min"):
            merged = F.min(column)
        else:
            raise ValueError(f"{table.name}: nothing says how {name} merges")
        aggregates.append(merged.alias(f"_{name}"))
    if has_lag:
        aggregates.append(histogram.collected().alias("_entries"))
    key = [name for name in table.key if name not in ("grain_seconds", "window_start")]
    start = window_start(F.col("window_start"), grain_seconds).alias("window_start")
    windows = rows.groupBy(*key, start).agg(*aggregates)
    windows = windows.withColumnsRenamed({f"_{name}": name for name in names})
    if has_lag:
        windows = windows.withColumns(histogram.merged(F.col("_entries")))
        p95 = histogram.quantile(QUANTILE, F.col("lag_min"), F.col("lag_max"))
        windows = windows.withColumn("lag_p95", p95)
    return finished(windows, table, grain_seconds)
