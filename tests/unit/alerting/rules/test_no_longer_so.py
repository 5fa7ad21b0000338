"""What lists tell of alerts that fire on for the time that their rule keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from alerting.rules.folding import as_listed
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from alerting.status.descriptions import WAIT_STEP
from tests import alert_of

CLUSTER = {"cluster": "c"}
BEFORE, NOW = 1990.0, 2000.0
CATCHES_UP = {"status": "CATCHING_UP", "step": WAIT_STEP, "last_true_at": NOW}


def alert(check: str, **given: Any) -> Alert:
    return alert_of.alert(check=check, **{"fingerprint": check, "rule": check} | given)


def row(check: str, *alerts: Alert) -> Alert:
    return next(one for one in as_listed(alerts) if one.check == check)


@pytest.mark.parametrize("lead", ["stopped", "stalled"])
def test_a_group_that_catches_up_has_no_deadline_of_before(lead: str) -> None:
    """Given a loss that was near at the poll before, then neither it nor its step are said."""
    mends = alert(lead, **CATCHES_UP)
    loss = alert("data_loss_deadline", deadline=5000.0, step="Raise it.", last_true_at=BEFORE)
    found = row(lead, loss, mends)
    assert (found.deadline, found.step) == (None, WAIT_STEP)
    assert row("data_loss_deadline", loss, mends).is_recovering


@pytest.mark.parametrize(
    ("last_true_at", "recovers"),
    [pytest.param(BEFORE, True, id="found before"), pytest.param(NOW, False, id="found now")],
)
def test_a_lone_loss_is_averted_once_its_group_is_seen_to_catch_up(
    last_true_at: float, recovers: bool
) -> None:
    loss = alert("data_loss_deadline", deadline=5000.0, last_true_at=last_true_at)
    (found,) = as_listed([loss], {("c", "g"): NOW})
    assert found.is_recovering is recovers
    (found,) = as_listed([loss], {("c", "h"): NOW, ("d", "g"): NOW})
    assert not found.is_recovering, "of another group"


@pytest.mark.parametrize(
    ("loss", "mends"),
    [
        pytest.param({"last_true_at": NOW}, {}, id="it would lose data meanwhile"),
        pytest.param({"no_data_since": NOW}, {}, id="nobody knows"),
        pytest.param({}, {"status": "STOPPED"}, id="it does not catch up"),
        pytest.param({}, {"last_true_at": BEFORE}, id="that it catches up is as old"),
        pytest.param({}, {"labels": {"cluster": "c", "group": "h"}}, id="another group does"),
        pytest.param({}, {"labels": {"cluster": "d", "group": "g"}}, id="in another cluster"),
    ],
)
def test_a_loss_that_may_still_come_stays(loss: dict[str, Any], mends: dict[str, Any]) -> None:
    near = alert("data_loss_deadline", **{"deadline": 5000.0, "last_true_at": BEFORE} | loss)
    found = row("data_loss_deadline", near, alert("stopped", **CATCHES_UP | mends))
    assert (found.deadline, found.is_recovering) == (5000.0, False)


def test_a_group_that_lost_data_and_catches_up_loses_none_now() -> None:
    loses = alert("losing_data", last_true_at=BEFORE)
    stopped = alert("stopped", inhibited_by="losing_data", **CATCHES_UP)
    assert row("losing_data", loses, stopped).recovering_since == BEFORE
    assert not row("stopped", loses, stopped).is_recovering


def under(cause: Alert, check: str, group: str, **given: Any) -> Alert:
    labels = {**CLUSTER, "group": group}
    of_it = {"fingerprint": group, "labels": labels, "inhibited_by": cause.fingerprint}
    return alert(check, **of_it | given)


@pytest.mark.parametrize(
    ("cause", "symptom", "recovers"),
    [
        pytest.param({"last_true_at": BEFORE}, {}, True, id="just over"),
        pytest.param({"last_true_at": NOW}, {}, False, id="so now"),
        pytest.param({"last_true_at": BEFORE, "no_data_since": NOW}, {}, False, id="unknown"),
        pytest.param({"last_true_at": BEFORE}, {"last_true_at": BEFORE}, False, id="a dip of all"),
        pytest.param({"last_true_at": BEFORE}, {"state": State.PENDING}, False, id="pending"),
    ],
)
def test_a_cause_that_is_just_over_leads_nothing_that_was_found_since(
    cause: dict[str, Any], symptom: dict[str, Any], recovers: bool
) -> None:
    broker = alert("broker_missing", labels=CLUSTER, **cause)
    late = under(broker, "falling_behind", "g", **symptom)
    assert row("broker_missing", late, broker).is_recovering is recovers


@pytest.mark.parametrize(
    "cause", [{"last_true_at": BEFORE}, {"resolved_at": BEFORE}, {"recovering_since": BEFORE}]
)
def test_what_leads_after_a_cause_is_a_symptom_that_is_so_now(cause: dict[str, float]) -> None:
    broker = alert("broker_missing", labels=CLUSTER, **{"last_true_at": BEFORE} | cause)
    found = as_listed(
        [
            broker,
            under(broker, "falling_behind", "so now", severity=AlertSeverity.WARNING),
            under(broker, "stopped", "just over", last_true_at=BEFORE),
            under(broker, "stalled", "unknown", last_true_at=BEFORE, no_data_since=NOW),
        ]
    )
    recovers = {one.labels["group"]: one.is_recovering for one in found if "group" in one.labels}
    assert recovers == {"so now": False, "just over": True, "unknown": False}
    assert as_listed(found) == found


def test_symptoms_that_swing_under_a_cause_that_is_so_stay() -> None:
    broker = alert("broker_missing", labels=CLUSTER)
    swings = under(broker, "falling_behind", "g", last_true_at=BEFORE)
    assert not row("falling_behind", broker, swings).is_recovering
