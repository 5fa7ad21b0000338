"""Burrow's evaluation of consumer lag, for those who come from it: pure functions.

The rules are those of Burrow 1.9.5 (linkedin/Burrow, ``core/internal/evaluator/caching.go`` and
``storage/inmemory.go``), its weak points included: without severity or duration, one dip hides
growth and one old zero hides a stall. Headroom's own evaluation is
``alerting.status.group_status``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

INTERVALS = 10
"""Commits and end offsets that Burrow keeps of each partition (its setting ``intervals``)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of a group for a partition."""

    offset: int  # committed offset
    order: int  # position of the commit in ``__consumer_offsets``
    timestamp_ms: int  # when it was committed, in Unix milliseconds
    lag: int | None  # messages that waited at that time; None where it came out of order


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


def _is_stopped(window: Sequence[Commit], ends: Sequence[int], now_ms: int) -> bool:
    """Return whether the silence is longer than the window, and it was not at the end lately."""
    first, last = window[0], window[-1]
    silence = now_ms - last.timestamp_ms
    return silence > last.timestamp_ms - first.timestamp_ms and all(
        end > last.offset for end in ends
    )


def _is_rewound(window: Sequence[Commit]) -> bool:
    """Return whether the first step backwards was never made good in the window."""
    for index, (before, after) in enumerate(pairwise(window)):
        if after.offset < before.offset:
            return all(later.offset < before.offset for later in window[index + 1 :])
    return False
