from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from collectors.kafka.cluster.kinds import (
    group_kind,
    hono_tenant,
    mirror_aliases,
    streams_applications,
    topic_kind,
)
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.poll.topic_facts import topic_facts
from collectors.kafka.poll.watched_topics import watched_topics
from collectors.kafka.sections import groups, topics
from collectors.source.rows import section_schema
from config.settings import ClusterSettings
from lake.schemas.tables import GROUP_MEMBERS, TOPICS


def case(name: str, kind: str, what: str) -> object:
    return pytest.param(name, kind, id=what)


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        case("orders", "application", "application"),
        case("sensors.heartbeat", "application", "an application's heartbeat"),
        case("schema-registry-audit", "application", "about a registry"),
        case("disconnect-status-page", "application", "connect within a word"),
        case("honorary.events", "application", "hono within a word"),
        case("hono.telemetry", "application", "hono without a tenant"),
        case("retry-policy", "application", "retry in front"),
        case("changelog", "application", "changelog alone"),
        case("mm2-report", "application", "about mirroring"),
        case("__consumer_offsets", "internal", "offsets"),
        case("__transaction_state", "internal", "transactions"),
        case("__share_group_state", "internal", "share groups"),
        case("__cluster_metadata", "internal", "KRaft"),
        case("__remote_log_metadata", "internal", "tiered storage"),
        case("_schemas", "internal", "Schema Registry"),
        case("_schemas_encoders", "internal", "Schema Registry's encoders"),
        case("_schemas-eu", "internal", "a second Schema Registry"),
        case("kafkasql-journal", "internal", "Apicurio Registry"),
        case("_confluent-command", "internal", "Confluent licence"),
        case("_confluent-metrics", "internal", "Confluent metrics"),
        case(
            "_confluent-controlcenter-7-6-0-1-actual-group-changelog", "internal", "Control Center"
        ),
        case("_confluent-ksql-default__command_topic", "internal", "ksqlDB commands"),
        case(
            "_confluent-ksql-default_query_CTAS_X_1-Aggregate-Materialize-changelog",
            "internal",
            "ksqlDB changelog",
        ),
        case("default_ksql_processing_log", "ksqldb", "ksqlDB log"),
        case("_redpanda.audit_log", "internal", "Redpanda"),
        case("__CruiseControlMetrics", "internal", "Cruise Control metrics"),
        case("__KafkaCruiseControlModelTrainingSamples", "internal", "Cruise Control samples"),
        case("strimzi.cruisecontrol.partitionmetricsamples", "internal", "Strimzi Cruise Control"),
        case("strimzi.cruisecontrol.metrics", "internal", "Strimzi Cruise Control metrics"),
        case("__strimzi-topic-operator-kstreams-topic-store-changelog", "internal", "operator"),
        case("strimzi-topic-operator-x-changelog", "internal", "operator, older"),
        case("__strimzi_canary", "internal", "Strimzi canary"),
        case("__amazon_msk_canary", "internal", "MSK canary"),
        case("__amazon_msk_connect_configs_x", "connect", "MSK Connect"),
        case("connect-configs", "connect", "Connect configuration"),
        case("my-connect-offsets", "connect", "Connect offsets"),
        case("docker-connect-status", "connect", "Connect status"),
        case("connect-cluster-configs", "connect", "Strimzi Connect"),
        case("__debezium-heartbeat.shop", "debezium", "Debezium heartbeat"),
        case("debezium-signal", "debezium", "Debezium signals"),
        case("schema-changes.inventory", "debezium", "schema changes"),
        case("schemahistory.fulfillment", "debezium", "schema history"),
        case("shop.schema-history", "debezium", "schema history behind a prefix"),
        case("dbhistory.inventory", "debezium", "history before 2.0"),
        case("schema-changes.dlq", "application", "failures of schema changes"),
        case("schema-changes-retry", "retry", "retries of schema changes"),
        case("hono.telemetry.tenant-1", "hono", "telemetry"),
        case("hono.event.tenant-1", "hono", "events"),
        case("hono.event.errors", "hono", "a tenant called errors"),
        case("hono.command.tenant-1", "hono", "commands"),
        case("hono.command_response.tenant-1", "hono", "command responses"),
        case("hono.command_internal.adapter-7", "hono", "adapter instance"),
        case("hono.notification.registry-device", "hono", "notifications"),
        case("heartbeats", "mirror", "heartbeats"),
        case("east.heartbeats", "mirror", "copied heartbeats"),
        case("west.checkpoints.internal", "mirror", "checkpoints"),
        case("west-checkpoints-internal", "mirror", "checkpoints with another separator"),
        case("mm2-offset-syncs.west.internal", "mirror", "offset syncs"),
        case("mm2-configs.west.internal", "mirror", "MirrorMaker's configuration"),
        case("mirrormaker2-cluster-offsets", "mirror", "Strimzi MirrorMaker"),
        case("west.orders", "mirror", "copied topic"),
        case("west.shop-totals-changelog", "mirror", "copied changelog"),
        case("shop-totals-store-changelog", "changelog", "changelog"),
        case("shop-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog", "changelog", "unnamed"),
        case("shop-by-customer-repartition", "repartition", "repartition"),
        case(
            "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
            "repartition",
            "foreign-key join",
        ),
        case(
            "shop-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
            "repartition",
            "foreign-key join's response",
        ),
        case("orders-retry-5000", "retry", "retry with its delay"),
        case("orders_retry_5000", "retry", "retry with underscores"),
        case("orders-retry", "retry", "retry"),
    ],
)
def test_topic_kind(topic: str, kind: str) -> None:
    assert topic_kind(topic, internal=False, dead_letter=False, mirrors={"west"}) == kind


def test_the_cluster_and_the_dead_letter_rules_decide_first() -> None:
    assert topic_kind("x", internal=True, dead_letter=True, mirrors=()) == "internal"
    assert topic_kind("x-retry", internal=False, dead_letter=True, mirrors=()) == "dead letter"
    declared = "shop.schema-history"
    assert topic_kind(declared, internal=False, dead_letter=True, mirrors=()) == "dead letter"


@pytest.mark.parametrize(
    ("topics", "aliases"),
    [
        pytest.param(["heartbeats", "west.heartbeats", "orders"], {"west"}, id="heartbeats"),
        pytest.param(["west.checkpoints.internal", "orders"], {"west"}, id="checkpoints"),
        pytest.param(
            ["heartbeats", "a.heartbeats", "b.checkpoints.internal"], {"a", "b"}, id="two clusters"
        ),
        pytest.param(["heartbeats", "my.own.heartbeats"], set(), id="a copy of a copy"),
        pytest.param(["sensors.heartbeats", "sensors.data"], set(), id="an application's"),
        pytest.param([], set(), id="nothing"),
    ],
)
def test_mirrored_clusters_are_given_away_by_machinery(
    topics: list[str], aliases: set[str]
) -> None:
    assert mirror_aliases(topics) == aliases


@pytest.mark.parametrize(
    ("topic", "tenant"),
    [
        pytest.param("hono.telemetry.DEFAULT_TENANT", "DEFAULT_TENANT", id="telemetry"),
        pytest.param("hono.event.a.b", "a.b", id="tenant with a dot"),
        pytest.param("hono.command.t", "t", id="command"),
        pytest.param("hono.command_response.t", "t", id="response"),
        pytest.param("hono.command_internal.mqtt-adapter-0_1", None, id="adapter instance"),
        pytest.param("hono.notification.registry-tenant", None, id="notification"),
        pytest.param("hono.other.t", None, id="unknown endpoint"),
        pytest.param("hono.telemetry.", None, id="no tenant"),
        pytest.param("west.hono.telemetry.t", None, id="copied"),
    ],
)
def test_hono_topics_tell_their_tenant(topic: str, tenant: str | None) -> None:
    assert hono_tenant(topic) == tenant


@pytest.mark.parametrize(
    ("group", "type_", "protocol_type", "protocol", "kind"),
    [
        pytest.param("billing", "classic", "consumer", "range", "plain", id="plain"),
        pytest.param("billing", "classic", "", None, "plain", id="only commits"),
        pytest.param("connect-sink", "classic", "consumer", "range", "connect", id="sink"),
        pytest.param("workers", "classic", "connect", "sessioned", "connect", id="worker"),
        pytest.param("west-mm2", "classic", "connect", "sessioned", "mirror", id="mirror"),
        pytest.param(
            "mirrormaker2-cluster", "classic", "connect", "sessioned", "mirror", id="Strimzi mirror"
        ),
        pytest.param(
            "_confluent-ksql-default_query_CSAS_X_1",
            "classic",
            "consumer",
            "stream",
            "ksqldb",
            id="ksqldb",
        ),
        pytest.param("schema-registry", "classic", "sr", "v0", "internal", id="Schema Registry"),
        pytest.param("sr-eu", "classic", "sr", "v0", "internal", id="a second Schema Registry"),
        pytest.param(
            "_confluent-controlcenter-7", "classic", "consumer", "stream", "internal", id="C3"
        ),
        pytest.param(
            "__strimzi-topic-operator-kstreams",
            "classic",
            "consumer",
            "stream",
            "internal",
            id="Strimzi operator",
        ),
        pytest.param("shop", "classic", "consumer", "stream", "streams", id="streams"),
        pytest.param("shop", "streams", "streams", None, "streams", id="kip-1071"),
        pytest.param("shop-totals", "classic", "consumer", None, "streams", id="empty streams"),
        pytest.param("spark-kafka-source-7", "classic", "consumer", "range", "spark", id="spark"),
        pytest.param("eclipse.ditto:c1", "classic", "consumer", "range", "ditto", id="ditto"),
        pytest.param("4b7f-twins", "classic", "consumer", "range", "ditto", id="ditto said so"),
    ],
)
def test_group_kind(
    group: str, type_: str, protocol_type: str, protocol: str | None, kind: str
) -> None:
    found = group_kind(
        group,
        type_=type_,
        protocol_type=protocol_type,
        protocol=protocol,
        streams=streams_applications(["shop-totals-store-changelog", "orders"]),
        ditto={"4b7f-twins"},
    )
    assert found == kind


def reads(topics: list[str], groups: list[str], ditto: Collection[str] = ()) -> Any:
    """As much of a poll as the sections of topics and groups need to name kinds."""
    columns: dict[str, list[object]] = {
        "topic": [*topics],
        "topic_id": [None] * len(topics),
        "partition": [0] * len(topics),
        "leader": [1] * len(topics),
        "replicas": [[1]] * len(topics),
        "internal": [False] * len(topics),
    }
    partitions = pl.DataFrame(columns)
    metadata: Any = SimpleNamespace(partitions=partitions)
    watched = watched_topics(metadata, bool)
    configs: Outcome[Mapping[str, TopicConfig | str]] = Outcome(found={})
    rows = [
        {
            "group": group,
            "state": "stable",
            "type": "classic",
            "protocol_type": "consumer",
            "protocol": "range",
            "members": 0,
        }
        for group in groups
    ]
    found = SimpleNamespace(
        groups=pl.DataFrame(rows),
        members=pl.DataFrame(schema=GROUP_MEMBERS.polars_schema),
        problems=[],
    )
    return SimpleNamespace(
        metadata=Outcome(found=metadata),
        topics=Outcome(found=watched),
        configs=configs,
        topic_facts=Outcome(found=topic_facts(watched, (), configs)),
        topics_due=Outcome(found=topics),
        groups=Outcome(found=found),
        state_since=Outcome(found=dict.fromkeys(groups)),
        ditto_groups=ditto,
        problems=[],
    )


def collect(section: Any, poll: Any, table: str) -> pl.DataFrame:
    settings = ClusterSettings(name="production", bootstrap_servers="localhost:1")
    frame: pl.DataFrame = section.collect(poll, settings, datetime(2026, 1, 1, tzinfo=UTC))[table]
    return frame


def test_topics_of_hono_carry_their_tenant() -> None:
    poll = reads(["hono.event.t1", "hono.command_internal.a1", "orders"], [])
    rows = collect(topics, poll, "topics")
    assert dict(rows.select("topic", "tenant").iter_rows()) == {
        "hono.event.t1": "t1",
        "hono.command_internal.a1": None,
        "orders": None,
    }


def test_a_group_that_ditto_calls_its_own_is_dittos() -> None:
    rows = collect(groups, reads(["orders"], ["4b7f-twins", "billing"]), "groups")
    assert rows["kind"].to_list() == ["plain", "plain"]
    of_ditto = reads(["orders"], ["4b7f-twins", "billing"], ditto=["4b7f-twins"])
    assert collect(groups, of_ditto, "groups")["kind"].to_list() == ["ditto", "plain"]


def test_where_no_topic_is_to_be_written_the_table_is_empty_and_whole() -> None:
    poll = reads(["orders"], [])
    poll.topics_due = Outcome(found=[])
    assert collect(topics, poll, "topics").schema == pl.Schema(section_schema(TOPICS))
