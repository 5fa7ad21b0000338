"""What to notify, and when: alerts grouped by cluster and cause. Pure functions.

A group of alerts is notified at once when it begins, again when it grows or ends (not more often
than the group interval), and repeated while nobody has acknowledged it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from alerting.rules.lifecycle import Alert, Alerts, State, active
from alerting.rules.model import SEVERITIES, AlertSeverity, worst


class NotificationKind(StrEnum):
    """Why a notification is sent."""

    FIRING = "firing"
    REPEAT = "repeat"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationIntervals:
    """How often a group of alerts is notified.

    Attributes:
        group_interval_seconds: Least time between two notifications of one group of alerts.
        repeat_interval_seconds: After how long a group that still fires is notified again.
    """

    group_interval_seconds: float = 60.0
    repeat_interval_seconds: float = 4 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notified:
    """What was last notified of a group of alerts.

    Attributes:
        at: When.
        number: How many notifications there were.
        firing: Alerts that were notified to fire and not yet to be resolved, by id, with the
            severity that was notified.
    """

    at: float
    number: int
    firing: Mapping[str, AlertSeverity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One notification about a group of alerts."""

    key: str  # idempotency key: the same notification has the same key, however often it is sent
    group: str  # which group of alerts: cluster and rule of the cause
    kind: NotificationKind
    at: float
    severity: AlertSeverity
    firing: tuple[Alert, ...]
    resolved: tuple[Alert, ...] = ()
    inhibited: tuple[Alert, ...] = ()
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # lines, by an alert's id

    @property
    def thread(self) -> str:
        """What its messages have in common: the oldest alert that it tells of."""
        oldest = min(self.alerts, key=lambda alert: (alert.started_at, alert.id))
        return hashlib.sha256(oldest.id.encode()).hexdigest()[:32]

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """All alerts that it tells of on their own."""
        return (*self.firing, *self.resolved)


def group_of(alert: Alert) -> str:
    """Return the group of alerts that one is notified in: its cluster and its rule."""
    return f"{alert.labels.get('cluster', '')}/{alert.rule}"


def plan(
    alerts: Alerts,
    notified: Mapping[str, Notified],
    now: float,
    intervals: NotificationIntervals,
    *,
    is_silent: Callable[[Alert], bool] = lambda _: False,
    is_acknowledged: Callable[[Alert], bool] = lambda _: False,
) -> tuple[list[Notification], dict[str, Notified]]:
    """Decide what to notify now.

    Returns:
        The notifications, and what is notified once they are on their way.
    """
    by_id = {alert.id: alert for alert in alerts.values()}
    groups: dict[str, list[Alert]] = {}
    for alert in active(alerts.values()):
        if not alert.is_inhibited and not is_silent(alert):
            groups.setdefault(group_of(alert), []).append(alert)
    after: dict[str, Notified] = {}
    notifications: list[Notification] = []
    for group in sorted({*groups, *notified}):
        before = notified.get(group, Notified(at=float("-inf"), number=0, firing={}))
        firing = groups.get(group, [])
        ended = [
            by_id[id_]
            for id_ in before.firing
            if id_ in by_id and by_id[id_].state is State.RESOLVED
        ]
        vanished = {id_ for id_ in before.firing if id_ not in by_id}
        kind = _due(before, firing, ended, now, intervals, is_acknowledged)
        if kind is None:
            still = {id_: s for id_, s in before.firing.items() if id_ not in vanished}
            if still or now - before.at <= intervals.group_interval_seconds:
                after[group] = replace(before, firing=still)
            continue
        # What is silenced or inhibited now, but was notified, is still open there.
        open_now = {
            id_: severity
            for id_, severity in before.firing.items()
            if id_ in by_id and by_id[id_].state is State.FIRING
        } | {alert.id: alert.severity for alert in firing}
        notifications.append(
            _notification(group, kind, before.number + 1, firing, ended, alerts, now)
        )
        after[group] = Notified(at=now, number=before.number + 1, firing=open_now)
    return notifications, after


def _due(
    before: Notified,
    firing: list[Alert],
    ended: list[Alert],
    now: float,
    intervals: NotificationIntervals,
    is_acknowledged: Callable[[Alert], bool],
) -> NotificationKind | None:
    new = [alert for alert in firing if _is_news(alert, before)]
    since = now - before.at
    if new and (not before.firing or since >= intervals.group_interval_seconds):
        return NotificationKind.FIRING
    open_left = len(before.firing) > len(ended)
    if ended and (not open_left or since >= intervals.group_interval_seconds):
        return NotificationKind.FIRING if new else NotificationKind.RESOLVED
    waiting = [alert for alert in firing if not is_acknowledged(alert)]
    if waiting and before.firing and since >= intervals.repeat_interval_seconds:
        return NotificationKind.REPEAT
    return None


def _is_news(alert: Alert, before: Notified) -> bool:
    """Return whether an alert was not notified yet, or as less bad than it is now."""
    notified_as = before.firing.get(alert.id)
    return notified_as is None or SEVERITIES.index(alert.severity) < SEVERITIES.index(notified_as)


def _notification(
    group: str,
    kind: NotificationKind,
    number: int,
    firing: list[Alert],
    ended: list[Alert],
    alerts: Alerts,
    now: float,
) -> Notification:
    ids = ",".join(sorted(alert.id for alert in (*firing, *ended)))
    key = hashlib.sha256(f"{group}|{kind}|{number}|{ids}".encode()).hexdigest()[:32]
    return Notification(
        key=key,
        group=group,
        kind=kind,
        at=now,
        severity=worst(alert.severity for alert in (firing or ended)),
        firing=tuple(firing),
        resolved=tuple(ended),
        inhibited=tuple(symptoms(alerts.values(), {alert.fingerprint for alert in firing})),
    )


def symptoms(alerts: Iterable[Alert], causes: set[str]) -> list[Alert]:
    """Return the alerts that are inhibited under some causes."""
    return [
        alert
        for alert in alerts
        if alert.inhibited_by in causes and alert.state is not State.RESOLVED
    ]
