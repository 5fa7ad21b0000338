"""Burrow's evaluation of consumer lag, for those who come from it: pure functions.

The rules are those of Burrow 1.9.5 (linkedin/Burrow, ``core/internal/evaluator/caching.go`` and
``storage/inmemory.go``), its weak points included: without severity or duration, one dip hides
growth and one old zero hides a stall. Headroom's own evaluation is
``alerting.status.group_status``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

INTERVALS = 10
"""Commits and end offsets that Burrow keeps of each partition (its setting ``intervals``)."""

_EXPIRE_MS = 604_800_000


class BurrowStatus(StrEnum):
    """Burrow's words; ERR and NOTFOUND are said of groups only."""

    NOTFOUND = "NOTFOUND"
    OK = "OK"
    WARN = "WARN"
    ERR = "ERR"
    STOP = "STOP"
    STALL = "STALL"
    REWIND = "REWIND"

    @property
    def code(self) -> int:
        """The number that Burrow gives it, 0 to 6; a higher one is worse."""
        return list(BurrowStatus).index(self)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a group for a partition.

    Attributes:
        offset: Committed offset.
        order: Position of the commit in ``__consumer_offsets``.
        timestamp_ms: When it was committed, in Unix milliseconds.
        lag: Messages that waited at that time; None where it came out of order.
    """

    offset: int
    order: int
    timestamp_ms: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class BurrowPartition:
    """What Burrow knows of one partition of a group.

    Attributes:
        current_lag: Newest end offset less the last committed one, never negative.
    """

    commits: Sequence[Commit]
    broker_end_offsets: Sequence[int]
    current_lag: int


@dataclass(frozen=True, slots=True)
class BurrowGroupStatus:
    """Burrow's decision on a group.

    Attributes:
        status: Its worst partition's, capped at ERR; NOTFOUND without partitions.
        complete: Share of the partitions whose window of commits is full.
    """

    status: BurrowStatus
    partitions: tuple[BurrowStatus, ...]
    complete: float
    total_lag: int
    max_lag: int


def burrow_partition_status(
    commits: Sequence[Commit],
    broker_end_offsets: Sequence[int],
    current_lag: int,
    now_ms: int,
    allowed_lag: int = 0,
) -> BurrowStatus:
    """Apply Burrow's rules to one partition; the first that matches decides.

    Args:
        commits: The window of commits; they are taken by their ``order``.
        broker_end_offsets: The last end offsets that were polled.
        current_lag: Messages that wait now.
        now_ms: The present in Unix milliseconds.
        allowed_lag: A lag up to this many messages is fine.
    """
    if not commits or current_lag <= allowed_lag:
        return BurrowStatus.OK
    window = sorted(commits, key=lambda commit: commit.order)
    if _is_stopped(window, broker_end_offsets, now_ms):
        return BurrowStatus.STOP
    if _is_rewound(window):
        return BurrowStatus.REWIND
    lags = [commit.lag for commit in window if commit.lag is not None]
    if all(lag > allowed_lag for lag in lags):
        if all(commit.offset == window[0].offset for commit in window):
            return BurrowStatus.STALL
        if all(before <= after for before, after in pairwise(lags)):
            return BurrowStatus.WARN
    return BurrowStatus.OK


def burrow_group_status(
    partitions: Sequence[BurrowPartition], now_ms: int, allowed_lag: int = 0
) -> BurrowGroupStatus:
    """Apply Burrow's rules to a group."""
    if not partitions:
        return BurrowGroupStatus(BurrowStatus.NOTFOUND, (), 0.0, 0, 0)
    statuses = tuple(
        burrow_partition_status(
            one.commits, one.broker_end_offsets, one.current_lag, now_ms, allowed_lag
        )
        for one in partitions
    )
    lags = [one.current_lag for one in partitions]
    full = sum(1 for one in partitions if len(one.commits) >= INTERVALS)
    return BurrowGroupStatus(
        min(max(statuses, key=_code), BurrowStatus.ERR, key=_code),
        statuses,
        full / len(partitions),
        sum(lags),
        max(lags),
    )


def add_commit(
    commits: Sequence[Commit],
    commit: Commit,
    now_ms: int,
    *,
    intervals: int = INTERVALS,
    min_distance_ms: int = 0,
) -> tuple[Commit, ...]:
    """Return the window of commits after one more was read.

    Args:
        commits: The window so far, by order.
        commit: The next one read; its lag is dropped where it came out of order.
        now_ms: The present in Unix milliseconds; commits over a week older are ignored.
        intervals: How many are kept.
        min_distance_ms: A commit closer than this to the one before takes its place, but keeps
            the older time.
    """
    if now_ms - commit.timestamp_ms > _EXPIRE_MS:
        return tuple(commits)
    orders = [one.order for one in commits]
    place = bisect_left(orders, commit.order)
    if place < len(commits):
        is_oldest_of_full_window = place == 0 and len(commits) >= intervals
        if commits[place].order == commit.order or is_oldest_of_full_window:
            return tuple(commits)
        late = replace(commit, lag=None)
        return (*commits[:place], late, *commits[place:])[-intervals:]
    if commits and commit.timestamp_ms - commits[-1].timestamp_ms < min_distance_ms:
        return (*commits[:-1], replace(commit, timestamp_ms=commits[-1].timestamp_ms))
    return (*commits, commit)[-intervals:]


def _code(status: BurrowStatus) -> int:
    return status.code


def _is_stopped(window: Sequence[Commit], ends: Sequence[int], now_ms: int) -> bool:
    """Tell whether the silence is longer than the window, and it was not at the end lately."""
    first, last = window[0], window[-1]
    silence = now_ms - last.timestamp_ms
    return silence > last.timestamp_ms - first.timestamp_ms and all(
        end > last.offset for end in ends
    )


def _is_rewound(window: Sequence[Commit]) -> bool:
    """Tell whether the first step backwards was never made good in the window."""
    for index, (before, after) in enumerate(pairwise(window)):
        if after.offset < before.offset:
            return all(later.offset < before.offset for later in window[index + 1 :])
    return False
