from __future__ import annotations

import pytest

from tests.unit.collectors.exporter.frames import (
    INTEGRATIONS,
    NOW,
    Named,
    filled,
    found_in,
    labelled,
    result,
)

GROUP = {"cluster": "shop", "group": "billing", "topic": "orders"}


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("headroom_group_lag", GROUP, 20),
        ("headroom_group_time_lag_seconds", GROUP, 2.5),
        ("headroom_group_lost_messages", GROUP, 0),
        ("headroom_group_committed_offset", GROUP, 180),
        ("headroom_group_last_commit_timestamp_seconds", GROUP, NOW.timestamp()),
        ("headroom_group_commits_per_second", GROUP, 0.5),
        ("headroom_group_partitions", GROUP, 2),
        ("headroom_group_unknown_lag_partitions", GROUP, 0),
        ("headroom_group_unknown_time_lag_partitions", GROUP, 0),
        ("headroom_group_uncommitted_partitions", GROUP, 0),
        ("headroom_group_partition_lag", {**GROUP, "partition": "1"}, 10),
        ("headroom_group_partition_time_lag_seconds", {**GROUP, "partition": "1"}, 2.5),
        ("headroom_group_partition_committed_offset", {**GROUP, "partition": "1"}, 90),
        ("headroom_group_partition_lost_messages", {**GROUP, "partition": "1"}, 0),
        ("headroom_group_members", {"cluster": "shop", "group": "billing"}, 2),
        ("headroom_group_idle_members", {"cluster": "shop", "group": "billing"}, 1),
        (
            "headroom_group_info",
            {
                "cluster": "shop",
                "group": "billing",
                "state": "preparing_rebalance",
                "type": "classic",
                "kind": "plain",
                "protocol": "range",
                "coordinator": "1",
            },
            1,
        ),
        (
            "headroom_topic_info",
            {
                "cluster": "shop",
                "topic": "orders",
                "kind": "application",
                "cleanup_policy": "delete",
            },
            1,
        ),
        ("headroom_topic_retention_seconds", {"cluster": "shop", "topic": "orders"}, 60),
        ("headroom_topic_open_transaction_messages", {"cluster": "shop", "topic": "orders"}, 6),
        ("headroom_topics", {"cluster": "shop"}, 1),
        ("headroom_partitions", {"cluster": "shop"}, 2),
        ("headroom_under_replicated_partitions", {"cluster": "shop"}, 0),
        ("headroom_under_min_isr_partitions", {"cluster": "shop"}, 0),
        ("headroom_offline_partitions", {"cluster": "shop"}, 0),
        ("headroom_not_preferred_leader_partitions", {"cluster": "shop"}, 0),
        ("headroom_reassigning_partitions", {"cluster": "shop"}, 0),
        ("headroom_topic_partitions", {"cluster": "shop", "topic": "orders"}, 2),
        ("headroom_topic_log_end_offset", {"cluster": "shop", "topic": "orders"}, 200),
        ("headroom_topic_log_start_offset", {"cluster": "shop", "topic": "orders"}, 20),
        ("headroom_topic_size_bytes", {"cluster": "shop", "topic": "orders"}, 1000),
        (
            "headroom_partition_log_end_offset",
            {"cluster": "shop", "topic": "orders", "partition": "0"},
            100,
        ),
        (
            "headroom_partition_in_sync_replicas",
            {"cluster": "shop", "topic": "orders", "partition": "0"},
            3,
        ),
        ("headroom_brokers", {"cluster": "shop"}, 2),
        ("headroom_brokers_alive", {"cluster": "shop"}, 1),
        (
            "headroom_broker_alive",
            {"cluster": "shop", "broker": "2", "host": "kafka-2", "rack": ""},
            0,
        ),
        ("headroom_broker_controller", {"cluster": "shop", "broker": "1"}, 1),
        ("headroom_broker_disk_free_bytes", {"cluster": "shop", "broker": "1"}, 5000),
    ],
)
def test_own_names_of_kafka(name: str, labels: dict[str, str], value: float) -> None:
    assert labelled(name, labels, found_in(filled())) == value


TOPIC = {"topic": "orders"}
PARTITION = {"topic": "orders", "partition": "1"}
CONSUMER = {"consumergroup": "billing", "topic": "orders"}


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("kafka_brokers", {}, 1),
        ("kafka_broker_info", {"id": "1", "address": "kafka-1:9092"}, 1),
        ("kafka_topic_partitions", TOPIC, 2),
        ("kafka_topic_partition_current_offset", PARTITION, 100),
        ("kafka_topic_partition_oldest_offset", PARTITION, 10),
        ("kafka_topic_partition_leader", PARTITION, 1),
        ("kafka_topic_partition_leader_is_preferred", PARTITION, 1),
        ("kafka_topic_partition_replicas", PARTITION, 3),
        ("kafka_topic_partition_in_sync_replica", PARTITION, 3),
        ("kafka_topic_partition_under_replicated_partition", PARTITION, 0),
        ("kafka_consumergroup_current_offset", {**CONSUMER, "partition": "0"}, 90),
        ("kafka_consumergroup_current_offset_sum", CONSUMER, 180),
        ("kafka_consumergroup_lag", {**CONSUMER, "partition": "0"}, 10),
        ("kafka_consumergroup_lag_sum", CONSUMER, 20),
        ("kafka_consumergroup_members", {"consumergroup": "billing"}, 2),
    ],
)
def test_names_of_kafka_exporter(name: str, labels: dict[str, str], value: float) -> None:
    assert labelled(name, labels, found_in(filled(), "kafka_exporter")) == value


BROKER = {"broker_id": "1", "address": "kafka-1", "port": "9092", "rack_id": "a"}
NAMED = {"topic_name": "orders"}
READS = {"group_id": "billing", "topic_name": "orders"}


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        (
            "kminion_kafka_cluster_info",
            {
                "cluster_version": "",
                "broker_count": "1",
                "controller_id": "1",
                "cluster_id": "id-1",
            },
            1,
        ),
        ("kminion_kafka_broker_info", {**BROKER, "is_controller": "true"}, 1),
        ("kminion_kafka_broker_log_dir_size_total_bytes", BROKER, 4096),
        (
            "kminion_kafka_topic_info",
            {
                **NAMED,
                "partition_count": "2",
                "replication_factor": "3",
                "cleanup_policy": "delete",
            },
            1,
        ),
        ("kminion_kafka_topic_high_water_mark_sum", NAMED, 200),
        ("kminion_kafka_topic_low_water_mark_sum", NAMED, 20),
        ("kminion_kafka_topic_partition_high_water_mark", {**NAMED, "partition_id": "0"}, 100),
        ("kminion_kafka_topic_partition_low_water_mark", {**NAMED, "partition_id": "0"}, 10),
        (
            "kminion_kafka_consumer_group_info",
            {
                "group_id": "billing",
                "protocol": "range",
                "protocol_type": "consumer",
                "state": "PreparingRebalance",
                "coordinator_id": "1",
            },
            0,
        ),
        ("kminion_kafka_consumer_group_members", {"group_id": "billing"}, 2),
        ("kminion_kafka_consumer_group_empty_members", {"group_id": "billing"}, 1),
        ("kminion_kafka_consumer_group_topic_members", READS, 1),
        ("kminion_kafka_consumer_group_topic_assigned_partitions", READS, 2),
        ("kminion_kafka_consumer_group_topic_lag", READS, 20),
        ("kminion_kafka_consumer_group_topic_offset_sum", READS, 180),
        ("kminion_kafka_consumer_group_topic_partition_lag", {**READS, "partition_id": "1"}, 10),
    ],
)
def test_names_of_kminion(name: str, labels: dict[str, str], value: float) -> None:
    assert labelled(name, labels, found_in(filled(), "kminion")) == value


@pytest.fixture(scope="module")
def integrations() -> dict[str, dict]:  # type: ignore[type-arg]
    known = filled()
    for table, rows in INTEGRATIONS.items():
        known.take(Named(), result(table, **{table: rows}))  # type: ignore[arg-type]
    return found_in(known)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dead_letters_retained", {("orders.dlq", "orders"): 7, ("other.dlq", ""): 1}),
        ("dead_letters_unprocessed", {("orders.dlq", "orders"): 3}),
        ("dead_letters_log_end_offset", {("orders.dlq", "orders"): 9}),
        ("dead_letters_sampled_reasons", {("orders.dlq", "java.lang.E"): 5}),
        ("connectors", {("main", "RUNNING", "sink"): 1, ("main", "PAUSED", "sink"): 1}),
        ("connector_running", {("main", "sink"): 1, ("main", "paused"): 0}),
        ("connector_tasks_failed", {("main", "sink"): 1}),
        ("connect_tasks", {("main", "RUNNING"): 1, ("main", "FAILED"): 1}),
        ("mirror_lag", {("main", "mm", "", "a"): 9}),
        ("queue_ready", {("plain", "mail", "/"): 12}),
        ("queue_unacknowledged", {("plain", "mail", "/"): 3}),
        ("queue_consumers", {("plain", "mail", "/"): 1}),
        ("queue_consumer_capacity_ratio", {("plain", "mail", "/"): 0.5}),
        ("queue_dead_letter_target_missing", {("plain", "mail", "/"): 1}),
        ("ditto_connection_as_desired", {("c1", "twins", "hono"): 1, ("c2", "twins", "old"): 0}),
        ("ditto_connection_clients", {("c1", "twins", "hono"): 2}),
        ("ditto_connection_clients_open", {("c1", "twins", "hono"): 1}),
        (
            "dead_letters_oldest_arrived_timestamp_seconds",
            {("orders.dlq", "orders"): NOW.timestamp()},
        ),
        ("schema_registry_info", {("BACKWARD", "", "schemas"): 1, ("", "", "slow"): 1}),
        ("schema_registry_subjects", {("schemas",): 3, ("slow",): 9}),
        ("schema_registry_subjects_unknown", {("slow",): 5}),
        ("schema_registry_deleted_subjects", {("schemas",): 1}),
        ("log_directory_free_bytes", {("1", "/data"): 4}),
        ("log_directory_offline", {("1", "/data"): 0}),
        ("quorum_lag", {("1", "voter"): 3}),
    ],
)
def test_own_names_of_integrations(
    name: str,
    expected: dict[tuple[str, ...], float],
    integrations: dict[str, dict],  # type: ignore[type-arg]
) -> None:
    found = {}
    for labels, value in integrations[f"headroom_{name}"].items():
        texts = dict(labels)
        assert texts.pop("cluster") == "shop"
        texts.pop("source", None) if name.startswith("dead") else None
        found[tuple(text for _, text in sorted(texts.items()))] = value
    assert found == expected
