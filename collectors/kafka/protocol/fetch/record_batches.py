"""Kafka's record batches (format 2), as Fetch returns them.

Every length is checked before it is used: what a broken disk or a broken broker makes of a batch
ends in ``CorruptBatchError`` and in nothing else. The checksum is not computed: the broker does so
at each append, TCP and TLS guard the way, and in Python it would cost more than all the rest.

Source of the format: https://kafka.apache.org/documentation/#recordbatch
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from collectors.errors import ProtocolError

# baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta,
# baseTimestamp, maxTimestamp, producerId, producerEpoch, baseSequence, recordsCount
_HEADER = struct.Struct(">qiibIhiqqqhii")
_PREFIX = 12  # baseOffset and batchLength; the length counts what follows them
_MAGIC_AT = 16
_MAGIC = 2
_COMPRESSION, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_CODECS = {1: "gzip", 3: "lz4", 4: "zstd"}
_SNAPPY = 2
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
LARGEST_BATCH = 64 * 2**20
"""Bytes that a batch may have when it is decompressed."""


class CorruptBatchError(ProtocolError):
    """A record batch cannot be understood.

    Attributes:
        resume: The offset behind it; None where its header does not tell.
    """

    def __init__(self, where: str, offset: int, why: str, resume: int | None = None) -> None:
        super().__init__(f"{where}: the record batch at offset {offset} is not understood: {why}")
        self.offset = offset
        self.resume = resume


class Batch(NamedTuple):
    """One record batch.

    Attributes:
        producer_id: Whose transaction it belongs to; None where it belongs to none.
        records: How many are in it; compaction leaves gaps between their offsets.
        base_time: What the records' timestamps count from, in milliseconds since 1970.
        append_time: When the broker appended it, in milliseconds, where the topic keeps that
            time instead of the records' own; None otherwise.
    """

    base_offset: int
    next_offset: int
    leader_epoch: int
    producer_id: int | None
    control: bool
    records: int
    data: bytes
    start: int
    end: int
    base_time: int
    append_time: int | None


def read_batches(data: bytes, position: int, where: str) -> Iterator[Batch]:
    """Read the batches of one partition from a Fetch response.

    A batch that is cut off at the end, as brokers do it at the size limit, is left out.

    Raises:
        CorruptBatchError: A batch is not understood; those before it have been yielded.
    """
    at, size = 0, len(data)
    while at + _HEADER.size <= size:
        (
            base,
            length,
            epoch,
            magic,
            _crc,
            attributes,
            last_delta,
            base_time,
            max_time,
            producer,
            _producer_epoch,
            _sequence,
            count,
        ) = _HEADER.unpack_from(data, at)
        end = at + _PREFIX + length
        if magic != _MAGIC:
            raise _foreign(data, at, position, where)
        if length < _HEADER.size - _PREFIX or last_delta < 0 or base < 0:
            raise CorruptBatchError(where, position, "its header makes no sense")
        following = base + last_delta + 1
        if following <= position:
            raise CorruptBatchError(where, position, f"it holds offsets up to {following - 1}")
        if end > size:
            return
        if not 0 <= count <= last_delta + 1:
            raise CorruptBatchError(where, base, f"it claims {count} records", following)
        plain, start, stop = data, at + _HEADER.size, end
        if attributes & _COMPRESSION:
            try:
                plain = _decompressed(data[start:stop], attributes & _COMPRESSION)
            except (pa.ArrowException, OSError, ValueError, struct.error) as error:
                why = f"its compressed records cannot be read ({error})"
                raise CorruptBatchError(where, base, why, following) from None
            start, stop = 0, len(plain)
        yield Batch(
            base,
            following,
            epoch,
            producer if attributes & _TRANSACTIONAL else None,
            bool(attributes & _CONTROL),
            count,
            plain,
            start,
            stop,
            base_time,
            max_time if attributes & _APPEND_TIME else None,
        )
        position, at = following, end


def _foreign(data: bytes, at: int, position: int, where: str) -> CorruptBatchError:
    """Say what is wrong with a batch whose format is not 2."""
    magic = data[at + _MAGIC_AT]
    if magic not in (0, 1):
        return CorruptBatchError(where, position, f"its format is {magic}")
    # Offset and size have the same place there; an outer message carries its last inner offset.
    (base,) = struct.unpack_from(">q", data, at)
    return CorruptBatchError(
        where,
        position,
        f"its format is {magic}, of before Kafka 0.11",
        base + 1 if base >= position else None,
    )


def _decompressed(data: bytes, codec: int) -> bytes:
    if codec == _SNAPPY:
        return _unsnapped(data)
    if codec not in _CODECS:
        raise ValueError(f"unknown codec {codec}")
    with pa.CompressedInputStream(pa.BufferReader(data), _CODECS[codec]) as stream:
        found: bytes = stream.read(LARGEST_BATCH + 1)
    if len(found) > LARGEST_BATCH:
        raise ValueError(f"more than {LARGEST_BATCH} bytes")
    return found


def _unsnapped(data: bytes) -> bytes:
    """Decompress Snappy, in the blocks of the Java library or as one raw block."""
    if not data.startswith(_XERIAL):
        return _raw_snappy(data, LARGEST_BATCH)
    parts = []
    at, left = _XERIAL_HEADER, LARGEST_BATCH
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        if not 0 <= size <= len(data) - at:
            raise ValueError("a Snappy block is cut off")
        part = _raw_snappy(data[at : at + size], left)
        parts.append(part)
        left -= len(part)
        at += size
    return b"".join(parts)


def _raw_snappy(data: bytes, limit: int) -> bytes:
    size = 0
    for place, byte in enumerate(data[:5]):  # a varint at the beginning tells the size
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    else:
        raise ValueError("a Snappy block has no size")
    if size > limit:
        raise ValueError(f"more than {LARGEST_BATCH} bytes")
    found: bytes = pa.decompress(data, decompressed_size=size, codec="snappy", asbytes=True)
    return found
