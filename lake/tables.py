"""Every table of the lake: the one definition that collectors, Spark and the app share."""

from __future__ import annotations

from lake.bronze import (
    BROKER_METRICS,
    BROKERS,
    CLUSTER_EVENTS,
    COLLECTIONS,
    CONNECTOR_TASKS,
    CONNECTORS,
    DEAD_LETTERS,
    DITTO_CONNECTIONS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUPS,
    LOG_DIRECTORIES,
    MIRROR_OFFSETS,
    PARTITIONS,
    QUEUES,
    QUORUM,
    TOPICS,
)
from lake.gold import (
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    GRAINS_SECONDS,
    GROUP_HISTORY,
    GROUP_PARTITION_HISTORY,
    JOBS,
    TOPIC_HISTORY,
)
from lake.schema import Table

__all__ = [
    "BROKERS",
    "BROKER_METRICS",
    "CLUSTER_EVENTS",
    "CLUSTER_HISTORY",
    "COLLECTIONS",
    "CONNECTORS",
    "CONNECTOR_TASKS",
    "DEAD_LETTERS",
    "DEAD_LETTER_HISTORY",
    "DITTO_CONNECTIONS",
    "GRAINS_SECONDS",
    "GROUPS",
    "GROUP_HISTORY",
    "GROUP_MEMBERS",
    "GROUP_OFFSETS",
    "GROUP_PARTITION_HISTORY",
    "JOBS",
    "LOG_DIRECTORIES",
    "MIRROR_OFFSETS",
    "PARTITIONS",
    "QUEUES",
    "QUORUM",
    "TABLES",
    "TOPICS",
    "TOPIC_HISTORY",
]

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        BROKERS,
        PARTITIONS,
        TOPICS,
        GROUPS,
        GROUP_MEMBERS,
        GROUP_OFFSETS,
        DEAD_LETTERS,
        LOG_DIRECTORIES,
        QUORUM,
        CLUSTER_EVENTS,
        CONNECTORS,
        CONNECTOR_TASKS,
        MIRROR_OFFSETS,
        QUEUES,
        BROKER_METRICS,
        DITTO_CONNECTIONS,
        COLLECTIONS,
        GROUP_PARTITION_HISTORY,
        GROUP_HISTORY,
        TOPIC_HISTORY,
        CLUSTER_HISTORY,
        DEAD_LETTER_HISTORY,
        JOBS,
    )
}
"""All of them by name."""
