"""What advice says of itself while it stands: the condition, not its figures of minutes ago."""

from __future__ import annotations

import re

import pytest

from alerting.checks.retention_deadline import Retention
from scaling.facts.group_facts import GroupFacts
from tests.unit.alerting.status.scenarios import constant
from tests.unit.scaling.advisers.advising import advice_on, facts, six

AWAY = {"members": 0, "state": "empty", "capacity": constant(0.0), "backlog": 5000}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(facts(six(capacity=lambda t: 200.0 if t < 200 else 0.0)), id="blocked"),
        pytest.param(facts(six(**AWAY), holders=lambda p: None), id="stopped"),
        pytest.param(
            facts(six(**AWAY), holders=lambda p: None, retention=Retention(seconds=3600.0)),
            id="retention is close",
        ),
        pytest.param(
            facts(six(arrival=constant(100.0), capacity=constant(60.0), warm_up=0.0)), id="late"
        ),
        pytest.param(
            facts(six(backlog=200_000, capacity=constant(220.0), warm_up=0.0)), id="catching up"
        ),
    ],
)
def test_advice_leaves_figures_that_age_within_minutes_to_its_evidence(found: GroupFacts) -> None:
    for advice in advice_on(found):
        assert not re.search(r"\d (s|min|messages)\b|/s\b", advice.reason), advice.reason
