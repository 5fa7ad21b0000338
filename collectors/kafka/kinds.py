"""What a topic or a group is, recognised by name: nobody should be alarmed by machinery."""

from __future__ import annotations

import re
from collections.abc import Collection

_HONO = re.compile(
    r"hono\.(telemetry|event|command|command_response|command_internal|notification)\."
)
_MIRROR = re.compile(
    r"(^|\.)heartbeats$|\.checkpoints\.internal$|^mm2-(offset-syncs|offsets|status|configs)\."
)
_CONNECT = re.compile(r"(^|[._-])connect[._-](configs|offsets|status)$")
_INTERNAL = re.compile(r"^(__|_schemas$|_confluent|_kafka|_redpanda)")
_RETRY = re.compile(r"[._-]retry([._-]\d+)?$", re.IGNORECASE)
_DITTO = re.compile(r"(^|[._:-])ditto([._:-]|$)", re.IGNORECASE)


def topic_kind(topic: str, *, internal: bool, dead_letter: bool, mirrors: Collection[str]) -> str:
    """Name a topic's kind.

    Args:
        topic: Its name.
        internal: Whether the cluster calls it internal.
        dead_letter: Whether it was found to be a dead-letter topic.
        mirrors: Aliases of clusters that are mirrored here (``mirror_aliases``).

    Returns:
        One of internal, dead letter, connect, hono, mirror, changelog, repartition, retry,
        application.
    """
    if internal or _INTERNAL.match(topic):
        return "internal"
    if dead_letter:
        return "dead letter"
    if _CONNECT.search(topic):
        return "connect"
    if _HONO.match(topic):
        return "hono"
    if _MIRROR.search(topic) or topic.partition(".")[0] in mirrors:
        return "mirror"
    if topic.endswith("-changelog"):
        return "changelog"
    if topic.endswith("-repartition"):
        return "repartition"
    return "retry" if _RETRY.search(topic) else "application"


def mirror_aliases(topics: Collection[str]) -> set[str]:
    """Return the clusters whose topics MirrorMaker 2 copies here as ``<alias>.<topic>``.

    It writes a copy of the source's heartbeats, which gives the alias away.
    """
    return {
        topic.removesuffix(".heartbeats")
        for topic in topics
        if topic.endswith(".heartbeats") and topic.count(".") == 1
    }


def streams_applications(topics: Collection[str]) -> set[str]:
    """Return what the internal topics of Kafka Streams begin with: candidates for its groups.

    ``<application>-<store>-changelog``: where the application's id ends is not told, so every
    beginning that ends at a hyphen is returned.
    """
    found: set[str] = set()
    for topic in topics:
        if topic.endswith(("-changelog", "-repartition")):
            parts = topic.split("-")
            found.update("-".join(parts[:end]) for end in range(1, len(parts) - 1))
    return found


def group_kind(
    group: str, *, type_: str, protocol_type: str, protocol: str | None, streams: Collection[str]
) -> str:
    """Name a group's kind.

    Args:
        group: Its id.
        type_: classic, consumer, share or streams.
        protocol_type: What its members say they are.
        protocol: The assignor; Kafka Streams' is called ``stream``.
        streams: Candidates from ``streams_applications``.

    Returns:
        One of connect, mirror, ksqldb, streams, spark, ditto, plain.
    """
    if protocol_type == "connect" or group.startswith("connect-"):
        return "mirror" if group.endswith("-mm2") else "connect"
    if group.startswith("_confluent-ksql"):
        return "ksqldb"
    if type_ == "streams" or protocol == "stream" or group in streams:
        return "streams"
    if group.startswith(("spark-kafka-source-", "spark-executor-")):
        return "spark"
    return "ditto" if _DITTO.search(group) else "plain"
