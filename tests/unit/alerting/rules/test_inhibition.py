"""Causes hold their symptoms back; what both have said is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.checks.model import Observation
from alerting.notify.notifications import NotificationIntervals, Notified, plan
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.inhibition import advance_with_causes, inhibited
from alerting.rules.lifecycle import Alerts, State, advance
from alerting.rules.model import Evaluation, evaluate


def finding_set(*observations: Observation) -> Evaluation:
    return evaluate(DEFAULT_ALERT_RULES, observations)


def held(*observations: Observation) -> dict[str, str]:
    """Return rule of the symptom: rule of its cause."""
    found = finding_set(*observations).findings
    names = {f.fingerprint: f.rule.name for f in found}
    return {names[a]: names[b] for a, b in inhibited(found).items()}


def of_group(check: str, since: float | None = None, **related: str) -> Observation:
    return Observation(
        check=check,
        labels={"cluster": "c", "group": "g"},
        value=5.0,
        since=since,
        related=related,
        status="X",
    )


def of_cluster(check: str, since: float | None = None, **labels: str) -> Observation:
    return Observation(check=check, labels={"cluster": "c", **labels}, value=5.0, since=since)


BROKER = of_cluster("broker_missing", 1000.0, broker="2")


@pytest.mark.parametrize(
    ("observations", "expected"),
    [
        pytest.param(
            [BROKER, of_cluster("under_replicated", topic="t"), of_group("unknown")],
            {"UnderReplicated": "BrokerMissing", "GroupUnknown": "BrokerMissing"},
            id="a missing broker explains replication and unknown groups",
        ),
        pytest.param(
            [BROKER, of_group("stalled", 1100.0)],
            {"GroupStalled": "BrokerMissing"},
            id="a group that stalls with the outage",
        ),
        pytest.param(
            [BROKER, replace(of_group("objective_missed", 1900.0), began=1100.0)],
            {"GroupMissesObjective": "BrokerMissing"},
            id="fell behind with the outage, and missed its objective later",
        ),
        pytest.param([BROKER, of_group("stalled", 100.0)], {}, id="stalled before the outage"),
        pytest.param([BROKER, of_group("stalled", 9000.0)], {}, id="stalled long after it"),
        pytest.param([BROKER, of_group("losing_data", 1100.0)], {}, id="loss is never held back"),
        pytest.param(
            [of_cluster("partitions_offline", topic="t"), of_cluster("under_min_isr", topic="t")],
            {"UnderMinIsr": "PartitionsOffline"},
            id="offline explains under min ISR",
        ),
        pytest.param(
            [of_cluster("partitions_offline", topic="t"), of_cluster("under_min_isr", topic="u")],
            {},
            id="of another topic it does not",
        ),
        pytest.param(
            [
                of_cluster("collection_failed", source="kafka", section="group_offsets"),
                of_group("unknown"),
            ],
            {"GroupUnknown": "CollectionFailed"},
            id="a failed section explains unknown groups",
        ),
        pytest.param(
            [of_group("stopped"), of_group("idle_consumers"), of_cluster("tasks_failed")],
            {"IdleConsumers": "GroupStopped"},
            id="idle consumers of a stopped group",
        ),
        pytest.param(
            [
                Observation(
                    check="tasks_failed",
                    labels={"cluster": "c", "connect": "k", "connector": "x"},
                    value=1.0,
                    related={"group": "g"},
                ),
                of_group("stalled"),
            ],
            {"GroupStalled": "ConnectorTasksFailed"},
            id="failed tasks explain their sink's group",
        ),
    ],
)
def test_causes_hold_symptoms_back(
    observations: list[Observation], expected: dict[str, str]
) -> None:
    assert held(*observations) == expected


def test_a_symptom_is_told_when_it_outlives_its_cause() -> None:
    alerts: Alerts = {}
    notified: dict[str, Notified] = {}
    sent: list[tuple[float, str, str]] = []
    for tick in range(30):
        now = tick * 15.0
        seen = [of_group("stalled", 1100.0), *([BROKER] if tick < 8 else [])]
        evaluation = finding_set(*seen)
        alerts = advance(alerts, evaluation, inhibited(evaluation.findings), now)
        notifications, notified = plan(alerts, notified, now, NotificationIntervals())
        sent += [
            (now, notification.kind.value, notification.group) for notification in notifications
        ]
        if tick == 0:
            assert [alert.rule for alert in notifications[0].inhibited] == ["GroupStalled"]
    # Broker: true until 105 s, resolved at 165 s; the symptom has another minute to go.
    assert sent == [
        (0.0, "firing", "c/BrokerMissing"),
        (165.0, "resolved", "c/BrokerMissing"),
        (225.0, "firing", "c/GroupStalled"),
    ]


def test_what_outlives_its_cause_remembers_it_and_the_cause_is_kept_as_long() -> None:
    """Given a group that falls behind for hours after a broker was back, then pages fold it."""
    alerts: Alerts = {}
    course: dict[int, tuple[object, object, bool]] = {}
    for now in range(1000, 13_000, 15):
        seen = [BROKER] if now < 1100 else []
        late = [of_group("stalled", 1100.0)] if now < 8000 else []
        alerts = advance_with_causes(alerts, finding_set(*seen, *late), float(now))
        found = {one.check: one for one in alerts.values()}
        cause, symptom = found.get("broker_missing"), found.get("stalled")
        follows = symptom and (symptom.inhibited_by or symptom.followed)
        course[now] = (cause and cause.state, symptom and symptom.state, follows is not None)
        if cause is not None and symptom is not None:
            assert follows == cause.fingerprint
    assert course[1105] == (State.FIRING, State.FIRING, True)
    assert course[7990] == (State.RESOLVED, State.FIRING, True)
    assert course[9985] == (None, State.RESOLVED, True)
    assert alerts == {}, "each is forgotten an hour after it is told no more"


def test_what_came_back_after_more_than_an_hour_does_not_flap() -> None:
    """Given a cause that is kept for what outlives it, then it has not come back soon."""
    alerts: Alerts = {}
    for now in range(1000, 6000, 15):
        seen = [BROKER] if now < 1100 or now > 5900 else []
        found = finding_set(*seen, of_group("stalled", 1100.0))
        alerts = advance_with_causes(alerts, found, float(now))
    assert next(one.flaps for one in alerts.values() if one.check == "broker_missing") == 0


def test_nothing_follows_from_what_never_fired() -> None:
    alerts: Alerts = {}
    behind = of_group("falling_behind", 900.0)
    for now in range(1000, 1300, 15):
        seen = [of_group("stopped", 990.0)] if now < 1030 else []
        alerts = advance_with_causes(alerts, finding_set(*seen, behind), float(now))
    (late,) = alerts.values()
    assert (late.check, late.inhibited_by, late.followed) == ("falling_behind", None, None)


def test_a_symptom_that_was_over_before_it_fired_is_kept_with_a_cause_that_fired() -> None:
    alerts: Alerts = {}
    lacking = of_cluster("under_replicated", topic="t")
    for now, seen in ((0.0, [BROKER, lacking]), (15.0, [BROKER])):
        alerts = advance_with_causes(alerts, finding_set(*seen), now)
    symptom = next(one for one in alerts.values() if one.check == "under_replicated")
    assert (symptom.state, symptom.fired_at, symptom.resolved_at) == (State.RESOLVED, None, 15.0)
    again = advance_with_causes(alerts, finding_set(BROKER, lacking), 30.0)[symptom.fingerprint]
    assert (again.state, again.flaps) == (State.PENDING, 0)


def test_a_symptom_that_outlives_its_cause_and_never_fires_is_kept_with_it() -> None:
    """Given a broker that is back: leaders move back to it some minutes later."""
    alerts: Alerts = {}
    lacking = of_cluster("under_replicated", 1000.0, topic="t")
    for now in range(1000, 1400, 15):
        seen = [*([BROKER] if now < 1020 else []), *([lacking] if now < 1200 else [])]
        alerts = advance_with_causes(alerts, finding_set(*seen), float(now))
    symptom = next(one for one in alerts.values() if one.check == "under_replicated")
    broker = next(one for one in alerts.values() if one.check == "broker_missing")
    assert (symptom.state, symptom.fired_at) == (State.RESOLVED, None)
    assert (symptom.inhibited_by or symptom.followed) == broker.fingerprint


def test_a_symptom_of_a_cause_that_never_fired_is_forgotten_with_it() -> None:
    seen = finding_set(of_group("stalled"), of_group("idle_consumers"))
    alerts = advance_with_causes({}, seen, 0.0)
    assert {one.state for one in alerts.values()} == {State.PENDING}
    assert advance_with_causes(alerts, finding_set(), 15.0) == {}


def test_what_fired_before_a_cause_stays_a_row_though_its_group_joined_anew_meanwhile() -> None:
    alerts: Alerts = {}
    # Connect's group rebalances while the broker is lost: its status is dated anew.
    for now, seen in (
        (900.0, [of_group("stopped", 100.0)]),
        (1005.0, [of_group("stopped", 1004.0), BROKER]),
    ):
        alerts = advance_with_causes(alerts, finding_set(*seen), now)
    stopped = next(one for one in alerts.values() if one.check == "stopped")
    assert (stopped.inhibited_by, stopped.since) == (None, 100.0)
    both = finding_set(of_group("stopped", 1004.0), BROKER)
    fresh = advance_with_causes({}, both, 1005.0)
    assert any(one.check == "stopped" and one.inhibited_by for one in fresh.values())


@pytest.mark.parametrize(
    ("fires_at", "follows"),
    [
        pytest.param(995.0, False, id="its alert had fired"),
        pytest.param(1005.0, True, id="it was not told yet"),
    ],
)
def test_who_was_told_to_be_in_trouble_before_an_outage_is_no_symptom_of_it(
    fires_at: float, follows: bool
) -> None:
    """Given consumers that somebody stopped some seconds before a broker was lost."""
    alerts: Alerts = {}
    stopped = of_group("stopped", 980.0)
    pending_for = next(rule for rule in DEFAULT_ALERT_RULES if rule.check == "stopped").for_seconds
    first = fires_at - pending_for
    for now, seen in (
        (first, [stopped]),
        (fires_at, [stopped]),
        (1006.0, [stopped, BROKER]),
        (1066.0, [stopped, BROKER]),
    ):
        if follows and now == fires_at:
            continue  # nobody looked meanwhile
        alerts = advance_with_causes(alerts, finding_set(*seen), now)
    one = next(alert for alert in alerts.values() if alert.check == "stopped")
    assert (one.inhibited_by is not None) is follows


def test_an_alert_keeps_what_it_said_before_what_it_fired_for_was_mended() -> None:
    alerts: Alerts = {}
    kept = {}
    for now in range(0, 675, 15):
        what, detail = ("g stopped", "9 wait") if now < 600 or now > 645 else ("g catches up", "2")
        seen = replace(of_group("stopped"), what=what, detail=detail, stands=what != "g stopped")
        alerts = advance_with_causes(alerts, finding_set(seen), float(now))
        (kept[now],) = alerts.values()
    was = kept[645].before_mending
    assert was is not None
    assert (was.until, was.what, was.detail) == (600.0, "g stopped", "9 wait")
    assert kept[600].before_mending == was
    assert kept[645].what == "g catches up"
    assert kept[585].before_mending is kept[660].before_mending is None
