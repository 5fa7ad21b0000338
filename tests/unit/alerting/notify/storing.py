"""Evaluations that a test stores, and damage to the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from alerting.checks.model import Observation
from alerting.notify.notifications import NotificationIntervals, plan
from alerting.notify.store import AlertStore
from alerting.rules.lifecycle import advance
from alerting.rules.model import AlertSeverity, Rule, evaluate

RULES = (
    Rule(
        name="GroupStopped",
        check="stopped",
        severity=AlertSeverity.CRITICAL,
        threshold=0.0,
        keep_firing_for_seconds=60.0,
    ),
    Rule(
        name="BrokerMissing", check="broker_missing", severity=AlertSeverity.CRITICAL, threshold=0.0
    ),
)


def stopped(*groups: str) -> list[Observation]:
    return [
        Observation(
            check="stopped",
            labels={"cluster": "c", "group": group},
            value=5.0,
            what=f"{group} stopped",
        )
        for group in groups
    ]


def step(store: AlertStore, now: float, *groups: str, targets: Sequence[str] = ("t",)) -> int:
    """Evaluate once as the service does, and return the number of notifications."""
    alerts = advance(store.alerts("c"), evaluate(RULES, stopped(*groups)), {}, now)
    notifications, notified = plan(alerts, store.notified("c"), now, NotificationIntervals())
    store.save(
        "c", alerts, notified, [(notification, targets) for notification in notifications], now
    )
    return len(notifications)


def damage(folder: Path, query: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / "alerts.sqlite")) as connection, connection:
        connection.execute(query, values)
