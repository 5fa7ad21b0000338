"""What Spark derives for the generated lake: capacity, forecasts, and advice that was given."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
from deltalake import write_deltalake

from config.scaling import ScalingSettings
from lake.schemas.model import Table
from lake.schemas.tables import ADVICE_STATE, CAPACITY, FORECASTS, RECOMMENDATIONS
from lake.storage.append import conform
from lake.storage.store import Lake
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation
from scaling.evaluate import evaluate
from scaling.sizing.decide import DecisionHistory
from scaling.sizing.decision_history import to_text
from scaling.sizing.stability import Stability
from tests.app.world import CLUSTER

MEASURED = {"payments": 225.0, "billing": 320.0}
"""Messages per second of one consumer."""

FORECAST_HOURS = 24


def fill(lake: Lake, now: datetime) -> None:
    """Write capacity, forecasts, advice of two days ago and the advice of now, as the job does."""
    measured = [*(_capacity(group, now) for group in MEASURED), _seen("stock", 9.0, now)]
    _write(lake, CAPACITY, pl.DataFrame(measured))
    hours = [_forecast("payments", now, hour) for hour in range(FORECAST_HOURS)]
    too_little = {
        **{name: None for name in hours[0]},
        **_series("billing", now),
        "status": "too little history",
        "reason": "too little history: two weeks are needed",
    }
    _write(lake, FORECASTS, pl.DataFrame([*hours, too_little], infer_schema_length=None))
    watched = now - timedelta(hours=1)
    _write(lake, ADVICE_STATE, pl.DataFrame([_state("billing", 4, watched, now)]))
    ended = recommendation_rows([_advice("billing", 2, 3)], at=now - timedelta(days=2))
    given = recommendation_rows(evaluate(lake, CLUSTER, now, ScalingSettings()), at=now)
    _write(lake, RECOMMENDATIONS, recommendation_frame([*ended, *given]))


def _state(group: str, consumers: int, since: datetime, now: datetime) -> dict[str, object]:
    """Return the state of a group that could do with fewer for some time."""
    last = now - timedelta(minutes=10)
    history = DecisionHistory(
        at=last.timestamp(),
        consumers=consumers,
        stability=Stability(since=since.timestamp()),
    )
    return {
        "cluster": CLUSTER,
        "group": group,
        "state": to_text(history),
        "evaluated_at": last,
        "date": last.date(),
    }


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


def _seen(group: str, rate: float, now: datetime) -> dict[str, object]:
    """Return the capacity of a group whose consumers were never seen at their limit."""
    never = "no member was ever busy without a pause"
    return {
        "cluster": CLUSTER,
        "group": group,
        "status": "lower bound",
        "reason": f"At least {rate:.0f}/s of one consumer were seen, its limit was not: {never}.",
        "per_second": None,
        "low": rate,
        "high": None,
        "samples": 0,
        "episodes": 0,
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
        kind=AdviceKind.ADD_CONSUMERS,
        cluster=CLUSTER,
        subject=group,
        severity=AdviceSeverity.WATCH,
        confidence=Confidence.HIGH,
        reason="More arrived than was consumed.",
        quantity="consumers",
        current=current,
        proposed=proposed,
        limiting_factor="steady",
    )
