"""A Kafka with a group that reads, and the service that watches it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from tests.conftest import TEST_HEAP_MB
from tests.servers.exporter.serving import Served, serving
from tests.support import Names, eventually


@pytest.fixture(scope="module")
def kafka(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("kafka")
    cluster = KafkaCluster(folder, 1, heap_mb=TEST_HEAP_MB, java=kafka_java)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.close(keep=False)


@pytest.fixture(scope="module")
def orders(kafka: KafkaCluster) -> Iterator[tuple[str, str]]:
    """A topic of two partitions with nine records, and a group that has read four of them."""
    names = Names(kafka)
    topic, group = names.topic("orders", partitions=2), names.group('billing "x"')
    names.produce(topic, 6, partition=0)
    names.produce(topic, 3, partition=1)
    names.commit(group, topic, {0: 4, 1: 0})
    try:
        yield topic, group
    finally:
        names.delete()


@pytest.fixture(scope="module")
def service(
    kafka: KafkaCluster, orders: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, {"shop": kafka.bootstrap_servers}) as served:
        eventually(lambda: "headroom_group_lag{" in served.metrics(), what="lag")
        yield served
