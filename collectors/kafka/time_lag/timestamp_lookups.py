"""Asking brokers for the timestamps of single records, many in one request."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.errors import CollectorError
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import NO_LEADER, NOT_TOLD, reason
from collectors.kafka.protocol.fetch.fetch_requests import (
    READ_UNCOMMITTED,
    Position,
    fetch_request,
    list_offsets_request,
)

Place = tuple[str, int]
"""Topic and partition."""

NOT_PERMITTED = "not permitted: needs READ on the topic"
NO_TIMESTAMP = "the record carries no timestamp"
COMPACTED = "compaction has removed the record"

_HEADER = struct.Struct(">qiibIhiqq")
_TOPIC_AUTHORIZATION_FAILED = 29
NOTHING_SENT = "the broker sent no record"
_PARTITION_BYTES = (4 * 2**10, 2**16, 2**20)
"""What is asked for of a partition, tried in turn: of a larger batch a broker sends nothing."""

_ANSWER_BYTES = 2**24
_LOG_APPEND_TIME, _DELETE_HORIZON = 1 << 3, 1 << 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A record whose timestamp is wanted."""

    topic: str
    partition: int
    offset: int

    @property
    def place(self) -> Place:
        """Topic and partition."""
        return self.topic, self.partition


def fetch_times(
    wire: Wire, wanted: Iterable[Wanted], leaders: Mapping[Place, int], deadline: Deadline
) -> dict[Wanted, float | str]:
    """Read the timestamps of records from the head of the batches that they are in.

    Nothing of a record itself is looked at. Inside a batch the timestamp is interpolated between
    its first and its latest one. Needs READ on the topic.

    Returns:
        Record: its timestamp in seconds since the epoch, or why there is none.
    """
    left = list(wanted)
    found: dict[Wanted, float | str] = dict.fromkeys(left, NOTHING_SENT)
    for size in _PARTITION_BYTES:
        if left and deadline.left_seconds > 0:
            found.update(_fetch_once(wire, left, leaders, size, deadline))
            left = [item for item in left if found[item] == NOTHING_SENT]
    return found


def _fetch_once(
    wire: Wire,
    wanted: Iterable[Wanted],
    leaders: Mapping[Place, int],
    partition_bytes: int,
    deadline: Deadline,
) -> dict[Wanted, float | str]:
    batches: dict[int, list[dict[Place, Wanted]]] = defaultdict(list)
    found: dict[Wanted, float | str] = {}
    for item in wanted:
        leader = leaders.get(item.place)
        if leader is None:
            found[item] = NO_LEADER
            continue
        # A request can ask for one offset of a partition.
        for places in batches[leader]:
            if item.place not in places:
                places[item.place] = item
                break
        else:
            batches[leader].append({item.place: item})
    asked = {
        leader: [_fetch(places.values(), partition_bytes) for places in requests]
        for leader, requests in batches.items()
    }
    for leader, answers in wire.each(asked, deadline).items():
        for number, places in enumerate(batches[leader]):
            if isinstance(answers, CollectorError):
                found.update(dict.fromkeys(places.values(), str(answers)))
            else:
                _read(answers[number], places, found)
    return found


def first_from(
    wire: Wire, times: Mapping[Place, float], leaders: Mapping[Place, int], deadline: Deadline
) -> dict[Place, tuple[int, float] | str | None]:
    """Ask for the first record of partitions that is not older than a time.

    Needs DESCRIBE on the topic only.

    Returns:
        Partition: offset and timestamp of the record; None where all are older; or why it is not
        known.
    """
    by_leader: dict[int, list[Place]] = defaultdict(list)
    found: dict[Place, tuple[int, float] | str | None] = {}
    for place in times:
        if place in leaders:
            by_leader[leaders[place]].append(place)
        found[place] = NOT_TOLD if place in leaders else NO_LEADER
    asked = {leader: [_offsets_for(places, times)] for leader, places in by_leader.items()}
    for leader, answers in wire.each(asked, deadline).items():
        if isinstance(answers, CollectorError):
            found.update(dict.fromkeys(by_leader[leader], str(answers)))
            continue
        for topic in answers[0].topics or ():
            for partition in topic.partitions or ():
                place = (topic.name, partition.partition_index)
                if place not in times:
                    continue
                if partition.error_code:
                    found[place] = reason(partition.error_code)
                elif partition.offset < 0 or partition.timestamp < 0:
                    found[place] = None
                else:
                    found[place] = (partition.offset, partition.timestamp / 1000)
    return found


def _fetch(wanted: Iterable[Wanted], partition_bytes: int) -> Any:
    topics: dict[str, list[Position]] = defaultdict(list)
    for item in wanted:
        topics[item.topic].append(Position(item.partition, item.offset))
    return fetch_request(
        topics,
        partition_bytes=partition_bytes,
        answer_bytes=_ANSWER_BYTES,
        isolation_level=READ_UNCOMMITTED,
    )


def _read(answer: Any, places: Mapping[Place, Wanted], found: dict[Wanted, float | str]) -> None:
    if answer.error_code:
        found.update(dict.fromkeys(places.values(), reason(answer.error_code)))
        return
    for topic in answer.responses or ():
        for partition in topic.partitions or ():
            item = places.get((topic.topic, partition.partition_index))
            code = partition.error_code
            if item is None:
                continue
            if code == _TOPIC_AUTHORIZATION_FAILED:
                found[item] = NOT_PERMITTED
            elif code:
                found[item] = reason(code)
            else:
                found[item] = batch_time(bytes(partition.records or b""), item.offset)


def batch_time(data: bytes, offset: int) -> float | str:
    """Return when a record was written by the head of the batch that holds it.

    Returns:
        Seconds since the epoch, or why it is not known.
    """
    if len(data) < _HEADER.size:
        return NOTHING_SENT
    head: tuple[int, ...] = _HEADER.unpack_from(data)
    base, _, _, version, _, attributes, last_delta, first_ms, latest_ms = head
    if version != 2:
        return NO_TIMESTAMP
    if base > offset:
        return COMPACTED
    if latest_ms < 0:
        return NO_TIMESTAMP
    # Where the broker sets the time all records have the latest one; a compacted batch that holds
    # tombstones keeps another time in the place of the first one.
    if attributes & (_LOG_APPEND_TIME | _DELETE_HORIZON) or first_ms < 0 or last_delta <= 0:
        return latest_ms / 1000
    share = min(1.0, (offset - base) / last_delta)
    return (first_ms + share * (latest_ms - first_ms)) / 1000


def _offsets_for(places: Sequence[Place], times: Mapping[Place, float]) -> Any:
    topics: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for topic, partition in places:
        topics[topic].append((partition, max(0, int(times[topic, partition] * 1000))))
    return list_offsets_request(topics, isolation_level=READ_UNCOMMITTED)
