"""The flexible encoding of Kafka's messages: fields, and records of all partitions as columns.

An answer about 300,000 partitions is read in one loop over its topics; no partition becomes an
object of Python.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Records = npt.NDArray[Any]

_LONG = 0x80  # of a length that takes more than one byte
_SHORT = [bytes([value]) for value in range(_LONG)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecords:
    """What an answer says of partitions.

    Attributes:
        topics: Names.
        counts: How many records there are of each topic.
        records: The records of all topics, one after the other; its fields have names.
    """

    topics: Sequence[str]
    counts: Sequence[int]
    records: Records

    def frame(self, **columns: npt.NDArray[Any]) -> pl.DataFrame:
        """Return columns with the topic of each record before them."""
        topics = pl.Series("topic", self.topics, pl.String())
        of_record = np.repeat(np.arange(len(self.topics), dtype=np.uint32), self.counts)
        return pl.DataFrame(
            [
                topics.gather(pl.Series(of_record)),
                *(pl.Series(name, native(values)) for name, values in columns.items()),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPartitions:
    """Partitions that a request names.

    Attributes:
        topics: Names.
        counts: How many partitions of each topic there are.
        partitions: Those of all topics, one after the other.
    """

    topics: Sequence[str]
    counts: Sequence[int]
    partitions: npt.NDArray[np.int32]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> AskedPartitions:
        """Return the partitions of rows with topic and partition."""
        ordered = rows.select("topic", "partition").sort("topic", maintain_order=True)
        runs = ordered["topic"].rle().struct
        return cls(
            topics=runs.field("value").to_list(),
            counts=runs.field("len").to_list(),
            partitions=ordered["partition"].to_numpy(),
        )

    def by_topic(self) -> Iterator[tuple[str, list[int]]]:
        """Return each topic with its partitions."""
        ends = np.cumsum(self.counts, dtype=np.int64)
        for topic, count, end in zip(self.topics, self.counts, ends.tolist(), strict=True):
            yield topic, self.partitions[end - count : end].tolist()

    def encoded(self, records: Records) -> bytes:
        """Return an array of topics, each with an array of its records, one a partition."""
        data, size, begin = records.tobytes(), records.itemsize, 0
        parts = [write_varint(len(self.topics) + 1)]
        for topic, count in zip(self.topics, self.counts, strict=True):
            name, end = topic.encode(), begin + count * size
            parts += (write_varint(len(name) + 1), name, write_varint(count + 1), data[begin:end])
            parts.append(b"\0")
            begin = end
        return b"".join(parts)


class FlexibleReader:
    """Reads an answer in the flexible encoding (KIP-482), field by field.

    What ends too early, or has fields that its version does not have, raises ValueError,
    IndexError or struct.error.

    Attributes:
        data: The answer.
        position: Where the next field begins.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = bytes(data)
        self.position = 0

    def count(self) -> int:
        """Return how many items follow; of a null list none."""
        return max(0, self._varint() - 1)

    def int8(self) -> int:
        """Return a number of one byte."""
        return self._number(">b")

    def int16(self) -> int:
        """Return a number of two bytes."""
        return self._number(">h")

    def int32(self) -> int:
        """Return a number of four bytes."""
        return self._number(">i")

    def int64(self) -> int:
        """Return a number of eight bytes."""
        return self._number(">q")

    def flag(self) -> bool:
        """Return a truth value."""
        return self.raw(1) != b"\0"

    def text(self) -> str | None:
        """Return a text, or null."""
        length = self._varint() - 1
        return None if length < 0 else self.raw(length).decode()

    def raw(self, length: int) -> bytes:
        """Return bytes as they are."""
        begin, self.position = self.position, self.position + length
        if self.position > len(self.data):
            raise ValueError("it ends too early")
        return self.data[begin : self.position]

    def topics(self, form: np.dtype[Any]) -> TopicRecords:
        """Return topics with records of one size for each partition."""
        found, self.position = read_topics(self.data, self.position, form)
        return found

    def no_tags(self) -> None:
        """Step over the end of a structure."""
        if self.flag():
            raise ValueError("fields that this version does not have")

    def _number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self.data, self.position)
        self.position += struct.calcsize(form)
        return int(value)

    def _varint(self) -> int:
        value, self.position = read_varint(self.data, self.position)
        return value


def native(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers in the byte order of this machine."""
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def read_topics(data: bytes, position: int, form: np.dtype[Any]) -> tuple[TopicRecords, int]:
    """Read an array of topics, each with an array of records, in the flexible encoding.

    Args:
        data: The answer.
        position: Where the array begins.
        form: A record; its last field, ``tags``, must be 0.

    Returns:
        The topics, and where the array ends.

    Raises:
        ValueError, IndexError: It ends too early, or has fields that its version does not have.
    """
    size = form.itemsize
    topics, counts, parts = [], [], []
    number, position = read_varint(data, position)
    for _ in range(number - 1):
        length, position = (
            (data[position], position + 1)
            if data[position] < _LONG
            else read_varint(data, position)
        )
        begin, position = position, position + length - 1
        topics.append(data[begin:position])
        count, position = (
            (data[position], position + 1)
            if data[position] < _LONG
            else read_varint(data, position)
        )
        begin, position = position, position + (count - 1) * size
        parts.append(data[begin:position])
        counts.append(count - 1)
        if not length or not count or data[position]:
            raise ValueError("a null, or fields that this version does not have")
        position += 1
    records = np.frombuffer(b"".join(parts), dtype=form)
    if records["tags"].any():
        raise ValueError("fields that this version does not have")
    names = [topic.decode() for topic in topics]
    return TopicRecords(topics=names, counts=counts, records=records), position


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < _LONG:
            return value, position


def write_varint(value: int) -> bytes:
    """Return a number in the encoding of variable length."""
    if value < _LONG:
        return _SHORT[value]
    encoded = bytearray()
    while value >= _LONG:
        encoded.append(value & 0x7F | _LONG)
        value >>= 7
    return bytes([*encoded, value])
