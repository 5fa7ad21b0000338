"""A process that evaluates and sends until it is killed; the test that kills it starts it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from alerting.checks.model import Observation
from alerting.notify.notifications import NotificationIntervals, plan
from alerting.notify.sender import Sender
from alerting.notify.store import AlertStore
from alerting.notify.targets.registry import make_target
from alerting.rules.lifecycle import advance
from alerting.rules.model import AlertSeverity, Rule, evaluate
from config.alerting import TargetSettings

RULES = (
    Rule(
        name="GroupStopped",
        check="stopped",
        severity=AlertSeverity.CRITICAL,
        threshold=0.0,
        keep_firing_for_seconds=0.0,
    ),
)
TICKS_A_LIFE = 6
CLUSTERS = ("one", "two", "three")


def evaluate_tick(store: AlertStore, tick: int) -> list[str]:
    """Evaluate one moment of a fixed story, and return the keys of its notifications."""
    cluster = CLUSTERS[tick % 3]
    now = 1000.0 + tick * 15.0
    seen = [
        Observation(
            check="stopped",
            labels={"cluster": cluster, "group": f"g{number}"},
            value=1.0,
            what="stopped",
        )
        for number in range(4)
        if (tick // 3 + number) % 8 < 3
    ]
    alerts = advance(store.alerts(cluster), evaluate(RULES, seen), {}, now)
    notifications, notified = plan(
        alerts, store.notified(cluster), now, NotificationIntervals(group_interval_seconds=0)
    )
    store.save(
        cluster, alerts, notified, [(notification, ["hook"]) for notification in notifications], now
    )
    return [notification.key for notification in notifications]


def live(path: str, url: str, ticks: int, *, to_the_end: bool = False) -> None:
    """Go on where the last process was killed, and wait to be killed.

    Args:
        path: The alert store.
        url: Where to send.
        ticks: How far the story may go; on a quick machine, too, something is left to tell.
        to_the_end: Return once all of it is sent.
    """
    store = AlertStore(Path(path))
    settings = TargetSettings(
        name="hook", kind="webhook", url=url, max_per_minute=10_000, give_up_after_seconds=1e12
    )
    sender = Sender(settings, make_target(settings, "http://localhost"), store)
    while True:
        tick = int(str((store.noted("tick") or {"next": 0})["next"]))
        if tick < ticks:
            evaluate_tick(store, tick)
            store.note("tick", {"next": tick + 1})
        busy = sender.step(time.time())
        if tick >= ticks and not busy and not store.health()[0].waiting:
            if to_the_end:
                return
            signal.pause()
