"""Where a what-if starts that replays measured time, or that follows a forecast. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from alerting.status.phrases import plural
from scaling.whatif.queue_model import WhatIfInputs
from simulation.model import Floats

STEP_SECONDS = 60.0
HOUR_SECONDS = 3600.0
LEAST_MINUTES = 30
"""A shorter time says too little about what comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredMinute:
    """One minute of a group's history; None where it is unknown."""

    at: float  # its begin, seconds
    arrival_per_second: float | None
    lag: float | None
    time_lag_seconds: float | None
    lost_messages: float | None = None  # that retention had deleted unread, at most at a poll


def why_not_replayed(minutes: Sequence[MeasuredMinute]) -> str | None:
    """Say why a time cannot be replayed; None: it can.

    Args:
        minutes: What was measured, in any order.
    """
    at = [one.at for one in minutes if one.arrival_per_second is not None]
    if len(at) < LEAST_MINUTES:
        return f"{plural(len(at), 'minute')} of them were measured, and it takes {LEAST_MINUTES}"
    if _length(at) > 2 * len(at):
        return f"of {plural(_length(at), 'minute')} only {len(at)} were measured"
    return None


def _length(at: Sequence[float]) -> int:
    """Return how many minutes a time has of which some are known."""
    return round((max(at) - min(at)) / STEP_SECONDS) + 1


def replayed(inputs: WhatIfInputs, minutes: Sequence[MeasuredMinute]) -> WhatIfInputs | None:
    """Return the inputs of a run that begins with the first minute and sees what arrived then.

    The group's consumers, and how the load spreads over its partitions, are those of the present.
    Of a minute that is unknown the one before is taken.

    Args:
        inputs: The group as it is now.
        minutes: What was measured, in any order.

    Returns:
        None where it cannot be replayed, see ``why_not_replayed``.
    """
    if why_not_replayed(minutes) is not None:
        return None
    known = sorted(
        (one for one in minutes if one.arrival_per_second is not None), key=lambda one: one.at
    )
    at = np.array([one.at for one in known])
    per_second = np.array([one.arrival_per_second or 0.0 for one in known])
    first = at[0]
    length = _length(at.tolist())
    missing = length - len(known)
    starts = at - first

    def course(times: Floats) -> Floats:
        place = np.searchsorted(starts, times, side="right") - 1
        rates: Floats = per_second[np.clip(place, 0, len(per_second) - 1)]
        return rates

    notes = [f"{missing} minutes are unknown: the one before is taken"] if missing else []
    total = float(inputs.arrival_per_second.sum())
    count = len(inputs.arrival_per_second)
    shares = inputs.arrival_per_second / total if total > 0 else np.full(count, 1 / count)
    if known[0].lag is None:
        notes.append("what waited at the begin is unknown: taken for nothing")
    lag = np.floor((known[0].lag or 0.0) * shares)
    return replace(
        inputs,
        lag=lag,
        time_lag_seconds=np.where(lag > 0, known[0].time_lag_seconds or 0.0, 0.0),
        course=course,
        course_seconds=length * STEP_SECONDS,
        is_replay=True,
        notes=(*inputs.notes, *notes),
    )


def why_not_followed(minutes: Sequence[MeasuredMinute]) -> str | None:
    """Say why a replay cannot follow what was measured; None: nothing speaks against it.

    What retention deletes unread leaves the measured backlog without having been processed, and a
    committed offset that skips it looks like reading: the capacity that was measured counts it, so
    that a replay drains what the group never read.
    """
    lost = sum(1 for one in minutes if one.lost_messages)
    if not lost:
        return None
    return (
        f"retention deleted unread messages in {plural(lost, 'minute')} of that time, which left "
        "the backlog unread and look as if they were consumed: the replay cannot follow what was "
        "measured, which is left out, and one consumer may do less than is said here"
    )


def why_not_forecast(hours: Sequence[tuple[float, float]], now: float) -> str | None:
    """Say why a forecast cannot be followed; None: it can.

    Args:
        hours: The begin of each hour that is forecast, in seconds, and its messages per second.
        now: The present, in seconds.
    """
    starts = [at for at, _ in _ahead(hours, now)]
    if not starts:
        return "it is over"
    if starts[0] > now:
        return "it begins later"
    if any(after - before != HOUR_SECONDS for before, after in pairwise(starts)):
        return "an hour is missing in it"
    if starts[-1] + HOUR_SECONDS - now < LEAST_MINUTES * STEP_SECONDS:
        return f"it ends within {plural(LEAST_MINUTES, 'minute')}"
    return None


def forecast(
    inputs: WhatIfInputs, hours: Sequence[tuple[float, float]], now: float, *, most: float
) -> WhatIfInputs | None:
    """Return the inputs of a run that begins now and sees what is expected to arrive.

    Args:
        inputs: The group as it is now.
        hours: The begin of each hour that is forecast, in seconds, and its messages per second.
        now: The present, in seconds.
        most: How many hours the run lasts at most.

    Returns:
        None where it cannot be followed, see ``why_not_forecast``.
    """
    if why_not_forecast(hours, now) is not None:
        return None
    ahead = _ahead(hours, now)
    starts = np.array([at for at, _ in ahead])
    per_second = np.array([max(0.0, rate) for _, rate in ahead])
    length = min(most * HOUR_SECONDS, float(starts[-1]) + HOUR_SECONDS - now)

    def course(times: Floats) -> Floats:
        place = np.searchsorted(starts, times + now, side="right") - 1
        rates: Floats = per_second[np.clip(place, 0, len(per_second) - 1)]
        return rates

    return replace(inputs, course=course, course_seconds=length)


def _ahead(hours: Sequence[tuple[float, float]], now: float) -> list[tuple[float, float]]:
    """Return the hours that are not over, soonest first."""
    return sorted(one for one in hours if one[0] + HOUR_SECONDS > now)
