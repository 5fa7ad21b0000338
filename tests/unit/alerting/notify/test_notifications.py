"""Which messages follow from alerts, and when."""

from __future__ import annotations

from collections.abc import Sequence

from alerting.checks.model import Observation
from alerting.notify.notifications import NotificationIntervals, NotificationKind, Notified, plan
from alerting.rules.lifecycle import Alerts, advance
from alerting.rules.model import AlertSeverity, Rule, evaluate

STALLED = Rule(
    name="GroupStalled",
    check="stalled",
    severity=AlertSeverity.CRITICAL,
    threshold=0.0,
    keep_firing_for_seconds=60.0,
)


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
