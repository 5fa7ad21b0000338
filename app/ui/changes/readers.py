"""When readers of a topic stopped and read again: pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from alerting.rules.lifecycle import Alert
from app.ui.changes.events import Event, Sort, of_alerts
from app.ui.incidents import mended_at

_STOPPED = ("stopped", "stalled")
"""Checks of groups that read nothing while they are true."""


def of_readers(alerts: Iterable[Alert], groups: Collection[str]) -> list[Event]:
    """Return when some groups stopped, and when each of them read again.

    Args:
        alerts: Those of the chosen time that fired.
        groups: The groups.
    """
    stops = _stops(alerts, groups)
    returns = [
        Event(at=datetime.fromtimestamp(at, UTC), sort=Sort.ALERTS, what=f"{group} reads again")
        for at, group in _returns(stops)
    ]
    return sorted([*of_alerts(stops, ""), *returns], key=lambda one: one.at)


def last_return(alerts: Iterable[Alert], groups: Collection[str]) -> tuple[str, datetime] | None:
    """Return which of some groups read again last, and since when; None: none had stopped."""
    found = _returns(_stops(alerts, groups))
    if not found:
        return None
    at, group = max(found)
    return group, datetime.fromtimestamp(at, UTC)


def _stops(alerts: Iterable[Alert], groups: Collection[str]) -> list[Alert]:
    return [one for one in alerts if one.check in _STOPPED and one.labels.get("group") in groups]


def _returns(stops: Iterable[Alert]) -> list[tuple[float, str]]:
    """Return when groups that had stopped read again, and which."""
    return [(at, one.labels["group"]) for one in stops if (at := mended_at(one)) is not None]
