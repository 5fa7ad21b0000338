"""Which members process less now than they are known to be able to: pure.

A capacity that was measured over days is no longer true after a deploy that made the handler
slower, or on a bad machine. It shows where a member that does not wait gets through less than its
own variation explains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from scaling.capacity import Capacity
from scaling.intervals import Floats, Integers

WINDOWS_SECONDS = (30.0, 90.0, 240.0)
_ALONE_SECONDS = 90.0
_MINIMUM_MEMBERS = 3
_SIGMAS = 3.0
_LEAST_LOSS = 0.15
_BACKLOG_SECONDS = 8.0
_UNKNOWN_VARIABILITY = 3.0


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Members that are slower than they were.

    Attributes:
        members: Messages per second of each slow member, by its number.
        everybody: Messages per second of a member where most do not wait and together they are
            slow; else None.
        busy: Members that did not wait, slow or not, with their messages per second.
    """

    members: Mapping[int, float]
    everybody: float | None
    busy: Mapping[int, float]


def slowdown(
    at: Floats, log_end: Floats, committed: Floats, member: Integers, capacity: Capacity
) -> Slowdown:
    """Return which members process less than they can.

    Args:
        at: Times of the polls since the last change of the assignment, seconds, oldest first.
        log_end: Log ends, one row a poll, one column a partition.
        committed: Committed offsets, the same shape.
        member: The member that holds each partition; negative: nobody.
        capacity: What a member could process until now.
    """
    slow: dict[int, float] = {}
    busy: dict[int, float] = {}
    everybody: float | None = None
    if capacity.per_second is None or not len(at):
        return Slowdown(slow, None, busy)
    known = capacity.per_second
    variability = capacity.variability_seconds
    variability = _UNKNOWN_VARIABILITY if variability is None else variability
    held = member >= 0
    members = np.unique(member[held])
    for window in WINDOWS_SECONDS:
        first = int(np.searchsorted(at, at[-1] - window + 1e-6, side="right")) - 1
        if first < 0:
            continue
        seconds = float(at[-1] - at[first])
        lag = np.minimum(log_end[first] - committed[first], log_end[-1] - committed[-1])
        done = committed[-1] - committed[first]
        # A partition without any commit is blocked: its backlog does not keep the member busy.
        waiting = np.bincount(member[held], np.nan_to_num(lag * (done > 0))[held])[members]
        rates = np.bincount(member[held], np.nan_to_num(done)[held])[members] / seconds
        is_busy = (rates > 0) & (waiting >= _BACKLOG_SECONDS * np.maximum(rates, 0.1 * known))
        if 2 * is_busy.sum() > len(members) and is_busy.sum() >= _MINIMUM_MEMBERS:
            together = float(rates[is_busy].mean())
            if together < _least(known, variability, seconds * int(is_busy.sum())):
                everybody = together
        if window < _ALONE_SECONDS:
            continue
        for number, rate in zip(members[is_busy], rates[is_busy], strict=True):
            busy[int(number)] = float(rate)
            if rate < _least(known, variability, seconds):
                slow[int(number)] = float(rate)
    return Slowdown(slow, everybody, busy)


def _least(known: float, variability: float, seconds: float) -> float:
    """Return the rate below which a member is slower than chance explains."""
    return known - known * max(_SIGMAS * sqrt(variability / seconds), _LEAST_LOSS)
