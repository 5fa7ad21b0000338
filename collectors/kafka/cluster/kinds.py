"""What a topic or a group is, recognised by name: nobody should be alarmed by machinery."""

from __future__ import annotations

import re
from collections.abc import Collection

# Kafka's, Confluent's, Redpanda's, Strimzi's own; Schema Registry and Apicurio; Cruise Control.
_INTERNAL = re.compile(
    r"__|_schemas($|[._-])|_confluent|_kafka|_redpanda"
    r"|strimzi-topic-operator-|strimzi[._-](cruisecontrol|store-topic|canary)"
    r"|kafkasql-(journal|snapshots|registry-)"
)
_KSQLDB = re.compile(r"ksql_processing_log$")
# Heartbeats, signals, schema history by the names that its documentation gives it.
_DEBEZIUM = re.compile(
    r"__debezium-|debezium-(heartbeat|signal|notification)"
    r"|(?!.*[._-](dlq|dlt|dead[._-]?letters?|errors?|retry)\b)"
    r"(.*[._-])?(schema[._-]?history|schema-?changes|db-?history)([._-]|$)"
)
_CONNECT = re.compile(
    r"(^|[._-])connect([._-]cluster)?[._-](configs?|offsets?|status(es)?)$"
    r"|^__amazon_msk_connect_"
)
_MIRROR = re.compile(
    r"(^|[._-])heartbeats$"
    r"|[._-]checkpoints[._-]internal$"
    r"|^mm2-(offset-syncs|offsets|status|configs)[._-]"
    r"|^mirrormaker2-cluster-(configs|offsets|status)$"
)
_STREAMS = {
    "changelog": re.compile(r"-changelog$"),
    # The two topics of a foreign-key join repartition, too.
    "repartition": re.compile(
        r"-repartition$|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic$"
        r"|-subscription-(registration|response)-topic$"
    ),
}
_RETRY = re.compile(r"[._-]retry([._-]\d+)?$", re.IGNORECASE)
_HONO = re.compile(
    r"hono\.(telemetry|event|command|command_response|command_internal|notification)\.(.+)"
)

_DITTO_GROUP = re.compile(r"(^|[._:-])ditto([._:-]|$)", re.IGNORECASE)
_INTERNAL_GROUP = re.compile(r"__|_confluent|ConfluentTelemetryReporter|schema-registry$")
_MIRROR_GROUP = re.compile(r"-mm2$|^mirrormaker2-cluster$")


def hono_tenant(topic: str) -> str | None:
    """Return the tenant in the name of an Eclipse Hono topic; None for a topic that has none."""
    match = _HONO.fullmatch(topic)
    # The other two name an instance of a protocol adapter and a kind of notification.
    if match is None or match[1] in ("command_internal", "notification"):
        return None
    return match[2]


def topic_kind(topic: str, *, internal: bool, dead_letter: bool, mirrors: Collection[str]) -> str:
    """Name a topic's kind.

    Returns:
        One of internal, dead letter, connect, hono, debezium, ksqldb, mirror, changelog,
        repartition, retry, application.
    """
    if _DEBEZIUM.match(topic) and not dead_letter:
        return "debezium"
    if _CONNECT.search(topic) and not dead_letter:
        return "connect"
    if internal or _INTERNAL.match(topic):
        return "internal"
    if dead_letter:
        return "dead letter"
    if _HONO.fullmatch(topic):
        return "hono"
    if _MIRROR.search(topic) or topic.partition(".")[0] in mirrors:
        return "mirror"
    if _KSQLDB.search(topic):
        return "ksqldb"
    for kind, pattern in _STREAMS.items():
        if pattern.search(topic):
            return kind
    return "retry" if _RETRY.search(topic) else "application"


def mirror_aliases(topics: Collection[str]) -> set[str]:
    """Return the clusters whose topics MirrorMaker 2 copies here as ``<alias>.<topic>``.

    MirrorMaker 2 keeps checkpoints of each source cluster, or copies its heartbeats, beside the
    heartbeats that it writes here itself. A topic that merely ends in such a name is an
    application's.
    """
    with_checkpoints = {
        topic.removesuffix(".checkpoints.internal")
        for topic in topics
        if topic.endswith(".checkpoints.internal")
    }
    if "heartbeats" not in topics:
        return {alias for alias in with_checkpoints if "." not in alias}
    with_heartbeats = {
        topic.removesuffix(".heartbeats") for topic in topics if topic.endswith(".heartbeats")
    }
    return {alias for alias in with_checkpoints | with_heartbeats if "." not in alias}


def streams_applications(topics: Collection[str]) -> set[str]:
    """Return what the internal topics of Kafka Streams begin with: candidates for its groups.

    The names read ``<application>-<store>-changelog``. Since the end of the application's id is
    unknown, every beginning that ends at a hyphen is returned.
    """
    found: set[str] = set()
    for topic in topics:
        if topic.endswith(("-changelog", "-repartition")):
            parts = topic.split("-")
            found.update("-".join(parts[:end]) for end in range(1, len(parts) - 1))
    return found


def group_kind(
    group: str,
    *,
    type_: str,
    protocol_type: str,
    protocol: str | None,
    streams: Collection[str],
    ditto: Collection[str] = (),
) -> str:
    """Name a group's kind.

    Returns:
        One of connect, mirror, ksqldb, streams, spark, ditto, internal, plain.
    """
    if group in ditto:
        return "ditto"
    if protocol_type == "connect" or group.startswith("connect-"):
        return "mirror" if _MIRROR_GROUP.search(group) else "connect"
    if group.startswith("_confluent-ksql"):
        return "ksqldb"
    if protocol_type == "sr" or _INTERNAL_GROUP.match(group):
        return "internal"
    if type_ == "streams" or protocol == "stream" or group in streams:
        return "streams"
    if group.startswith(("spark-kafka-source-", "spark-executor-")):
        return "spark"
    return "ditto" if _DITTO_GROUP.search(group) else "plain"
