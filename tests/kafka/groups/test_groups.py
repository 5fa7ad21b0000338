"""Groups of every type: their members, what they read, how far behind they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Consumer, ShareConsumer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from kafka.protocol.metadata import FindCoordinatorRequest

from collectors.kafka.groups.committed_offsets import NOT_INITIALISED
from collectors.kafka.protocol.properties import ConnectionSettings
from collectors.kafka.protocol.transport.connection import Connection
from collectors.kafka.protocol.transport.connector import Connector
from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poll, Poller, polling
from tests.kafka.groups.messages import StreamsGroupHeartbeatRequest
from tests.support import Names, eventually


@pytest.fixture
def poller(kafka_cluster: KafkaCluster) -> Iterator[Poller]:
    with polling(kafka_cluster) as made:
        yield made


def poll_until(poller: Poller, fits: Callable[[Poll], bool], what: str) -> Poll:
    def look() -> Poll | None:
        poll = poller.poll()
        return poll if fits(poll) else None

    return eventually(look, timeout_seconds=40, what=what)


def members(poll: Poll, group: str) -> pl.DataFrame:
    return poll.table("group_members").filter(pl.col("group") == group)


def test_a_share_group_has_members_and_the_lag_that_its_broker_counts(
    names: Names, poller: Poller
) -> None:
    topic = names.topic("orders", partitions=1)
    group = names.group("share")
    earliest = ConfigResource(
        ResourceType.GROUP,
        group,
        incremental_configs=[
            ConfigEntry(
                "share.auto.offset.reset",
                "earliest",
                incremental_operation=AlterConfigOpType.SET,
            )
        ],
    )
    names.admin.incremental_alter_configs([earliest])[earliest].result(timeout=20)
    names.produce(topic, 7, partition=0)
    consumer = ShareConsumer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "group.id": group,
            "client.id": "sharer",
        }
    )
    try:
        consumer.subscribe([topic])
        seen = 0

        def consumed() -> bool:
            nonlocal seen
            seen += sum(1 for message in consumer.poll(0.2) if message.error() is None)
            return seen >= 7

        def assigned() -> bool:
            consumed()
            return members(poller.poll(), group)["assigned_partitions"].to_list() == [1]

        eventually(assigned, timeout_seconds=40, what="share group with an assigned member")
        eventually(consumed, timeout_seconds=40, what="shared records")

        def acknowledged() -> bool:
            consumed()
            row = poller.poll().offsets(group, topic).get(0)
            return row is not None and row["lag"] == 0

        eventually(acknowledged, timeout_seconds=40, what="acknowledged records")
    finally:
        consumer.close()
    names.produce(topic, 4, partition=0)
    poll = poll_until(
        poller, lambda poll: poll.offsets(group, topic)[0]["lag"] == 4, "lag of what came after"
    )
    row = poll.offsets(group, topic)[0]
    # The broker's start of the share partition may stay behind what was done with after it.
    assert row["committed"] <= 7
    if row["log_end"] - row["committed"] == 4:
        assert row["time_lag_seconds"] is not None
    else:
        assert row["unknown_reason"].startswith("time lag: records of a share group")
    found = poll.group(group)
    assert found is not None
    assert found["type"] == "share"
    assert found["epoch"] > 0
    assert poll.errors == {}


def test_a_share_partition_that_nobody_has_read_is_unknown_not_zero(
    names: Names, poller: Poller
) -> None:
    topic = names.topic("orders", partitions=1)
    group = names.group("share")
    consumer = ShareConsumer(
        {"bootstrap.servers": names.cluster.bootstrap_servers, "group.id": group}
    )
    try:
        consumer.subscribe([topic])

        def listed() -> bool:
            consumer.poll(0.2)
            return members(poller.poll(), group).height == 1

        eventually(listed, timeout_seconds=40, what="a member")
        row = poller.poll().offsets(group, topic).get(0)
    finally:
        consumer.close()
    # Until its first read a broker tells nothing of it, or that it has no state yet.
    if row is not None and row["committed"] is None:
        assert row["lag"] is None
        assert row["unknown_reason"] == NOT_INITIALISED


def test_members_of_a_streams_group_own_the_partitions_of_their_tasks(
    names: Names, poller: Poller
) -> None:
    topic = names.topic("orders", partitions=3)
    group = names.group("streams")
    connection = coordinator(names.cluster, group)
    try:
        beat: dict[str, Any] = {"member_epoch": 0, "topology": topology(topic)}

        def assigned() -> bool:
            answer = heartbeat(connection, group, **beat)
            beat.update(member_epoch=answer.member_epoch, topology=None)
            found = members(poller.poll(), group)
            return found["assigned_partitions"].to_list() == [3]

        eventually(assigned, timeout_seconds=40, what="three tasks")
        poll = poller.poll()
    finally:
        connection.close()
    found = poll.group(group)
    assert found is not None
    assert (found["type"], found["kind"], found["members"]) == ("streams", "streams", 1)
    assert found["idle_members"] == 0
    member = members(poll, group).row(0, named=True)
    assert member["rack"] == "rack-a"
    owned = poll.offsets(group, topic)
    assert {row["member_id"] for row in owned.values()} == {member["member_id"]}
    assert sorted(owned) == [0, 1, 2]
    assert all(row["is_subscribed"] for row in owned.values())


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commits_on_a_topic_that_is_read_no_more_are_told_apart(
    names: Names, poller: Poller, protocol: str
) -> None:
    kept, dropped = names.topic("kept", partitions=1), names.topic("dropped", partitions=1)
    group = names.group(protocol)
    names.produce(kept, 3, partition=0)
    names.produce(dropped, 3, partition=0)
    names.commit(group, kept, {0: 1})
    names.commit(group, dropped, {0: 1})
    before = poller.poll()
    # Without members nobody knows what the group reads.
    assert before.offsets(group, dropped)[0]["is_subscribed"] is None
    consumer = Consumer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "group.id": group,
            "group.protocol": protocol,
            "group.instance.id": "instance-7",
            "client.rack": "rack-b",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    # A regular expression in the consumer protocol is resolved by the broker.
    pattern = "^" + kept.replace(".", "[.]") + "$"
    try:
        consumer.subscribe([kept if protocol == "classic" else pattern])

        def read() -> bool:
            consumer.poll(0.1)
            return members(poller.poll(), group)["assigned_partitions"].to_list() == [1]

        eventually(read, timeout_seconds=40, what="a member with a partition")
        poll = poller.poll()
    finally:
        consumer.close()
    assert poll.offsets(group, kept)[0]["is_subscribed"] is True
    assert poll.offsets(group, dropped)[0]["is_subscribed"] is False
    assert poll.offsets(group, dropped)[0]["lag"] == 2
    member = members(poll, group).row(0, named=True)
    assert member["instance_id"] == "instance-7"
    if protocol == "consumer":
        assert member["rack"] == "rack-b"
        assert member["epoch"] > 0


def test_a_state_has_a_beginning_once_it_was_seen_to_change(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=1)
    group = names.group("billing")
    names.commit(group, topic, {0: 0})
    first = poller.poll().group(group)
    assert first is not None
    assert (first["state"], first["state_since"], first["idle_members"]) == ("empty", None, 0)
    consumer = Consumer({"bootstrap.servers": names.cluster.bootstrap_servers, "group.id": group})
    try:
        consumer.subscribe([topic])

        def stable() -> bool:
            consumer.poll(0.1)
            found = poller.poll().group(group)
            return found is not None and found["state"] == "stable"

        eventually(stable, timeout_seconds=40, what="a stable group")
        one, other = poller.poll().group(group), poller.poll().group(group)
    finally:
        consumer.close()
    assert one is not None
    assert other is not None
    assert one["state_since"] is not None
    assert other["state_since"] == one["state_since"]


def coordinator(cluster: KafkaCluster, group: str) -> Connection:
    """Return a connection to a group's coordinator."""
    host, port = cluster.bootstrap_servers.split(",")[0].rsplit(":", 1)
    connector = Connector(ConnectionSettings(), "test")
    first = connector.open("broker", host, int(port))

    def find() -> Connection | None:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group], min_version=4)
        (answer,) = first.exchange([request], 10)
        (found,) = answer.coordinators
        if found.error_code:
            return None
        return connector.open("coordinator", found.host, found.port)

    try:
        return eventually(find, what="coordinator")
    finally:
        first.close()


def topology(topic: str) -> Any:
    kind = StreamsGroupHeartbeatRequest.Topology
    return kind(
        epoch=0,
        subtopologies=[
            kind.Subtopology(
                subtopology_id="0",
                source_topics=[topic],
                source_topic_regex=[],
                state_changelog_topics=[],
                repartition_sink_topics=[],
                repartition_source_topics=[],
                copartition_groups=[],
            )
        ],
    )


def heartbeat(connection: Connection, group: str, member_epoch: int, topology: Any) -> Any:
    request = StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id="b2f1c8f8-1f4d-4ef1-9a92-0f7d2c3c9d10",
        member_epoch=member_epoch,
        endpoint_information_epoch=0,
        instance_id=None,
        rack_id="rack-a",
        rebalance_timeout_ms=30_000,
        topology=topology,
        active_tasks=[] if topology else None,
        standby_tasks=[] if topology else None,
        warmup_tasks=[] if topology else None,
        process_id="process" if topology else None,
        user_endpoint=None,
        client_tags=[] if topology else None,
        task_offsets=None,
        task_end_offsets=None,
        shutdown_application=False,
    )
    (answer,) = connection.exchange([request], 10)
    assert answer.error_code == 0, answer.error_message
    return answer
