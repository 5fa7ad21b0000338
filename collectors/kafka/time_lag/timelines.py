"""When partitions reached their offsets: the ground for time lag."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

CAPACITY = 60
"""Points that are kept of a partition: a quarter of an hour at the usual cadence, at least."""

Offsets = npt.NDArray[np.int64]
Times = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Results = npt.NDArray[np.uint8]


class RecordResult(Enum):
    """What became of a recorded point.

    Inserted: a new point. Updated: the last two points already had this offset; the last one's time
    moved on. Out of order: the time is not after the newest point; dropped. Non-monotonic: the
    offset is smaller than the newest one; dropped, and the owner decides whether the topic was
    recreated or truncated.
    """

    INSERTED = "inserted"
    UPDATED = "updated"
    OUT_OF_ORDER = "out of order"
    NON_MONOTONIC = "non-monotonic"


INSERTED, UPDATED, OUT_OF_ORDER, NON_MONOTONIC = range(len(RecordResult))


class Timelines:
    """The end offsets of many partitions over time, as polled: at most ``capacity`` points of each.

    The record at offset ``o`` was appended when the end offset moved past ``o``. Between two polls
    that moment is interpolated, as if records had arrived evenly.

    An idle partition is kept as two points of one offset: the time at which it was *first* seen,
    which never moves, and the time at which it was *last* seen, which moves with each poll. Offsets
    below it are interpolated towards the first time, so that they do not grow younger while nothing
    happens. The next record came after the last time.
    """

    def __init__(self, count: int = 0, capacity: int = CAPACITY) -> None:
        """Begin with so many partitions that nothing is known of; they are numbered from 0."""
        if capacity < 2:
            raise ValueError("capacity must be at least 2")
        self._capacity = capacity
        # A row a point, a column a partition. The oldest point of one that has ``capacity`` points
        # stands in row ``_first``, and of others in row 0. Rows that nothing was written to are no
        # memory yet: idle partitions have two points.
        self._offsets: Offsets = np.zeros((capacity, count), dtype=np.int64)
        self._times: Times = np.zeros((capacity, count))
        self._counts: Rows = np.zeros(count, dtype=np.intp)
        self._first: Rows = np.zeros(count, dtype=np.intp)

    @classmethod
    def of(cls, counts: Rows, offsets: Offsets, times: Times) -> Timelines:
        """Return timelines of points as ``record`` keeps them, at most ``CAPACITY`` of each.

        Args:
            counts: How many points each partition has.
            offsets: Of all points, each partition's together and in order.
            times: Likewise.
        """
        made = cls(len(counts))
        column = np.repeat(np.arange(len(counts)), counts)
        begins = np.cumsum(counts) - counts
        row = np.arange(len(offsets)) - np.repeat(begins, counts)
        made._offsets[row, column], made._times[row, column] = offsets, times
        made._counts[:] = counts
        return made

    def __len__(self) -> int:
        """How many partitions there are."""
        return len(self._counts)

    @property
    def counts(self) -> Rows:
        """How many points each partition has."""
        return self._counts

    def oldest(self, wanted: Rows) -> tuple[Offsets, Times]:
        """Return offset and time of the oldest point of partitions that have any."""
        return self._point(wanted, np.zeros(len(wanted), dtype=np.intp))

    def chosen(self, wanted: Rows) -> Timelines:
        """Return the timelines of partitions in another order; -1: one that is new."""
        made = Timelines(len(wanted), self._capacity)
        known = np.flatnonzero(wanted >= 0)
        of = wanted[known]
        for row in range(self._rows):
            made._offsets[row, known] = self._offsets[row, of]
            made._times[row, known] = self._times[row, of]
        made._counts[known], made._first[known] = self._counts[of], self._first[of]
        return made

    def record(self, wanted: Rows, ends: Offsets, at: float) -> Results:
        """Take in the end offsets of partitions that were read at a time.

        Returns:
            What became of each: the place of one of ``RecordResult``.
        """
        counts = self._counts[wanted]
        newest, newest_at = self._point(wanted, counts - 1)
        before, _ = self._point(wanted, counts - 2)
        results = np.select(
            [
                (counts > 0) & (at <= newest_at),
                (counts > 0) & (ends < newest),
                (counts > 1) & (ends == newest) & (ends == before),
            ],
            [OUT_OF_ORDER, NON_MONOTONIC, UPDATED],
            INSERTED,
        ).astype(np.uint8)
        still = wanted[results == UPDATED]
        self._times[self._place(still, self._counts[still] - 1), still] = at
        is_new = results == INSERTED
        self._append(wanted[is_new], ends[is_new], at)
        return results

    def forget(self, wanted: Rows) -> None:
        """Forget everything of partitions."""
        self._counts[wanted] = self._first[wanted] = 0

    def time_at(self, wanted: Rows, offsets: Offsets) -> Times:
        """Estimate when the records at offsets of partitions were appended.

        Returns:
            Seconds since the epoch: linear between the newest neighbouring points around the
            offset, and the newest point's time for its own offset. Not a number below the oldest
            point and above the newest one: nothing is extrapolated.
        """
        counts = self._counts[wanted]
        below = np.zeros(len(wanted), dtype=np.intp)
        for row in range(self._rows):
            below += (row < counts) & (self._offsets[row, wanted] <= offsets)
        low, low_at = self._point(wanted, below - 1)
        high, high_at = self._point(wanted, np.minimum(below, counts - 1))
        is_newest = (low == offsets) & (below == counts)
        is_between = (below > 0) & (below < counts)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            between = low_at + (offsets - low) / (high - low) * (high_at - low_at)
        found = np.where(is_newest, low_at, np.where(is_between, between, np.nan))
        return np.where(counts > 0, found, np.nan)

    def shift(self, seconds: float) -> None:
        """Move all times: the clock that they were taken from was set."""
        self._times[: self._rows] += seconds

    @property
    def _rows(self) -> int:
        """How many rows hold points."""
        return int(self._counts.max(initial=0))

    def _append(self, wanted: Rows, ends: Offsets, at: float) -> None:
        counts = self._counts[wanted]
        is_full = counts == self._capacity
        place = np.where(is_full, self._first[wanted], counts)
        self._offsets[place, wanted], self._times[place, wanted] = ends, at
        self._counts[wanted[~is_full]] += 1
        full = wanted[is_full]
        self._first[full] = (self._first[full] + 1) % self._capacity

    def _place(self, wanted: Rows, number: Rows) -> Rows:
        """Return in which row a point of a partition is; the oldest one is number 0."""
        return (self._first[wanted] + number) % self._capacity

    def _point(self, wanted: Rows, number: Rows) -> tuple[Offsets, Times]:
        """Return offset and time of a point of each partition; of one without it, anything."""
        place = self._place(wanted, number)
        return self._offsets[place, wanted], self._times[place, wanted]
