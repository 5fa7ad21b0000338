"""When records were written that lie further back than a partition was watched."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

POINTS = 32
"""Most points that are kept of a partition."""

_SURE_SECONDS = 60.0
_CERTAIN_FRACTION = 0.25


class RecordTimes:
    """Offsets of one partition with the broker's timestamps of their records, as looked up.

    Between two points that are close together in time the timestamp is interpolated: the true one
    lies between theirs. "Close" is a quarter of how long ago the earlier one was, or a minute.
    """

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._times: list[float] = []
        self._order: list[int] = []

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, offset: int, time: float) -> None:
        """Take in a record's timestamp; the point that came first gives way to the newest."""
        at = bisect_left(self._offsets, offset)
        if at < len(self._offsets) and self._offsets[at] == offset:
            self._times[at] = time
            return
        self._offsets.insert(at, offset)
        self._times.insert(at, time)
        self._order.append(offset)
        if len(self._order) > POINTS:
            gone = bisect_left(self._offsets, self._order.pop(0))
            del self._offsets[gone], self._times[gone]

    def time_at(self, offset: int, upper: tuple[int, float] | None, now: float) -> float | None:
        """Return when the record at an offset was written.

        Args:
            offset: The record's offset.
            upper: Offset and time of a later record that is known otherwise.
            now: The present, in seconds since the epoch.
        """
        found = self.bracket(offset, upper)
        if found is None:
            return None
        (low, low_time), (high, high_time) = found
        if low == offset:
            return low_time
        width = high_time - low_time
        if not 0 <= width <= max(_SURE_SECONDS, _CERTAIN_FRACTION * (now - low_time)):
            return None
        return low_time + width * (offset - low) / (high - low)

    def bracket(
        self, offset: int, upper: tuple[int, float] | None
    ) -> tuple[tuple[int, float], tuple[int, float]] | None:
        """Return the nearest known records around an offset; None where one side is missing.

        The record at the offset itself is both, where it is known.
        """
        at = bisect_left(self._offsets, offset)
        if at < len(self._offsets):
            after = (self._offsets[at], self._times[at])
            if after[0] == offset:
                return after, after
            if upper is None or after[0] < upper[0]:
                upper = after
        if at == 0 or upper is None or upper[0] <= offset:
            return None
        return (self._offsets[at - 1], self._times[at - 1]), upper


@dataclass(slots=True, kw_only=True)
class LookedUp:
    """What brokers were asked of one partition.

    Attributes:
        upper: Offset and time of the oldest record that is known from watching the partition.
        refused_at: When a look-up was last not permitted, in monotonic seconds.
    """

    records: RecordTimes = field(default_factory=RecordTimes)
    upper: tuple[int, float] | None = None
    refused_at: float | None = None

    def time_at(self, offset: int, now: float) -> float | None:
        """Return when the record at an offset was written."""
        return self.records.time_at(offset, self.upper, now)
