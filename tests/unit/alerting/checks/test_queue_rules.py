"""Of which queues the default rules tell, and when."""

from __future__ import annotations

from typing import Any

import pytest

from alerting.checks.model import CheckInput
from alerting.evaluate.observations import evaluate_cluster, observe
from alerting.inputs.frames import Frames
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alert, State, advance
from alerting.rules.model import Rule
from lake.schemas.tables import QUEUES
from tests.unit.alerting.checks.check_world import FINE, POLL, Case, at, collections, frame
from tests.unit.alerting.evaluate.polled_rows import classified

RULE, LETTERS_LOST = (
    rule
    for check in ("queue_no_consumers", "queue_target_missing")
    for rule in DEFAULT_ALERT_RULES
    if rule.check == check
)
POLLS = 1 + int(RULE.for_seconds / POLL.total_seconds())
"""As many as the rule waits for."""


def polled(polls: int, rule: Rule = RULE, **queue: Any) -> list[Alert]:
    """Return the alerts of a queue that has been so for some polls."""
    alerts: dict[str, Alert] = {}
    for poll in range(polls):
        rows = [(each, FINE[QUEUES] | queue) for each in range(poll + 1)]
        tables = {
            "queues": frame(QUEUES, rows),
            "collections": collections(Case(), range(poll + 1), {}),
        }
        frames = Frames(cluster="c", now=at(poll).timestamp(), tables=tables)
        seen = observe(CheckInput(frames=frames, classify=classified), rule.check)
        alerts = advance(alerts, evaluate_cluster([rule], seen, "c"), {}, frames.now)
    return list(alerts.values())


def test_messages_that_nobody_consumes_fire_once_a_deploy_would_be_over() -> None:
    (waits,) = polled(POLLS - 1, ready=3, consumers=0)
    assert waits.state is State.PENDING
    (alert,) = polled(POLLS, ready=3, unacknowledged=1, consumers=0)
    assert (alert.state, alert.severity) == (State.FIRING, RULE.severity)
    assert (alert.what, alert.detail) == ("Nobody consumes q", "4 messages wait.")


@pytest.mark.parametrize(
    "queue",
    [
        pytest.param({"ready": 0}, id="no messages"),
        pytest.param({"kind": "dead letter"}, id="dead letters"),
        pytest.param({"kind": "retry"}, id="they go back by themselves"),
        pytest.param({"kind": "stream", "ready": None}, id="a stream has no backlog"),
        pytest.param({"consumers": None}, id="consumers unknown"),
        pytest.param({"ready": None}, id="depth unknown"),
        pytest.param({"deliver_per_second": 0.2}, id="taken one by one, without a consumer"),
    ],
)
def test_other_queues_without_consumers_need_nobody(queue: dict[str, Any]) -> None:
    assert polled(POLLS + 1, **{"ready": 3, "consumers": 0, **queue}) == []


def test_dead_letters_that_go_nowhere_fire_once_rabbitmq_has_made_its_definitions() -> None:
    (starts,) = polled(2, LETTERS_LOST, dead_letter_target_missing=True)
    assert starts.state is State.PENDING
    (alert,) = polled(3, LETTERS_LOST, dead_letter_target_missing=True)
    assert (alert.state, alert.severity) == (State.FIRING, LETTERS_LOST.severity)
