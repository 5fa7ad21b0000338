"""What reports of a week are made of, by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import polars as pl

from app.data.late_hours import by_group

END = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
START = END - timedelta(days=7)


class Frame:
    now = END
    zone: tzinfo = UTC


def hour(group: str, hours_before: float, late: float | None, **given: Any) -> dict[str, Any]:
    at = END - timedelta(hours=hours_before)
    told = {"group": group, "window_start": at, "time_lag_seconds_max": late}
    return {**told, "grain_seconds": 3600, **given}


def by_group_of(
    *rows: dict[str, Any], objective: Callable[[str], float] = lambda _: 10.0
) -> pl.DataFrame:
    hours = pl.DataFrame(
        [{"generated": None, **row} for row in rows],
        schema={
            "group": pl.String,
            "grain_seconds": pl.Int32,
            "window_start": pl.Datetime("us", "UTC"),
            "time_lag_seconds_max": pl.Float64,
            "generated": pl.Boolean,
        },
    )
    return by_group(hours, objective)


def now_late(*groups: str) -> pl.DataFrame:
    """Return groups that are late now, as ``late_hours.over_now`` does."""
    rows = [
        {"group": name, "objective_seconds": 10.0, "over_seconds": None, "whole_hours": 0}
        | {"worst_seconds": 50.0, "worst_at": END, "is_generated": False}
        for name in groups
    ]
    return pl.DataFrame(rows, schema=by_group_of().schema)
