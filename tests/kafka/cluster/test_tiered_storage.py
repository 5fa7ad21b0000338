"""Logs of which a part lies in remote storage, on a broker whose remote storage is a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from demo.kafka.cluster import KafkaCluster
from runtime.jars import IvyResolver, ensure
from runtime.jarsets import KAFKA_VERSION, JarSet
from runtime.java import find_java
from tests.kafka.collecting import Poller, polling
from tests.support import eventually

STORAGE = JarSet(
    name=f"kafka-storage-test-{KAFKA_VERSION}",
    modules=(f"org.apache.kafka:kafka-storage:{KAFKA_VERSION}:test",),
)
SEGMENT_BYTES = 1_048_576
RECORDS, RECORD_BYTES = 300, 10_000


@pytest.fixture(scope="module")
def tiered_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("tiered")
    jars = ensure(STORAGE, IvyResolver(find_java()))
    cluster = KafkaCluster(folder / "kafka", 1, 192, _properties(jars, folder / "remote"))
    with cluster:
        yield cluster


def _properties(jars: Path, remote: Path) -> dict[str, str]:
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": (
            "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
        ),
        "remote.log.storage.manager.class.path": f"{jars}/*",
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": str(remote),
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "remote.log.manager.task.interval.ms": "500",
        "remote.log.index.file.cache.total.size.bytes": "1048576",
    }


@pytest.fixture
def poller(tiered_cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Poller]:
    monkeypatch.setattr("collectors.source.due.EVERY_SECONDS", 0.0)
    monkeypatch.setattr("collectors.source.due.CONFIGS_EVERY_SECONDS", 0.0)
    with polling(tiered_cluster) as made:
        yield made


def create(cluster: KafkaCluster, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    new = NewTopic(topic, num_partitions=1, replication_factor=1, config=config)
    admin.create_topics([new])[topic].result(timeout=20)


def produce(cluster: KafkaCluster, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for number in range(records):
        producer.produce(topic, number.to_bytes(4, "big") * (RECORD_BYTES // 4), partition=0)
    assert producer.flush(30) == 0


def tiers(poller: Poller, topic: str) -> dict[str, Any]:
    (row,) = poller.poll().table("partitions").filter(topic=topic).to_dicts()
    return row


def test_what_lies_on_disks_and_what_in_remote_storage(
    tiered_cluster: KafkaCluster, poller: Poller
) -> None:
    settings = {
        "remote.storage.enable": "true",
        "segment.bytes": str(SEGMENT_BYTES),
        "local.retention.bytes": str(SEGMENT_BYTES),
    }
    create(tiered_cluster, "archive", **settings)
    create(tiered_cluster, "plain")
    row = tiers(poller, "archive")
    assert (row["local_log_start"], row["remote_log_end"]) == (0, 0), "nothing was copied yet"

    produce(tiered_cluster, "archive", RECORDS)
    produce(tiered_cluster, "plain", 3)

    def copied() -> dict[str, Any] | None:
        row = tiers(poller, "archive")
        return row if (row["local_log_start"] or 0) > 0 else None

    row = eventually(copied, what="segments in remote storage alone", timeout_seconds=60)
    # The last segment is open: it is not copied, and records before it are still to be read.
    assert row["log_start"] == 0
    assert row["log_end"] == RECORDS
    assert 0 < row["local_log_start"] <= row["remote_log_end"] < RECORDS
    plain = tiers(poller, "plain")
    assert (plain["local_log_start"], plain["remote_log_end"]) == (None, None)
    (check,) = [each for each in poller.source.check() if each.feature == "tiered storage"]
    assert (check.works, check.detail) == (True, "1 topics")


def test_where_it_is_switched_off_nobody_is_asked(tiered_cluster: KafkaCluster) -> None:
    create(tiered_cluster, "unasked", **{"remote.storage.enable": "true"})
    with polling(tiered_cluster, switched_off=["tiered_storage"]) as poller:
        assert tiers(poller, "unasked")["remote_log_end"] is None
