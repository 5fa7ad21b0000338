"""Whether advice was followed, and whether that worked: from what was counted afterwards. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

SETTLES = timedelta(minutes=10)
"""Time until a change shows: consumers start, partitions move, a backlog is read."""

WATCHED = timedelta(hours=2)
"""How long a change's effect is looked at, and how long after advice ended it may follow."""


class Followed(StrEnum):
    """What became of advice."""

    STANDS = "stands"
    OLDER = "older than what the group does now"
    ANEW = "given anew since"
    FOLLOWED = "followed"
    NOT_FOLLOWED = "not followed"
    WITHDRAWN = "given no more; not followed so far"
    ENDED = "given no more; it names no number"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What was counted in a window of history; None is unknown."""

    at: datetime
    count: int | None
    time_lag_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceOutcome:
    """What became of one piece of advice.

    Attributes:
        at: When; None where it was not.
        worked: Whether the objective was held afterwards; None where that is not known.
        after_seconds: The highest time lag once the change had settled.
    """

    followed: Followed
    at: datetime | None = None
    worked: bool | None = None
    before_seconds: float | None = None
    after_seconds: float | None = None


def outcome(
    current: int | None,
    proposed: int | None,
    *,
    valid_from: datetime,
    confirmed_at: datetime,
    stands: bool,
    now: datetime,
    history: Sequence[Point],
    objective_seconds: float,
) -> AdviceOutcome:
    """Return what became of advice that counts something.

    It was followed where the count reached the proposed number, from the side of the present one,
    while it stood or soon after; where nobody was there and no number is known, once somebody was.
    That it was not is known once this time is over.
    It worked where, once settled, the time lag was within the objective, or at least half of what
    it was.
    """
    if current == 0 and proposed is None:
        proposed = 1
    if proposed is None or current is None or proposed == current:
        return AdviceOutcome(followed=Followed.STANDS if stands else Followed.ENDED)
    since = [
        one
        for one in history
        if valid_from <= one.at <= confirmed_at + WATCHED and one.count is not None
    ]
    if not since:
        return AdviceOutcome(followed=Followed.STANDS if stands else Followed.UNKNOWN)
    up = proposed > current
    reached = next(
        (
            one
            for one in since
            if one.count is not None and (one.count >= proposed if up else one.count <= proposed)
        ),
        None,
    )
    if reached is None:
        if stands:
            return AdviceOutcome(followed=Followed.STANDS)
        is_early = now < confirmed_at + WATCHED
        return AdviceOutcome(followed=Followed.WITHDRAWN if is_early else Followed.NOT_FOLLOWED)
    before = _highest(history, reached.at - WATCHED, reached.at)
    after = _highest(history, reached.at + SETTLES, reached.at + WATCHED)
    worked = None
    if after is not None:
        worked = after <= objective_seconds or (before is not None and after <= before / 2)
    return AdviceOutcome(
        followed=Followed.FOLLOWED,
        at=reached.at,
        worked=worked,
        before_seconds=before,
        after_seconds=after,
    )


def _highest(history: Sequence[Point], start: datetime, end: datetime) -> float | None:
    known = [
        one.time_lag_seconds
        for one in history
        if start <= one.at < end and one.time_lag_seconds is not None
    ]
    return max(known, default=None)
