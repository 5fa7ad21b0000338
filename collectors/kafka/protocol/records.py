"""Records of any topic as Fetch returns them: offset, time and headers; keys and values are passed.

Asked for over the same connections as everything else, so that no client library joins, commits
or creates anything, and no broken record ends more than its own reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from collectors.kafka.protocol.fetch.fetch_requests import READ_COMMITTED, Position, fetch_request
from collectors.kafka.protocol.fetch.record_batches import Batch, CorruptBatchError, read_batches

PARTITION_BYTES = 256 * 2**10
"""What a broker should return of one partition; a larger batch comes whole all the same."""

_ANSWER_BYTES = 2**22
_NO_TIME = -1


class Record(NamedTuple):
    """One record.

    Attributes:
        timestamp_ms: Milliseconds since 1970; None where it has no timestamp.
        headers: Name and value; a header whose name is no text is left out.
    """

    offset: int
    timestamp_ms: int | None
    is_append_time: bool
    headers: Sequence[tuple[str, bytes | None]]


def fetch(topic: str, positions: Mapping[int, int]) -> Any:
    """Return the request for records of a topic: partition and offset to read from.

    Records of open and aborted transactions are not asked for (read_committed).
    """
    return fetch_request(
        {topic: [Position(partition, offset) for partition, offset in positions.items()]},
        partition_bytes=PARTITION_BYTES,
        answer_bytes=_ANSWER_BYTES,
        isolation_level=READ_COMMITTED,
    )


def read_records(answer: Any, first: int, end: int, where: str) -> tuple[list[Record], int]:
    """Read what a broker answered for one partition.

    Returns:
        The records from ``first`` to before ``end``, and the offset to go on from; that is
        ``first`` where there was nothing.

    A batch that is not understood is stepped over; where even its end is not known, there is
    nothing to be read behind it.
    """
    records: list[Record] = []
    position = first
    try:
        batches = read_batches(bytes(answer.records or b""), first, where)
        for batch, is_read in _committed(batches, answer.aborted_transactions or ()):
            position = batch.next_offset
            if is_read:
                records += _records(batch, first, end, where)
            if position >= end:
                break
    except CorruptBatchError as error:
        position = end if error.resume is None else error.resume
    return records, position


def _committed(batches: Iterable[Batch], aborted: Iterable[Any]) -> Iterator[tuple[Batch, bool]]:
    """Return for each batch whether its records count: no markers, nothing that was rolled back."""
    waiting = sorted((each.first_offset, each.producer_id) for each in aborted)
    rolled_back: set[int | None] = set()
    for batch in batches:
        while waiting and waiting[0][0] < batch.next_offset:
            rolled_back.add(waiting.pop(0)[1])
        if batch.control:
            rolled_back.discard(batch.producer_id)
        plain = batch.producer_id is None or batch.producer_id not in rolled_back
        yield batch, plain and not batch.control


def _records(batch: Batch, first: int, end: int, where: str) -> Iterator[Record]:
    """Read the records of a batch between two offsets."""
    at = batch.start
    try:
        for _ in range(batch.records):
            size, at = _varint(batch.data, at)
            following = at + size
            if size < 0 or following > batch.end:
                raise ValueError("a record is longer than its batch")
            delta, next_at = _varint(batch.data, at + 1)  # behind the attributes
            offset_delta, next_at = _varint(batch.data, next_at)
            offset = batch.base_offset + offset_delta
            if offset >= end:
                return
            if offset >= first:
                time = batch.base_time + delta
                own = None if batch.base_time == _NO_TIME else time
                yield Record(
                    offset,
                    own if batch.append_time is None else batch.append_time,
                    batch.append_time is not None,
                    list(_headers(batch.data, next_at, following)),
                )
            at = following
    except (ValueError, IndexError) as error:
        raise CorruptBatchError(where, batch.base_offset, str(error), batch.next_offset) from None


def _headers(data: bytes, at: int, end: int) -> Iterator[tuple[str, bytes | None]]:
    for _ in ("key", "value"):
        size, at = _varint(data, at)
        at += max(0, size)
    count, at = _varint(data, at)
    for _ in range(count):
        name, at = _bytes(data, at, end)
        value, at = _bytes(data, at, end)
        try:
            yield (name or b"").decode("utf-8"), value
        except UnicodeDecodeError:
            continue


def _bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """Read bytes with their length before them; a negative length stands for null."""
    size, at = _varint(data, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise ValueError("a part of a record is longer than the record")
    return data[at : at + size], at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a signed number of variable length (zigzag), of at most 64 bits."""
    number = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
    raise ValueError("a number is longer than 64 bits")
