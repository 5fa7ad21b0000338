"""What stalls as a broker comes back waits, and is told if it goes on."""

from __future__ import annotations

import pytest

from alerting.checks.model import Observation
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.inhibition import advance_with_causes
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import evaluate

BACK = 1120.0
BROKER = Observation(
    check="broker_missing", labels={"cluster": "c", "broker": "2"}, value=1.0, since=1000.0
)


def stalled(since: float, cluster: str = "c") -> Observation:
    return Observation(
        check="stalled",
        labels={"cluster": cluster, "group": "g"},
        value=9.0,
        since=since,
        cause="A call that hangs.",
        step="Look at the log.",
    )


def seen_at(seen: Observation, first: float, until: float) -> Alert:
    """Return an alert at a moment, of a broker that is back and a group that stalls after it."""
    alerts: dict[str, Alert] = {}
    for now in range(1000, int(until) + 1, 15):
        found = [*([BROKER] if now < BACK else []), *([seen] if now >= first else [])]
        alerts = advance_with_causes(alerts, evaluate(DEFAULT_ALERT_RULES, found), float(now))
    return next(one for one in alerts.values() if one.check == "stalled")


def test_a_group_that_stalls_as_a_broker_comes_back_is_told_only_once_that_lasts() -> None:
    waits = seen_at(stalled(1195.0), 1240.0, 1400.0)
    assert waits.state is State.PENDING
    assert waits.cause == "It began 1 min 15 s after broker 2 came back; it may heal by itself."
    assert waits.step.endswith("wait, it may heal by itself within 5 min.")
    lasts = seen_at(stalled(1195.0), 1240.0, 1450.0)
    assert lasts.state is State.FIRING
    assert (lasts.cause, lasts.step) == ("A call that hangs.", "Look at the log.")
    assert lasts.inhibited_by is None


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(stalled(900.0), id="it stalled before the broker was missing"),
        pytest.param(stalled(1195.0, "d"), id="of another cluster"),
    ],
)
def test_what_did_not_begin_with_the_broker_does_not_wait_for_it(seen: Observation) -> None:
    assert seen_at(seen, 1240.0, 1300.0).state is State.FIRING
