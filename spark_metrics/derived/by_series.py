"""Seasons, forecasts and changes of every series: pure functions, spread over Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake.schemas.model import Table
from lake.schemas.tables import CHANGES, FORECASTS, SEASONALITY
from spark_metrics.derived.changes import changes
from spark_metrics.derived.forecast import HORIZON, forecast
from spark_metrics.derived.season import season
from spark_metrics.derived.series import HOUR_SECONDS, WEEK, Floats, on_grid
from spark_metrics.derived.tables import fields, names_of

SERIES = ("cluster", "subject", "name", "metric")
_Row = dict[str, Any]


def series(history: DataFrame, subject: str, name: str | None, *metrics: str) -> DataFrame:
    """Return the known values of history as one row each.

    Args:
        history: Hours of a history table.
        subject: What its rows are about: group, topic, cluster.
        name: The column that names it; None for the cluster itself.
        metrics: The columns to take.

    Returns:
        ``SERIES``, hour (since 1970), value, generated.
    """
    hour = F.floor(F.unix_seconds("window_start") / HOUR_SECONDS).cast("int")
    values = F.explode(
        F.array(
            *(
                F.struct(F.lit(metric).alias("metric"), F.col(metric).cast("double").alias("value"))
                for metric in metrics
            )
        )
    )
    rows = history.select(
        "cluster",
        F.lit(subject).alias("subject"),
        (F.lit("") if name is None else F.col(name)).alias("name"),
        hour.alias("hour"),
        "generated",
        values.alias("_"),
    )
    known = rows.select("*", "_.metric", "_.value").drop("_").where(F.col("value").isNotNull())
    return known.select(*SERIES, "hour", "value", "generated")


def collected(rows: DataFrame) -> DataFrame:
    """Return one row a series: its hours and values as arrays of the same order."""
    return rows.groupBy(*SERIES).agg(
        F.collect_list("hour").alias("hours"),
        F.collect_list("value").alias("values"),
        F.bool_or("generated").alias("generated"),
    )


def seasons(rows: DataFrame, now: datetime) -> DataFrame:
    """Return the rows of ``seasonality``.

    Args:
        rows: What ``collected`` returns.
        now: The end of the last hour.
    """
    return _mapped(rows, SEASONALITY, now, _season_rows)


def forecasts(rows: DataFrame, now: datetime) -> DataFrame:
    """Return the rows of ``forecasts``: the hours from ``now`` on; see ``seasons``."""
    return _mapped(rows, FORECASTS, now, _forecast_rows)


def changed(rows: DataFrame, now: datetime) -> DataFrame:
    """Return the rows of ``changes``; see ``seasons``."""
    return _mapped(rows, CHANGES, now, _change_rows)


def _mapped(
    rows: DataFrame,
    table: Table,
    now: datetime,
    of_series: Callable[[int, Floats], Iterable[_Row]],
) -> DataFrame:
    names = names_of(table)
    end = int(now.timestamp()) // HOUR_SECONDS

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            made: list[_Row] = []
            for one in batch.to_dict("records"):
                first, values = _until(*on_grid(one.pop("hours"), one.pop("values")), end)
                made.extend({**one, **row} for row in of_series(first, values))
            yield pd.DataFrame(made, columns=names, dtype=object)

    return rows.mapInPandas(work, fields(table))


def _until(first: int, values: Floats, end: int) -> tuple[int, Floats]:
    """Return the same series with what is unknown up to the present hour."""
    missing = end - first - len(values)
    return first, np.concatenate([values, np.full(max(0, missing), np.nan)])[: end - first]


def _season_rows(first: int, values: Floats) -> Iterator[_Row]:
    found = season(first, values)
    if found.reason is not None:
        yield {"status": "too little history", "reason": found.reason}
        return
    for hour in range(WEEK):
        names = ("p05", "p25", "p50", "p75", "p95")
        quantiles = zip(names, found.quantiles[hour], strict=True)
        yield {
            "hour_of_week": hour,
            **{name: _known(value) for name, value in quantiles},
            "samples": int(found.samples[hour]),
            "status": "ok",
        }


def _forecast_rows(first: int, values: Floats) -> Iterator[_Row]:
    found = forecast(values)
    about: _Row = {
        "grain_seconds": HOUR_SECONDS,
        "status": "ok" if found.reason is None else "too little history",
        "reason": found.reason,
        "method": found.method,
    }
    if found.measured is not None:
        about |= {
            "held_back_hours": found.measured.hours,
            "mae": found.measured.mae,
            "mae_seasonal_naive": found.measured.mae_seasonal_naive,
            "coverage_80": found.measured.coverage[0],
            "coverage_90": found.measured.coverage[1],
        }
    if not len(found.median):
        yield about
        return
    for step in range(HORIZON):
        yield about | {
            "window_start": _moment(first + len(values) + step),
            "median": _known(found.median[step]),
            "low_80": _known(found.low[0, step]),
            "high_80": _known(found.high[0, step]),
            "low_90": _known(found.low[1, step]),
            "high_90": _known(found.high[1, step]),
        }


def _change_rows(first: int, values: Floats) -> Iterator[_Row]:
    for change in changes(first, values):
        yield {
            "kind": change.kind,
            "changed_at": _moment(change.at_hour),
            "before": change.before,
            "after": change.after,
            "ratio": change.ratio,
            "ratio_low": change.ratio_low,
            "ratio_high": change.ratio_high,
            "confidence": change.confidence,
        }


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _moment(hour: int) -> datetime:
    return datetime.fromtimestamp(hour * HOUR_SECONDS, UTC)
