"""The log of commits, followed on real brokers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from kafka.protocol.consumer import FetchRequest

from collectors.kafka.cluster.metadata import read_metadata
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.commit_log.partition import PartitionCommits
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.properties import ConnectionSettings
from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from tests.kafka.collecting import polling
from tests.kafka.commit_log.commit_reader import TOPIC, Last, last_commits
from tests.kafka.commit_log.committing import Transaction, commit_as_member, commits, share
from tests.support import Names, eventually
from tests.unit.collectors.kafka.commit_log import building as build

PARTITIONS = 4
SNAPPY = "2"


@pytest.fixture(scope="module")
def broker(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One broker whose offsets topic is compressed, in the frames of Kafka's Java library."""
    cluster = KafkaCluster(
        tmp_path_factory.mktemp("commits"),
        brokers=1,
        heap_mb=96,
        java=kafka_java,
        properties={
            "offsets.topic.num.partitions": str(PARTITIONS),
            "offsets.topic.compression.codec": SNAPPY,
            "log.cleaner.backoff.ms": "500",
        },
    )
    cluster.start()
    try:
        made = Names(cluster)  # before the first group there is no log
        made.commit(made.group("first"), made.topic("first"), {0: 0})
        yield cluster
    finally:
        cluster.close(keep=False)


@pytest.fixture
def here(broker: KafkaCluster) -> Iterator[Names]:
    made = Names(broker)
    try:
        yield made
    finally:
        made.delete()


@pytest.fixture
def log(broker: KafkaCluster) -> Iterator[CommitLog]:
    """A follower that has caught up with the broker."""
    made = follower(broker)
    yield made
    made.close()


def follower(cluster: KafkaCluster) -> CommitLog:
    def connect() -> Wire:
        return Wire(cluster.bootstrap_servers, ConnectionSettings(), "test")

    made = CommitLog("test", connect, 5.0, pause_seconds=0.05)
    wire = connect()
    made.meet(read_metadata(wire, Deadline(10, 10)))
    wire.close()
    return made


def reported(log: CommitLog) -> Last:
    return {
        (group, topic, partition): (offset, at)
        for group, topic, partition, offset, at in log.latest()
        .select("group", "topic", "partition", "log_committed", "committed_at")
        .iter_rows()
    }


def agrees(log: CommitLog, cluster: KafkaCluster) -> Last:
    """Wait until the follower tells what the independent reader tells, for all keys."""
    last = last_commits(cluster)
    eventually(lambda: log.state.caught_up and reported(log) == last, what=f"agreement on {last}")
    return last


def log_partition(group: str, partitions: int = PARTITIONS) -> int:
    """Return the partition of the log that a group's commits are in."""
    code = 0
    for letter in group:  # Java's String.hashCode, a signed number
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    return (2**32 - code if code >= 2**31 else code) % partitions  # of its absolute value


def test_every_way_to_commit(here: Names, log: CommitLog) -> None:
    topic = here.topic("orders", partitions=1)
    groups = {name: here.group(name) for name in ("classic", "consumer", "simple", "share", "txn")}
    here.produce(topic, 10)
    before = time.time()
    commit_as_member(here.cluster, groups["classic"], topic, "classic")
    commit_as_member(here.cluster, groups["consumer"], topic, "consumer")
    here.commit(groups["simple"], topic, {0: 3})
    here.commit(groups["simple"], topic, {0: 4})
    share(here.cluster, groups["share"], topic)
    Transaction(here.cluster, groups["txn"], topic, 7).commit()
    Transaction(here.cluster, groups["txn"], topic, 9).abort()
    agrees(log, here.cluster)
    found = {group: value for (group, of, _), value in reported(log).items() if of == topic}
    assert found.keys() == {groups[name] for name in ("classic", "consumer", "simple", "txn")}
    assert found[groups["simple"]][0] == 4
    assert found[groups["txn"]][0] == 7
    for _, at in found.values():
        assert before - 1 <= at.timestamp() <= time.time() + 1


def test_an_open_transaction_counts_later_and_holds_back_nobody(
    here: Names, log: CommitLog
) -> None:
    topic = here.topic("orders", partitions=1)
    stuck = here.group("stuck")
    # Another group in the same partition of the log, behind the transaction.
    behind = next(
        group
        for group in (f"{stuck}-{number}" for number in range(1_000))
        if log_partition(group) == log_partition(stuck)
    )
    here.commit(stuck, topic, {0: 1})
    eventually(lambda: reported(log).get((stuck, topic, 0), (None,))[0] == 1, what="first commit")
    transaction = Transaction(here.cluster, stuck, topic, 5)
    here.commit(behind, topic, {0: 2})
    eventually(lambda: reported(log).get((behind, topic, 0), (None,))[0] == 2, what="commit behind")
    assert reported(log)[(stuck, topic, 0)][0] == 1
    last = last_commits(here.cluster)  # read_committed alone is held back
    assert (behind, topic, 0) not in last
    transaction.commit()
    eventually(lambda: reported(log)[(stuck, topic, 0)][0] == 5, what="the transaction's offset")
    agrees(log, here.cluster)
    here.admin.delete_consumer_groups([behind])[behind].result(20)


def test_deleted_groups_and_topics_are_gone(here: Names, log: CommitLog) -> None:
    topic, other = here.topic("orders", partitions=2), here.topic("bills", partitions=1)
    gone, stays = here.group("gone"), here.group("stays")
    here.commit(gone, topic, {0: 1, 1: 2})
    here.commit(stays, topic, {0: 3})
    here.commit(stays, other, {0: 4})
    eventually(
        lambda: (stays, other, 0) in reported(log) and (gone, topic, 1) in reported(log), what="all"
    )
    here.admin.delete_consumer_groups([gone])[gone].result(20)
    here.admin.delete_topics([other])[other].result(20)

    def left() -> set[Any]:
        return {key for key in reported(log) if key[0] in (gone, stays)}

    eventually(lambda: left() == {(stays, topic, 0)}, what="one commit that is left")
    agrees(log, here.cluster)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_that_the_broker_compressed(here: Names, broker: KafkaCluster, codec: str) -> None:
    """A topic of the same shape, which the broker compresses anew whatever the producer sends."""
    topic = here.topic("shape", partitions=1, config={"compression.type": codec})
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 50})
    for number in range(2_000):
        key = build.commit_key(f"group-{number % 50:03}", "orders", number % 7)
        value = None if number % 97 == 0 else build.commit_value(number, 1_763_700_000_000 + number)
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(20) == 0
    partition = PartitionCommits(0)
    partition.position = 0
    with closing(Wire(broker.bootstrap_servers, ConnectionSettings(), "test")) as wire:
        metadata = read_metadata(wire, Deadline(10, 10))
        (leader,) = (each.broker_id for each in metadata.brokers)
        codecs = set()
        while partition.position < 2_000:
            asked = fetch(topic, 0, partition.position)
            answer = wire.each({leader: [asked]}, Deadline(10, 10))[leader][0]  # type: ignore[index]
            data = bytes(answer.responses[0].partitions[0].records)
            codecs.add(data[22] & 7)
            partition.feed(data, 0.0)
    assert codecs == {["gzip", "snappy", "lz4", "zstd"].index(codec) + 1}
    partition.reached_end(0.0)
    found = {
        (group, of, index): (offset, at)
        for group, of, index, offset, at in partition.frame()
        .select("group", "topic", "partition", "log_committed", "committed_at")
        .iter_rows()
    }
    assert found == last_commits(broker, topic)
    assert len(found) > 300


@pytest.mark.parametrize("version", [4, 6, 8, 11])
def test_brokers_that_know_older_fetches(
    here: Names, broker: KafkaCluster, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.kafka.protocol.fetch.fetch_requests._NEWEST", version)
    topic, group = here.topic("orders", partitions=1), here.group("billing")
    here.commit(group, topic, {0: version})
    with closing(follower(broker)) as log:
        agrees(log, broker)
        assert reported(log)[(group, topic, 0)][0] == version


def test_a_log_that_was_compacted(here: Names, broker: KafkaCluster) -> None:
    """Compaction drops records and whole transactions; what is left tells the same."""
    settings = {
        "segment.ms": "500",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "1",
    }
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=entries)
    here.admin.incremental_alter_configs([resource])[resource].result(20)
    topic, group, other = here.topic("orders", partitions=1), here.group("a"), here.group("b")
    written = 0

    def compacted() -> bool:
        nonlocal written
        written += 1
        here.commit(group, topic, {0: written})
        transaction = Transaction(here.cluster, other, topic, written)
        if written % 2:
            transaction.commit()
        else:
            transaction.abort()
        with closing(follower(broker)) as log:
            eventually(lambda: log.state.caught_up, what="the log's end")
            return log.state.commits_read < written

    eventually(compacted, timeout_seconds=90, what="a compacted log")
    with closing(follower(broker)) as log:
        last = agrees(log, broker)
        assert last[(group, topic, 0)][0] == written
        assert last[(other, topic, 0)][0] == written - 1 + written % 2
        eventually(
            lambda: read_back(here, group, topic) == reported(log)[(group, topic, 0)][0],
            what="the coordinator's word",
        )


def read_back(names: Names, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": names.cluster.bootstrap_servers, "group.id": group})
    with closing(consumer):
        (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=10)
        return int(found.offset)


def fetch(topic: str, partition: int, offset: int) -> Any:
    of = FetchRequest.FetchTopic
    wanted = of.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=2**20)
    return FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=2**20,
        topics=[of(topic=topic, partitions=[wanted])],
        max_version=12,
    )


def test_polls_tell_the_log_and_estimate_without_it(here: Names) -> None:
    topic, group = here.topic("orders", partitions=2), here.group("billing")
    here.produce(topic, 10)
    here.commit(group, topic, {0: 1})
    with polling(here.cluster) as follows, polling(here.cluster, commit_log=False) as estimates:
        first = follows.poll()
        assert first.offsets(group, topic)[0]["committed_at"] is None
        assert not followers()  # a single poll follows nothing

        def row() -> dict[str, Any]:
            poll = follows.poll()
            assert poll.errors == {}
            return poll.offsets(group, topic)[0]

        eventually(lambda: row()["commit_source"] == "log", what="the log's word")
        assert (group, topic, 0) in last_commits(here.cluster)
        assert row()["committed_at"] == last_commits(here.cluster)[(group, topic, 0)][1]

        assert estimates.poll().offsets(group, topic)[0]["commit_source"] == "estimate"
        here.commit(group, topic, {0: 6})
        at = last_commits(here.cluster)[(group, topic, 0)][1]
        eventually(lambda: row()["committed_at"] == at, what="the new commit")
        guess = estimates.poll().offsets(group, topic)[0]
        assert (guess["commit_source"], guess["committed"]) == ("estimate", 6)
        assert guess["committed_at"] > at
        assert len(followers()) == 1
    eventually(lambda: not followers(), what="end of the follower")


def followers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "commits-test"]


def test_a_cluster_without_any_group(make_cluster: Any) -> None:
    """Nothing is asked for, and so nothing is created, before there is a group."""
    cluster = make_cluster(properties={"offsets.topic.num.partitions": "2"})
    names = Names(cluster)
    topic = names.topic("orders", partitions=1)
    with polling(cluster) as poller:
        for _ in range(3):
            assert poller.poll().errors == {}
        assert TOPIC not in cluster.admin().list_topics(timeout=10).topics
        assert not followers()
        group = names.group("first")
        names.commit(group, topic, {0: 2})
        eventually(
            lambda: poller.poll().offsets(group, topic)[0]["commit_source"] == "log",
            what="the log's word",
        )


def test_the_leader_of_a_partition_stops(kafka_cluster: KafkaCluster, names: Names) -> None:
    topic, group = names.topic("orders", partitions=1), names.group("billing")
    names.produce(topic, 10)
    names.commit(group, topic, {0: 1})
    with polling(kafka_cluster, request_timeout_seconds=2.0) as poller:

        def told_since(moment: float) -> bool:
            row = poller.poll().offsets(group, topic).get(0, {})
            return row.get("commit_source") == "log" and row["committed_at"].timestamp() >= moment

        eventually(lambda: told_since(time.time() - 60), what="the log's word")
        partitions = kafka_cluster.admin().list_topics(timeout=10).topics[TOPIC].partitions
        leader = partitions[log_partition(group, len(partitions))].leader
        kafka_cluster.stop(leader)
        try:
            stopped = time.time()
            eventually(lambda: commits(names, group, topic, 2), what="a commit")
            eventually(
                lambda: told_since(stopped), timeout_seconds=60, what="the word of the new leader"
            )
        finally:
            kafka_cluster.restore()
        names.commit(group, topic, {0: 4})
        offset, at = last_commits(kafka_cluster)[(group, topic, 0)]
        assert offset == 4
        eventually(lambda: told_since(at.timestamp()), what="the time of the last commit")
        assert poller.poll().offsets(group, topic)[0]["committed_at"] == at
