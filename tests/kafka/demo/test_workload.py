"""The demo's workload on real brokers: every documented behaviour is there."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec
from kafka import KafkaAdminClient
from kafka.errors import KafkaError as KafkaPythonError

from demo.kafka.cluster import KafkaCluster
from demo.workload.catalogue import CATALOGUE, ORDERS_DEAD, WAREHOUSE_DEAD
from demo.workload.service import Workload
from tests.kafka.collecting import Poller, polling
from tests.support import eventually

_LEADER_MOVES = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
}


@pytest.fixture(scope="module")
def running(demo_workload: Workload) -> Iterator[Workload]:
    demo_workload.resume()
    try:
        yield demo_workload
    finally:
        demo_workload.pause()


@pytest.fixture(scope="module")
def poller(kafka_cluster: KafkaCluster) -> Iterator[Poller]:
    with polling(kafka_cluster) as made:
        yield made


def offsets(cluster: KafkaCluster, group: str) -> dict[int, int]:
    """Committed offsets by kafka-python: librdkafka's call can crash (its issue 5040)."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)

    def ask() -> Any:
        try:
            return admin.list_group_offsets([group])
        except KafkaPythonError as error:
            if not error.retriable:
                raise
            return None

    try:
        found = eventually(ask, what=f"coordinator of {group}")[group]
    finally:
        admin.close()
    return {place.partition: each.offset for place, each in found.items()}


def ends(cluster: KafkaCluster, topic: str, spec: OffsetSpec | None = None) -> dict[int, int]:
    partitions = CATALOGUE.topic(topic).partitions
    asked = {TopicPartition(topic, each): spec or OffsetSpec.latest() for each in range(partitions)}

    def ask() -> dict[int, int] | None:
        found = cluster.admin().list_offsets(asked)
        try:
            return {each.partition: future.result().offset for each, future in found.items()}
        except KafkaException as error:
            # Another test moved leaders: librdkafka learns of it by looking again.
            if error.args[0].code() not in _LEADER_MOVES:
                raise
            cluster.admin().list_topics(timeout=5)
            return None

    return eventually(ask, what=f"ends of {topic}")


def lags(cluster: KafkaCluster, group: str) -> dict[int, int]:
    committed = offsets(cluster, group)
    return {
        partition: end - committed[partition]
        for partition, end in ends(cluster, CATALOGUE.group(group).topic).items()
        if partition in committed
    }


@dataclass(frozen=True)
class Described:
    """A group as its coordinator describes it.

    Attributes:
        state: For example ``stable``.
        type: ``classic`` or ``consumer``.
        assigned: How many partitions each member holds, in ascending order.
    """

    state: str
    type: str
    assigned: list[int]


def described(poller: Poller, group: str) -> Described:
    """The group as the collectors read it: librdkafka's own call can crash (its issue 5040)."""

    def ask() -> Described | None:
        poll = poller.poll()
        row = poll.group(group)
        if row is None or row["state"] == "unknown":
            return None
        members = poll.table("group_members").filter(pl.col("group") == group)
        return Described(row["state"], row["type"], members["assigned_partitions"].sort().to_list())

    return eventually(ask, what=f"description of {group}")


def first_records(cluster: KafkaCluster, topic: str) -> list[Any]:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "reader-of-tests"}
    )
    try:
        consumer.assign(
            [TopicPartition(topic, each, 0) for each in range(CATALOGUE.topic(topic).partitions)]
        )
        return eventually(lambda: consumer.consume(5, timeout=5), what=f"records of {topic}")
    finally:
        consumer.close()


@pytest.mark.parametrize("group", [pytest.param(each, id=each.name) for each in CATALOGUE.groups])
def test_each_group_has_the_members_that_the_catalogue_says(
    poller: Poller, running: Workload, group: Any
) -> None:
    expected = 0 if group.leaves_after is not None else group.members
    eventually(
        lambda: len(described(poller, group.name).assigned) == expected,
        what=f"{expected} members of {group.name}",
    )
    found = described(poller, group.name)
    assert found.state == ("empty" if expected == 0 else "stable")
    assert found.type == group.protocol


def test_the_healthy_group_keeps_up(kafka_cluster: KafkaCluster, running: Workload) -> None:
    arrival = CATALOGUE.stream("orders.placed").rate.mean
    eventually(
        lambda: sum(lags(kafka_cluster, "order-fulfilment").values()) < 5 * arrival,
        what="lag of less than five seconds",
    )


def test_idle_members_hold_nothing(poller: Poller, running: Workload) -> None:
    assert described(poller, "stock-projection").assigned == [0, 0, 1, 1, 1]


def test_only_the_hot_partition_falls_behind(
    kafka_cluster: KafkaCluster, running: Workload
) -> None:
    def others_done() -> bool:
        found = sorted(lags(kafka_cluster, "session-builder").values())
        return len(found) == 6 and found[-1] > 500 and found[-2] < 100

    eventually(others_done, timeout_seconds=60, what="one hot partition")


def test_the_poisoned_partition_stands_while_the_others_move(
    kafka_cluster: KafkaCluster, running: Workload
) -> None:
    before = offsets(kafka_cluster, "invoice-rendering")
    eventually(
        lambda: all(
            at > before[partition] or partition == 2
            for partition, at in offsets(kafka_cluster, "invoice-rendering").items()
        ),
        what="progress of the other partitions",
    )
    assert offsets(kafka_cluster, "invoice-rendering")[2] == before[2]
    end = ends(kafka_cluster, "invoices.requested")[2]
    eventually(
        lambda: ends(kafka_cluster, "invoices.requested")[2] > end,
        what="arrivals behind the poison record",
    )


def test_the_group_that_left_does_not_move(kafka_cluster: KafkaCluster, running: Workload) -> None:
    before = offsets(kafka_cluster, "shipment-notification")
    end = sum(ends(kafka_cluster, "shipments.dispatched").values())
    assert sum(before.values()) == CATALOGUE.group("shipment-notification").leaves_after
    eventually(
        lambda: sum(ends(kafka_cluster, "shipments.dispatched").values()) > end,
        what="arrivals for the group that left",
    )
    assert offsets(kafka_cluster, "shipment-notification") == before


def test_the_pipeline_writes_in_transactions(
    kafka_cluster: KafkaCluster, running: Workload
) -> None:
    before = sum(offsets(kafka_cluster, "ledger-audit").values())
    eventually(
        lambda: sum(offsets(kafka_cluster, "ledger-audit").values()) > before,
        timeout_seconds=90,  # one that fails takes half a minute, and it is tried again
        what="progress behind the transactions",
    )
    records = sum(ends(kafka_cluster, "ledger.entries").values())
    # Marks of transactions take offsets too: more offsets than records were forwarded.
    assert records > sum(offsets(kafka_cluster, "ledger-writer").values())


def test_retention_follows_the_archive_group(make_cluster: Callable[..., KafkaCluster]) -> None:
    """Its oldest records go while it has not read the newest minute of them.

    On a workload of its own: a pause longer than the retention leaves no record to be behind.
    """
    cluster = make_cluster(brokers=1)
    with Workload(cluster.bootstrap_servers):
        start = eventually(
            lambda: sum(ends(cluster, "telemetry.readings", OffsetSpec.earliest()).values()),
            timeout_seconds=60,
            what="records deleted by retention",
        )
        behind = sum(
            eventually(
                lambda: lags(cluster, "telemetry-archive"), what="commits of the archive"
            ).values()
        )
    assert start < sum(ends(cluster, "telemetry.readings").values())
    assert behind > 10 * CATALOGUE.stream("telemetry.readings").rate.mean


def test_spring_dead_letters_carry_binary_numbers(
    kafka_cluster: KafkaCluster, running: Workload
) -> None:
    record = first_records(kafka_cluster, ORDERS_DEAD)[0]
    headers = dict(record.headers())
    assert headers["kafka_dlt-original-topic"] == b"orders.placed"
    assert headers["kafka_dlt-original-consumer-group"] == b"order-fulfilment"
    assert struct.unpack(">i", headers["kafka_dlt-original-partition"]) == (record.partition(),)
    (offset,) = struct.unpack(">q", headers["kafka_dlt-original-offset"])
    assert offset % 150 == 149
    (timestamp,) = struct.unpack(">q", headers["kafka_dlt-original-timestamp"])
    assert timestamp <= record.timestamp()[1]


def test_connect_dead_letters_keep_the_original_time(
    kafka_cluster: KafkaCluster, running: Workload
) -> None:
    headers = dict(first_records(kafka_cluster, WAREHOUSE_DEAD)[0].headers())
    assert headers["__connect.errors.topic"] == b"orders.placed"
    assert headers["__connect.errors.connector.name"] == b"warehouse_sink"
    assert int(headers["__connect.errors.offset"]) % 400 == 399


def test_dead_letters_are_redriven_with_a_delay(
    kafka_cluster: KafkaCluster, running: Workload
) -> None:
    eventually(
        lambda: sum(offsets(kafka_cluster, "orders-redrive").values()),
        timeout_seconds=40,
        what="redriven records",
    )
    assert sum(lags(kafka_cluster, "orders-redrive").values()) > 0


def test_a_stopped_group_comes_back(poller: Poller, running: Workload) -> None:
    running.stop_group("fraud-scoring")
    try:
        eventually(
            lambda: not described(poller, "fraud-scoring").assigned, what="group without members"
        )
    finally:
        running.start_group("fraud-scoring")
    eventually(lambda: len(described(poller, "fraud-scoring").assigned) == 2, what="two members")


def test_a_pause_makes_the_cluster_quiet(kafka_cluster: KafkaCluster, running: Workload) -> None:
    running.pause()
    try:

        def state() -> list[object]:
            return [
                (offsets(kafka_cluster, group.name), ends(kafka_cluster, group.topic))
                for group in CATALOGUE.groups
            ]

        first = state()
        assert state() == first
        eventually(lambda: state() == first, what="unchanged offsets")
    finally:
        running.resume()
    before = sum(ends(kafka_cluster, "orders.placed").values())
    eventually(
        lambda: sum(ends(kafka_cluster, "orders.placed").values()) > before, what="new records"
    )
