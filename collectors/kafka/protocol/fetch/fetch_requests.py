"""The requests for records and for offsets (Fetch, ListOffsets), as every reader sends them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
"""Isolation levels."""

CONSUMER, ANY_REPLICA = -1, -2
"""Who asks: a consumer, whom the leader alone answers; or a tool that looks at one replica."""

NO_EPOCH = -1
"""The leader epoch of whoever has read nothing yet."""

_NEWEST = 12  # later versions name topics by id only
NEWEST_LIST_OFFSETS = 7
"""Later versions of ListOffsets know further special times only."""

EARLIEST_LOCAL, LATEST_TIERED = -4, -5
"""In place of a time: the first offset on the broker's disks, the last one in remote storage."""

SPECIAL_TIMES_SINCE = {EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
"""The version of ListOffsets that knows each (KIP-405, KIP-1005)."""


class Position(NamedTuple):
    """Where to read from in one partition.

    Attributes:
        leader_epoch: Of the batch that was read last, by which the broker notices that the logs
            part; ``NO_EPOCH`` where none was.
    """

    partition: int
    offset: int
    leader_epoch: int = NO_EPOCH


def fetch_request(
    topics: Mapping[str, Iterable[Position]],
    *,
    partition_bytes: int,
    answer_bytes: int,
    isolation_level: int,
) -> Any:
    """Return a request that the broker answers at once with what it has."""
    topic_type = FetchRequest.FetchTopic
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=answer_bytes,
        isolation_level=isolation_level,
        topics=[
            topic_type(
                topic=topic,
                partitions=[
                    topic_type.FetchPartition(
                        partition=each.partition,
                        fetch_offset=each.offset,
                        last_fetched_epoch=each.leader_epoch,
                        partition_max_bytes=partition_bytes,
                    )
                    for each in positions
                ],
            )
            for topic, positions in topics.items()
        ],
        max_version=_NEWEST,
    )


def list_offsets_request(
    topics: Mapping[str, Iterable[tuple[int, int]]],
    *,
    isolation_level: int,
    replica_id: int = CONSUMER,
) -> Any:
    """Return a request for the first offset of partitions that is not older than a time.

    Args:
        topics: Partitions of each topic with the time in milliseconds since the epoch, or -2 for
            the first offset, -1 for the last.
        isolation_level: Whether the last offset is the log's end or the last stable one.
        replica_id: As whom to ask.
    """
    topic_type = ListOffsetsRequest.ListOffsetsTopic
    return ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=[
            topic_type(
                name=topic,
                partitions=[
                    topic_type.ListOffsetsPartition(partition_index=partition, timestamp=time)
                    for partition, time in partitions
                ],
            )
            for topic, partitions in topics.items()
        ],
        max_version=NEWEST_LIST_OFFSETS,
    )
