"""An alert's life: pending, firing, resolved, damped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from alerting.checks.model import Observation
from alerting.evaluate.observations import group_observations
from alerting.inputs.windows import GroupKey
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.inhibition import advance_with_causes
from alerting.rules.lifecycle import Alert, Alerts, State, Worst, active, advance
from alerting.rules.model import AlertSeverity, Override, Rule, evaluate
from alerting.status.descriptions import WAIT_STEP
from alerting.status.model import GroupStatus, LagNumbers, Status

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


def test_what_comes_back_knows_when_it_began_the_first_time() -> None:
    once = [200.0] * 3 + [0.0] * 6
    third = [200.0] * 3 + [0.0] * 12 + [200.0] * 3
    seen = [alert for alert in run(once + third) if alert is not None]
    first, pending, again, last = seen[0], seen[9], seen[11], seen[-1]
    assert (first.first_at, first.has_come_back, first.first_began_at) == (None, False, 0.0)
    assert (pending.first_at, pending.has_come_back) == (0.0, False), "it may never fire"
    assert pending.first_began_at == pending.began_at == 135.0
    assert (again.began_at, again.first_began_at) == (135.0, 0.0)
    assert (last.flaps, last.first_began_at) == (2, 0.0), "the first of all times"


def test_what_comes_back_may_have_begun_before_its_first_time() -> None:
    long = replace(LAG, for_seconds=0.0, keep_firing_for_seconds=0.0)
    seen: Alerts = {}
    for at, value, before in ((0.0, 200, True), (15.0, 0, False), (30.0, 200, False)):
        observation = replace(lag(value), began_before=before)
        seen = advance(seen, evaluate((long,), [observation]), {}, at)
    (again,) = seen.values()
    assert (again.began_before, again.first_began_before) == (False, True)
    forgotten = advance(
        {again.fingerprint: replace(again, state=State.RESOLVED, resolved_at=40.0)},
        evaluate((long,), [lag(200)]),
        {},
        40.0 + 3601.0,
    )[again.fingerprint]
    assert (forgotten.first_at, forgotten.flaps) == (None, 0), "more than an hour later"


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
        seen.append((alert.untrue_since, alert.recovering_since))
    first, again = (10.0, 10.0), (60.0, 60.0)
    dips = [(10.0, None), (60.0, None)]
    assert seen == [(None, None), dips[0], first, first, (None, None), dips[1], again, (60.0, None)]


def test_what_is_observed_recovers_at_once_and_stays_open_as_long_as_its_rule_says() -> None:
    """Given a broker that is back, then no list says that it is missing, and it is notified once.

    A failed poll tells nothing, and what is missing again is the same trouble.
    """
    (rule,) = (one for one in DEFAULT_ALERT_RULES if one.check == "broker_missing")
    labels = {"cluster": "c", "broker": "2"}
    alerts: dict[str, Alert] = {}
    seen = []
    values = {0: 1, 5: 0, 10: 1, 15: 0, 20: None, 30: 0, 74: 0, 75: 0}
    for now, value in values.items():
        one = Observation(check="broker_missing", labels=labels, value=value)
        alerts = advance(alerts, evaluate((rule,), [one]), {}, float(now))
        (alert,) = alerts.values()
        seen.append((alert.state, alert.recovering_since))
    fires, mends = (State.FIRING, None), (State.FIRING, 15.0)
    assert seen[:4] == [fires, (State.FIRING, 5.0), fires, mends]
    assert seen[4:] == [mends, mends, (State.RESOLVED, None), (State.RESOLVED, None)]
    assert (alert.started_at, alert.untrue_since, alert.resolved_at) == (0.0, 15.0, 74.0)


@pytest.mark.parametrize(
    ("check", "values"),
    [
        pytest.param("lag", [200.0, 500.0, 500.0, 300.0], id="the highest"),
        pytest.param("disk_free", [0.1, 0.02, 0.02, 0.07], id="the lowest"),
    ],
)
def test_what_an_alert_said_at_its_worst_is_kept(check: str, values: list[float]) -> None:
    rule = replace(LAG, check=check, threshold=150.0 if check == "lag" else 0.15, for_seconds=0.0)
    alerts: Alerts = {}

    def see(now: float, value: float, *, stands: bool = False) -> Alert:
        nonlocal alerts
        seen = replace(lag(value), check=check, detail=f"it is {value:g}", stands=stands)
        alerts = advance_with_causes(alerts, evaluate((rule,), [seen]), now)
        (alert,) = alerts.values()
        return alert

    last = [see(float(now), value) for now, value in enumerate(values)][-1]
    assert last.worst == Worst(at=2.0, value=values[1], detail=f"it is {values[1]:g}")
    assert (last.value, last.detail) == (values[-1], f"it is {values[-1]:g}")
    mended = see(4.0, 9999.0 if check == "lag" else 0.001, stands=True)
    assert mended.worst == last.worst, "what is mended was no worse"


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


@pytest.mark.parametrize("check", ["stopped", "objective_missed"])
def test_what_mends_has_the_status_of_now(check: str) -> None:
    found = [one.status for one in of_status(Status.CATCHING_UP) if one.check == check]
    assert found == [Status.CATCHING_UP]


def test_catching_up_alone_is_no_alert() -> None:
    evaluation = evaluate(DEFAULT_ALERT_RULES, of_status(Status.CATCHING_UP))
    assert evaluation.standing
    assert advance_with_causes({}, evaluation, 0.0) == {}
