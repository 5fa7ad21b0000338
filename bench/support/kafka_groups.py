"""A broker with many consumer groups: what the collectors' benchmarks are run against."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer import JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from bench.support.certificates import HOST
from bench.support.far_listener import FarListener
from bench.support.network import network
from bench.support.poller import polled
from collectors.kafka.protocol.properties import ConnectionSettings
from collectors.kafka.protocol.transport.connection import Connection
from collectors.kafka.protocol.transport.connector import Connector
from config.settings import ClusterSettings
from demo.kafka.cluster import KafkaCluster

PARTITIONS_A_TOPIC = 15
GROUPS_A_TOPIC = 100
_HEAP_MB = 3072
_RECORDS_A_PARTITION = 200
_PIPELINED = 200
_CONNECTIONS = 4
_SECONDS = 120.0
_SESSION_MS = 1_800_000  # the longest that brokers allow: members need not send heartbeats
CLIENT = "bench"
_NOT_YET = (14, 15, 16)  # loading, not available, not the coordinator


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    name: str
    topic: str


@contextmanager
def broker_with_groups(
    groups: int, round_trip_seconds: float | None = None
) -> Iterator[ClusterSettings]:
    """Give one broker with this many groups, each with one member and 15 committed partitions.

    Groups read one of several topics, a hundred groups each. Members are real to the broker: they
    have joined with an assignment, and their sessions outlast the benchmark.

    Args:
        groups: How many.
        round_trip_seconds: The settings lead over TLS and SCRAM, and so far away; None: plainly
            to the broker.
    """
    with TemporaryDirectory(prefix="headroom-bench-") as folder, network() as between:
        far = FarListener(Path(folder), brokers=1, user=CLIENT)
        path = between.path(far.logins[0])
        path.round_trip_seconds = round_trip_seconds or 0.0
        cluster = KafkaCluster(
            Path(folder),
            brokers=1,
            heap_mb=_HEAP_MB,
            ports=far.clients,
            properties={
                **far.broker_properties(1, told=[path.port]),
                "offsets.topic.num.partitions": "4",
                "group.initial.rebalance.delay.ms": "0",
                "group.max.session.timeout.ms": str(_SESSION_MS),
                "offsets.topic.segment.bytes": str(100 * 2**20),
            },
        )
        with cluster:
            # In a process of its own, so that its memory is not taken for the collector's.
            with get_context("spawn").Pool(1) as filler:
                filler.apply(_fill, (cluster.bootstrap_servers, groups))
            if round_trip_seconds is None:
                yield polled(cluster.bootstrap_servers)
            else:
                far.make_user(cluster)
                yield polled(f"{HOST}:{path.port}", far.client_properties)


def _fill(servers: str, groups: int) -> None:
    topics = [f"bench-{number:04}" for number in range(-(-groups // GROUPS_A_TOPIC))]
    _make_topics(servers, topics)
    make_groups(
        servers,
        [
            _Group(name=f"group-{number:05}", topic=topics[number // GROUPS_A_TOPIC])
            for number in range(groups)
        ],
    )


def _make_topics(servers: str, topics: Sequence[str]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    made = admin.create_topics([NewTopic(name, PARTITIONS_A_TOPIC, 1) for name in topics])
    for outcome in made.values():
        outcome.result(_SECONDS)
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 50,
            "queue.buffering.max.messages": 5_000_000,
        }
    )
    for topic in topics:
        for partition in range(PARTITIONS_A_TOPIC):
            for _ in range(_RECORDS_A_PARTITION):
                producer.produce(topic, b"x", partition=partition)
        producer.poll(0)
    if producer.flush(_SECONDS):
        raise RuntimeError("the broker did not take the benchmark's records in time")


def make_groups(servers: str, groups: Sequence[_Group]) -> None:
    """Let one member join each group, and commit an offset of every partition of its topic."""
    share = -(-len(groups) // _CONNECTIONS)
    await_coordinators(servers, [group.name for group in groups])
    parts = [groups[start : start + share] for start in range(0, len(groups), share)]
    with ThreadPoolExecutor(_CONNECTIONS) as workers:
        list(workers.map(lambda part: _make_some(servers, part), parts))


def _make_some(servers: str, groups: Sequence[_Group]) -> None:
    connection = connect(servers)
    try:
        for start in range(0, len(groups), _PIPELINED):
            _make_chunk(connection, groups[start : start + _PIPELINED])
    finally:
        connection.close()


def connect(servers: str) -> Connection:
    """Return a connection to the first of some brokers."""
    host, port = servers.split(",")[0].rsplit(":", 1)
    return Connector(ConnectionSettings(), CLIENT).open("broker", host, int(port))


def await_coordinators(servers: str, groups: Sequence[str]) -> None:
    """Wait for ``__consumer_offsets``: the look for the first group's coordinator makes it."""
    connection = connect(servers)
    until = monotonic() + _SECONDS
    find = FindCoordinatorRequest(key_type=0, coordinator_keys=groups[:100], min_version=4)
    try:
        while monotonic() < until:
            (found,) = connection.exchange([find], _SECONDS)
            if not any(item.error_code for item in found.coordinators):
                describe = DescribeGroupsRequest(groups=groups[:100])
                (described,) = connection.exchange([describe], _SECONDS)
                if not any(group.error_code in _NOT_YET for group in described.groups):
                    return
            sleep(0.1)
    finally:
        connection.close()
    raise RuntimeError("the broker did not become a coordinator in time")


def _make_chunk(connection: Connection, groups: Sequence[_Group]) -> None:
    joined = ask(connection, [_join(group) for group in groups])
    members = list(zip(groups, joined, strict=True))
    ask(connection, [_sync(group, answer) for group, answer in members])
    half = _RECORDS_A_PARTITION // 2
    ask(
        connection,
        [
            commit_request(group.name, group.topic, half, answer.generation_id, answer.member_id)
            for group, answer in members
        ],
    )


def ask(connection: Connection, requests: Sequence[Any]) -> list[Any]:
    """Send requests and return their answers."""
    answers = connection.exchange(requests, _SECONDS)
    for answer in answers:
        commits = [each for topic in getattr(answer, "topics", ()) for each in topic.partitions]
        for part in (answer, *commits):
            if getattr(part, "error_code", 0):
                raise RuntimeError(f"{type(answer).__name__} failed with {part.error_code}")
    return answers


def _join(group: _Group) -> Any:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    subscription = struct.pack(">hi", 0, 1) + _text(group.topic) + struct.pack(">i", -1)
    return JoinGroupRequest(
        group_id=group.name,
        session_timeout_ms=_SESSION_MS,
        rebalance_timeout_ms=_SESSION_MS,
        member_id="",
        group_instance_id="member-0",
        protocol_type="consumer",
        protocols=[protocol(name="range", metadata=subscription)],
        reason=None,
        min_version=5,
    )


def _sync(group: _Group, joined: Any) -> Any:
    assignment = SyncGroupRequest.SyncGroupRequestAssignment
    partitions = struct.pack(
        f">i{PARTITIONS_A_TOPIC}i", PARTITIONS_A_TOPIC, *range(PARTITIONS_A_TOPIC)
    )
    return SyncGroupRequest(
        group_id=group.name,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id="member-0",
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            assignment(
                member_id=joined.member_id,
                assignment=struct.pack(">hi", 0, 1)
                + _text(group.topic)
                + partitions
                + struct.pack(">i", -1),
            )
        ],
        min_version=3,
    )


def commit_request(
    group: str, name: str, offset: int, generation: int = -1, member: str = ""
) -> Any:
    """Return a commit of one offset of each partition of a topic; by nobody unless told."""
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id="member-0" if member else None,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_leader_epoch=-1,
                        committed_metadata="",
                    )
                    for partition in range(PARTITIONS_A_TOPIC)
                ],
            )
        ],
        min_version=7,
        max_version=8,
    )


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data
