"""An alert's life: pending, firing, resolved, damped, inhibited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from alerting.checks.model import Observation
from alerting.evaluate.observations import group_observations
from alerting.inputs.windows import GroupKey
from alerting.notify.notifications import NotificationIntervals, NotificationKind, Notified, plan
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.inhibition import advance_with_causes, inhibited
from alerting.rules.lifecycle import Alert, Alerts, State, active, advance
from alerting.rules.model import AlertSeverity, Evaluation, Override, Rule, evaluate
from alerting.status.descriptions import WAIT_STEP
from alerting.status.model import GroupStatus, LagNumbers, Status

STALLED = Rule(
    name="GroupStalled",
    check="stalled",
    severity=AlertSeverity.CRITICAL,
    threshold=0.0,
    keep_firing_for_seconds=60.0,
)
LAG = Rule(
    name="Lag",
    check="lag",
    severity=AlertSeverity.WARNING,
    threshold=100.0,
    for_seconds=30.0,
    keep_firing_for_seconds=60.0,
)


def lag(value: float | None, group: str = "g") -> Observation:
    return Observation(
        check="lag", labels={"cluster": "c", "group": group}, value=value, what=f"{group} is late"
    )


def run(
    values: Sequence[float | None], *, rules: Iterable[Rule] = (LAG,), step: float = 15.0
) -> list[Alert | None]:
    """Return the one alert after each evaluation of a series."""
    alerts: Alerts = {}
    states: list[Alert | None] = []
    for index, value in enumerate(values):
        evaluation = evaluate(tuple(rules), [lag(value)])
        alerts = advance(alerts, evaluation, {}, index * step)
        states.append(next(iter(alerts.values()), None))
    return states


def words(values: Sequence[float | None], **options: float) -> list[str]:
    return [alert.state.value if alert else "-" for alert in run(values, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0, 0], ["-", "-"], id="nothing"),
        pytest.param([200, 200, 200], ["pending", "pending", "firing"], id="fires after for"),
        pytest.param([200, 0, 200], ["pending", "-", "pending"], id="a short peak is forgotten"),
        pytest.param(
            [200, None, 200], ["pending", "pending", "firing"], id="unknown changes nothing"
        ),
        pytest.param(
            [200, 200, 200, 0, 0, 0, 0, 0],
            [*["pending"] * 2, *["firing"] * 4, *["resolved"] * 2],
            id="resolved after keep_firing_for",
        ),
        pytest.param(
            [200, 200, 200, *[None] * 10],
            [*["pending"] * 2, *["firing"] * 11],
            id="never resolved by what is unknown",
        ),
    ],
)
def test_the_states_of_a_series(values: list[float | None], expected: list[str]) -> None:
    assert words(values) == expected


def test_one_identity_from_first_sight_to_resolution() -> None:
    seen = [alert for alert in run([200] * 4 + [0] * 6) if alert is not None]
    assert {alert.id for alert in seen} == {seen[0].id}
    assert seen[-1].state is State.RESOLVED
    assert seen[-1].started_at == 0.0


def test_what_comes_back_is_a_new_alert_and_damped() -> None:
    once = [200.0] * 3 + [0.0] * 6
    seen = [alert for alert in run(once + once + [0.0]) if alert is not None]
    first, second = seen[8], seen[9]
    assert first.state is State.RESOLVED
    assert second.id != first.id
    assert second.flaps == 1
    assert seen[11].keep_firing_for_seconds == 120.0
    assert seen[-1].state is State.FIRING, "the damped alert must be untrue for twice as long"


def test_two_instances_give_an_alert_the_same_identity() -> None:
    assert [a and a.id for a in run([200] * 3)] == [a and a.id for a in run([200] * 3)]


def test_a_pause_of_the_monitor_does_not_count_as_time_of_a_pending_alert() -> None:
    alerts = advance({}, evaluate((LAG,), [lag(200)]), {}, 0.0)
    alerts = advance(alerts, evaluate((LAG,), [lag(200)]), {}, 3600.0)
    (alert,) = alerts.values()
    assert (alert.state, alert.started_at) == (State.PENDING, 3600.0)


def test_an_alert_of_a_cluster_that_cannot_be_seen_stays() -> None:
    alerts = advance({}, evaluate((LAG,), [lag(200)]), {}, 0.0)
    alerts = advance(alerts, evaluate((LAG,), [lag(200)]), {}, 30.0)
    nothing = Observation(check="lag", labels={"cluster": "c"}, value=None)
    alerts = advance(alerts, evaluate((LAG,), [nothing]), {}, 3000.0)
    alerts = advance(alerts, evaluate((LAG,), [nothing]), {}, 6000.0)
    (alert,) = alerts.values()
    assert (alert.state, alert.no_data_since) == (State.FIRING, 3000.0)
    elsewhere = Observation(check="lag", labels={"cluster": "d"}, value=None)
    alerts = advance(alerts, evaluate((LAG,), [elsewhere]), {}, 6015.0)
    (alert,) = alerts.values()
    assert (alert.state, alert.no_data_since) == (State.RESOLVED, None)


def test_what_is_untrue_for_more_than_a_moment_recovers_until_it_is_true_or_over() -> None:
    rule = replace(LAG, for_seconds=0.0, keep_firing_for_seconds=60.0)
    alerts: dict[str, Alert] = {}
    seen = []
    values = {0: 200, 10: 0, 30: 0, 40: None, 50: 200, 60: 0, 80: 0, 110: 0}
    for now, value in values.items():
        one = Observation(check="lag", labels={"cluster": "c"}, value=None)
        given = one if value is None else lag(value)
        alerts = advance(alerts, evaluate((rule,), [given]), {}, float(now))
        (alert,) = alerts.values()
        seen.append((alert.recovering_since, alert.is_recovering))
    no, first, again = (None, False), (0.0, True), (50.0, True)
    assert seen == [no, no, first, first, no, no, again, no]


def test_a_value_that_may_be_worse_makes_true_but_not_untrue() -> None:
    def at_least(value: float) -> Observation:
        return replace(lag(value), may_be_worse=True)

    alerts = advance({}, evaluate((LAG,), [at_least(200)]), {}, 0.0)
    for now in (30.0, 3000.0):
        alerts = advance(alerts, evaluate((LAG,), [at_least(200)]), {}, now)
        alerts = advance(alerts, evaluate((LAG,), [at_least(0)]), {}, now + 1500.0)
        assert next(iter(alerts.values())).state is State.FIRING
    alerts = advance(alerts, evaluate((LAG,), [lag(0)]), {}, 6000.0)
    assert next(iter(alerts.values())).state is State.RESOLVED


def test_the_first_override_that_matches_applies() -> None:
    rule = Rule(
        name="Lag",
        check="lag",
        severity=AlertSeverity.WARNING,
        threshold=None,
        overrides=(
            Override(match={"group": "batch-.*"}, enabled=False),
            Override(
                match={"group": "pay.*", "cluster": "c"},
                threshold=10.0,
                severity=AlertSeverity.CRITICAL,
            ),
            Override(match={"group": ".*"}, threshold=1000.0),
        ),
    )
    found = evaluate((rule,), [lag(500, "batch-1"), lag(500, "pay"), lag(500, "other")])
    assert [(f.observation.labels["group"], f.rule.severity) for f in found.findings] == [
        ("pay", "critical")
    ]


def test_default_rules_have_unique_names_and_known_checks() -> None:
    assert len({rule.name for rule in DEFAULT_ALERT_RULES}) == len(DEFAULT_ALERT_RULES)
    seen = [
        Observation(check=rule.check, labels={"cluster": "c"}, value=value)
        for rule in DEFAULT_ALERT_RULES
        for value in (-1.0, 1e18)
    ]
    found = {f.rule.name for f in evaluate(DEFAULT_ALERT_RULES, seen).findings}
    assert found == {rule.name for rule in DEFAULT_ALERT_RULES if rule.threshold is not None}


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


def of_status(status: Status, lasting: bool = False) -> list[Observation]:
    numbers = LagNumbers(lag=5000, drain_seconds=36_500.0)
    found = GroupStatus(status=status, reason="r.", numbers=numbers, is_lasting=lasting)
    return group_observations({GroupKey("c", "g"): found}, now=0.0)


@pytest.mark.parametrize(
    ("trouble", "rule"),
    [
        (Status.STOPPED, "GroupStopped"),
        (Status.STALLED, "GroupStalled"),
        (Status.REWOUND, "GroupRewound"),
        (Status.FALLING_BEHIND, "GroupFallingBehind"),
    ],
)
def test_one_alert_stands_until_the_backlog_is_read(trouble: Status, rule: str) -> None:
    alerts: Alerts = {}
    phases = {
        600.0: (trouble, True),
        6000.0: (Status.CATCHING_UP, False),
        7000.0: (Status.FALLING_BEHIND, True),
        9000.0: (Status.CATCHING_UP, False),
        12_000.0: (Status.OK, False),
    }
    told: dict[str, float] = {}
    texts: list[str] = []
    for now in range(0, 12_000, 15):
        seen = next(one for end, one in phases.items() if now < end)
        evaluation = evaluate(DEFAULT_ALERT_RULES, of_status(*seen))
        alerts = advance_with_causes(alerts, evaluation, float(now))
        for alert in active(alerts.values()):
            if not alert.is_inhibited:
                told[alert.rule] = now
                texts.append(alert.what)
    assert list(told) == [rule]
    assert 9000 <= told[rule] < 9000 + 11 * 60
    assert "g is catching up" in texts


@pytest.mark.parametrize("check", ["stopped", "objective_missed"])
def test_only_who_catches_up_is_told_to_wait(check: str) -> None:
    steps = {
        status: one.step
        for status in (Status.CATCHING_UP, Status.FALLING_BEHIND, Status.STALLED)
        for one in of_status(status, lasting=True)
        if one.check == check and one.step
    }
    assert [status for status, step in steps.items() if step == WAIT_STEP] == [Status.CATCHING_UP]


def test_catching_up_alone_is_no_alert() -> None:
    evaluation = evaluate(DEFAULT_ALERT_RULES, of_status(Status.CATCHING_UP))
    assert evaluation.standing
    assert advance_with_causes({}, evaluation, 0.0) == {}


def notifications_of(
    series: Sequence[Sequence[str]],
    intervals: NotificationIntervals,
    step: float = 15.0,
    **options: object,
) -> list[tuple[float, str, int, int]]:
    """Return time, kind, firing and resolved of each notice about groups that are stopped."""
    alerts: Alerts = {}
    notified: dict[str, Notified] = {}
    sent = []
    for index, groups in enumerate(series):
        now = index * step
        seen = [
            Observation(check="stalled", labels={"cluster": "c", "group": g}, value=5.0)
            for g in groups
        ]
        alerts = advance(alerts, evaluate((STALLED,), seen), {}, now)
        notifications, notified = plan(alerts, notified, now, intervals, **options)  # type: ignore[arg-type]
        sent += [(now, n.kind.value, len(n.firing), len(n.resolved)) for n in notifications]
    return sent


def test_alerts_of_one_kind_are_told_together() -> None:
    intervals = NotificationIntervals(group_interval_seconds=60.0)
    series = [["a", "b"], *[["a", "b", "x"]] * 6]
    assert notifications_of(series, intervals) == [(0.0, "firing", 2, 0), (60.0, "firing", 3, 0)]


def test_the_last_resolution_is_told_at_once() -> None:
    intervals = NotificationIntervals(group_interval_seconds=600.0)
    assert notifications_of([["a"], *[[]] * 6], intervals) == [
        (0.0, "firing", 1, 0),
        (60.0, "resolved", 0, 1),
    ]


def test_it_is_repeated_until_somebody_looks_after_it() -> None:
    intervals = NotificationIntervals(repeat_interval_seconds=60.0)
    series = [["a"]] * 10
    assert [kind for _, kind, *_ in notifications_of(series, intervals)] == [
        NotificationKind.FIRING,
        NotificationKind.REPEAT,
        NotificationKind.REPEAT,
    ]
    quiet = notifications_of(series, intervals, is_acknowledged=lambda _: True)
    assert [kind for _, kind, *_ in quiet] == [NotificationKind.FIRING]


def test_what_is_silenced_is_not_told() -> None:
    assert notifications_of([["a"]] * 9, NotificationIntervals(), is_silent=lambda _: True) == []


def test_keys_are_the_same_in_each_instance_and_differ_between_notices() -> None:
    def keys() -> list[str]:
        alerts: Alerts = {}
        notified: dict[str, Notified] = {}
        found = []
        for index, groups in enumerate([["a"], ["a"], *[[]] * 10, ["a"]]):
            seen = [
                Observation(check="stalled", labels={"cluster": "c", "group": g}, value=5.0)
                for g in groups
            ]
            alerts = advance(alerts, evaluate((STALLED,), seen), {}, index * 15.0)
            notifications, notified = plan(alerts, notified, index * 15.0, NotificationIntervals())
            found += [notification.key for notification in notifications]
        return found

    assert len(set(keys())) == 3
    assert keys() == keys()
