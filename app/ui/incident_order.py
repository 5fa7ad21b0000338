"""The order of lists: what somebody is to act on first."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from datetime import datetime, timedelta

from alerting.rules.model import SEVERITIES, AlertSeverity
from alerting.status.phrases import in_steps
from app.ui.incidents import Incident, loses_first, losing

BROKER_MISSING = "broker_missing"
"""The check of brokers that are gone."""

DEADLINE_SHOWN = timedelta(days=7)
"""Later than that nobody acts on, and rates will have changed."""


def in_order(
    found: Iterable[Incident], now: datetime, acknowledged: Container[str] = ()
) -> list[Incident]:
    """Return what is open in the order of lists: what somebody is to act on first.

    Directly below what is to be acted on now stands what mends since it was, which everybody
    watches, and then what will be if it lasts. Other things that recover come after all that fires,
    and what else is pending last; among these the worst comes first. Of what is as bad, that comes
    last which somebody looks after. Among its like comes first a missing broker, after which one
    more fault may stop all; then what loses data or did in the last minutes, then the nearest
    deadline, then what has none, and of these the newest.

    Args:
        found: The incidents.
        now: The present.
        acknowledged: The ids of alerts that somebody looks after.
    """
    return sorted(found, key=lambda one: _urgency(one, now, one.is_acknowledged(acknowledged)))


def _urgency(
    one: Incident, now: datetime, is_looked_after: bool
) -> tuple[int, int, bool, bool, int, float, float, str]:
    lead = one.lead
    return (
        _place(one),
        SEVERITIES.index(one.weight),
        is_looked_after,
        lead.check != BROKER_MISSING,
        *_loss(one, now),
        -lead.began_at,
        lead.fingerprint,
    )


def _place(one: Incident) -> int:
    """Rank what there is to do: to act, to see it mend, to expect, to watch, or nothing."""
    if one.mends_from_urgent:
        return 1
    if one.may_be_urgent:
        return 2
    if one.is_pending:
        return 5
    if one.is_recovering:
        return 4
    return 0 if one.weight is AlertSeverity.CRITICAL else 3


def _loss(one: Incident, now: datetime) -> tuple[int, float]:
    """Rank what is lost or just was, what will be in how long, and the rest."""
    # A loss of some minutes ago ranks as one of now: it comes back, and rows are to stand still.
    if losing(one):
        return 0, 0.0
    at = loses_first(one).deadline
    left = math.inf if at is None else at - now.timestamp()
    # As it is written: rows do not change places with each poll.
    return (1, in_steps(left)) if left <= DEADLINE_SHOWN.total_seconds() else (2, 0.0)
