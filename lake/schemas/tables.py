"""Every table of the lake: the one definition that collectors, Spark and the app share."""

from __future__ import annotations

from collections.abc import Mapping

from lake.schemas import bronze, bronze_beside_kafka, derived, gold
from lake.schemas.bronze import (
    BROKERS,
    CLUSTER_EVENTS,
    CLUSTER_SETTINGS,
    COLLECTIONS,
    DEAD_LETTERS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUPS,
    LOG_DIRECTORIES,
    PARTITIONS,
    QUORUM,
    REBALANCES,
    TOPICS,
    TRANSACTIONS,
    WAITING_COLLECTORS,
)
from lake.schemas.bronze_beside_kafka import (
    BROKER_METRICS,
    CONNECTOR_TASKS,
    CONNECTORS,
    DITTO_CONNECTIONS,
    MIRROR_OFFSETS,
    QUEUES,
    SCHEMA_REGISTRIES,
    SCHEMA_SUBJECTS,
)
from lake.schemas.derived import (
    CAPACITY,
    CAPACITY_INTERVALS,
    CHANGES,
    CONTRIBUTORS,
    FORECASTS,
    LAG_ANOMALIES,
    SEASONALITY,
    SKEW,
)
from lake.schemas.gold import (
    ADVICE_STATE,
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    GROUP_HISTORY,
    GROUP_PARTITION_HISTORY,
    JOBS,
    RECOMMENDATIONS,
    TOPIC_HISTORY,
)
from lake.schemas.model import Table

__all__ = [
    "ADVICE_STATE",
    "BROKERS",
    "BROKER_METRICS",
    "CAPACITY",
    "CAPACITY_INTERVALS",
    "CHANGES",
    "CLUSTER_EVENTS",
    "CLUSTER_HISTORY",
    "CLUSTER_SETTINGS",
    "COLLECTIONS",
    "CONNECTORS",
    "CONNECTOR_TASKS",
    "CONTRIBUTORS",
    "DEAD_LETTERS",
    "DEAD_LETTER_HISTORY",
    "DITTO_CONNECTIONS",
    "FORECASTS",
    "GROUPS",
    "GROUP_HISTORY",
    "GROUP_MEMBERS",
    "GROUP_OFFSETS",
    "GROUP_PARTITION_HISTORY",
    "JOBS",
    "LAG_ANOMALIES",
    "LOG_DIRECTORIES",
    "MIRROR_OFFSETS",
    "PARTITIONS",
    "QUEUES",
    "QUORUM",
    "REBALANCES",
    "RECOMMENDATIONS",
    "SCHEMA_REGISTRIES",
    "SCHEMA_SUBJECTS",
    "SEASONALITY",
    "SKEW",
    "TABLES",
    "TOPICS",
    "TOPIC_HISTORY",
    "TRANSACTIONS",
    "WAITING_COLLECTORS",
    "WRITTEN_EVERY_SECONDS",
]

TABLES: dict[str, Table] = {
    table.name: table
    for module in (bronze, bronze_beside_kafka, gold, derived)
    for table in vars(module).values()
    if isinstance(table, Table)
}
"""All of them by name; ``lake.schemas.current`` has those of the present."""

WRITTEN_EVERY_SECONDS: Mapping[str, float] = {
    TOPICS.name: 3600.0,
    LOG_DIRECTORIES.name: 60.0,
    CLUSTER_SETTINGS.name: 1800.0,
    SCHEMA_SUBJECTS.name: 1800.0,
    QUORUM.name: 60.0,
    WAITING_COLLECTORS.name: 300.0,
}
"""Tables of which not every poll writes rows: how long one may stand for the polls after it."""
