"""How soon data is lost, or how long ago it was: the words of every page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.checks.loss_deadline import NEAR_SECONDS
from alerting.status.descriptions import LOST_DATA
from alerting.status.phrases import time_left
from app.style.format import age
from app.ui.alert_list import moment
from app.ui.incident_order import DEADLINE_SHOWN
from app.ui.incidents import Incident, loses_first, losing

LOSES_NOW = "loses data now"


def deadline(at: datetime | None, now: datetime) -> str:
    """Say how soon unread messages are deleted; nothing where that is not known, or far away.

    A deadline at the edge comes and goes with each evaluation: soon and now are one.
    """
    if at is None or at - now > DEADLINE_SHOWN:
        return ""
    return f"loses data {time_left((at - now).total_seconds())}"


def is_far(at: datetime | None, now: datetime) -> bool:
    """Return whether a deadline is further away than what rules call near: it weighs less."""
    return at is not None and at - now > timedelta(seconds=NEAR_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossAhead:
    """What is said of the data that an incident loses first; no words: nothing.

    Attributes:
        words: How soon, or how long ago.
        who: The group that loses it, where the cause is about something else.
        is_far: Whether that is no more, or further away than what rules call near.
    """

    words: str = ""
    who: str = ""
    is_far: bool = False


def lost(last: datetime | None, now: datetime, *, goes_on: bool | None) -> str:
    """Say that data is lost now, or how long ago some last was.

    Args:
        last: When a poll last saw that; None: none did, or nobody knows.
        now: The present.
        goes_on: ``loses_now`` of a row; None: nobody knows.
    """
    if goes_on is not False:
        return LOSES_NOW
    return LOST_DATA if last is None else f"{LOST_DATA} {age((now - last).total_seconds())}"


def loss_ahead(one: Incident, now: datetime) -> LossAhead:
    """Return what is said of an incident's first loss; nothing of what is not known, or far off.

    Of data that was lost it is how long ago that was: losses come in bursts, and rates do not tell
    when the next one is.
    """
    first = loses_first(one)
    who = "" if first is one.cause else first.labels["group"]
    at = moment(first.deadline)
    if losing(one):
        return LossAhead(
            words=lost(moment(one.last_lost_at), now, goes_on=one.loses_now),
            who=who,
            is_far=not one.loses_now,
        )
    words = deadline(at, now)
    return LossAhead(words=words, who=who, is_far=is_far(at, now)) if words else LossAhead()


def ahead(one: Incident, now: datetime) -> str:
    """Say in a sentence who loses data how soon; nothing where that is not known, or far away."""
    loss = loss_ahead(one, now)
    if losing(one):
        return f"{loss.who or 'It'} {loss.words}."
    return f"At the present rates {loss.who or 'it'} {loss.words}." if loss.words else ""
