"""Writes record batches and the records of ``__consumer_offsets``, as the protocol describes them.

Written apart from the reader, so that the two can disagree.
"""

from __future__ import annotations

import gzip
import struct
import uuid
from collections.abc import Sequence

import pyarrow as pa

Record = tuple[bytes | None, bytes | None]

HEADER = ">qiibIhiqqqhii"
TRANSACTIONAL, CONTROL = 0x10, 0x20


def varint(number: int) -> bytes:
    """Return a zigzag varint."""
    return uvarint((number << 1) ^ (number >> 63))


def uvarint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def commit_key(group: str, topic: str, partition: int, kind: int = 1) -> bytes:
    return struct.pack(">h", kind) + string(group) + string(topic) + struct.pack(">i", partition)


def commit_value(
    offset: int,
    time: int,
    version: int = 4,
    metadata: str = "",
    topic_id: uuid.UUID | None = None,
    epoch: int = 7,
) -> bytes:
    """Return the value of an offset commit; versions above 4 are like 4."""
    start = struct.pack(">hq", version, offset)
    if version >= 4:
        tags = b"\0" if topic_id is None else b"\x01\x00\x10" + topic_id.bytes
        text = metadata.encode()
        body = uvarint(len(text) + 1) + text + struct.pack(">q", time) + tags
        return start + struct.pack(">i", epoch) + body
    if version == 3:
        return start + struct.pack(">i", epoch) + string(metadata) + struct.pack(">q", time)
    value = start + string(metadata) + struct.pack(">q", time)
    return value + struct.pack(">q", time + 1) if version == 1 else value


def commit(group: str, topic: str, partition: int, offset: int, time: int, **how: object) -> Record:
    return commit_key(group, topic, partition), commit_value(offset, time, **how)  # type: ignore[arg-type]


def tombstone(group: str, topic: str, partition: int) -> Record:
    return commit_key(group, topic, partition), None


def batch(
    base_offset: int,
    records: Sequence[Record],
    *,
    producer_id: int = -1,
    attributes: int = 0,
    codec: str | None = None,
    epoch: int = 0,
    deltas: Sequence[int] | None = None,
    last_delta: int | None = None,
) -> bytes:
    """Return a record batch; ``deltas`` leaves gaps between offsets, as compaction does."""
    deltas = list(range(len(records))) if deltas is None else deltas
    body = b"".join(
        record(delta, key, value) for delta, (key, value) in zip(deltas, records, strict=True)
    )
    last = (deltas[-1] if deltas else 0) if last_delta is None else last_delta
    codecs = {None: 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4, "raw snappy": 2}
    body = compressed(body, codec)
    return (
        struct.pack(
            HEADER,
            base_offset,
            struct.calcsize(HEADER) - 12 + len(body),
            epoch,
            2,
            0,
            attributes | codecs[codec],
            last,
            1_000,
            1_000,
            producer_id,
            0 if producer_id >= 0 else -1,
            0 if producer_id >= 0 else -1,
            len(records),
        )
        + body
    )


def record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"\0" + varint(0) + varint(delta)
    for part in (key, value):
        body += varint(-1) if part is None else varint(len(part)) + part
    body += varint(0)
    return varint(len(body)) + body


def compressed(body: bytes, codec: str | None) -> bytes:
    if codec is None:
        return body
    if codec == "gzip":
        return gzip.compress(body)
    if codec == "raw snappy":
        return pa.compress(body, "snappy", asbytes=True)
    if codec == "snappy":  # as snappy-java frames it: blocks of at most 32 KiB
        framed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
        for start in range(0, len(body), 32_768):
            block = pa.compress(body[start : start + 32_768], "snappy", asbytes=True)
            framed += struct.pack(">i", len(block)) + block
        return framed
    return pa.compress(body, codec, asbytes=True)


def transactional(base_offset: int, producer_id: int, records: Sequence[Record]) -> bytes:
    return batch(base_offset, records, producer_id=producer_id, attributes=TRANSACTIONAL)


def marker(offset: int, producer_id: int, committed: bool) -> bytes:
    """Return the control batch that ends a transaction."""
    key = struct.pack(">hh", 0, int(committed))
    value = struct.pack(">hi", 0, 3)
    attributes = TRANSACTIONAL | CONTROL
    return batch(offset, [(key, value)], producer_id=producer_id, attributes=attributes)
