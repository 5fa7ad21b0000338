"""When one partition reached an offset."""

from __future__ import annotations

import numpy as np

from collectors.kafka.time_lag.timelines import CAPACITY, RecordResult, Timelines

_RESULTS: tuple[RecordResult, ...] = tuple(RecordResult)
_ONE = np.zeros(1, dtype=np.intp)


class OffsetTimeline:
    """The end offsets of one partition over time: ``Timelines`` of a single one."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._timelines = Timelines(1, capacity)

    def __len__(self) -> int:
        return int(self._timelines.counts[0])

    @property
    def oldest(self) -> tuple[int, float] | None:
        """Offset and time of the oldest point; None where there is none."""
        if not len(self):
            return None
        (offset,), (at,) = self._timelines.oldest(_ONE)
        return int(offset), float(at)

    def record(self, offset: int, at: float) -> RecordResult:
        """Take in the end offset that was read at a time."""
        (result,) = self._timelines.record(_ONE, np.array([offset]), at)
        return _RESULTS[int(result)]

    def time_at(self, offset: int) -> float | None:
        """Estimate when the record at an offset was appended; None where nothing tells it."""
        (at,) = self._timelines.time_at(_ONE, np.array([offset]))
        return None if np.isnan(at) else float(at)

    def reset(self) -> None:
        """Forget everything: the topic is another one now."""
        self._timelines.forget(_ONE)
