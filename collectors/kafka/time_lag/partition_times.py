"""What is known of one partition over time."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectors.kafka.time_lag.record_times import RecordTimes
from collectors.kafka.time_lag.timeline import OffsetTimeline, RecordResult

TIMELINE, RECORD = "timeline", "record"
"""What a time was taken from: watched end offsets, or the broker's timestamps of records."""


@dataclass(slots=True, kw_only=True)
class PartitionTimes:
    """What is known of one partition over time.

    Attributes:
        topic_id: Of the topic that it was; another one means that it was created anew.
        stable: Last stable offset below the end, and since when it stands there.
        refused_at: When a look-up was last not permitted, in monotonic seconds.
    """

    topic_id: str | None
    timeline: OffsetTimeline = field(default_factory=OffsetTimeline)
    records: RecordTimes = field(default_factory=RecordTimes)
    stable: tuple[int, float] | None = None
    refused_at: float | None = None

    def reset(self, topic_id: str | None) -> None:
        """Forget everything: the topic is another one, or was cut back."""
        self.topic_id = topic_id
        self.timeline.reset()
        self.records = RecordTimes()
        self.stable = None

    def shift(self, seconds: float) -> None:
        """Move what was timed by this machine's clock, which was set; records have a broker's."""
        self.timeline.shift(seconds)
        if self.stable is not None:
            self.stable = (self.stable[0], self.stable[1] + seconds)

    def record(self, offset: int, at: float, topic_id: str | None) -> None:
        """Take in the end offset that was read at a time.

        A topic that was deleted and created anew has another id; one whose end went backwards
        under the same id was truncated. Either way the old times mean nothing any more.
        """
        if self.topic_id is not None and topic_id is not None and self.topic_id != topic_id:
            self.reset(topic_id)
        self.topic_id = topic_id or self.topic_id
        if self.timeline.record(offset, at) is RecordResult.NON_MONOTONIC:
            self.reset(topic_id)
            self.timeline.record(offset, at)

    def time_at(self, offset: int, now: float) -> tuple[float, str] | None:
        """Return when the record at an offset was appended, and what that was taken from."""
        seen = self.timeline.time_at(offset)
        if seen is not None:
            return seen, TIMELINE
        looked_up = self.records.time_at(offset, self.timeline.oldest, now)
        return None if looked_up is None else (looked_up, RECORD)
