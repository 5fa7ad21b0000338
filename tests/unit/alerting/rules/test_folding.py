"""How alerts stand in lists: what has one reason is one row, and nothing to act on is hidden."""

from __future__ import annotations

from typing import Any

import pytest

from alerting.rules.folding import as_listed
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from alerting.status.descriptions import WAIT_STEP

CRITICAL, WARNING = AlertSeverity.CRITICAL, AlertSeverity.WARNING
NEAR, FAR = 5000.0, 9000.0


def alert(check: str, severity: AlertSeverity = CRITICAL, **given: Any) -> Alert:
    ended = given.get("resolved_at")
    return Alert(
        **{
            "fingerprint": f"{check} {severity}",
            "rule": check,
            "check": check,
            "severity": severity,
            "labels": {"cluster": "c", "group": "g"},
            "state": State.FIRING if ended is None else State.RESOLVED,
            "started_at": 1000.0,
            "last_true_at": 2000.0,
            "step": check,
            **given,
        }
    )


def causes(*alerts: Alert) -> list[Alert]:
    return [one for one in as_listed(alerts) if one.inhibited_by is None]


@pytest.mark.parametrize("status", ["losing_data", "stopped", "stalled"])
@pytest.mark.parametrize("folded", ["data_loss_deadline", "objective_missed"])
def test_what_follows_from_the_trouble_of_a_group_is_one_row_with_it(
    status: str, folded: str
) -> None:
    lead = alert(status, WARNING, deadline=FAR)
    symptom = alert(folded, deadline=NEAR, started_at=900.0)
    (row,) = causes(symptom, lead)
    assert (row.step, row.severity, row.deadline) == (status, CRITICAL, NEAR)
    assert [one.inhibited_by for one in as_listed([symptom])] == [None]


def test_two_rules_of_one_deadline_are_one_row() -> None:
    near, coming = alert("data_loss_deadline"), alert("data_loss_deadline", WARNING)
    assert [one.id for one in causes(coming, near)] == [near.id]


@pytest.mark.parametrize(
    "lead",
    [
        pytest.param({"labels": {"cluster": "c", "group": "other"}}, id="another group"),
        pytest.param({"labels": {"cluster": "d", "group": "g"}}, id="another cluster"),
        pytest.param({"state": State.PENDING}, id="not certain yet"),
        pytest.param({"resolved_at": 1900.0}, id="over"),
        pytest.param({"step": WAIT_STEP}, id="its step does not help"),
        pytest.param({"inhibited_by": "broker"}, id="under another cause"),
        pytest.param({"status": "falling_behind"}, id="not so bad"),
    ],
)
def test_what_needs_somebody_by_itself_stays_a_row(lead: dict[str, Any]) -> None:
    loss = alert("data_loss_deadline")
    assert loss in causes(loss, alert(lead.get("status", "stopped"), **lead))


def test_alerts_that_are_over_are_folded_where_they_overlapped() -> None:
    lead = alert("stopped", resolved_at=1500.0)
    loss = alert("data_loss_deadline", started_at=1100.0, resolved_at=1600.0)
    assert causes(loss, lead) == [lead]
    later = alert("data_loss_deadline", started_at=1900.0, resolved_at=1950.0)
    assert causes(later, lead) == [later, lead]


def test_what_only_has_to_wait_is_to_watch_unless_data_is_soon_lost() -> None:
    mends = alert("stopped", step=WAIT_STEP)
    assert [one.severity for one in causes(mends)] == [WARNING]
    loss = alert("data_loss_deadline")
    assert [one.severity for one in causes(mends, loss)] == [WARNING, CRITICAL]


def test_a_cause_that_is_over_is_as_severe_as_what_goes_on() -> None:
    broker = alert("broker_missing", labels={"cluster": "c"}, resolved_at=1900.0)
    before = alert("broker_missing", labels={"cluster": "c"}, started_at=1.0, resolved_at=2.0)
    symptom = alert("under_replicated", WARNING, inhibited_by=broker.fingerprint)
    listed = as_listed([before, broker, symptom])
    assert [one.severity for one in listed] == [CRITICAL, WARNING, WARNING]
    assert "wait" in listed[1].step
