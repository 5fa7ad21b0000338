from __future__ import annotations

import pytest

from collectors.kafka.kinds import (
    group_kind,
    mirror_aliases,
    streams_applications,
    topic_kind,
)


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        ("orders", "application"),
        ("__consumer_offsets", "internal"),
        ("__debezium-heartbeat.shop", "internal"),
        ("_schemas", "internal"),
        ("_confluent-ksql-default__command_topic", "internal"),
        ("connect-configs", "connect"),
        ("my-connect-offsets", "connect"),
        ("disconnect-status-page", "application"),
        ("hono.telemetry.tenant-1", "hono"),
        ("hono.command_internal.adapter-7", "hono"),
        ("honorary.events", "application"),
        ("heartbeats", "mirror"),
        ("west.checkpoints.internal", "mirror"),
        ("mm2-offset-syncs.west.internal", "mirror"),
        ("west.orders", "mirror"),
        ("shop-totals-store-changelog", "changelog"),
        ("shop-by-customer-repartition", "repartition"),
        ("orders-retry-5000", "retry"),
        ("orders_retry_5000", "retry"),
        ("orders-retry", "retry"),
        ("retry-policy", "application"),
    ],
)
def test_topic_kind(topic: str, kind: str) -> None:
    assert topic_kind(topic, internal=False, dead_letter=False, mirrors={"west"}) == kind


def test_the_cluster_and_the_dead_letter_rules_decide_first() -> None:
    assert topic_kind("x", internal=True, dead_letter=True, mirrors=()) == "internal"
    assert topic_kind("x-retry", internal=False, dead_letter=True, mirrors=()) == "dead letter"


def test_mirrored_clusters_are_given_away_by_their_heartbeats() -> None:
    topics = ["heartbeats", "west.heartbeats", "my.own.heartbeats", "orders"]
    assert mirror_aliases(topics) == {"west"}


@pytest.mark.parametrize(
    ("group", "type_", "protocol_type", "protocol", "kind"),
    [
        pytest.param("billing", "classic", "consumer", "range", "plain", id="plain"),
        pytest.param("billing", "classic", "", None, "plain", id="only commits"),
        pytest.param("connect-sink", "classic", "consumer", "range", "connect", id="sink"),
        pytest.param("workers", "classic", "connect", "sessioned", "connect", id="worker"),
        pytest.param("west-mm2", "classic", "connect", "sessioned", "mirror", id="mirror"),
        pytest.param(
            "_confluent-ksql-default_query_CSAS_X_1",
            "classic",
            "consumer",
            "stream",
            "ksqldb",
            id="ksqldb",
        ),
        pytest.param("shop", "classic", "consumer", "stream", "streams", id="streams"),
        pytest.param("shop", "streams", "streams", None, "streams", id="kip-1071"),
        pytest.param("shop-totals", "classic", "consumer", None, "streams", id="empty streams"),
        pytest.param("spark-kafka-source-7", "classic", "consumer", "range", "spark", id="spark"),
        pytest.param("eclipse.ditto:c1", "classic", "consumer", "range", "ditto", id="ditto"),
    ],
)
def test_group_kind(
    group: str, type_: str, protocol_type: str, protocol: str | None, kind: str
) -> None:
    streams = streams_applications(["shop-totals-store-changelog", "orders"])
    found = group_kind(
        group, type_=type_, protocol_type=protocol_type, protocol=protocol, streams=streams
    )
    assert found == kind
