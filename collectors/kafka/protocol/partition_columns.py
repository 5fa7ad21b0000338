"""The partitions of a cluster's metadata as columns: leaders, and lists of brokers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from collectors.kafka.protocol.fetch.topic_records import read_varint

_LONG = 0x80  # of a length that takes more than one byte
_HEAD = 14  # error, partition, leader, epoch of the leader

Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikePartitions:
    """Partitions that have as many replicas as each other, and as many in sync.

    Attributes:
        topic: Which topic of the answer each belongs to.
        replicas: A row of broker ids for each; likewise those in sync.
    """

    topic: Numbers
    partition: Numbers
    leader: Numbers
    replicas: Numbers
    in_sync: Numbers


class PartitionColumns:
    """Partitions as they are encoded, in groups of one size, and the columns that they are."""

    def __init__(self) -> None:
        """Begin with none."""
        self._parts: dict[bytes, list[bytes]] = {}
        self._topics: dict[bytes, list[int]] = {}

    def read(self, data: bytes, position: int, topic: int) -> int:
        """Take in the partitions of a topic; return where they end.

        Raises:
            ValueError, IndexError: They are encoded in an unusual way, or end too early.
        """
        count, position = read_varint(data, position)
        for _ in range(count - 1):
            begin, position = position, position + _HEAD
            lengths = bytearray()
            for _ in range(3):  # replicas, those in sync, those that are offline
                length = data[position]
                if not 0 < length < _LONG:
                    raise ValueError("an unusual list of brokers")
                lengths.append(length)
                position += 4 * length - 3
            if data[position]:
                raise ValueError("fields that this version does not have")
            position += 1
            shape = bytes(lengths)
            if shape not in self._parts:
                self._parts[shape], self._topics[shape] = [], []
            self._parts[shape].append(data[begin:position])
            self._topics[shape].append(topic)
        return position

    def alike(self) -> Iterator[AlikePartitions]:
        """Return the partitions in groups."""
        for shape, parts in self._parts.items():
            replicas, in_sync, offline = (length - 1 for length in shape)
            form = np.dtype(
                [
                    ("error", ">i2"),
                    ("partition", ">i4"),
                    ("leader", ">i4"),
                    ("epoch", ">i4"),
                    ("replicas_length", "u1"),
                    ("replicas", ">i4", (replicas,)),
                    ("in_sync_length", "u1"),
                    ("in_sync", ">i4", (in_sync,)),
                    ("offline_length", "u1"),
                    ("offline", ">i4", (offline,)),
                    ("tags", "u1"),
                ]
            )
            records = np.frombuffer(b"".join(parts), dtype=form)
            yield AlikePartitions(
                topic=np.array(self._topics[shape], dtype=np.uint32),
                partition=records["partition"],
                leader=records["leader"],
                replicas=records["replicas"],
                in_sync=records["in_sync"],
            )
