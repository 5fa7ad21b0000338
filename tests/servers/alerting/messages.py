"""Alerts and notifications to send, and what became of them."""

from __future__ import annotations

import time

from alerting.notify.notifications import Notification, NotificationKind
from alerting.notify.store import AlertStore
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from tests import alert_of

SECRET = "the-secret-of-the-hook"  # noqa: S105 (a test's)


def alert(name: str = "payments", state: State = State.FIRING, at: float | None = None) -> Alert:
    began = time.time() - 120 if at is None else at
    return alert_of.alert(
        fingerprint=f"fingerprint-{name}",
        rule="GroupStalled",
        check="stalled",
        severity=AlertSeverity.CRITICAL,
        labels={"cluster": "production", "group": name},
        state=state,
        started_at=began,
        last_true_at=began,
        fired_at=began,
        resolved_at=time.time() if state is State.RESOLVED else None,
        what=f"{name} stalled",
        detail="No commit for 2 min with 1,204 messages waiting.",
        cause="A message that the handler cannot get past.",
        step="Look at the handler's log.",
        page="group",
        runbook="https://wiki/stalled",
    )


def notification(
    *alerts: Alert, kind: NotificationKind = NotificationKind.FIRING, key: str = "key-1"
) -> Notification:
    firing = tuple(one for one in alerts if one.state is State.FIRING)
    resolved = tuple(one for one in alerts if one.state is State.RESOLVED)
    return Notification(
        key=key,
        group="production/GroupStalled",
        kind=kind,
        at=time.time(),
        severity=AlertSeverity.CRITICAL,
        firing=firing,
        resolved=resolved,
        inhibited=(alert("held"),),
    )


def health(store: AlertStore) -> tuple[int, int, int]:
    (found,) = store.health()
    return found.sent, found.waiting, found.failed
