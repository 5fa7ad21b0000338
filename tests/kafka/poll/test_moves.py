"""What moves, vanishes, is claimed twice or is not there yet while a cluster is polled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

import polars as pl
import pytest
from confluent_kafka import ElectionType, Producer
from confluent_kafka import TopicPartition as Place
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.abstract import ConsumerProtocolAssignment
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import CommitFailedError, RebalanceInProgressError
from kafka.protocol.admin import AlterPartitionReassignmentsRequest, DescribeGroupsRequest

from collectors.kafka.cluster.metadata import read_metadata
from collectors.kafka.cluster.offsets import read_offsets
from collectors.kafka.groups.read import read_groups
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import reason
from collectors.kafka.protocol.properties import ConnectionSettings
from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poll, polling
from tests.support import Names, eventually

COMMITS = "__consumer_offsets"
_NOT_COORDINATOR = 16
_OFFSET_NOT_AVAILABLE = 78


@contextmanager
def connected(cluster: KafkaCluster) -> Iterator[Wire]:
    with closing(Wire(cluster.bootstrap_servers, ConnectionSettings(), "test")) as wire:
        yield wire


def on_time() -> Deadline:
    return Deadline(60, 20)


def row(wire: Wire, topic: str, partition: int) -> dict[str, Any]:
    found = read_metadata(wire, on_time()).partitions
    (only,) = found.filter((pl.col("topic") == topic) & (pl.col("partition") == partition)).rows(
        named=True
    )
    return only


def lead_elsewhere(cluster: KafkaCluster, topic: str, partition: int) -> None:
    """Let another replica of a partition lead it, and wait until every broker knows."""
    with connected(cluster) as wire:
        before = row(wire, topic, partition)
        replicas = [each for each in before["replicas"] if each != before["leader"]]
        replicas.append(before["leader"])
        kind = AlterPartitionReassignmentsRequest.ReassignableTopic
        place = kind.ReassignablePartition(partition_index=partition, replicas=replicas)
        request = partial(
            AlterPartitionReassignmentsRequest,
            timeout_ms=10_000,
            topics=[kind(name=topic, partitions=[place])],
        )
        assert wire.any(request, on_time()).error_code == 0
        eventually(lambda: row(wire, topic, partition)["replicas"] == replicas, what="replicas")
        there = [Place(topic, partition)]
        cluster.admin().elect_leaders(ElectionType.PREFERRED, there).result(20)

        def known_to_all() -> bool:
            return all(
                leader_by(cluster, number, topic, partition) == replicas[0]
                for number in cluster.brokers
            )

        eventually(known_to_all, what="new leader")


def leader_by(cluster: KafkaCluster, broker: int, topic: str, partition: int) -> int:
    address = f"127.0.0.1:{cluster.port(broker)}"
    with closing(Wire(address, ConnectionSettings(), "test")) as wire:
        return int(row(wire, topic, partition)["leader"] or -1)


def test_a_partition_whose_leader_has_moved_is_asked_for_where_it_is(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    topic = names.topic("moving", partitions=2)
    names.produce(topic, 10, partition=0)
    with connected(kafka_cluster) as wire:
        partitions = read_metadata(wire, on_time()).partitions.filter(pl.col("topic") == topic)
        lead_elsewhere(kafka_cluster, topic, 0)

        def ends() -> list[int] | None:
            found = read_offsets(wire, partitions, on_time()).sort("partition")
            reasons = set(found["offsets_unknown"]) - {None}
            assert reasons <= {reason(_OFFSET_NOT_AVAILABLE)}, "the old leader's answer"
            return None if reasons else found["log_end"].to_list()

        # A new leader knows how far its log is committed once its followers have fetched.
        assert eventually(ends, what="high watermark of the new leader") == [10, 0]


class Interrupted(Wire):
    """Does something after the groups were listed."""

    after_listing: Callable[[], None] | None = None

    def each(self, requests: Any, *args: Any) -> Any:
        found = super().each(requests, *args)
        kinds = {type(request).__name__ for some in requests.values() for request in some}
        if kinds == {"ListGroupsRequest"} and self.after_listing is not None:
            work, self.after_listing = self.after_listing, None
            work()
        return found


def test_a_group_whose_coordinator_has_moved_is_asked_for_where_it_is(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    topic, group = names.topic("orders"), names.group("moving")
    names.commit(group, topic, {0: 3})
    settings = ConnectionSettings()
    with closing(Interrupted(kafka_cluster.bootstrap_servers, settings, "test")) as wire:
        brokers = [each.broker_id for each in read_metadata(wire, on_time()).brokers]
        old = eventually(lambda: coordinator(wire, group), what="coordinator")
        wire.after_listing = lambda: move_coordinator(kafka_cluster, group, old)

        found = read_groups(wire, brokers, {}, lambda name: name == group, on_time())
        assert found.problems == []
        assert found.offsets_unknown == {}
        assert found.groups["coordinator"].to_list() != [old]
        assert found.committed["committed"].to_list() == [3]


def move_coordinator(cluster: KafkaCluster, group: str, old: int) -> None:
    """Let others lead all partitions of commits that a broker leads; wait until it has let go."""
    with connected(cluster) as wire:
        rows = read_metadata(wire, on_time()).partitions
        led = rows.filter((pl.col("topic") == COMMITS) & (pl.col("leader") == old))
        for partition in led["partition"]:
            lead_elsewhere(cluster, COMMITS, partition)
        eventually(
            lambda: coordinator(wire, group) not in (None, old), what="coordinator that has moved"
        )


def coordinator(wire: Wire, group: str) -> int | None:
    """Return the one broker that describes a group; None while there is none or several."""
    brokers = [each.broker_id for each in read_metadata(wire, on_time()).brokers]
    asked = {broker: [DescribeGroupsRequest(groups=[group])] for broker in brokers}
    codes = {
        broker: answers[0]  # type: ignore[index]
        for broker, answers in wire.each(
            asked, on_time(), lambda answer: answer.groups[0].error_code
        ).items()
    }
    found = [broker for broker, code in codes.items() if code == 0]
    others = {code for code in codes.values() if code}
    return found[0] if len(found) == 1 and others <= {_NOT_COORDINATOR} else None


def test_the_topic_of_commits_is_not_created(make_cluster: Callable[..., KafkaCluster]) -> None:
    """A group that was known before is looked for where no group ever was."""
    cluster = make_cluster(brokers=1)
    names = Names(cluster)
    topic = names.topic("orders", partitions=1)
    with polling(cluster) as poller:
        remembered = {"group": ["billing"], "type": ["classic"], "state": ["stable"]}
        groups = pl.DataFrame(remembered).with_columns(
            pl.lit(None, pl.Datetime("us", "UTC")).alias("state_since")
        )
        poller.source.remember({"groups": groups})
        for _ in range(3):
            poll = poller.poll()
            billing = poll.group("billing")
            assert billing is not None
            assert billing["state"] == "unknown"
        assert set(cluster.admin().list_topics(timeout=5).topics) == {topic}


def test_a_broker_that_was_taken_out_is_forgotten(
    kafka_cluster: KafkaCluster,
) -> None:
    with polling(kafka_cluster) as poller:
        place = {"broker_id": [1, 77], "host": ["127.0.0.1", "10.0.0.7"], "port": [1, 9092]}
        former = pl.DataFrame(place).with_columns(
            pl.lit(None, pl.String()).alias("rack"),
            pl.lit(False).alias("is_controller"),
            pl.lit(True).alias("is_alive"),
        )
        poller.source.remember({"brokers": former})
        poll = poller.poll()
        assert set(poll.table("brokers")["broker_id"]) == {1, 2, 3}
        missing = poll.table("cluster_events").filter(pl.col("kind") == "broker missing")
        assert missing["subject"].to_list() == ["77"]
        later = poller.poll().table("cluster_events")
        assert later.filter(pl.col("kind").str.starts_with("broker")).is_empty()


def test_a_leader_that_moved_is_an_event(kafka_cluster: KafkaCluster, names: Names) -> None:
    topic = names.topic("moving", partitions=1)
    with polling(kafka_cluster, topics={"include": [topic]}) as poller:
        known = eventually(
            lambda: poller.poll().table("partitions")["leader"].to_list(), what="the new topic"
        )
        lead_elsewhere(kafka_cluster, topic, 0)

        def moved() -> list[dict[str, Any]]:
            found = poller.poll().table("cluster_events")
            return found.filter(pl.col("kind") == "leaders moved").to_dicts()

        (event,) = eventually(moved, what="event of the leader")
        after = poller.poll().table("partitions")["leader"][0]
    assert (event["subject"], event["before"], event["after"]) == (
        str(known[0]),
        f"broker {known[0]}",
        f"broker {after}",
    )
    assert (event["detail"], event["topics"]) == (f"1 partition: {topic}-0", [topic])


class EverybodyGetsAll(RoundRobinPartitionAssignor):  # type: ignore[misc]  # without types
    """Gives every member every partition: what a faulty client may do."""

    name = "everybody"

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> Any:
        return {
            member.member_id: ConsumerProtocolAssignment(
                cls.version, [(topic, [0, 1]) for topic in member.metadata.topics], b""
            )
            for member in members
        }


@contextmanager
def claimants(cluster: KafkaCluster, group: str, topic: str) -> Iterator[list[int]]:
    """Run two members that claim all partitions; the first commits the offset in the list."""
    offsets = [0]
    stop = threading.Event()

    def consume(*, commits: bool) -> None:
        member = KafkaConsumer(
            topic,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id=group,
            partition_assignment_strategy=[EverybodyGetsAll],
            enable_auto_commit=False,
        )
        while not stop.is_set():
            member.poll(timeout_ms=100)
            if commits and member.assignment():
                where = {TopicPartition(topic, 0): OffsetAndMetadata(offsets[0], "", -1)}
                with suppress(CommitFailedError, RebalanceInProgressError):
                    member.commit(where)
        member.close(autocommit=False)

    threads = [
        threading.Thread(target=consume, kwargs={"commits": number == 0}) for number in range(2)
    ]
    for thread in threads:
        thread.start()
    try:
        yield offsets
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def test_partitions_that_two_members_claim_have_one_row(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    topic, group = names.topic("orders", partitions=2), names.group("doubled")
    claims = f"group {group}: 2 members claim {topic}-0"
    with (
        claimants(kafka_cluster, group, topic) as offsets,
        polling(kafka_cluster, groups={"include": [group]}) as poller,
    ):

        def committed() -> Poll | None:
            poll = poller.poll()
            rows = poll.table("group_offsets")
            assert rows.height == rows.select("topic", "partition").unique().height
            known = {row["committed"] for row in rows.to_dicts() if row["partition"] == 0}
            is_told = claims in poll.errors.get("groups", "")
            return poll if is_told and known == {offsets[0]} else None

        for offset in range(4):
            offsets[0] = offset
            eventually(committed, timeout_seconds=60, what=f"commit of {offset}")


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_record_in_a_large_batch_has_a_time(
    kafka_cluster: KafkaCluster, names: Names, size: int
) -> None:
    """Of a batch that is larger than what is asked for a broker sends nothing."""
    topic, group = names.topic("large", partitions=6), names.group("late")
    producer = Producer(
        {"bootstrap.servers": kafka_cluster.bootstrap_servers, "linger.ms": 200, "acks": "all"}
    )
    for _ in range(3):
        for partition in range(6):
            producer.produce(topic, b"x" * size, partition=partition)
        assert producer.flush(30) == 0
    names.commit(group, topic, dict.fromkeys(range(6), 1))
    with polling(kafka_cluster, topics={"include": [topic]}) as poller:
        rows = poller.poll().offsets(group, topic)
    assert [rows[number]["time_lag_source"] for number in range(6)] == ["record"] * 6
