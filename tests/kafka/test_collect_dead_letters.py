"""Dead letters of real topics: depths, age, reasons, origin."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer

from collectors.kafka.sections.dead_letters import NO_REDRIVE_GROUP
from demo.cluster import KafkaCluster
from demo.workload.headers import Headers, Origin, connect_headers, spring_headers
from tests.kafka.collecting import polling
from tests.support import Names

SECRET = b"a payload that must not be stored"


def put(
    cluster: KafkaCluster, topic: str, headers: list[Headers], partition: int, codec: str = "none"
) -> None:
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "compression.codec": codec}
    )
    for item in headers:
        producer.produce(topic, value=SECRET, headers=item, partition=partition)
    assert producer.flush(30) == 0


def test_three_depths_with_and_without_a_redrive_group(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    main = names.topic("orders", partitions=1)
    dead = names.topic("orders.dlq", partitions=2)
    group = names.group("redrive")
    origin = Origin(main, 0, 5, 1_700_000_000_000)
    put(kafka_cluster, dead, [spring_headers(origin, "billing", n) for n in range(10)], 0)
    time.sleep(0.05)  # so that the two partitions' oldest records differ in time
    put(kafka_cluster, dead, [spring_headers(origin, "billing", n) for n in range(10)], 1)
    names.commit(group, dead, {0: 10, 1: 4})

    with polling(kafka_cluster) as poller:
        row = poller.poll().dead_letter(dead)
    assert row["unprocessed"] is None
    assert row["unknown_reason"] == NO_REDRIVE_GROUP
    assert (row["retained"], row["log_end"]) == (20, 20)
    assert row["oldest_unprocessed_at"] is None
    retained_since = row["oldest_retained_at"]

    declared = {"dead_letters": {"redrive_groups": {dead: group}}}
    with polling(kafka_cluster, **declared) as poller:
        row = poller.poll().dead_letter(dead)
    assert row["redrive_group"] == group
    assert row["found_by"] == "configuration"
    assert row["unprocessed"] == 6
    assert row["unknown_reason"] is None
    assert row["origin"] == main
    # The oldest unprocessed record is in partition 1, and later than the oldest of all.
    assert retained_since < row["oldest_unprocessed_at"] <= datetime.now(UTC)
    assert "IllegalArgumentException" in str(row["reasons"])
    assert SECRET.decode() not in str(row)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_headers_of_connect_in_every_compression(
    kafka_cluster: KafkaCluster, names: Names, codec: str
) -> None:
    dead = names.topic("sink.dlq", partitions=1)
    origin = Origin("somewhere.else", 0, 5, 1_700_000_000_000)
    put(kafka_cluster, dead, [connect_headers(origin, "sink", n) for n in range(5)], 0, codec)
    names.commit(names.group("any"), dead, {0: 0})
    with polling(kafka_cluster) as poller:
        row = poller.poll().dead_letter(dead)
    assert row["sampled_records"] == 5
    assert row["reasons"] == [{"key": "org.apache.kafka.connect.errors.DataException", "value": 5}]
    assert row["origin"] == "somewhere.else"


def test_the_sample_is_bounded_and_taken_anew_only_when_the_topic_moves(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    dead = names.topic("orders.dlq", partitions=1)
    origin = Origin("orders", 0, 5, 1_700_000_000_000)
    put(kafka_cluster, dead, [spring_headers(origin, "billing", n) for n in range(300)], 0)
    names.commit(names.group("any"), dead, {0: 0})
    only = {"topics": {"include": [dead, "__consumer_offsets"]}}
    with polling(kafka_cluster, dead_letters={"sample_records": 20}, **only) as poller:
        first = poller.poll()
        assert first.dead_letter(dead)["sampled_records"] == 40
        second = poller.poll()
        assert second.dead_letter(dead) == first.dead_letter(dead)
        duration = second.results["dead_letters"].duration_seconds
        assert duration < first.results["dead_letters"].duration_seconds
        assert duration < 0.05
        put(kafka_cluster, dead, [connect_headers(origin, "sink", 0)], 0)
        third = poller.poll().dead_letter(dead)
        assert third["retained"] == 301
        assert "org.apache.kafka.connect.errors.DataException" in str(third["reasons"])


def test_sampling_can_be_switched_off(kafka_cluster: KafkaCluster, names: Names) -> None:
    dead = names.topic("orders.dlq", partitions=1)
    put(kafka_cluster, dead, [[("kafka_dlt-exception-fqcn", b"java.lang.Error")]], 0)
    names.commit(names.group("any"), dead, {0: 0})
    with polling(kafka_cluster, dead_letters={"sample_records": 0}) as poller:
        row = poller.poll().dead_letter(dead)
    assert row["reasons"] is None
    assert row["sampled_records"] is None
    assert row["retained"] == 1
