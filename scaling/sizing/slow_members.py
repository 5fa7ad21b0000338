"""Which members process less now than they are known to be able to: pure.

A capacity that was measured over days is no longer true after a deploy that made the handler
slower, or on a bad machine. It shows where a member that does not wait gets through less than its
own variation explains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from scaling.facts.capacity import Capacity
from scaling.facts.intervals import Floats, Integers

WINDOWS_SECONDS = (30.0, 90.0, 240.0)
_ALONE_SECONDS = 90.0
_MINIMUM_MEMBERS = 3
_SIGMAS = 3.0
_LEAST_LOSS = 0.15
_BACKLOG_SECONDS = 8.0
_LEAST_BUSY = 0.1
"""Share of its capacity that a member's backlog is measured against at least."""
_UNKNOWN_VARIABILITY = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return Slowdown(members=slow, everybody=None, busy=busy)
    known = capacity.per_second
    variability = capacity.variability_seconds
    variability = _UNKNOWN_VARIABILITY if variability is None else variability
    held = member >= 0
    if np.nansum((log_end[-1] - committed[-1])[held]) < _BACKLOG_SECONDS * _LEAST_BUSY * known:
        return Slowdown(
            members=slow, everybody=None, busy=busy
        )  # Too little waits for anybody to be busy.
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
        is_busy = (rates > 0) & (
            waiting >= _BACKLOG_SECONDS * np.maximum(rates, _LEAST_BUSY * known)
        )
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
    return Slowdown(members=slow, everybody=everybody, busy=busy)


def _least(known: float, variability: float, seconds: float) -> float:
    """Return the rate below which a member is slower than chance explains."""
    return known - known * max(_SIGMAS * sqrt(variability / seconds), _LEAST_LOSS)


_FIRST_PATIENCE_SECONDS = 1800.0
_LONGEST_PATIENCE_SECONDS = 4 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowMembers:
    """Members that were found to be slow, until they prove to be faster or are tried again.

    A slow member that gets less to do no longer shows what it can process. So the mark is dropped
    after a while, and after twice as long if that was wrong.

    Attributes:
        members: Messages per second of each, by its number.
        everybody: Messages per second of a member where most are slow together; else None.
        patience_seconds: How long a mark is kept without being found again.
    """

    members: dict[int, float] = field(default_factory=dict)
    everybody: float | None = None
    patience_seconds: float = _FIRST_PATIENCE_SECONDS
    found_at: float | None = None
    dropped_at: float | None = None
    assignment_id: str | None = None
    assigned_at: float | None = None

    @property
    def is_marked(self) -> bool:
        """Whether anybody is slow."""
        return bool(self.members) or self.everybody is not None

    def applied(self, capacity: Capacity) -> Capacity:
        """Return the capacity as it is now."""
        if self.everybody is None:
            return capacity
        return replace(capacity, low=self.everybody, per_second=self.everybody)

    def assigned(self, assignment_id: str, at: float) -> SlowMembers:
        """Return it after a new assignment: what was before is no longer compared."""
        return replace(self, assignment_id=assignment_id, assigned_at=at)

    def looked(self, found: Slowdown, at: float) -> SlowMembers:
        """Return it with what a look at the newest polls found; see ``expired``."""
        proven = {n for n in found.busy if n not in found.members}
        members = {n: rate for n, rate in self.members.items() if n not in proven}
        now = replace(self, members=members)
        if not found.members and found.everybody is None:
            return now
        patience = now.patience_seconds
        if not now.is_marked:
            again = now.dropped_at is not None and at - now.dropped_at < patience
            longer = min(2 * patience, _LONGEST_PATIENCE_SECONDS)
            patience = longer if again else _FIRST_PATIENCE_SECONDS
        return replace(
            now,
            members={**members, **found.members},
            everybody=now.everybody if found.everybody is None else found.everybody,
            patience_seconds=patience,
            found_at=at,
        )

    def expired(self, at: float) -> SlowMembers:
        """Return it without marks that were not found again for long."""
        if not self.is_marked or self.found_at is None:
            return self
        if at - self.found_at <= self.patience_seconds:
            return self
        return replace(self, members={}, everybody=None, dropped_at=at)
