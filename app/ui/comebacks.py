"""Alerts that come back: the times that one thing was wrong are one story, the last leads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from alerting.rules.lifecycle import FLAP_SECONDS, Alert, State


def came_back_as(alerts: Iterable[Alert]) -> Mapping[str, Alert]:
    """Return, by the id of each alert that came back, the last time that it did.

    It has where rules say that it flaps, so that both tell of one thing. Of what came back more
    than once, each but the last leads to that.

    Args:
        alerts: Causes: what follows from others comes back with them.
    """
    of_thing: dict[str, list[Alert]] = {}
    for one in alerts:
        of_thing.setdefault(one.fingerprint, []).append(one)
    last: dict[str, Alert] = {}
    for times in of_thing.values():
        times.sort(key=lambda one: one.started_at, reverse=True)
        for later, earlier in pairwise(times):
            if _is_one(earlier, later):
                last[earlier.id] = last.get(later.id, later)
    return last


def _is_one(earlier: Alert, later: Alert) -> bool:
    over = earlier.resolved_at
    has_fired = later.fired_at is not None or later.state is State.FIRING
    if not later.flaps or not has_fired or over is None or earlier.fired_at is None:
        return False
    return 0.0 <= later.started_at - over <= FLAP_SECONDS
