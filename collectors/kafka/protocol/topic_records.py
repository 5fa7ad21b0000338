"""Records of one size for each partition, topic by topic, as columns.

An answer about 300,000 partitions is read in one loop over its topics; no partition becomes an
object of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Records = npt.NDArray[Any]

_LONG = 0x80  # of a length that takes more than one byte


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
