"""Headers of a few records of a dead-letter topic: why, from where, since when. No payloads."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)

from collectors.errors import CollectorError
from collectors.kafka.deadletters import HeaderValue, Letter, read_headers

_BATCH = 200
_WAIT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Span:
    """What to read of one partition.

    Attributes:
        partition: Its number.
        first: The oldest offset of interest: unprocessed where that is known, else the log's start.
        end: The log's end.
    """

    partition: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Times:
    """When a dead letter came about.

    Attributes:
        timestamp: The record's own timestamp, whatever it means.
        event_at: When the record that failed was made; None where nobody tells.
        arrived_at: When the dead letter was appended; None where nobody tells.
    """

    timestamp: datetime
    event_at: datetime | None
    arrived_at: datetime | None


@dataclass(frozen=True, slots=True)
class Sample:
    """What the records of a topic's sample say.

    Attributes:
        records: How many were read.
        reasons: Exception class, or what a share group's broker says: records of the sample;
            those that do not tell are not counted.
        origins: Topic that they come from: records of the sample, the most frequent first.
        oldest: The times of the record with the earliest timestamp among the first record of each
            partition; None where none has a timestamp.
        complete: Whether everything asked for was read in time.
    """

    records: int
    reasons: Mapping[str, int]
    origins: Mapping[str, int]
    oldest: Times | None
    complete: bool


def sample(
    consumer: Consumer, topic: str, spans: Sequence[Span], records: int, until: float
) -> Sample:
    """Read the oldest and the newest records of a topic, spread over its partitions.

    Args:
        consumer: From ``clients.record_reader``.
        topic: The topic; its partitions exist.
        spans: One a partition.
        records: How many of the oldest and how many of the newest.
        until: Monotonic time at which reading ends, with what was read by then.

    Raises:
        CollectorError: Records cannot be read: not permitted, or no broker.
    """
    filled = [span for span in spans if span.end > span.first]
    share = max(1, -(-records // len(filled))) if filled else 0
    oldest = {span.partition: (span.first, min(span.end, span.first + share)) for span in filled}
    newest = {
        span.partition: (max(span.end - share, oldest[span.partition][1]), span.end)
        for span in filled
        if span.end > oldest[span.partition][1]
    }
    reasons: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    first: list[Times] = []
    count = 0
    complete = True
    for spread, is_oldest in ((oldest, True), (newest, False)):
        seen: set[int] = set()
        found: list[_Found] = []
        finished = _read(consumer, topic, spread, until, found)
        complete = complete and finished
        for record in found:
            count += 1
            if record.letter.reason:
                reasons[record.letter.reason] += 1
            if record.letter.origin:
                origins[record.letter.origin] += 1
            if is_oldest and record.partition not in seen:
                seen.add(record.partition)
                times = times_of(record.timestamp_kind, record.timestamp_ms, record.letter)
                if times is not None:
                    first.append(times)
    return Sample(
        count,
        dict(reasons.most_common()),
        dict(origins.most_common()),
        min(first, key=lambda times: times.timestamp, default=None),
        complete,
    )


def times_of(kind: int, milliseconds: int, letter: Letter) -> Times | None:
    """Tell the times of a dead letter from its timestamp and its headers.

    With LogAppendTime the timestamp is the arrival. With CreateTime it is the event's where the
    writer copies it (Kafka Connect, Kafka Streams), the arrival where the writer sets none
    (Spring, SmallRye, share groups), and either where the headers do not tell who wrote it.

    Args:
        kind: confluent-kafka's ``TIMESTAMP_…``.
        milliseconds: Since 1970.
        letter: What the headers say.

    Returns:
        The times; None where the record has no timestamp.
    """
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return None
    timestamp = _moment(milliseconds / 1000)
    if timestamp is None:
        return None
    is_arrival = kind == TIMESTAMP_LOG_APPEND_TIME or letter.copies_timestamp is False
    is_event = not is_arrival and letter.copies_timestamp is True
    told = None if letter.event_at is None else _moment(letter.event_at)
    return Times(timestamp, timestamp if is_event else told, timestamp if is_arrival else None)


def _moment(seconds: float) -> datetime | None:
    """Return a moment; None for one that no calendar has: producers may write any number."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


@dataclass(frozen=True, slots=True)
class _Found:
    partition: int
    timestamp_kind: int
    timestamp_ms: int
    letter: Letter


def _read(
    consumer: Consumer,
    topic: str,
    spread: Mapping[int, tuple[int, int]],
    until: float,
    found: list[_Found],
) -> bool:
    """Read offsets [first, end) of partitions; tell whether all of it was read in time."""
    open_ends = {partition: end for partition, (first, end) in spread.items() if end > first}
    if not open_ends:
        return True
    consumer.assign([TopicPartition(topic, part, spread[part][0]) for part in open_ends])
    try:
        while open_ends and time.monotonic() < until:
            for message in consumer.consume(_BATCH, timeout=_WAIT_SECONDS):
                partition = message.partition()
                error = message.error()
                if error is not None:
                    _settle(error, topic, partition, open_ends)
                    continue
                offset = message.offset()
                if partition is None or offset is None or partition not in open_ends:
                    continue
                if offset < open_ends[partition]:
                    letter = read_headers(_headers(message))
                    found.append(_Found(partition, *message.timestamp(), letter))
                # Compaction and control records leave holes: beyond the end is the end, too.
                if offset >= open_ends[partition] - 1:
                    del open_ends[partition]
    finally:
        consumer.unassign()
    return not open_ends


def _headers(message: Message) -> list[tuple[str, HeaderValue]]:
    try:
        headers = message.headers()
    except (SystemError, UnicodeDecodeError):
        # The client cannot read a header whose *name* is no text; this record then has none.
        return []
    return list(headers.items() if isinstance(headers, dict) else headers or [])


def _settle(
    error: KafkaError, topic: str, partition: int | None, open_ends: dict[int, int]
) -> None:
    code = error.code()
    if code == KafkaError._PARTITION_EOF:  # noqa: SLF001 (confluent-kafka's public constant)
        if partition is not None:
            open_ends.pop(partition, None)
    elif code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        raise CollectorError(f"not permitted: needs READ on the topic {topic}")
    elif code in (
        KafkaError.OFFSET_OUT_OF_RANGE,
        KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    ):
        # Retention was quicker, or the topic was deleted: there is nothing to read there now.
        if partition is not None:
            open_ends.pop(partition, None)
    elif not error.retriable() and error.fatal():
        raise CollectorError(f"records of {topic} cannot be read: {error.str()}")
