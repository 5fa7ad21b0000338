"""How alerts stand in lists: what has one reason is one row, and nothing to act on is hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from alerting.rules.folding import as_it_was, as_listed
from alerting.rules.lifecycle import Alert, State, Told
from alerting.rules.model import AlertSeverity
from alerting.status.descriptions import WAIT_STEP
from tests import alert_of

CRITICAL, WARNING = AlertSeverity.CRITICAL, AlertSeverity.WARNING
NEAR, FAR = 5000.0, 9000.0


def alert(check: str, severity: AlertSeverity = CRITICAL, **given: Any) -> Alert:
    of_all = {"fingerprint": f"{check} {severity}", "rule": check, "step": check} | given
    return alert_of.alert(check=check, severity=severity, **of_all)


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


def test_a_loss_has_one_name_while_it_fires_and_is_told_in_the_past_once_it_is_over() -> None:
    given = alert("losing_data", what="g loses data")
    over = replace(given, state=State.RESOLVED, resolved_at=2000.0)
    recovers = replace(given, recovering_since=1500.0)
    names = [as_listed([one])[0].what for one in (given, recovers, over)]
    assert names == ["g loses data", "g lost data", "g lost data"]
    assert as_it_was(over).what == "g lost data", "in histories, too"


def test_two_rules_of_one_deadline_are_one_row() -> None:
    near, coming = alert("data_loss_deadline"), alert("data_loss_deadline", WARNING)
    assert [one.id for one in causes(coming, near)] == [near.id]


@pytest.mark.parametrize(
    "lead",
    [
        pytest.param({"labels": {"cluster": "c", "group": "other"}}, id="another group"),
        pytest.param({"labels": {"cluster": "d", "group": "g"}}, id="another cluster"),
        pytest.param({"state": State.PENDING}, id="not certain yet"),
        pytest.param({"started_at": 700.0, "resolved_at": 900.0}, id="over before it began"),
        pytest.param({"status": "falling_behind"}, id="not so bad"),
    ],
)
def test_what_needs_somebody_by_itself_stays_a_row(lead: dict[str, Any]) -> None:
    loss = alert("data_loss_deadline")
    assert loss in causes(loss, alert(lead.get("status", "stopped"), **lead))


@pytest.mark.parametrize("trouble", ["stopped", "stalled", "falling_behind", "objective_missed"])
def test_what_a_group_will_lose_stands_under_what_its_trouble_follows_from(trouble: str) -> None:
    redrive = alert("redrive_stopped", WARNING, labels={"cluster": "c", "name": "dlq"})
    held = alert(trouble, WARNING, inhibited_by=redrive.fingerprint)
    near = alert("data_loss_deadline", deadline=NEAR)
    coming = alert("data_loss_deadline", WARNING, inhibited_by=redrive.fingerprint, deadline=NEAR)
    for given in ([redrive, held, near, coming], [near, coming, held, redrive]):
        (row,) = causes(*given)
        assert (row.step, row.severity, row.deadline) == ("redrive_stopped", CRITICAL, NEAR)
        under = {one.fingerprint: one.inhibited_by for one in as_listed(given)}
        # Who is not shown the cause has the trouble of the group as one row.
        assert under[near.fingerprint] == under[coming.fingerprint] == held.fingerprint
    (row,) = (one for one in as_listed([held, near]) if one.check == trouble)
    assert (row.severity, row.deadline) == (CRITICAL, NEAR)
    assert as_listed(as_listed([redrive, held, near])) == as_listed([redrive, held, near])


def test_trouble_under_a_cause_of_its_own_group_leads_nothing_that_stands_for_itself() -> None:
    missed = alert("objective_missed")
    behind = alert("falling_behind", WARNING, inhibited_by=missed.fingerprint)
    loss = alert("data_loss_deadline")
    assert causes(missed, behind, loss) == [missed, loss]


def test_what_may_be_lost_raises_no_row_before_it_fires() -> None:
    redrive = alert("redrive_stopped", WARNING, labels={"cluster": "c", "name": "dlq"})
    held = alert("stopped", WARNING, inhibited_by=redrive.fingerprint)
    loss = alert("data_loss_deadline", state=State.PENDING, deadline=NEAR)
    (row,) = causes(redrive, held, loss)
    assert (row.severity, row.deadline) == (WARNING, NEAR)


def test_what_fires_is_not_folded_under_what_may_never_fire() -> None:
    stopped = alert("stopped", state=State.PENDING)
    fires = alert("objective_missed", inhibited_by=stopped.fingerprint)
    assert causes(stopped, fires) == [stopped, replace(fires, inhibited_by=None)]
    over = replace(stopped, state=State.RESOLVED, resolved_at=1900.0)
    may_fire = replace(fires, state=State.PENDING)
    assert causes(over, may_fire)[1] == replace(may_fire, inhibited_by=None)


def test_what_is_over_says_what_it_said_before_it_was_mended() -> None:
    was = Told(
        until=1500.0,
        severity=CRITICAL,
        what="g stopped",
        detail="99 wait.",
        step="Start.",
        cause="It has no member.",
    )
    mended = alert(
        "stopped", what="g is catching up", detail="9 wait.", step=WAIT_STEP, before_mending=was
    )
    (row,) = as_listed([mended])
    assert (row.what, row.severity) == ("g is catching up", CRITICAL)
    (over,) = as_listed([replace(mended, state=State.RESOLVED, resolved_at=3000.0)])
    assert (over.what, over.detail, over.step) == ("g stopped", "99 wait.", "Start.")
    assert over.cause == "It has no member."
    assert over.severity is CRITICAL
    broker = alert("broker_missing", labels={"cluster": "c"}, what="Broker 2", resolved_at=3000.0)
    assert as_listed([broker])[0].what == "Broker 2"


def test_alerts_that_are_over_are_folded_where_they_overlapped() -> None:
    lead = alert("stopped", resolved_at=1500.0)
    loss = alert("data_loss_deadline", started_at=1100.0, resolved_at=1600.0)
    assert [one.check for one in causes(loss, lead)] == ["stopped"]
    mended = replace(lead, step=WAIT_STEP)
    assert [one.check for one in causes(loss, mended)] == ["stopped"], "it led while it lasted"
    later = alert("data_loss_deadline", started_at=1900.0, resolved_at=1950.0)
    assert causes(later, lead) == as_listed([later, lead])


@pytest.mark.parametrize("ended", [pytest.param(None, id="goes on"), 1600.0])
def test_what_followed_from_a_cause_stands_under_it_whether_it_goes_on_or_is_over(
    ended: float | None,
) -> None:
    """Given what outlived its cause, so that it is notified on its own, then it is its symptom."""
    broker = alert("broker_missing", labels={"cluster": "c"}, resolved_at=1500.0)
    slow = alert("falling_behind", WARNING, followed=broker.fingerprint, resolved_at=ended)
    missed = alert("objective_missed", followed=broker.fingerprint, resolved_at=ended)
    again = replace(slow, inhibited_by=missed.fingerprint)
    assert [one.check for one in causes(broker, slow, missed)] == ["broker_missing"]
    assert [one.check for one in causes(broker, again, missed)] == ["broker_missing"]
    stopped = alert("stopped", resolved_at=1500.0)
    loss = alert("data_loss_deadline", started_at=1100.0, resolved_at=ended)
    assert [one.check for one in causes(loss, stopped)] == ["stopped"]
    stalled = alert("stalled", started_at=1200.0)
    under = {one.check: one.inhibited_by for one in as_listed([loss, stopped, stalled])}
    assert under["data_loss_deadline"] == stalled.fingerprint, "what goes on leads"


def test_two_rules_of_one_deadline_stay_one_row_once_it_is_near_no_more() -> None:
    near = alert("data_loss_deadline", resolved_at=1900.0)
    coming = alert("data_loss_deadline", WARNING, deadline=FAR)
    (row,) = causes(coming, near)
    assert (row.id, row.deadline) == (near.id, FAR)


def test_a_group_that_catches_up_keeps_its_row_and_how_urgent_it_was() -> None:
    """Given data that is soon lost meanwhile, then it stays under the cause, whose step it is."""
    mends = alert("stopped", step=WAIT_STEP)
    assert [(one.severity, one.step) for one in causes(mends)] == [(CRITICAL, WAIT_STEP)]
    loss = alert("data_loss_deadline", started_at=1400.0, deadline=NEAR)
    over = replace(loss, state=State.RESOLVED, resolved_at=1600.0)
    missed = alert("objective_missed", step=WAIT_STEP)
    for found, step in ((loss, loss.step), (over, WAIT_STEP)):
        (row,) = causes(mends, missed, found)
        assert (row.id, row.severity, row.step) == (mends.id, CRITICAL, step)


def test_a_row_is_as_severe_as_the_worst_that_fires_of_it() -> None:
    connector = alert("connector_failed", WARNING, labels={"cluster": "c", "connector": "sink"})
    held = alert("stalled", inhibited_by=connector.fingerprint)
    assert [one.severity for one in causes(connector, held)] == [CRITICAL]
    may_fire = replace(held, state=State.PENDING)
    assert [one.severity for one in causes(connector, may_fire)] == [WARNING]


def test_a_cause_that_is_over_stays_as_severe_as_it_was_while_symptoms_go_on() -> None:
    broker = alert("broker_missing", labels={"cluster": "c"}, resolved_at=1900.0)
    before = alert("broker_missing", labels={"cluster": "c"}, started_at=1.0, resolved_at=2.0)
    symptom = alert("under_replicated", WARNING, inhibited_by=broker.fingerprint)
    listed = as_listed([before, broker, symptom])
    assert [one.severity for one in listed] == [CRITICAL, CRITICAL, WARNING]
    assert "wait" in listed[1].step


def test_what_recovers_leaves_a_row_its_severity_and_no_deadline() -> None:
    lead = alert("stopped", WARNING, deadline=FAR)
    mended = alert("data_loss_deadline", deadline=NEAR, recovering_since=1500.0)
    (row,) = causes(mended, lead)
    assert (row.severity, row.deadline, row.is_recovering) == (CRITICAL, FAR, False)


def test_a_cause_that_recovers_does_so_while_its_symptoms_go_on() -> None:
    cause = alert("broker_missing", recovering_since=1500.0, labels={"cluster": "c"})
    late = alert("stalled", WARNING, inhibited_by=cause.fingerprint)
    found = next(one for one in as_listed([late, cause]) if one.check == "broker_missing")
    assert (found.severity, found.is_recovering) == (CRITICAL, True)
