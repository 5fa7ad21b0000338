"""Headers of a few records of a dead-letter topic: why, from where, since when. No payloads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from collectors.errors import CollectorError
from collectors.kafka.dead_letters.detection import DeadLetterHeaders, read_headers
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.records import Record, fetch, read_records

LARGEST_BYTES = 2**23
"""What is fetched at most for the oldest records of a topic, and for its newest."""

_NOT_PERMITTED = 29
_NOTHING_THERE = frozenset({1, 3})  # retention was quicker, or the topic was deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRange:
    """What to read of one partition.

    Attributes:
        first: The oldest offset of interest: unprocessed where that is known, else the log's start.
    """

    partition: int
    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When a dead letter came about.

    Attributes:
        event_at: When the record that failed was made; None where nobody tells.
        arrived_at: When the dead letter was appended; None where nobody tells.
    """

    timestamp: datetime
    event_at: datetime | None
    arrived_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the records of a topic's sample say.

    Attributes:
        reasons: Exception class, or what a share group's broker says: records of the sample;
            those that do not tell are not counted.
        origins: Topic that they come from: records of the sample, the most frequent first.
        newest_record: Where the newest record of the sample lies, and what its headers say.
        oldest_record: The same of the oldest.
        oldest: The times of the record with the earliest timestamp among the first record of each
            partition; None where none has a timestamp.
    """

    records: int
    reasons: Mapping[str, int]
    origins: Mapping[str, int]
    oldest: Times | None
    complete: bool
    newest_record: Mapping[str, str]
    oldest_record: Mapping[str, str]


def sample(
    wire: Wire,
    topic: str,
    spans: Sequence[OffsetRange],
    leaders: Mapping[int, int],
    records: int,
    deadline: Deadline,
) -> Sample:
    """Read the oldest and the newest records of a topic, spread over its partitions."""
    filled = [span for span in spans if span.end > span.first]
    share = max(1, -(-records // len(filled))) if filled else 0
    oldest = _Reading(
        topic,
        {span.partition: (span.first, min(span.end, span.first + share)) for span in filled},
        leaders,
    )
    oldest.read(wire, deadline)
    newest = _Reading(
        topic,
        {
            span.partition: (start, span.end)
            for span in filled
            if (start := max(span.end - share, oldest.reached(span.partition))) < span.end
        },
        leaders,
    )
    newest.read(wire, deadline)
    letters = [
        [(partition, record, read_headers(record.headers)) for partition, record in reading.found]
        for reading in (oldest, newest)
    ]
    reported = [letter for found in letters for _, _, letter in found]
    first: dict[int, Times | None] = {}
    for partition, record, letter in letters[0]:
        if partition not in first:
            first[partition] = times_of(record, letter)
    reasons = Counter(letter.reason for letter in reported if letter.reason)
    origins = Counter(letter.origin for letter in reported if letter.origin)
    return Sample(
        records=len(oldest.found) + len(newest.found),
        reasons=dict(reasons.most_common()),
        origins=dict(origins.most_common()),
        oldest=min(filter(None, first.values()), key=lambda times: times.timestamp, default=None),
        complete=oldest.complete and newest.complete,
        newest_record=_described(letters, newest=True),
        oldest_record=_described(letters, newest=False),
    )


def _described(
    letters: Sequence[Sequence[tuple[int, Record, DeadLetterHeaders]]], *, newest: bool
) -> dict[str, str]:
    """Return where the newest or oldest record lies and what its headers say, as far as known."""
    each = [
        (record.timestamp_ms, record.offset, partition, letter)
        for found in letters
        for partition, record, letter in found
        if record.timestamp_ms is not None
    ]
    if not each:
        return {}
    choose = max if newest else min
    timestamp_ms, offset, partition, letter = choose(each, key=lambda one: one[:3])
    at = _moment((timestamp_ms or 0) / 1000)
    said = {
        "partition": str(partition),
        "offset": str(offset),
        "timestamp": None if at is None else at.isoformat(timespec="milliseconds"),
        "reason": letter.reason,
        "origin": letter.origin,
    }
    return {name: text for name, text in said.items() if text is not None}


def times_of(record: Record, letter: DeadLetterHeaders) -> Times | None:
    """Return the times of a dead letter from its timestamp and its headers.

    With LogAppendTime the timestamp is the arrival. With CreateTime it is the event's where the
    writer copies it (Kafka Connect, Kafka Streams), the arrival where the writer sets none
    (Spring, SmallRye, share groups), and either where the headers do not tell who wrote it.
    """
    timestamp = None if record.timestamp_ms is None else _moment(record.timestamp_ms / 1000)
    if timestamp is None:
        return None
    is_arrival = record.is_append_time or letter.copies_timestamp is False
    is_event = not is_arrival and letter.copies_timestamp is True
    reported = None if letter.event_at is None else _moment(letter.event_at)
    return Times(
        timestamp=timestamp,
        event_at=timestamp if is_event else reported,
        arrived_at=timestamp if is_arrival else None,
    )


def _moment(seconds: float) -> datetime | None:
    """Return a moment; None for one that no calendar has: producers may write any number."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


class _Reading:
    """Reading of some offsets of a topic's partitions.

    Attributes:
        found: Partition and record, in the order of offsets within a partition.
        complete: Whether all of it was read: what retention or compaction took, what is not
            committed yet and what would be too large is not missed.
    """

    def __init__(
        self, topic: str, spread: Mapping[int, tuple[int, int]], leaders: Mapping[int, int]
    ) -> None:
        self.found: list[tuple[int, Record]] = []
        self.complete = True
        self._topic = topic
        self._ends = {partition: end for partition, (_, end) in spread.items()}
        self._positions = {partition: first for partition, (first, _) in spread.items()}
        self._leaders = leaders
        self._bytes = 0

    def reached(self, partition: int) -> int:
        """Return the offset before which nothing is left to be read."""
        return self._positions.get(partition, self._ends[partition])

    def read(self, wire: Wire, deadline: Deadline) -> None:
        """Ask the leaders again and again, until there is nothing left to ask for."""
        errors: list[CollectorError] = []
        while self._positions and self._bytes < LARGEST_BYTES:
            if deadline.left_seconds <= 0:
                self.complete = False
                break
            positions, self._positions = self._positions, {}
            by_leader: dict[int, dict[int, int]] = {}
            for partition, position in positions.items():
                leader = self._leaders.get(partition)
                if leader is None:
                    self.complete = False
                else:
                    by_leader.setdefault(leader, {})[partition] = position
            asked = {leader: [fetch(self._topic, part)] for leader, part in by_leader.items()}
            for answers in wire.each(asked, deadline).values():
                if isinstance(answers, CollectorError):
                    errors.append(answers)
                    self.complete = False
                    continue
                for topic in answers[0].responses or ():
                    for answer in topic.partitions or ():
                        if answer.partition_index in positions:
                            self._take(answer, positions[answer.partition_index])
        if errors and not self.found:
            raise errors[0]

    def _take(self, answer: Any, first: int) -> None:
        code = answer.error_code
        partition = answer.partition_index
        if code == _NOT_PERMITTED:
            raise CollectorError(f"not permitted: needs READ on the topic {self._topic}")
        if code in _NOTHING_THERE:
            return
        if code:
            self.complete = False
            return
        self._bytes += len(answer.records or b"")
        end = self._ends[partition]
        where = f"{self._topic}-{partition}"
        records, position = read_records(answer, first, end, where)
        self.found += [(partition, record) for record in records]
        if first < position < end:
            self._positions[partition] = position
