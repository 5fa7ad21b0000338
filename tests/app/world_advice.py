"""What Spark derives for the generated lake: capacity, forecasts, and advice that was given."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
from deltalake import write_deltalake

from lake.schema import Table
from lake.store import Lake, conform
from lake.tables import CAPACITY, FORECASTS, RECOMMENDATIONS
from scaling.model import Confidence, Kind, Recommendation, Severity
from scaling.rows import recommendation_frame, recommendation_rows
from tests.app.world import CLUSTER

MEASURED = {"payments": 225.0, "billing": 320.0}
"""Messages per second of one consumer."""

FORECAST_HOURS = 24


def fill(lake: Lake, now: datetime) -> None:
    """Write capacity, forecasts and the advice of the last days."""
    _write(lake, CAPACITY, pl.DataFrame([_capacity(group, now) for group in MEASURED]))
    hours = [_forecast("payments", now, hour) for hour in range(FORECAST_HOURS)]
    too_little = {
        **{name: None for name in hours[0]},
        **_series("billing", now),
        "status": "too little history",
        "reason": "too little history: two weeks are needed",
    }
    _write(lake, FORECASTS, pl.DataFrame([*hours, too_little], infer_schema_length=None))
    past, recent = now - timedelta(days=2), now - timedelta(hours=3)
    old = [_advice("billing", 2, 3), _advice("payments", 2, 12)]
    ended = recommendation_rows(old[:1], at=past)
    standing = recommendation_rows(old[1:], at=recent)
    confirmed = [{**row, "confirmed_at": now} for row in standing]
    _write(lake, RECOMMENDATIONS, recommendation_frame([*ended, *confirmed]))


def _write(lake: Lake, table: Table, frame: pl.DataFrame) -> None:
    rows = conform(table, frame)
    write_deltalake(lake.uri(table), rows.to_arrow(), mode="append", partition_by=["date"])


def _capacity(group: str, now: datetime) -> dict[str, object]:
    rate = MEASURED[group]
    return {
        "cluster": CLUSTER,
        "group": group,
        "status": "identified",
        "reason": "48 intervals without waiting in 4 episodes.",
        "per_second": rate,
        "low": 0.93 * rate,
        "high": 1.07 * rate,
        "samples": 48,
        "episodes": 4,
        "as_of": now,
        "date": now.date(),
    }


def _series(group: str, now: datetime) -> dict[str, object]:
    return {
        "cluster": CLUSTER,
        "subject": "group",
        "name": group,
        "metric": "arrival_per_second",
        "as_of": now,
        "date": now.date(),
    }


def _forecast(group: str, now: datetime, hour: int) -> dict[str, object]:
    level = 1200.0 + 250.0 * ((hour % 12) / 12)
    start = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=hour)
    return {
        **_series(group, now),
        "grain_seconds": 3600,
        "window_start": start,
        "median": level,
        "low_80": 0.85 * level,
        "high_80": 1.15 * level,
        "low_90": 0.8 * level,
        "high_90": 1.2 * level,
        "status": "ok",
    }


def _advice(group: str, current: int, proposed: int) -> Recommendation:
    return Recommendation(
        Kind.ADD_CONSUMERS,
        CLUSTER,
        group,
        Severity.WATCH,
        Confidence.HIGH,
        "More arrived than was consumed.",
        quantity="consumers",
        current=current,
        proposed=proposed,
        binding="steady",
    )
