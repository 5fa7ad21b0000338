"""When brokers went and came back, as marks for charts: pure functions."""

from __future__ import annotations

import polars as pl

from app.data.history import TIME
from app.style.charts.base import ChartEvent


def broker_events(cluster: pl.DataFrame) -> tuple[ChartEvent, ...]:
    """Return the moments at which brokers went and came back, as marks for charts."""
    alive = pl.col("brokers_alive")
    steps = (
        cluster.filter(alive.is_not_null())
        .sort(TIME)
        .with_columns(before=alive.shift(1))
        .filter(alive != pl.col("before"))
        .select(TIME, "before", alive)
    )
    return tuple(
        ChartEvent(at=at, text="broker lost", kind="act")
        if after < before
        else ChartEvent(at=at, text="broker back")
        for at, before, after in steps.iter_rows()
    )
