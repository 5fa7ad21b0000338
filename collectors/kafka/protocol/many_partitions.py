"""Requests whose messages name every partition of a cluster, without an object for each field.

kafka-python makes an object of a partition that takes microseconds, which is seconds of a cluster
with 300,000 partitions. Here a partition is unpacked at once. Only the versions with the flexible
encoding are read so; kafka-python decodes answers of older brokers, and what is unusual. Both have
the same names.
"""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, runtime_checkable
from uuid import UUID

import numpy as np
from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from collectors.kafka.protocol.fetch.fetch_requests import (
    NEWEST_LIST_OFFSETS,
    NO_EPOCH,
    SPECIAL_TIMES_SINCE,
    list_offsets_request,
)
from collectors.kafka.protocol.fetch.topic_records import AskedPartitions, FlexibleReader
from collectors.kafka.protocol.partition_columns import PartitionColumns

_OFFSETS = (6, 9)
_METADATA = (10, 13)
_LOG_DIRECTORIES = (4, 5)
"""First and last version that is read here."""

_CORDONED_FROM = 5
_ASKED = np.dtype([("partition", ">i4"), ("epoch", ">i4"), ("time", ">i8"), ("tags", "u1")])


@runtime_checkable
class ManyPartitions(Protocol):
    """A request of this module."""

    def decode_answer(self, body: memoryview) -> Any:
        """Return the answer; None where kafka-python is to decode it.

        Raises:
            ValueError, IndexError, struct.error: Likewise.
        """


class _Topic(NamedTuple):
    """A topic of the metadata, without its partitions."""

    name: str | None
    error_code: int
    topic_id: UUID | None
    is_internal: bool


_OFFSET = np.dtype(
    [
        ("partition_index", ">i4"),
        ("error_code", ">i2"),
        ("timestamp", ">i8"),
        ("offset", ">i8"),
        ("leader_epoch", ">i4"),
        ("tags", "u1"),
    ]
)
_SIZE = np.dtype(
    [
        ("partition_index", ">i4"),
        ("partition_size", ">i8"),
        ("offset_lag", ">i8"),
        ("is_future_key", "u1"),
        ("tags", "u1"),
    ]
)


# kafka-python has no types, hence Any as a base class.
class OffsetsRequest(ListOffsetsRequest, init=False):  # type: ignore[call-arg, misc]
    """Asks for the first or the last offset of many partitions.

    Attributes:
        wanted: The partitions.
        time: -2 for the first offset, -1 for the last; see ``fetch_requests``.
    """

    wanted: AskedPartitions
    time: int

    @classmethod
    def of(
        cls,
        wanted: AskedPartitions,
        time: int,
        *,
        isolation_level: int,
        replica_id: int,
    ) -> OffsetsRequest:
        """Return a request; see ``fetch_requests.list_offsets_request``."""
        # Versions from 8 on differ in the special times that they know.
        version = SPECIAL_TIMES_SINCE.get(time, 0)
        request: OffsetsRequest = cls(
            replica_id=replica_id,
            isolation_level=isolation_level,
            topics=[],
            min_version=version,
            max_version=max(NEWEST_LIST_OFFSETS, version),
        )
        request.wanted, request.time = wanted, time
        return request

    def encode(self, *args: Any, **kwargs: Any) -> bytes:
        """Return the request with its header, framed."""
        if not _is_here(_OFFSETS, self.API_VERSION):
            asked = {
                topic: [(number, self.time) for number in partitions]
                for topic, partitions in self.wanted.by_topic()
            }
            self.topics = list_offsets_request(asked, isolation_level=self.isolation_level).topics
            return bytes(super().encode(*args, **kwargs))
        # At the end of a request for nothing stand an empty list of topics and no tags.
        nothing = bytes(super().encode(header=True, framed=True))
        records = np.zeros(len(self.wanted.partitions), dtype=_ASKED)
        records["partition"] = self.wanted.partitions
        records["epoch"], records["time"] = NO_EPOCH, self.time
        payload = nothing[4:-2] + self.wanted.encoded(records) + b"\0"
        return struct.pack(">i", len(payload)) + payload

    def decode_answer(self, body: memoryview) -> Any:
        """Return the answer; None where kafka-python is to decode it."""
        if not _is_here(_OFFSETS, self.API_VERSION):
            return None
        reader = FlexibleReader(body)
        throttle = reader.int32()
        return SimpleNamespace(throttle_time_ms=throttle, columns=reader.topics(_OFFSET))


class ClusterRequest(MetadataRequest, init=False):  # type: ignore[call-arg, misc]
    """Asks for brokers and partitions of topics; of all topics where none is named."""

    def decode_answer(self, body: memoryview) -> Any:
        """Return the answer; None where kafka-python is to decode it."""
        if not _is_here(_METADATA, self.API_VERSION):
            return None
        reader = FlexibleReader(body)
        throttle = reader.int32()
        brokers = []
        for _ in range(reader.count()):
            broker, host, port, rack = (
                reader.int32(),
                reader.text(),
                reader.int32(),
                reader.text(),
            )
            reader.no_tags()
            brokers.append(SimpleNamespace(node_id=broker, host=host, port=port, rack=rack))
        cluster_id, controller = reader.text(), reader.int32()
        partitions = PartitionColumns()
        return SimpleNamespace(
            throttle_time_ms=throttle,
            brokers=brokers,
            cluster_id=cluster_id,
            controller_id=controller,
            topics=[_topic(reader, partitions, number) for number in range(reader.count())],
            columns=partitions,
        )


class LogDirectoriesRequest(DescribeLogDirsRequest, init=False):  # type: ignore[call-arg, misc]
    """Asks a broker for its log directories and the size of each of its replicas."""

    def decode_answer(self, body: memoryview) -> Any:
        """Return the answer; None where kafka-python is to decode it."""
        if not _is_here(_LOG_DIRECTORIES, self.API_VERSION):
            return None
        reader = FlexibleReader(body)
        throttle, code = reader.int32(), reader.int16()
        results = []
        for _ in range(reader.count()):
            error, path = reader.int16(), reader.text()
            columns = reader.topics(_SIZE)
            total, free = reader.int64(), reader.int64()
            cordoned = self.API_VERSION >= _CORDONED_FROM and reader.flag()
            reader.no_tags()
            results.append(
                SimpleNamespace(
                    error_code=error,
                    log_dir=path,
                    columns=columns,
                    total_bytes=total,
                    usable_bytes=free,
                    is_cordoned=cordoned,
                )
            )
        return SimpleNamespace(
            throttle_time_ms=throttle, error_code=code, results=results, version=self.API_VERSION
        )


def _topic(reader: FlexibleReader, partitions: PartitionColumns, number: int) -> _Topic:
    """Return a topic of the metadata, and add its partitions to those of the topics before."""
    code, name = reader.int16(), reader.text()
    topic_id = UUID(bytes=reader.raw(16))
    internal = reader.flag()
    reader.position = partitions.read(reader.data, reader.position, number)
    reader.int32()  # what this client may do with it
    reader.no_tags()
    return _Topic(name, code, topic_id if topic_id.int else None, internal)


def _is_here(versions: tuple[int, int], version: int) -> bool:
    return versions[0] <= version <= versions[1]
