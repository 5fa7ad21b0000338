"""Rows of the decision table."""

from __future__ import annotations

from datetime import UTC, datetime

from alerting.checks.retention_deadline import Retention
from app.views.scaling import decisions
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
