"""Seasons, forecasts and changes of series: rows of hours in, rows of tables out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
from pyspark.sql import DataFrame

from lake.schemas.model import Table
from spark_metrics.derived.changes import changes
from spark_metrics.derived.forecast import HORIZON, forecast
from spark_metrics.derived.season import QUANTILES, season
from spark_metrics.derived.series import HOUR_SECONDS, WEEK, Floats, on_grid
from spark_metrics.rollups.passes import Frames
from spark_metrics.samples import by_group

_Row = dict[str, Any]
OfSeries = Callable[[int, Floats], Iterable[_Row]]
"""Makes rows of a series: the first hour (since 1970), and one value an hour up to the present."""


def of_series(
    hours: DataFrame,
    metrics: tuple[str, ...],
    now: datetime,
    tasks: int,
    work: OfSeries,
    table: Table,
) -> DataFrame:
    """Return the rows that a function makes of each series.

    Args:
        hours: cluster, subject, name, window_start, generated, and the metrics.
        metrics: Each is a series of its own where any value of it is known.
        now: The end of the last hour.
        tasks: See ``by_group``.
        work: ``season_rows``, ``forecast_rows`` or ``change_rows``.
        table: Of which the rows are.
    """
    end = int(now.timestamp()) // HOUR_SECONDS

    def on_hours(frames: Frames) -> pl.DataFrame:
        made: list[_Row] = []
        hour = pl.col("window_start").dt.epoch("s") // HOUR_SECONDS
        subjects = frames["hours"].with_columns(hour.alias("hour"))
        for key, rows in subjects.group_by("cluster", "subject", "name", maintain_order=True):
            about = dict(zip(("cluster", "subject", "name"), key, strict=True))
            for metric in metrics:
                known = rows.filter(pl.col(metric).is_not_null())
                if known.is_empty():
                    continue
                first, values = on_grid(known["hour"].to_list(), known[metric].to_list())
                about |= {"metric": metric, "generated": known["generated"].any()}
                made.extend(about | row for row in work(first, _until(end - first, values)))
        return pl.DataFrame(made, schema=table.polars_schema)

    return by_group({"hours": (hours, "name")}, tasks, on_hours, table)


def _until(length: int, values: Floats) -> Floats:
    """Return the values up to the present hour, those that are missing unknown."""
    return np.concatenate([values, np.full(max(0, length - len(values)), np.nan)])[:length]


def season_rows(first: int, values: Floats) -> Iterator[_Row]:
    """Yield the rows of ``seasonality``."""
    found = season(first, values)
    if found.reason is not None:
        yield {"status": "too little history", "reason": found.reason}
        return
    names = [f"p{100 * at:02.0f}" for at in QUANTILES]
    for hour in range(WEEK):
        quantiles = zip(names, found.quantiles[hour], strict=True)
        yield {
            "hour_of_week": hour,
            **{name: _known(value) for name, value in quantiles},
            "samples": int(found.samples[hour]),
            "status": "ok",
        }


def forecast_rows(first: int, values: Floats) -> Iterator[_Row]:
    """Yield the rows of ``forecasts``: the hours that follow."""
    found = forecast(values)
    about: _Row = {
        "grain_seconds": HOUR_SECONDS,
        "status": "ok" if found.reason is None else "too little history",
        "reason": found.reason,
        "method": found.method,
    }
    if found.reason is not None:
        yield about
        return
    if found.measured is not None:
        about |= {
            "held_back_hours": found.measured.hours,
            "mae": found.measured.mae,
            "mae_seasonal_naive": found.measured.mae_seasonal_naive,
            "coverage_80": found.measured.coverage[0],
            "coverage_90": found.measured.coverage[1],
        }
    for step in range(HORIZON):
        yield about | {
            "window_start": _moment(first + len(values) + step),
            "median": _known(found.median[step]),
            "low_80": _known(found.low[0, step]),
            "high_80": _known(found.high[0, step]),
            "low_90": _known(found.low[1, step]),
            "high_90": _known(found.high[1, step]),
        }


def change_rows(first: int, values: Floats) -> Iterator[_Row]:
    """Yield the rows of ``changes``."""
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
