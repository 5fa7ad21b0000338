"""What administrators set on a real cluster, and what becomes an event when they change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from alerting.checks.cluster import who_can_lead
from collectors.kafka.poll.cluster_settings import SETTINGS
from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poll, Poller, polling
from tests.support import Names, eventually, kafka_tool


@pytest.fixture(autouse=True)
def rare_reads_at_every_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.source.due.CONFIGS_EVERY_SECONDS", 0.0)
    monkeypatch.setattr("collectors.source.due.EVERY_SECONDS", 0.0)


@pytest.fixture
def poller(kafka_cluster: KafkaCluster) -> Iterator[Poller]:
    with polling(kafka_cluster) as made:
        yield made


def set_config(names: Names, kind: ResourceType, name: str, key: str, value: str | None) -> None:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(key, value, incremental_operation=operation)
    resource = ConfigResource(kind, name, incremental_configs=[entry])
    names.admin.incremental_alter_configs([resource])[resource].result(timeout=20)


def next_event(poller: Poller, kind: str, subject: str) -> dict[str, Any]:
    def found() -> list[dict[str, Any]]:
        events = poller.poll().table("cluster_events")
        return events.filter(kind=kind, subject=subject).to_dicts()

    (event,) = eventually(found, what=f"event: {kind}")
    return event  # type: ignore[no-any-return]


def test_a_topic_configuration_that_changes_is_an_event(names: Names, poller: Poller) -> None:
    topic = names.topic("orders", partitions=1)

    def known() -> bool:
        return not poller.poll().table("topics").filter(topic=topic).is_empty()

    eventually(known, what="configuration of the topic")
    set_config(names, ResourceType.TOPIC, topic, "retention.ms", "3600000")
    event = next_event(poller, "topic configuration changed", topic)
    assert event["before"] == "retention.ms=604800000 (default)"
    assert event["after"] == "retention.ms=3600000"
    kinds = pl.col("kind") == "topic configuration changed"
    assert poller.poll().table("cluster_events").filter(kinds).is_empty()
    set_config(names, ResourceType.TOPIC, topic, "retention.ms", None)
    event = next_event(poller, "topic configuration changed", topic)
    assert event["after"] == "retention.ms=604800000 (default)"


def with_all_kinds(poll: Poll) -> Poll | None:
    return poll if set(poll.table("cluster_settings")["kind"]) == set(SETTINGS) else None


def test_versions_and_features(poller: Poller) -> None:
    poll = poller.poll()
    # Topics of other tests may just be going.
    assert not poll.errors.keys() & {"brokers", "cluster_settings", "cluster_events"}
    assert poll.table("brokers")["version"].to_list() == ["4.3"] * 3
    assert poll.table("brokers")["registration"].to_list() == ["active"] * 3
    # A poll leaves kinds to the next one once reading some has taken a second.
    whole = with_all_kinds(poll) or eventually(
        lambda: with_all_kinds(poller.poll()), what="a poll that knows all kinds"
    )
    rows = whole.table("cluster_settings")
    (level,) = rows.filter(kind="feature", subject="metadata.version")["settings"].to_list()
    found = {entry["key"]: int(entry["value"]) for entry in level}
    assert 25 <= found["level"] <= found["supported"]
    # The cluster has no authorizer: that there are no ACLs is known.
    (acl,) = rows.filter(kind="acl").to_dicts()
    assert (acl["subject"], acl["unknown_reason"]) == (None, None)
    # Written when something changes, not at every poll.
    assert poller.poll().table("cluster_settings").is_empty()


def test_a_setting_of_one_broker_is_an_event_and_drift(names: Names, poller: Poller) -> None:
    key = "log.cleaner.backoff.ms"
    assert "cluster_settings" not in poller.poll().errors
    set_config(names, ResourceType.BROKER, "2", key, "20000")
    try:
        event = next_event(poller, "broker configuration changed", "2")
        assert (event["before"], event["after"]) == (None, f"{key}=20000")
    finally:
        set_config(names, ResourceType.BROKER, "2", key, None)
    event = next_event(poller, "broker configuration changed", "2")
    assert (event["before"], event["after"]) == (f"{key}=20000", None)


def test_what_is_set_on_a_group(names: Names, poller: Poller) -> None:
    group, key = names.group("billing"), "consumer.session.timeout.ms"

    def alter(*change: str) -> None:
        entity = ("--entity-type", "groups", "--entity-name", group)
        answer = kafka_tool(names.cluster, "kafka.admin.ConfigCommand", "--alter", *change, *entity)
        assert answer.returncode == 0, answer.stderr

    assert "cluster_settings" not in poller.poll().errors
    alter("--add-config", f"{key}=50000")
    try:
        event = next_event(poller, "group configuration changed", group)
        assert (event["before"], event["after"]) == (None, f"{key}=50000")
    finally:
        alter("--delete-config", key)
    event = next_event(poller, "group configuration changed", group)
    assert event["after"] is None


def test_client_quotas(names: Names, poller: Poller) -> None:
    def alter(*change: str) -> None:
        entity = ("--entity-type", "clients", "--entity-name", "batch")
        tool = "kafka.admin.ConfigCommand"
        answer = kafka_tool(names.cluster, tool, "--alter", *change, *entity)
        assert answer.returncode == 0, answer.stderr

    assert "cluster_settings" not in poller.poll().errors
    alter("--add-config", "producer_byte_rate=1048576")
    try:
        event = next_event(poller, "client quota changed", "client-id=batch")
        assert (event["before"], event["after"]) == (None, "producer_byte_rate=1048576")
    finally:
        alter("--delete-config", "producer_byte_rate")
    event = next_event(poller, "client quota changed", "client-id=batch")
    assert event["after"] is None


def test_what_changed_while_the_collector_was_away_is_an_event(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    key = "log.cleaner.backoff.ms"
    with polling(kafka_cluster) as before:
        rows = before.poll().table("cluster_settings")
    set_config(names, ResourceType.BROKER, "1", key, "20000")
    try:
        with polling(kafka_cluster) as after:
            after.source.remember({"cluster_settings": rows})
            event = next_event(after, "broker configuration changed", "1")
            assert event["after"] == f"{key}=20000"
    finally:
        set_config(names, ResourceType.BROKER, "1", key, None)


def test_who_may_lead_partitions_without_a_leader(
    kafka_cluster: KafkaCluster, names: Names, poller: Poller
) -> None:
    """The last replica leaves the in-sync replicas: only this read still knows it."""
    topic = names.topic("orders", partitions=6, replication_factor=1)

    def rows() -> list[dict[str, Any]]:
        of_topic = poller.poll().table("partitions").filter(topic=topic)
        return of_topic.filter(pl.col("leader").is_null()).to_dicts()

    assert rows() == []
    kafka_cluster.kill(2)
    try:
        found = eventually(rows, what="partitions without a leader")
        for row in found:
            assert row["replicas"] == [2]
            assert {*row["in_sync_replicas"], *row["eligible_leader_replicas"]} == {2}
        assert who_can_lead(pl.DataFrame(found)).startswith("Start broker 2 first")
    finally:
        kafka_cluster.restore()
    eventually(lambda: not rows(), what="leaders")


def test_how_far_a_replica_that_is_not_in_sync_is_behind(
    make_cluster: Callable[..., KafkaCluster],
) -> None:
    """A broker that was frozen goes on throttled, so that it stays behind.

    One that starts anew may fetch everything before it knows how it is throttled.
    """
    small = {"replica.fetch.max.bytes": "1000", "replica.fetch.response.max.bytes": "1000"}
    cluster = make_cluster(brokers=3, properties=small)
    names = Names(cluster)
    slow = {"follower.replication.throttled.replicas": "*"}
    topic = names.topic("orders", partitions=1, replication_factor=3, config=slow)
    rate = "follower.replication.throttled.rate"
    away = next(broker for broker in cluster.brokers if broker != names.leader(topic))
    set_config(names, ResourceType.BROKER, str(away), rate, "1")
    with polling(cluster) as poller:
        last: object = None

        def lag() -> tuple[int, int | None] | None:
            """Return the replicas in sync and the lag; None of a poll that could not tell."""
            nonlocal last
            poll = poller.poll()
            found = [
                (len(row["in_sync_replicas"]), row["follower_lag"])
                for row in poll.rows("partitions", topic=topic)
            ]
            last = found or poll.errors
            return found[0] if found else None

        def until(expected: Callable[[tuple[int, int | None]], bool], what: str) -> None:
            def is_so() -> bool:
                found = lag()
                return found is not None and expected(found)

            eventually(is_so, timeout_seconds=120, what=lambda: f"{what}, but {last}")

        until(lambda found: found == (3, 0), "replicas in sync")
        cluster.freeze(away)
        for _ in range(20):  # a batch each: a throttled broker fetches one at a time
            names.produce(topic, 50)
        # A broker that is frozen cannot be asked.
        until(lambda found: found == (2, None), "unknown lag")
        cluster.thaw(away)
        until(lambda found: found[0] == 2 and 0 < (found[1] or 0) < 1000, "lag of the replica")
        set_config(names, ResourceType.BROKER, str(away), rate, None)
        until(lambda found: found == (3, 0), "replicas in sync again")


def test_a_transaction_that_stays_open_is_named(
    names: Names, poller: Poller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.kafka.cluster.transactions.OPEN_SECONDS", 0)
    topic = names.topic("ledger", partitions=1)
    writer = f"{topic}-writer"
    producer = Producer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "transactional.id": writer,
            "transaction.timeout.ms": 45000,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(30)

    def rows() -> list[dict[str, Any]]:
        poll = poller.poll()
        return poll.table("transactions").filter(transactional_id=writer).to_dicts()

    (row,) = eventually(rows, what="open transaction")
    assert (row["state"], row["topics"]) == ("Ongoing", [topic])
    assert row["timeout_seconds"] == 45.0
    assert abs((row["started_at"] - datetime.now(UTC)).total_seconds()) < 60
    producer.abort_transaction(30)
    eventually(lambda: not rows(), what="end of the transaction")
