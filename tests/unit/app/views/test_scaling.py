"""Rows of the decision table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from alerting.checks.retention_deadline import Retention
from app.data.context import View
from app.views.scaling import decisions, what_if
from lake.schemas.tables import GROUP_HISTORY
from scaling.advice.model import AdviceKind
from tests.unit.alerting.status.scenarios import constant
from tests.unit.scaling.advisers.advising import advice_on, facts, six

NOW = datetime(2026, 11, 25, tzinfo=UTC)


def test_advice_on_retention_has_its_deadline_like_any_other() -> None:
    late = facts(
        six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000, warm_up=0.0),
        retention=Retention(seconds=1200.0),
    )
    found = {one.kind: decisions.deadline(NOW, one, NOW) for one in advice_on(late)}
    assert found == {
        AdviceKind.RETENTION_DEADLINE: "data lost in 14 min",
        AdviceKind.ADD_CONSUMERS: "data lost in 14 min",
    }


def test_a_what_if_replays_no_generated_minutes(view: View) -> None:
    minutes = [
        {
            "cluster": "east",
            "group": "a",
            "grain_seconds": 60,
            "window_start": view.now - timedelta(minutes=ago),
            "arrival_per_second": float(ago),
            "generated": generated,
        }
        for ago, generated in ((3, True), (2, None), (1, None))
    ]
    view.lake.append(GROUP_HISTORY, pl.DataFrame(minutes, infer_schema_length=None))
    found = what_if.measured_minutes(view.cache_key, "east", "a", view)
    assert [one.arrival_per_second for one in found] == [2.0, 1.0]
