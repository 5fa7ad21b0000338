"""When brokers went and came back, as marks for charts: pure functions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import polars as pl

from app.data.history import TIME
from app.style.charts.base import Event


def broker_events(cluster: pl.DataFrame) -> tuple[Event, ...]:
    """Return the moments at which brokers went and came back, as marks for charts."""
    return tuple(
        Event(at, "broker lost", "act") if after < before else Event(at, "broker back")
        for _, at, before, after in _steps(cluster, "brokers_alive")
    )


def _steps(
    frame: pl.DataFrame, value: str, by: str | None = None
) -> list[tuple[str, datetime, int, int]]:
    """Return where a value differs from the one before it: series, time, before, after."""
    keys = [by] if by else []
    name = pl.col(by) if by else pl.lit("")
    before: Callable[[pl.Expr], pl.Expr] = (
        (lambda column: column.shift(1).over(by)) if by else (lambda column: column.shift(1))
    )
    rows = (
        frame.filter(pl.col(value).is_not_null())
        .sort(*keys, TIME)
        .with_columns(before(pl.col(value)).alias("before"))
        .filter(pl.col("before").is_not_null() & (pl.col(value) != pl.col("before")))
        .select(name.alias("name"), pl.col(TIME), "before", pl.col(value).alias("after"))
    )
    return [(name, at, int(old), int(new)) for name, at, old, new in rows.iter_rows()]
