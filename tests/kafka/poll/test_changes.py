"""Topics and groups come, change and go between polls; and nothing is created by looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic
from kafka.protocol.consumer import OffsetFetchRequest

from collectors.kafka.poll.group_lags import NEVER_COMMITTED
from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poller, polling
from tests.support import Names, eventually


@pytest.fixture
def poller(kafka_cluster: KafkaCluster) -> Iterator[Poller]:
    with polling(kafka_cluster) as made:
        yield made


def create_again(cluster: KafkaCluster, topic: str, partitions: int) -> None:
    """Delete a topic and create it anew, with another id."""
    admin = cluster.admin()
    admin.delete_topics([topic])[topic].result(timeout=20)
    eventually(lambda: topic not in admin.list_topics(timeout=5).topics, what="deletion")
    admin.create_topics([NewTopic(topic, partitions, 3)])[topic].result(timeout=20)

    def led() -> bool:
        found = admin.list_topics(timeout=5).topics.get(topic)
        return found is not None and all(part.leader >= 0 for part in found.partitions.values())

    eventually(led, what="leaders")


def test_lag_and_lost_messages(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=3)
    group = names.group("billing")
    for partition in range(3):
        names.produce(topic, 10, partition=partition)
    names.commit(group, topic, {0: 4, 1: 10})
    names.admin.delete_records([TopicPartition(topic, 0, 7)])
    eventually(
        lambda: poller.poll().offsets(group, topic)[0]["log_start"] == 7, what="deleted records"
    )
    rows = poller.poll().offsets(group, topic)
    # Partition 2 was never committed and belongs to nobody: it is not invented.
    assert set(rows) == {0, 1}
    assert (rows[0]["lag"], rows[0]["lost_messages"]) == (6, 3)
    assert (rows[1]["lag"], rows[1]["lost_messages"]) == (0, 0)
    assert rows[1]["time_lag_seconds"] == 0.0


def test_an_assigned_partition_without_a_commit_is_unknown_not_zero(
    names: Names, poller: Poller
) -> None:
    topic = names.topic("orders", partitions=2)
    group = names.group("new")
    names.produce(topic, 5, partition=0)
    consumer = Consumer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "group.id": group,
            "enable.auto.commit": False,
            "client.id": "reader",
        }
    )
    try:
        consumer.subscribe([topic])
        eventually(lambda: consumer.poll(0.2) or consumer.assignment(), what="assignment")
        poll = poller.poll()
        rows = poll.offsets(group, topic)
        assert set(rows) == {0, 1}
        assert {row["unknown_reason"] for row in rows.values()} == {NEVER_COMMITTED}
        assert {row["lag"] for row in rows.values()} == {None}
        assert {row["client_id"] for row in rows.values()} == {"reader"}
        assert poll.errors == {}
    finally:
        consumer.close()


@pytest.mark.parametrize(
    "protocol", [pytest.param("classic", id="classic"), pytest.param("consumer", id="kip-848")]
)
def test_members_of_both_protocols_idle_ones_included(
    names: Names, poller: Poller, protocol: str
) -> None:
    topic = names.topic("orders", partitions=2)
    group = names.group(protocol)
    consumers = [
        Consumer(
            {
                "bootstrap.servers": names.cluster.bootstrap_servers,
                "group.id": group,
                "group.protocol": protocol,
                "client.id": f"reader-{number}",
            }
        )
        for number in range(3)
    ]
    try:
        for consumer in consumers:
            consumer.subscribe([topic])

        def settled() -> bool:
            for consumer in consumers:
                consumer.poll(0.1)
            found = poller.poll().group(group)
            return found is not None and found["members"] == 3 and found["state"] == "stable"

        eventually(settled, timeout_seconds=40, what="stable group of three")

        def shared_out() -> pl.DataFrame | None:
            for consumer in consumers:
                consumer.poll(0.1)
            members = poller.poll().table("group_members").filter(pl.col("group") == group)
            counts = sorted(members["assigned_partitions"].to_list())
            return members if counts == [0, 1, 1] else None

        eventually(lambda: shared_out() is not None, timeout_seconds=40, what="one idle member")
        found = poller.poll().group(group)
        assert found is not None
        assert found["type"] == protocol
        assert found["protocol"] is not None
        assert found["kind"] == "plain"
    finally:
        for consumer in consumers:
            consumer.close()


def test_a_deleted_group_is_gone_not_unknown(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=1)
    group = names.group("gone")
    names.produce(topic, 5)
    names.commit(group, topic, {0: 1})
    assert poller.poll().group(group) is not None
    names.admin.delete_consumer_groups([group])[group].result(timeout=20)
    poll = poller.poll()
    assert poll.group(group) is None
    assert poll.offsets(group, topic) == {}
    assert poll.errors == {}


def test_brokers_that_take_one_group_a_request(
    names: Names, poller: Poller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked of brokers before 3.0 gives the same answers; today's brokers take it, too."""
    topic = names.topic("orders", partitions=2)
    groups = [names.group("old") for _ in range(5)]
    names.produce(topic, 5, partition=1)
    for group in groups:
        names.commit(group, topic, {1: 3})
    before = poller.poll()

    def unknown_version(chunk: Sequence[str]) -> Any:
        del chunk
        return OffsetFetchRequest(groups=[], require_stable=False, min_version=99)

    monkeypatch.setattr("collectors.kafka.groups.committed_offsets._offset_fetch", unknown_version)
    gone = groups.pop()
    names.admin.delete_consumer_groups([gone])[gone].result(timeout=20)
    after = poller.poll()
    assert after.errors == {}
    assert after.group(gone) is None
    for group in groups:
        row = after.offsets(group, topic)[1]
        assert (row["committed"], row["lag"]) == (3, 2)
        assert row["lag"] == before.offsets(group, topic)[1]["lag"]


def test_added_partitions_are_seen(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=2)

    def known(partitions: int) -> bool:
        poll = poller.poll()
        rows = poll.table("partitions").filter(pl.col("topic") == topic)
        # Brokers learn of partitions one after the other: a leader may not know its own yet.
        return rows.height == partitions and poll.errors == {}

    eventually(lambda: known(2), what="two partitions")
    names.admin.create_partitions([NewPartitions(topic, 5)])[topic].result(timeout=20)

    eventually(lambda: known(5), what="five partitions")
    rows = poller.poll().table("partitions").filter(pl.col("topic") == topic)
    assert rows["log_end"].null_count() == 0


def test_a_topic_row_is_written_when_it_changes_and_not_otherwise(
    names: Names, poller: Poller
) -> None:
    topic = names.topic("orders", partitions=1, config={"retention.ms": "3600000"})

    def rows() -> list[dict[str, Any]]:
        return poller.poll().table("topics").filter(pl.col("topic") == topic).to_dicts()

    (row,) = eventually(rows, what="row of the new topic")
    assert row["kind"] == "application"
    assert row["retention_seconds"] == 3600.0
    assert row["replication_factor"] == 3
    assert row["configs"] == [{"key": "retention.ms", "value": "3600000"}]
    assert poller.poll().table("topics").filter(pl.col("topic") == topic).is_empty()
    names.admin.create_partitions([NewPartitions(topic, 2)])[topic].result(timeout=20)

    def written() -> bool:
        rows = poller.poll().table("topics").filter(pl.col("topic") == topic)
        return rows["partitions"].to_list() == [2]

    eventually(written, what="changed row")


def test_a_recreated_topic_starts_anew(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=2)
    group = names.group("billing")
    names.produce(topic, 100, partition=0)
    names.commit(group, topic, {0: 90})
    assert poller.poll().offsets(group, topic)[0]["lag"] == 10
    create_again(names.cluster, topic, partitions=1)
    names.produce(topic, 3, partition=0)
    poll = poller.poll()
    rows = poll.offsets(group, topic)
    # Kafka forgets the commits of a deleted topic; whatever is left of them is never negative.
    for row in rows.values():
        assert row["lag"] is None or row["lag"] >= 0
    names.commit(group, topic, {0: 1})
    rows = poller.poll().offsets(group, topic)
    assert (rows[0]["committed"], rows[0]["log_end"], rows[0]["lag"]) == (1, 3, 2)


def test_a_commit_beyond_the_end_is_told(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=1)
    group = names.group("ahead")
    names.produce(topic, 3)
    names.commit(group, topic, {0: 50})
    row = poller.poll().offsets(group, topic)[0]
    assert row["lag"] == 0
    assert "beyond the end" in row["unknown_reason"]
    assert row["time_lag_seconds"] is None


def test_time_lag_grows_while_nothing_is_read(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=1)
    group = names.group("slow")
    names.produce(topic, 10)
    names.commit(group, topic, {0: 10})
    poll = poller.poll()
    assert poll.offsets(group, topic)[0]["time_lag_seconds"] == 0.0
    names.produce(topic, 10)
    first = poller.poll().offsets(group, topic)[0]
    assert first["lag"] == 10
    # The records arrived between the two polls, which were less than 30 s apart.
    assert 0.0 <= first["time_lag_seconds"] < 30.0
    later = poller.poll().offsets(group, topic)[0]
    assert later["time_lag_seconds"] > first["time_lag_seconds"]


def test_an_open_transaction_is_no_error_and_shows_in_the_last_stable_offset(
    names: Names, poller: Poller
) -> None:
    topic = names.topic("ledger", partitions=1)
    producer = Producer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "transactional.id": f"{topic}-writer",
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(30)
    (row,) = poller.poll().table("partitions").filter(pl.col("topic") == topic).to_dicts()
    assert (row["last_stable"], row["log_end"]) == (0, 1)
    producer.commit_transaction(30)

    def stable() -> bool:
        (now,) = poller.poll().table("partitions").filter(pl.col("topic") == topic).to_dicts()
        return now["last_stable"] == now["log_end"] == 2

    eventually(stable, what="stable end")


def test_only_selected_topics_and_groups_are_read(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    kept, left = names.topic("kept", partitions=1), names.topic("left", partitions=1)
    reader, other = names.group("reader"), names.group("other")
    for topic in (kept, left):
        names.produce(topic, 2)
    names.commit(reader, kept, {0: 1})
    names.commit(reader, left, {0: 1})
    names.commit(other, kept, {0: 1})
    selection = {
        "topics": {"include": [r"(kept|left)\..*"], "exclude": [r"left\..*"]},
        "groups": {"exclude": [r"other-.*"]},
    }
    with polling(kafka_cluster, **selection) as poller:
        poll = poller.poll()
        assert set(poll.table("partitions")["topic"]) == {kept}
        assert poll.group(other) is None
        assert poll.offsets(reader, left) == {}
        assert poll.offsets(reader, kept)[0]["lag"] == 1


def test_looking_creates_no_topic(make_cluster: Callable[..., KafkaCluster]) -> None:
    """Auto-creation is on; a name in the configuration, a deleted topic, a fresh cluster."""
    cluster = make_cluster(brokers=1, properties={"auto.create.topics.enable": "true"})
    admin = cluster.admin()
    settings = {
        "dead_letters": {
            "topics": ["never.created.dlq"],
            "redrive_groups": {"also.never.dlq": "nobody"},
        }
    }

    def topics() -> set[str]:
        return set(admin.list_topics(timeout=5).topics)

    with polling(cluster, **settings) as poller:
        assert poller.poll().errors == {}
        poller.source.check()
        assert topics() == set()

        # A dead-letter topic with records, on a cluster that never had a group.
        made = Names(cluster)
        dead = made.topic("orders.dlq", partitions=1)
        made.produce(dead, 3)
        poll = poller.poll()
        assert poll.dead_letter(dead)["retained"] == 3
        assert poll.dead_letter(dead)["sampled_records"] == 3
        poller.source.check()
        assert topics() == {dead}

        # Deleted between two polls, with a reader that knows it.
        made.commit("billing", dead, {0: 1})
        poller.poll()
        admin.delete_topics([dead])[dead].result(timeout=20)
        eventually(lambda: dead not in topics(), what="deletion")
        for _ in range(3):
            assert poller.poll().errors == {}
        poller.source.check()
        assert topics() == {"__consumer_offsets"}
