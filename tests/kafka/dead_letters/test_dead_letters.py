"""Dead letters of real topics: depths, age, reasons, origin."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
from confluent_kafka import Producer
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from collectors.errors import CollectorError
from collectors.kafka.cluster.metadata import read_metadata
from collectors.kafka.poll import dead_letter_topics
from collectors.kafka.poll.dead_letter_topics import NO_REDRIVE_GROUP
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.librdkafka import validate
from collectors.source.shared_facts import Sink
from config.settings import ClusterSettings
from demo.kafka.cluster import KafkaCluster
from demo.workload.headers import Headers, Origin, connect_headers, spring_headers
from tests.kafka.collecting import polling
from tests.support import Names

SECRET = b"a payload that must not be stored"


def put(
    cluster: KafkaCluster,
    topic: str,
    headers: list[Headers],
    partition: int,
    codec: str = "none",
    timestamp_ms: int = 0,
) -> None:
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "compression.codec": codec}
    )
    for item in headers:
        producer.produce(
            topic, value=SECRET, headers=item, partition=partition, timestamp=timestamp_ms
        )
    assert producer.flush(30) == 0


def test_three_depths_with_and_without_a_redrive_group(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    main = names.topic("orders", partitions=1)
    dead = names.topic("orders.dlq", partitions=2)
    group = names.group("redrive")
    origin = Origin(topic=main, partition=0, offset=5, timestamp_ms=1_700_000_000_000)
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
    # Spring's record carries its own arrival, and the event's time in a header.
    assert row["oldest_arrived_at"] == row["oldest_unprocessed_at"]
    assert row["oldest_event_at"] == datetime.fromtimestamp(1_700_000_000, UTC)
    assert row["origins"] == [{"key": main, "value": 6}]
    assert "IllegalArgumentException" in str(row["reasons"])
    assert SECRET.decode() not in str(row)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_headers_of_connect_in_every_compression(
    kafka_cluster: KafkaCluster, names: Names, codec: str
) -> None:
    dead = names.topic("sink.dlq", partitions=1)
    origin = Origin(topic="somewhere.else", partition=0, offset=5, timestamp_ms=1_700_000_000_000)
    put(kafka_cluster, dead, [connect_headers(origin, "sink", n) for n in range(5)], 0, codec)
    names.commit(names.group("any"), dead, {0: 0})
    with polling(kafka_cluster) as poller:
        row = poller.poll().dead_letter(dead)
    assert row["sampled_records"] == 5
    assert row["reasons"] == [{"key": "org.apache.kafka.connect.errors.DataException", "value": 5}]
    assert row["origin"] == "somewhere.else"
    newest, oldest = (
        {entry["key"]: entry["value"] for entry in row[name]}
        for name in ("newest_record", "oldest_record")
    )
    assert (oldest["offset"], newest["partition"]) == ("0", "0")
    assert newest["reason"] == "org.apache.kafka.connect.errors.DataException"
    assert newest["origin"] == "somewhere.else"
    assert set(newest) == {"partition", "offset", "timestamp", "reason", "origin"}


def test_the_sample_is_bounded_and_taken_anew_only_when_the_topic_moves(
    kafka_cluster: KafkaCluster, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Mock(wraps=dead_letter_topics.sample)
    monkeypatch.setattr(dead_letter_topics, "sample", read)
    dead = names.topic("orders.dlq", partitions=1)
    origin = Origin(topic="orders", partition=0, offset=5, timestamp_ms=1_700_000_000_000)
    put(kafka_cluster, dead, [spring_headers(origin, "billing", n) for n in range(300)], 0)
    names.commit(names.group("any"), dead, {0: 0})
    only = {"topics": {"include": [dead, "__consumer_offsets"]}}
    with polling(kafka_cluster, dead_letters={"sample_records": 20}, **only) as poller:
        first = poller.poll()
        assert first.dead_letter(dead)["sampled_records"] == 40
        second = poller.poll()
        assert second.dead_letter(dead) == first.dead_letter(dead)
        assert read.call_count == 1
        put(kafka_cluster, dead, [connect_headers(origin, "sink", 0)], 0)
        third = poller.poll().dead_letter(dead)
        assert third["retained"] == 301
        assert "org.apache.kafka.connect.errors.DataException" in str(third["reasons"])
        assert read.call_count == 2


def test_sampling_can_be_switched_off(kafka_cluster: KafkaCluster, names: Names) -> None:
    dead = names.topic("orders.dlq", partitions=1)
    put(kafka_cluster, dead, [[("kafka_dlt-exception-fqcn", b"java.lang.Error")]], 0)
    names.commit(names.group("any"), dead, {0: 0})
    with polling(kafka_cluster, dead_letters={"sample_records": 0}) as poller:
        row = poller.poll().dead_letter(dead)
    assert row["reasons"] is None
    assert row["sampled_records"] is None
    assert row["retained"] == 1


@pytest.mark.parametrize(
    ("config", "event", "arrival"),
    [
        pytest.param({}, True, False, id="create time: the event's"),
        pytest.param(
            {"message.timestamp.type": "LogAppendTime"}, False, True, id="log append: the arrival"
        ),
    ],
)
def test_what_the_timestamp_of_connect_means(
    kafka_cluster: KafkaCluster, names: Names, config: dict[str, str], event: bool, arrival: bool
) -> None:
    dead = names.topic("sink.dlq", partitions=1, config=config)
    event_ms = int((time.time() - 3600) * 1000)
    origin = Origin(topic="orders", partition=0, offset=5, timestamp_ms=event_ms)
    put(kafka_cluster, dead, [connect_headers(origin, "sink", 0)], 0, timestamp_ms=event_ms)
    names.commit(names.group("any"), dead, {0: 0})
    with polling(kafka_cluster) as poller:
        row = poller.poll().dead_letter(dead)
    event_at = datetime.fromtimestamp(event_ms / 1000, UTC)
    assert row["oldest_event_at"] == (event_at if event else None)
    assert row["oldest_arrived_at"] == (row["oldest_retained_at"] if arrival else None)
    assert (row["oldest_retained_at"] == event_at) is event


def test_dead_letters_of_a_sink_are_found_by_its_configuration(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    """Without context headers (Connect's default) the sink's own offsets tell the origin."""
    main, dead = names.topic("orders", partitions=1), names.topic("set.aside", partitions=1)
    group = names.group("connect-sink")
    put(kafka_cluster, dead, [[]], 0)
    names.produce(main, 3)
    names.commit(group, main, {0: 1})
    only = {"topics": {"include": [main, dead, "__consumer_offsets"]}}
    sinks = [
        Sink(connector="sink", group=group, dead_letter_topic=dead),
        Sink(connector="other", group="connect-other", dead_letter_topic=None),
    ]
    with polling(kafka_cluster, **only) as poller:
        assert poller.poll().table("dead_letters").is_empty()
        poller.shared.set_sinks("test", "main", sinks)
        row = poller.poll().dead_letter(dead)
        assert (row["found_by"], row["origin"], row["retained"]) == ("connect config", main, 1)
        assert (row["reasons"], row["origins"], row["sampled_records"]) == ([], [], 1)
        assert (row["oldest_event_at"], row["oldest_arrived_at"]) == (None, None)
        kinds = poller.poll().table("topics").filter(pl.col("topic") == dead)["kind"]
        assert set(kinds) <= {"dead letter"}
    with polling(kafka_cluster, dead_letters={"ignore": [f"^{dead}$"]}, **only) as poller:
        poller.shared.set_sinks("test", "main", sinks)
        assert poller.poll().table("dead_letters").is_empty()


def test_arrivals_against_those_of_the_origin(kafka_cluster: KafkaCluster, names: Names) -> None:
    main, dead = names.topic("orders", partitions=2), names.topic("orders.dlq", partitions=1)
    headers = spring_headers(
        Origin(topic=main, partition=0, offset=5, timestamp_ms=1_700_000_000_000), "billing", 0
    )
    put(kafka_cluster, dead, [headers], 0)
    names.commit(names.group("any"), dead, {0: 0})
    with polling(kafka_cluster, topics={"include": [main, dead, "__consumer_offsets"]}) as poller:
        assert poller.poll().dead_letter(dead)["arrival_ratio"] is None  # nothing to compare with
        assert poller.poll().dead_letter(dead)["arrival_ratio"] is None  # nothing arrived
        put(kafka_cluster, dead, [headers] * 3, 0)
        names.produce(main, 60)
        assert poller.poll().dead_letter(dead)["arrival_ratio"] == 0.05
        names.produce(main, 10)
        assert poller.poll().dead_letter(dead)["arrival_ratio"] == 0.0
        put(kafka_cluster, dead, [headers] * 3, 0)
        row = poller.poll().dead_letter(dead)
        assert row["arrival_ratio"] is None  # three of none are no share
        assert row["retained"] == 7


def test_a_header_whose_name_is_no_text_costs_only_its_record(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    dead = names.topic("orders.dlq", partitions=1)
    origin = Origin(topic="orders", partition=0, offset=5, timestamp_ms=1_700_000_000_000)
    put(kafka_cluster, dead, [spring_headers(origin, "billing", 0)] * 2, 0)
    produce_with_header_name(kafka_cluster, dead, b"\xff\xfe\x00")
    names.commit(names.group("any"), dead, {0: 0})
    with polling(kafka_cluster, topics={"include": [dead, "__consumer_offsets"]}) as poller:
        poll = poller.poll()
        assert poll.errors == {}
        row = poll.dead_letter(dead)
    assert (row["retained"], row["sampled_records"]) == (3, 3)
    assert row["reasons"] == [{"key": "java.lang.IllegalArgumentException", "value": 2}]


def test_only_committed_dead_letters_count(kafka_cluster: KafkaCluster, names: Names) -> None:
    """Kafka Streams with exactly once writes its dead letters in transactions."""
    dead = names.topic("app.dlq", partitions=1)
    producer = Producer(
        {
            "bootstrap.servers": kafka_cluster.bootstrap_servers,
            "transactional.id": f"{dead}-writer",
        }
    )
    producer.init_transactions(30)
    for ends, name in (("commit", b"Kept"), ("abort", b"RolledBack"), ("commit", b"Kept")):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(dead, SECRET, headers=[("__streams.errors.exception", name)])
        producer.flush(30)
        if ends == "commit":
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    producer.begin_transaction()
    producer.produce(dead, SECRET, headers=[("__streams.errors.exception", b"Open")])
    producer.flush(30)
    with polling(kafka_cluster, topics={"include": [dead]}) as poller:
        poll = poller.poll()
        row = poll.dead_letter(dead)
    assert poll.errors == {}
    assert row["reasons"] == [{"key": "Kept", "value": 6}]
    assert row["sampled_records"] == 6
    producer.abort_transaction(30)


def test_large_records_are_bounded_and_no_payload_is_kept(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    dead = names.topic("orders.dlq", partitions=1)
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    for _ in range(24):
        producer.produce(dead, b"x" * 900_000, headers=[("kafka_dlt-exception-fqcn", b"java.E")])
        producer.flush(30)
    with polling(kafka_cluster, topics={"include": [dead]}) as poller:
        poll = poller.poll()
        row = poll.dead_letter(dead)
    assert poll.errors == {}
    # 50 records of either end would be more than may be fetched: ten are enough.
    assert row["sampled_records"] == 20
    assert row["reasons"] == [{"key": "java.E", "value": 20}]


class RawName(str):
    """A header's name whose bytes are chosen: clients allow texts only."""

    raw = b""

    def encode(self, *_: object, **__: object) -> bytes:
        return self.raw


def produce_with_header_name(cluster: KafkaCluster, topic: str, name: bytes) -> None:
    raw = RawName("raw")
    raw.raw = name
    batch = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10_000)
    batch.append(0, int(time.time() * 1000), None, SECRET, [(raw, b"value")])
    part = ProduceRequest.TopicProduceData.PartitionProduceData(
        index=0, records=bytes(batch.build())
    )
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=5000,
        topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[part])],
        max_version=9,
    )
    servers = cluster.bootstrap_servers
    settings = ClusterSettings(name="test", bootstrap_servers=servers)
    wire, deadline = Wire(servers, validate(settings), "test"), Deadline(30, 10)
    try:
        partitions = read_metadata(wire, deadline).partitions
        leader = partitions.filter(pl.col("topic") == topic)["leader"][0]
        (answer,) = answered(wire.each({leader: [request]}, deadline)[leader])
        assert answer.responses[0].partition_responses[0].error_code == 0
    finally:
        wire.close()


def answered(answers: list[Any] | CollectorError) -> list[Any]:
    assert not isinstance(answers, CollectorError), answers
    return answers
