"""The topics and groups of the generated lake, and how each of them behaves over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

CLUSTER = "demo"
POLL_SECONDS = 5
BROKER_LOST_SECONDS = 480.0
"""How long broker 2 has been missing."""

MINUTE_GRAIN, HOUR_GRAIN = 60, 3600
_WAVE_SECONDS = 3600.0


@dataclass(frozen=True)
class Topic:
    name: str
    partitions: int
    per_second: float  # of a partition
    kind: str = "application"
    retention_seconds: float | None = 7 * 86400.0
    hot: int | None = None  # this partition receives eight times as much
    replicas: int = 3

    def rate(self, partition: int) -> float:
        return self.per_second * (8.0 if partition == self.hot else 1.0)

    def arrived(self, partition: int, at: float) -> int:
        """Log end at ``at`` seconds from now."""
        rate = self.rate(partition)
        wave = 0.25 * _WAVE_SECONDS / math.tau * math.sin(math.tau * at / _WAVE_SECONDS)
        return max(0, round(rate * (at + wave + 12 * 86400)))

    def rate_at(self, partition: int, at: float) -> float:
        return self.rate(partition) * (1 + 0.25 * math.cos(math.tau * at / _WAVE_SECONDS))


@dataclass(frozen=True)
class Group:
    name: str
    topic: Topic
    members: int
    lag: Callable[[int, float], float]
    type: str = "classic"
    coordinator: int = 1
    unknown_since: float | None = None
    held: dict[int, str] = field(default_factory=dict)


ORDERS = Topic("orders", 12, 25.0)
PAYMENTS = Topic("payments", 12, 103.0)
CLICKS = Topic("clicks", 6, 60.0)
SESSIONS = Topic("sessions", 6, 12.0, hot=4)
INVENTORY = Topic("inventory", 4, 8.0, retention_seconds=3600.0)
AUDIT = Topic("audit", 3, 4.0)
ORDERS_DLQ = Topic("orders.dlq", 3, 0.08, kind="dead letter", retention_seconds=14 * 86400.0)
CONNECT_DLQ = Topic("connect-sink-errors", 1, 0.03, kind="dead letter")
INTERNAL = Topic("__consumer_offsets", 8, 1.5, kind="internal", retention_seconds=None)
TOPICS_HERE = (
    ORDERS,
    PAYMENTS,
    CLICKS,
    SESSIONS,
    INVENTORY,
    AUDIT,
    ORDERS_DLQ,
    CONNECT_DLQ,
    INTERNAL,
)


def _ripple(partition: int, at: float, height: float) -> float:
    return height * (1.2 + math.sin(at / 17.0 + partition) * math.cos(at / 41.0 + 2 * partition))


def _falling_behind(partition: int, at: float) -> float:
    return _ripple(partition, at, 20) + max(0.0, at + 1500.0) * 28.0


def _stuck(partition: int, at: float) -> float:
    if partition == 7 and at > -2700.0:
        return ORDERS.arrived(7, at) - ORDERS.arrived(7, -2700.0)
    return _ripple(partition, at, 6)


def _stopped(partition: int, at: float) -> float:
    since = -5400.0
    if at > since:
        return AUDIT.arrived(partition, at) - AUDIT.arrived(partition, since)
    return _ripple(partition, at, 2)


def _close_to_loss(partition: int, at: float) -> float:
    return min(8.0 * 3300, 8.0 * 3200 + at * 0.02) + _ripple(partition, at, 5)


def _hot(partition: int, at: float) -> float:
    if partition == 4:
        return _ripple(partition, at, 40) + max(0.0, at + 3600) * 0.9
    return _ripple(partition, at, 4)


GROUPS_HERE = (
    Group("billing", ORDERS, 4, lambda p, at: _ripple(p, at, 8)),
    Group("payments", PAYMENTS, 4, _falling_behind),
    Group("search-indexer", ORDERS, 3, _stuck),
    Group("clicks-enricher", CLICKS, 8, lambda p, at: _ripple(p, at, 15)),
    Group("archive", AUDIT, 0, _stopped),
    Group("stock", INVENTORY, 2, _close_to_loss),
    Group("sessions", SESSIONS, 3, _hot),
    Group("shipping", ORDERS, 3, lambda p, at: _ripple(p, at, 10), type="consumer"),
    Group(
        "reports",
        PAYMENTS,
        2,
        lambda p, at: _ripple(p, at, 30),
        coordinator=2,
        unknown_since=BROKER_LOST_SECONDS,
    ),
    Group("orders-redrive", ORDERS_DLQ, 1, lambda p, at: 40 + p * 7 + max(0.0, at + 7200) * 0.004),
)
