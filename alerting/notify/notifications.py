"""What to tell, and when: alerts grouped by cluster and cause. Pure functions.

A group of alerts is told of at once when it begins, again when it grows or ends (not more often
than the group interval), and repeated while nobody has acknowledged it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from alerting.rules.lifecycle import Alert, Alerts, State, active
from alerting.rules.model import SEVERITIES, Severity, worst


class Kind(StrEnum):
    """Why something is told."""

    FIRING = "firing"
    REPEAT = "repeat"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Pace:
    """How often something is told.

    Attributes:
        group_interval_seconds: Least time between two notices of one group of alerts.
        repeat_interval_seconds: After how long a group that still fires is told again.
    """

    group_interval_seconds: float = 60.0
    repeat_interval_seconds: float = 4 * 3600.0


@dataclass(frozen=True, slots=True)
class Told:
    """What was last told of a group of alerts.

    Attributes:
        at: When.
        number: How many notices there were.
        firing: Alerts that were told to fire and not yet to be resolved, by id, with the
            severity that was told.
    """

    at: float
    number: int
    firing: Mapping[str, Severity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notice about a group of alerts.

    Attributes:
        key: Idempotency key: the same notice has the same key, however often it is sent.
        group: Which group of alerts: cluster and rule of the cause.
    """

    key: str
    group: str
    kind: Kind
    at: float
    severity: Severity
    firing: tuple[Alert, ...]
    resolved: tuple[Alert, ...] = ()
    held_back: tuple[Alert, ...] = ()

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """All alerts that it tells of on their own."""
        return (*self.firing, *self.resolved)


def group_of(alert: Alert) -> str:
    """Return the group of alerts that one is told in: its cluster and its rule."""
    return f"{alert.labels.get('cluster', '')}/{alert.rule}"


def plan(
    alerts: Alerts,
    told: Mapping[str, Told],
    now: float,
    pace: Pace,
    *,
    is_silent: Callable[[Alert], bool] = lambda _: False,
    is_acknowledged: Callable[[Alert], bool] = lambda _: False,
) -> tuple[list[Notice], dict[str, Told]]:
    """Decide what to tell now.

    Returns:
        The notices, and what is told once they are on their way.
    """
    by_id = {alert.id: alert for alert in alerts.values()}
    groups: dict[str, list[Alert]] = {}
    for alert in active(alerts.values()):
        if not alert.is_held and not is_silent(alert):
            groups.setdefault(group_of(alert), []).append(alert)
    after: dict[str, Told] = {}
    notices: list[Notice] = []
    for group in sorted({*groups, *told}):
        before = told.get(group, Told(float("-inf"), 0, {}))
        firing = groups.get(group, [])
        ended = [
            by_id[id_]
            for id_ in before.firing
            if id_ in by_id and by_id[id_].state is State.RESOLVED
        ]
        vanished = {id_ for id_ in before.firing if id_ not in by_id}
        kind = _due(before, firing, ended, now, pace, is_acknowledged)
        if kind is None:
            still = {id_: s for id_, s in before.firing.items() if id_ not in vanished}
            if still or now - before.at <= pace.group_interval_seconds:
                after[group] = replace(before, firing=still)
            continue
        # What is silenced or held back now, but was told, is still open where it was told.
        open_now = {
            id_: severity
            for id_, severity in before.firing.items()
            if id_ in by_id and by_id[id_].state is State.FIRING
        } | {alert.id: alert.severity for alert in firing}
        notices.append(_notice(group, kind, before.number + 1, firing, ended, alerts, now))
        after[group] = Told(now, before.number + 1, open_now)
    return notices, after


def _due(
    before: Told,
    firing: list[Alert],
    ended: list[Alert],
    now: float,
    pace: Pace,
    is_acknowledged: Callable[[Alert], bool],
) -> Kind | None:
    new = [alert for alert in firing if _is_news(alert, before)]
    since = now - before.at
    if new and (not before.firing or since >= pace.group_interval_seconds):
        return Kind.FIRING
    open_left = len(before.firing) > len(ended)
    if ended and (not open_left or since >= pace.group_interval_seconds):
        return Kind.FIRING if new else Kind.RESOLVED
    waiting = [alert for alert in firing if not is_acknowledged(alert)]
    if waiting and before.firing and since >= pace.repeat_interval_seconds:
        return Kind.REPEAT
    return None


def _is_news(alert: Alert, before: Told) -> bool:
    """Tell whether an alert was not told yet, or as less bad than it is now."""
    as_told = before.firing.get(alert.id)
    return as_told is None or SEVERITIES.index(alert.severity) < SEVERITIES.index(as_told)


def _notice(
    group: str,
    kind: Kind,
    number: int,
    firing: list[Alert],
    ended: list[Alert],
    alerts: Alerts,
    now: float,
) -> Notice:
    ids = ",".join(sorted(alert.id for alert in (*firing, *ended)))
    key = hashlib.sha256(f"{group}|{kind}|{number}|{ids}".encode()).hexdigest()[:32]
    return Notice(
        key=key,
        group=group,
        kind=kind,
        at=now,
        severity=worst(alert.severity for alert in (firing or ended)),
        firing=tuple(firing),
        resolved=tuple(ended),
        held_back=tuple(symptoms(alerts.values(), {alert.fingerprint for alert in firing})),
    )


def symptoms(alerts: Iterable[Alert], causes: set[str]) -> list[Alert]:
    """Return the alerts that are held back under some causes."""
    return [
        alert for alert in alerts if alert.held_by in causes and alert.state is not State.RESOLVED
    ]
