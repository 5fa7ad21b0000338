"""Headers of a few records of a dead-letter topic: why, from where, since when. No payloads."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, TopicPartition

from collectors.errors import CollectorError
from collectors.kafka.deadletters import Reason, read_headers

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
class Sample:
    """What the records of a topic's sample say.

    Attributes:
        records: How many were read.
        reasons: Exception class: records of the sample; those without one are not counted.
        origin: The topic that most of them come from.
        oldest_at: The earliest timestamp among the first record of each partition.
        complete: Whether everything asked for was read in time.
    """

    records: int
    reasons: Mapping[str, int]
    origin: str | None
    oldest_at: datetime | None
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
    first_times: list[float] = []
    count = 0
    complete = True
    for spread, is_oldest in ((oldest, True), (newest, False)):
        seen: set[int] = set()
        found: list[_Found] = []
        finished = _read(consumer, topic, spread, until, found)
        complete = complete and finished
        for partition, timestamp, reason in found:
            count += 1
            if reason.exception:
                reasons[reason.exception] += 1
            if reason.origin:
                origins[reason.origin] += 1
            if is_oldest and partition not in seen and timestamp is not None:
                seen.add(partition)
                first_times.append(timestamp)
    return Sample(
        count,
        dict(reasons.most_common()),
        origins.most_common(1)[0][0] if origins else None,
        datetime.fromtimestamp(min(first_times), UTC) if first_times else None,
        complete,
    )


_Found = tuple[int, float | None, Reason]


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
                    kind, milliseconds = message.timestamp()
                    known = kind != TIMESTAMP_NOT_AVAILABLE
                    found.append(
                        (
                            partition,
                            milliseconds / 1000 if known else None,
                            read_headers(_pairs(message.headers())),
                        )
                    )
                # Compaction and control records leave holes: beyond the end is the end, too.
                if offset >= open_ends[partition] - 1:
                    del open_ends[partition]
    finally:
        consumer.unassign()
    return not open_ends


def _pairs(headers: Any) -> list[tuple[str, bytes | str | None]]:
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
