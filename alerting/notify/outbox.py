"""Messages on their way to their targets: values, and how long to wait after a failure."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from alerting.notify.json_codec import notification_to_json
from alerting.notify.notifications import Notification

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0


class DeliveryState(StrEnum):
    """What became of a message."""

    QUEUED = "queued"
    SENT = "sent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message to one target."""

    number: int
    target: str
    notification: Notification
    queued_at: float
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetHealth:
    """How delivery to one target goes; times are in Unix seconds."""

    target: str
    sent: int
    waiting: int
    failed: int
    last_sent_at: float | None
    waiting_since: float | None
    attempts: int | None
    answer: str | None


def pause_seconds(attempts: int, retry_after_seconds: float | None = None) -> float:
    """Return how long to wait after a failure: doubled each time, with jitter.

    Args:
        attempts: How often it was tried, at least once.
        retry_after_seconds: What the target asked for; never less than that, up to an hour.
    """
    # Doubling alone would bring all back at once: spread by one pause, and by up to a fifth.
    late, spread = random.random(), random.random()  # noqa: S311 (no secrets)
    doubled = FIRST_PAUSE_SECONDS * (2.0 ** min(attempts - 1, 30) + late)
    paused = min(LONGEST_PAUSE_SECONDS, doubled) * (1 + 0.2 * spread)
    return max(paused, min(retry_after_seconds or 0.0, 3600.0))


def free_at(sent: Sequence[float], max_per_minute: int, now: float) -> float:
    """Return when a target may be sent the next message."""
    recent = [at for at in sent if at > now - 60.0]
    if len(recent) < max_per_minute:
        return now
    return recent[-max_per_minute] + 60.0


def add_to_outbox(
    connection: sqlite3.Connection, notification: Notification, targets: Sequence[str], now: float
) -> None:
    """Put a message into the outbox, within a transaction; one whose key is known is there."""
    if not targets:
        return
    connection.execute(
        "INSERT OR IGNORE INTO notifications (key, at, alert_group, body) VALUES (?, ?, ?, ?)",
        (notification.key, notification.at, notification.group, notification_to_json(notification)),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO deliveries (key, target, state, queued_at, next_at) "
        "VALUES (?, ?, 'queued', ?, ?)",
        [(notification.key, target, now, now) for target in targets],
    )
