"""Brokers crash and freeze while a cluster is polled: the polls go on, and nothing is invented."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import polars as pl
import pytest
from confluent_kafka.admin import NewTopic
from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.librdkafka import validate
from collectors.kafka.source import KafkaSource
from collectors.service.rows import Stamp
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings
from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from tests.faults.observing import (
    GROUPS,
    INTERVAL_SECONDS,
    all_groups_are_there_and_nothing_is_invented,
    described,
    leaderless,
    polls_within_the_interval,
    under_replicated,
    until_healthy,
)
from tests.kafka.collecting import Poll, Poller, polling
from tests.support import Names, eventually, wait_until_in_sync

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def cluster(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers; __consumer_offsets has one replica, so a lost broker loses its groups."""
    made = KafkaCluster(
        tmp_path_factory.mktemp("faults"),
        brokers=3,
        heap_mb=96,
        java=kafka_java,
        properties={"offsets.topic.replication.factor": "1"},
    )
    made.start()
    try:
        names = Names(made)
        for group in GROUPS:
            names.commit(group, fill(names, made), {0: 1, 1: 2})
        yield made
    finally:
        made.close(keep=False)


def fill(names: Names, cluster: KafkaCluster) -> str:
    """Make the topics once: one with three replicas, one with one."""
    topics = cluster.admin().list_topics(timeout=5).topics
    found = [name for name in topics if name.startswith("safe.")]
    if found:
        return found[0]
    single = names.topic("single", partitions=6, replication_factor=1)
    safe = names.topic("safe", partitions=6, replication_factor=3)
    names.produce(single, 60)
    names.produce(safe, 600)
    return safe


@pytest.fixture
def poller(cluster: KafkaCluster) -> Iterator[Poller]:
    """Polls the whole cluster, and puts it right again afterwards."""
    settings = ClusterSettings(name="test", bootstrap_servers=cluster.bootstrap_servers)
    source = KafkaSource(settings, INTERVAL_SECONDS, SharedFacts())
    try:
        yield Poller(source)
    finally:
        source.close()
        cluster.restore()
        wait_until_in_sync(cluster)


def test_a_killed_broker(cluster: KafkaCluster, poller: Poller) -> None:
    until_healthy(poller)
    victim = 2
    coordinated = set(
        poller.poll().table("groups").filter(pl.col("coordinator") == victim)["group"]
    ) & set(GROUPS)
    assert coordinated

    cluster.kill(victim)
    first = polls_within_the_interval(poller)
    _, unknown = all_groups_are_there_and_nothing_is_invented(first)
    assert unknown == coordinated

    def noticed() -> Poll | None:
        poll = polls_within_the_interval(poller)
        all_groups_are_there_and_nothing_is_invented(poll)
        return poll if leaderless(poll) else None

    eventually(noticed, timeout_seconds=30, what="leaderless partition")
    offline = described(cluster, "--unavailable-partitions")
    poll = polls_within_the_interval(poller)
    # The tool calls a partition under-replicated, too, that has no replica in sync at all.
    assert leaderless(poll) == offline
    assert under_replicated(poll) == described(cluster, "--under-replicated-partitions")
    assert {topic.partition(".")[0] for topic, _ in offline} >= {"single"}
    _, unknown = all_groups_are_there_and_nothing_is_invented(poll)
    assert unknown == coordinated
    assert "have no leader: groups there cannot be seen" in poll.errors["groups"]

    partitions = poll.table("partitions").filter(pl.col("leader").is_null())
    assert partitions["log_end"].null_count() == partitions.height
    assert set(partitions["unknown_reason"]) == {"the partition has no leader"}
    brokers = {row["broker_id"]: row for row in poll.table("brokers").to_dicts()}
    assert not brokers[victim]["is_alive"]
    assert brokers[victim]["port"] == cluster.port(victim)
    assert brokers[victim]["replicas"] > 0

    cluster.restart(victim)
    until_healthy(poller)
    known, _ = all_groups_are_there_and_nothing_is_invented(poller.poll())
    assert known == set(GROUPS)


def test_a_frozen_broker(cluster: KafkaCluster, poller: Poller) -> None:
    until_healthy(poller)
    victim = 1
    before = poller.poll()
    coordinated = set(
        before.table("groups").filter(pl.col("coordinator") == victim)["group"]
    ) & set(GROUPS)
    assert coordinated

    cluster.freeze(victim)
    first = polls_within_the_interval(poller)
    assert set(first.results) == set(before.results)
    assert "did not answer in time" in first.errors["brokers"]
    _, unknown = all_groups_are_there_and_nothing_is_invented(first)
    assert unknown == coordinated
    # The others' partitions are known all the same.
    partitions = first.table("partitions")
    assert partitions.filter(pl.col("leader") != victim)["log_end"].null_count() == 0
    frozen = partitions.filter(pl.col("leader") == victim)
    assert frozen.height > 0
    assert frozen["log_end"].null_count() == frozen.height

    # From now on nobody waits for it: the polls are quick again.
    second = polls_within_the_interval(poller)
    assert second.duration_seconds < first.duration_seconds
    assert second.duration_seconds < 2.0

    def noticed() -> bool:
        poll = polls_within_the_interval(poller)
        all_groups_are_there_and_nothing_is_invented(poll)
        rows = {row["broker_id"]: row for row in poll.table("brokers").to_dicts()}
        return not rows[victim]["is_alive"]

    eventually(noticed, timeout_seconds=30, what="missing broker")
    cluster.thaw(victim)
    until_healthy(poller)
    known, _ = all_groups_are_there_and_nothing_is_invented(poller.poll())
    assert known == set(GROUPS)


def behind(poll: Poll) -> dict[int, int]:
    """Return what each broker lacks, reported apart from the partitions."""
    lacking: dict[int, int] = {row["broker_id"]: 0 for row in poll.table("brokers").to_dicts()}
    for row in poll.table("partitions").to_dicts():
        expected = set(row["replicas"]) - set(row["adding_replicas"] or ())
        for broker in expected - set(row["in_sync_replicas"]):
            lacking[broker] += 1
    return lacking


def reassign(cluster: KafkaCluster, topic: str, replicas: list[int]) -> None:
    """Begin to move the topic's first partition."""
    topic_type = AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = topic_type.ReassignablePartition(partition_index=0, replicas=replicas)
    request = partial(
        AlterPartitionReassignmentsRequest,
        timeout_ms=10_000,
        topics=[topic_type(name=topic, partitions=[partition])],
    )
    settings = ClusterSettings(name="test", bootstrap_servers=cluster.bootstrap_servers)
    wire = Wire(cluster.bootstrap_servers, validate(settings), "test")
    try:
        answer = wire.any(request, Deadline(20, 20))
    finally:
        wire.close()
    assert answer.error_code == 0
    assert answer.responses[0].partitions[0].error_code == 0


def test_the_controller_is_lost_and_a_replica_moves_to_its_broker(
    cluster: KafkaCluster, poller: Poller
) -> None:
    until_healthy(poller)
    before = poller.poll()
    assert before.table("cluster_events").is_empty()
    (victim,) = before.table("brokers").filter("is_controller")["broker_id"]
    quorum = {row["node_id"]: row for row in before.table("quorum").to_dicts()}
    assert {node: row["role"] for node, row in quorum.items()} == {
        broker: "leader" if broker == victim else "voter" for broker in (1, 2, 3)
    }
    assert quorum[victim]["lag"] == 0
    assert all(row["lag"] is not None for row in quorum.values())
    home = next(broker for broker in cluster.brokers if broker != victim)
    topic = "moved"
    new = NewTopic(topic, 1, replica_assignment=[[home]])
    cluster.admin().create_topics([new])[topic].result(timeout=20)
    until_healthy(poller)

    cluster.kill(victim)
    events: list[dict[str, Any]] = []

    def replaced() -> Poll | None:
        poll = polls_within_the_interval(poller)
        # The groups, offsets and partitions that do not need the controller stay known.
        assert poll.results["groups"].status != "failed"
        assert poll.results["partitions"].status != "failed"
        events.extend(poll.table("cluster_events").to_dicts())
        brokers = {row["broker_id"]: row for row in poll.table("brokers").to_dicts()}
        leads = [number for number, row in brokers.items() if row["is_controller"]]
        return poll if leads and victim not in leads and not brokers[victim]["is_alive"] else None

    poll = eventually(replaced, timeout_seconds=60, what="another controller")
    (leader,) = poll.table("brokers").filter("is_controller")["broker_id"]
    reported = [
        (event["kind"], event["subject"], event["before"], event["after"]) for event in events
    ]
    assert ("controller changed", "controller", str(victim), str(leader)) in reported
    missing = ("broker missing", str(victim), f"127.0.0.1:{cluster.port(victim)}", None)
    assert reported.count(missing) == 1
    fallen = [event for event in events if event["kind"] == "isr shrunk"]
    assert {event["subject"] for event in fallen} == {str(victim)}
    lacking = dict(poll.table("brokers").select("broker_id", "under_replicated").iter_rows())
    assert lacking == behind(poll)
    assert lacking[victim] > 0

    reassign(cluster, topic, [victim])

    def moving() -> Poll | None:
        poll = polls_within_the_interval(poller)
        (row,) = poll.table("partitions").filter(pl.col("topic") == topic).to_dicts()
        return poll if row["adding_replicas"] == [victim] else None

    poll = eventually(moving, timeout_seconds=30, what="reassignment in progress")
    (row,) = poll.table("partitions").filter(pl.col("topic") == topic).to_dicts()
    assert row["removing_replicas"] == [home]
    others = poll.table("partitions").filter(pl.col("topic") != topic)
    assert others["adding_replicas"].list.len().sum() == 0
    assert others["adding_replicas"].null_count() == 0
    # The replica that is only being added is not one that is behind.
    after = dict(poll.table("brokers").select("broker_id", "under_replicated").iter_rows())
    assert after == behind(poll)

    cluster.restart(victim)

    def moved() -> bool:
        poll = polls_within_the_interval(poller)
        events.extend(poll.table("cluster_events").to_dicts())
        (row,) = poll.table("partitions").filter(pl.col("topic") == topic).to_dicts()
        return bool(row["replicas"] == [victim] and row["adding_replicas"] == [])

    eventually(moved, timeout_seconds=60, what="end of the reassignment")
    until_healthy(poller)
    seen = {(each["kind"], each["subject"]) for each in events}
    assert {("broker back", str(victim)), ("isr expanded", str(victim))} <= seen
    assert set(poller.poll().table("brokers")["under_replicated"]) == {0}
    # Its only replica was added by a reassignment: after another crash of that broker Kafka would
    # elect no leader for it, and the other tests wait for leaders.
    cluster.admin().delete_topics([topic])[topic].result(timeout=20)


def test_a_restart_while_a_coordinator_is_lost(cluster: KafkaCluster, poller: Poller) -> None:
    until_healthy(poller)
    before = poller.poll()
    coordinated = set(before.table("groups").filter(pl.col("coordinator") == 2)["group"]) & set(
        GROUPS
    )
    cluster.kill(2)
    settings = ClusterSettings(name="test", bootstrap_servers=cluster.bootstrap_servers)
    source = KafkaSource(settings, INTERVAL_SECONDS, SharedFacts())
    try:
        stamp = Stamp.new("kafka", "test", datetime.now(UTC))
        known = {wanted.table: stamp.on(before.table(wanted.table)) for wanted in source.recalls}
        source.remember(known)
        poll = polls_within_the_interval(Poller(source))
        _, unknown = all_groups_are_there_and_nothing_is_invented(poll)
        assert unknown == coordinated
    finally:
        source.close()


def test_all_brokers_frozen_and_back(cluster: KafkaCluster, poller: Poller) -> None:
    until_healthy(poller)
    for broker in cluster.brokers:
        cluster.freeze(broker)
    poll = polls_within_the_interval(poller)
    assert {result.status for result in poll.results.values()} == {"failed"}
    for broker in cluster.brokers:
        cluster.thaw(broker)
    until_healthy(poller)
    known, _ = all_groups_are_there_and_nothing_is_invented(poller.poll())
    assert known == set(GROUPS)


def test_the_only_broker_gone_and_back(make_cluster: Callable[..., KafkaCluster]) -> None:
    single = make_cluster(brokers=1)
    names = Names(single)
    topic = names.topic("orders", partitions=2)
    names.produce(topic, 10, partition=0)
    names.commit("billing", topic, {0: 4})
    with polling(single, interval_seconds=INTERVAL_SECONDS) as poller:
        assert poller.poll().errors == {}
        single.kill(1)
        poll = polls_within_the_interval(poller)
        assert {result.status for result in poll.results.values()} == {"failed"}
        address = f"127.0.0.1:{single.port(1)}"
        assert all(address in (result.error or "") for result in poll.results.values())
        single.restart(1)
        until_healthy(poller)
        assert poller.poll().offsets("billing", topic)[0]["lag"] == 6


def test_a_source_that_starts_while_a_broker_is_down(cluster: KafkaCluster) -> None:
    cluster.kill(3)
    try:
        settings = ClusterSettings(name="test", bootstrap_servers=cluster.bootstrap_servers)
        source = KafkaSource(settings, INTERVAL_SECONDS, SharedFacts())
        poller = Poller(source)

        def noticed() -> Poll | None:
            poll = polls_within_the_interval(poller)
            gone = poll.table("brokers").filter(~pl.col("is_alive"))["broker_id"].to_list()
            return poll if leaderless(poll) and gone == [3] else None

        poll = eventually(noticed, timeout_seconds=30, what="leaderless partition")
        brokers = {row["broker_id"]: row for row in poll.table("brokers").to_dicts()}
        assert set(brokers) == {1, 2, 3}
        assert not brokers[3]["is_alive"]
        # Where groups may be that nobody lists is said.
        assert "groups there cannot be seen" in poll.errors["groups"]
        source.close()
    finally:
        cluster.restore()
        start = time.monotonic()
        wait_until_in_sync(cluster)
        assert time.monotonic() - start < 60


def test_an_unclean_election_is_told(make_cluster: Callable[..., KafkaCluster]) -> None:
    """A replica that had fallen behind leads: what it never got is lost."""
    cluster = make_cluster(brokers=3)
    with polling(cluster, interval_seconds=INTERVAL_SECONDS) as poller:
        topic = "risky"
        config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
        new = NewTopic(topic, 1, replica_assignment=[[2, 3]], config=config)
        cluster.admin().create_topics([new])[topic].result(timeout=20)
        names = Names(cluster)

        def row(poll: Poll) -> dict[str, Any]:
            rows = poll.table("partitions").filter(pl.col("topic") == topic).to_dicts()
            return rows[0] if rows else {"in_sync_replicas": [], "leader": None, "log_end": None}

        def in_sync(replicas: list[int]) -> Callable[[], bool]:
            return lambda: row(polls_within_the_interval(poller))["in_sync_replicas"] == replicas

        eventually(in_sync([2, 3]), what="both replicas")
        names.produce(topic, 10)
        cluster.kill(3)
        eventually(in_sync([2]), timeout_seconds=40, what="one replica in sync")
        names.produce(topic, 20)
        assert row(poller.poll())["log_end"] == 30
        cluster.kill(2)
        events: list[dict[str, Any]] = []

        def back() -> bool:
            poll = polls_within_the_interval(poller)
            if "cluster_events" in poll.results and poll.results["cluster_events"].frames:
                events.extend(poll.table("cluster_events").to_dicts())
            return any(event["subject"] == f"{topic}-0" for event in events)

        cluster.restart(3, timeout_seconds=90)
        eventually(back, timeout_seconds=90, what="event of the unclean election")
        (event,) = [event for event in events if event["subject"] == f"{topic}-0"]
        assert (event["kind"], event["before"], event["after"]) == ("unclean election", "30", "10")
        assert "20 records less" in event["detail"]
