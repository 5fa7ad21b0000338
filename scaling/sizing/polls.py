"""The polls of a group's partitions as arrays: what rates, ages and blockages are taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alerting.status.model import PartitionWindow, Sample
from scaling.facts.intervals import Booleans, Floats, Integers, blocked_partitions

_SLACK_SECONDS = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """Polls in order of time: one row a poll, one column a partition; NaN is unknown."""

    at: Floats  # when each was made, Unix seconds
    log_end: Floats
    committed: Floats
    time_lag_seconds: Floats

    def __len__(self) -> int:
        """Return the number of polls."""
        return len(self.at)

    @property
    def lag(self) -> Floats:
        """Messages that wait at the newest poll, by partition; NaN is unknown."""
        waiting: Floats = np.maximum(self.log_end[-1] - self.committed[-1], 0.0)
        return waiting

    def until(self, at: float) -> Polls:
        """Return the polls up to a moment, inclusive."""
        return self._cut(slice(0, int(np.searchsorted(self.at, at + _SLACK_SECONDS))))

    def since(self, at: float) -> Polls:
        """Return the polls from a moment on, inclusive."""
        return self._cut(slice(int(np.searchsorted(self.at, at - _SLACK_SECONDS)), None))

    def blocked(self, member: Integers, *, seconds: float) -> Booleans:
        """Return which partitions did not advance for a time while others of their member did.

        Args:
            member: The member that holds each partition; negative: nobody.
            seconds: The time; where there are no polls from before it, no partition is blocked.
        """
        before = int(np.searchsorted(self.at, self.at[-1] - seconds + _SLACK_SECONDS)) - 1
        if before < 0:
            return np.zeros(len(member), dtype=np.bool_)
        ends = [before, -1]
        return blocked_partitions(self.committed[ends], self.log_end[ends], member, polls=1)

    def _cut(self, kept: slice) -> Polls:
        return Polls(
            at=self.at[kept],
            log_end=self.log_end[kept],
            committed=self.committed[kept],
            time_lag_seconds=self.time_lag_seconds[kept],
        )


def polls_of(windows: Sequence[PartitionWindow]) -> Polls | None:
    """Return the polls in which every partition was read; None without any."""
    if not windows or not all(window.samples for window in windows):
        return None
    columns = [tuple(zip(*window.samples, strict=True)) for window in windows]
    at = columns[0][_AT]
    if any(one[_AT] != at for one in columns):
        at = tuple(sorted(set(at).intersection(*(one[_AT] for one in columns))))
        columns = [_picked(one, at) for one in columns]
    log_end, committed, ages = (
        np.array([one[index] for one in columns], dtype=np.float64).T
        for index in (_LOG_END, _COMMITTED, _TIME_LAG)
    )
    known = ~(np.isnan(log_end) | np.isnan(committed)).any(axis=1)
    if not known.any():
        return None
    return Polls(
        at=np.array(at, dtype=np.float64)[known],
        log_end=log_end[known],
        committed=committed[known],
        time_lag_seconds=ages[known],
    )


_AT, _COMMITTED, _LOG_END, _TIME_LAG = (
    Sample._fields.index(name) for name in ("at", "committed", "log_end", "time_lag_seconds")
)


def _picked(
    columns: tuple[tuple[Any, ...], ...], at: tuple[float, ...]
) -> tuple[tuple[Any, ...], ...]:
    """Return the columns of one partition at some of its times."""
    index = {time: number for number, time in enumerate(columns[_AT])}
    return tuple(tuple(column[index[time]] for time in at) for column in columns)
