"""Reads about the brokers themselves: disks, the metadata quorum, reassignments in progress."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl
from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeQuorumRequest,
    ListPartitionReassignmentsRequest,
)

from collectors.errors import CollectorError, ProtocolError
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import NOT_PERMITTED, reason
from collectors.kafka.protocol.fetch.topic_records import TopicRecords
from collectors.kafka.protocol.many_partitions import LogDirectoriesRequest
from collectors.source.answer import LARGEST_LONG

_CONTROLLER_MS = 1000  # how long the controller may take

_LATEST_MILLISECONDS = 253_402_300_799_999  # the end of the year 9999
_CLUSTER_DENIED = 31
_STORAGE_ERROR = 56
OFFLINE = "offline: the broker gave it up after a failure; check the disk and restart the broker"

SIZES_SCHEMA = pl.Schema(
    {
        "broker_id": pl.Int32(),
        "topic": pl.String(),
        "partition": pl.Int32(),
        "size_bytes": pl.Int64(),
    }
)
REASSIGNMENTS_SCHEMA = pl.Schema(
    {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "adding_replicas": pl.List(pl.Int32()),
        "removing_replicas": pl.List(pl.Int32()),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """One of a broker's log directories.

    Attributes:
        log_bytes: Size of its logs; None where it cannot be read.
        replicas: How many replicas it holds; None where it cannot be read.
        total_bytes: Size of the volume; None before Kafka 3.3.
        free_bytes: Free space on it; None before Kafka 3.3.
        is_cordoned: Whether it takes no new replicas; None before Kafka 4.3.
        unknown_reason: Why it cannot be read: it is offline; None where it can.
    """

    path: str
    log_bytes: int | None
    replicas: int | None
    total_bytes: int | None
    free_bytes: int | None
    is_cordoned: bool | None
    unknown_reason: str | None = None

    @property
    def is_offline(self) -> bool:
        """Whether the broker gave it up after a failure of the disk."""
        return self.unknown_reason == OFFLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectories:
    """What a broker says about its disks."""

    directories: Sequence[LogDirectory]

    @property
    def log_bytes(self) -> int | None:
        """Size of all logs; None where a directory cannot be read, or no column holds it."""
        return _sum_known(directory.log_bytes for directory in self.directories)

    @property
    def total_bytes(self) -> int | None:
        """Size of the volumes; None where one is unknown, or no column holds it."""
        return _sum_known(directory.total_bytes for directory in self.directories)

    @property
    def free_bytes(self) -> int | None:
        """Free space on the volumes; None where one is unknown, or no column holds it."""
        return _sum_known(directory.free_bytes for directory in self.directories)

    @property
    def problems(self) -> list[str]:
        """What to say about directories that cannot be read."""
        return [
            f"log directory {directory.path}: {directory.unknown_reason}"
            for directory in self.directories
            if directory.unknown_reason is not None
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumNode:
    """A replica of the cluster's metadata.

    Attributes:
        role: ``leader``, ``voter`` or ``observer``.
        log_end: The end of its copy of the metadata log; None where the leader does not know.
        lag: Records behind the leader; None where unknown.
        last_fetch_at: When it last fetched from the leader; None for the leader itself, where
            unknown, and before Kafka 3.3.
        last_caught_up_at: When it last had everything that the leader had; None where unknown.
    """

    node_id: int
    role: str
    log_end: int | None
    lag: int | None
    last_fetch_at: datetime | None
    last_caught_up_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """The KRaft quorum.

    Attributes:
        leader: Node id of the active controller; None while there is none.
    """

    leader: int | None
    nodes: Sequence[QuorumNode]


def read_quorum(wire: Wire, deadline: Deadline) -> Quorum:
    """Ask for the state of the metadata quorum; a broker passes the question on to its leader.

    Raises:
        UnsupportedError: The brokers do not offer it: they work with ZooKeeper, or are a service
            that keeps it to itself.
        CollectorError: Nobody answered, or it is not permitted.
    """
    answer = wire.forwarded(_describe_quorum, deadline)
    if answer.error_code:
        raise _refusal(answer.error_code)
    if not answer.topics or not answer.topics[0].partitions:
        raise ProtocolError("the brokers do not tell of a metadata quorum")
    partition = answer.topics[0].partitions[0]
    if partition.error_code:
        raise _refusal(partition.error_code)
    leader = None if partition.leader_id < 0 else int(partition.leader_id)
    voters = partition.current_voters or ()
    end = next((voter.log_end_offset for voter in voters if voter.replica_id == leader), -1)
    nodes = [
        _quorum_node(voter, "leader" if voter.replica_id == leader else "voter", end)
        for voter in voters
    ]
    nodes += [_quorum_node(observer, "observer", end) for observer in partition.observers or ()]
    return Quorum(leader=leader, nodes=nodes)


def read_registrations(wire: Wire, deadline: Deadline) -> dict[int, bool]:
    """Ask one broker which brokers are registered with the controller, running or not.

    Returns:
        Broker: whether it is fenced: shut down, dead, or not ready yet.

    Raises:
        UnsupportedError: The brokers are older than Kafka 4.0, or work with ZooKeeper.
        CollectorError: Nobody answered.
    """
    answer = wire.any(
        lambda: DescribeClusterRequest(include_fenced_brokers=True, min_version=2), deadline
    )
    if answer.error_code:
        raise _refusal(answer.error_code)
    return {broker.broker_id: bool(broker.is_fenced) for broker in answer.brokers or ()}


def read_reassignments(wire: Wire, deadline: Deadline) -> pl.DataFrame:
    """Ask for the partitions that are being moved; a broker passes the question on.

    Returns:
        One row a partition that is being moved (``REASSIGNMENTS_SCHEMA``).
    """
    answer = wire.forwarded(
        lambda: ListPartitionReassignmentsRequest(timeout_ms=_CONTROLLER_MS, topics=None), deadline
    )
    if answer.error_code:
        raise _refusal(answer.error_code)
    return pl.DataFrame(
        [
            (topic.name, part.partition_index, part.adding_replicas, part.removing_replicas)
            for topic in answer.topics or ()
            for part in topic.partitions or ()
        ],
        schema=REASSIGNMENTS_SCHEMA,
        orient="row",
    )


def with_reassignments(partitions: pl.DataFrame, moving: pl.DataFrame) -> pl.DataFrame:
    """Add which replicas of partitions come and go: empty lists where nothing moves.

    Args:
        partitions: topic, partition, replicas.
        moving: What is being moved (``REASSIGNMENTS_SCHEMA``). It was read at another moment, so
            an added replica that is not among the replicas yet does not count yet.
    """
    none = pl.lit([], pl.List(pl.Int32()))
    names = ("adding_replicas", "removing_replicas")
    if moving.is_empty():
        return partitions.with_columns(none.alias(name) for name in names)
    key = ["topic", "partition"]
    return (
        partitions.join(moving, on=key, how="left", maintain_order="left")
        .with_columns(pl.col("adding_replicas").list.set_intersection("replicas"))
        .with_columns(pl.col(name).fill_null(none) for name in names)
    )


def read_log_directories(
    wire: Wire, brokers: Iterable[int], deadline: Deadline
) -> tuple[dict[int, LogDirectories | str], pl.DataFrame]:
    """Read the size of each replica and the space on the brokers' disks.

    Returns:
        Broker: its disks, or why they are unknown; and one row a replica (``SIZES_SCHEMA``).
    """
    requests = {broker: [LogDirectoriesRequest(topics=None)] for broker in brokers}
    directories: dict[int, LogDirectories | str] = {}
    frames = [pl.DataFrame(schema=SIZES_SCHEMA)]
    for broker, answers in wire.each(requests, deadline, _read_directories).items():
        if isinstance(answers, CollectorError):
            directories[broker] = str(answers)
            continue
        directories[broker], sizes = answers[0]
        frames.append(
            sizes.select(
                pl.lit(broker, SIZES_SCHEMA[name]).alias(name) if name == "broker_id" else name
                for name in SIZES_SCHEMA
            )
        )
    return directories, pl.concat(frames)


def _read_directories(answer: Any) -> tuple[LogDirectories | str, pl.DataFrame]:
    """Turn one broker's answer into its disks and a row a replica; objects take much memory."""
    schema = {name: type_ for name, type_ in SIZES_SCHEMA.items() if name != "broker_id"}
    nothing = pl.DataFrame(schema=schema)
    # Before version 3 a broker that does not permit it answers with nothing at all.
    if answer.error_code or not answer.results:
        return str(_refusal(answer.error_code or _CLUSTER_DENIED)), nothing
    directories, frames = [], [nothing]
    for result in answer.results:
        replicas = _replicas(result)
        directories.append(_log_directory(result, answer.version, replicas))
        # Without copies that move to another directory.
        frames.append(replicas.filter(~pl.col("is_future")).select(list(schema)))
    return LogDirectories(directories=directories), pl.concat(frames)


def _replicas(result: Any) -> pl.DataFrame:
    """Return the replicas of a directory: topic, partition, size_bytes, is_future."""
    found: TopicRecords | None = getattr(result, "columns", None)
    if found is not None:
        records = found.records
        return found.frame(
            partition=records["partition_index"],
            size_bytes=records["partition_size"],
            is_future=records["is_future_key"] != 0,
        )
    rows = [
        (topic.name, each.partition_index, each.partition_size, bool(each.is_future_key))
        for topic in result.topics or ()
        for each in topic.partitions or ()
    ]
    schema = {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "size_bytes": pl.Int64(),
        "is_future": pl.Boolean(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _describe_quorum() -> Any:
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    return DescribeQuorumRequest(
        topics=[topic(topic_name="__cluster_metadata", partitions=[partition])]
    )


def _quorum_node(replica: Any, role: str, leader_end: int) -> QuorumNode:
    end = replica.log_end_offset
    known = end >= 0 and leader_end >= 0
    return QuorumNode(
        node_id=int(replica.replica_id),
        role=role,
        log_end=end if end >= 0 else None,
        lag=max(0, leader_end - end) if known else None,
        last_fetch_at=as_time(getattr(replica, "last_fetch_timestamp", None)),
        last_caught_up_at=as_time(getattr(replica, "last_caught_up_timestamp", None)),
    )


def as_time(milliseconds: int | None) -> datetime | None:
    """Return a time of a broker; None where it has none, or one that no clock can have."""
    if milliseconds is None or not 0 <= milliseconds <= _LATEST_MILLISECONDS:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _log_directory(result: Any, version: int, replicas: pl.DataFrame) -> LogDirectory:
    code = result.error_code
    total, free = (getattr(result, name, None) for name in ("total_bytes", "usable_bytes"))
    return LogDirectory(
        path=result.log_dir,
        log_bytes=None if code else int(replicas["size_bytes"].sum()),
        replicas=None if code else replicas.height,
        total_bytes=None if total is None or total < 0 else total,
        free_bytes=None if free is None or free < 0 else free,
        is_cordoned=bool(result.is_cordoned) if version >= 5 else None,
        unknown_reason=None if not code else OFFLINE if code == _STORAGE_ERROR else reason(code),
    )


def _refusal(code: int) -> CollectorError:
    return CollectorError(reason(_CLUSTER_DENIED if code in NOT_PERMITTED else code))


def _sum_known(values: Iterable[int | None]) -> int | None:
    found = list(values)
    known = [value for value in found if value is not None]
    if not known or len(known) < len(found) or sum(known) > LARGEST_LONG:
        return None
    return sum(known)
