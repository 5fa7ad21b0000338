"""Rows as sections yield them, and the samples of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from collectors.exporter.page import Page
from collectors.service.snapshot import Snapshots
from collectors.source.model import SectionResult, Status
from config.settings import ExporterSettings
from lake.schemas.tables import TABLES

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

Labels = frozenset[tuple[str, str]]


@dataclass
class Named:
    """As much of a source as the exporter asks for."""

    cluster: str = "shop"
    name: str = "kafka"
    interval_seconds: float = 10.0
    cluster_id: str | None = "id-1"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def frame(table: str, *rows: Mapping[str, object]) -> pl.DataFrame:
    schema = {
        name: type_
        for name, type_ in TABLES[table].polars_schema.items()
        if name not in ("cluster", "observed_at", "poll_id", "date")
    }
    return pl.DataFrame([dict(row) for row in rows], schema=schema)


def result(section: str, status: Status = "ok", /, **frames: pl.DataFrame) -> SectionResult:
    error = None if status == "ok" else f"{section} went wrong"
    return SectionResult(
        section=section,
        started_at=NOW,
        duration_seconds=0.25,
        status=status,
        error=error,
        frames=frames,
    )


def samples(text: str) -> dict[str, dict[Labels, float]]:
    """Return the value of each series by its name and labels, as a client's parser reads them."""
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            series = found.setdefault(sample.name, {})
            labels = frozenset(sample.labels.items())
            assert labels not in series, f"{sample.name} {sample.labels} is there twice"
            series[labels] = sample.value
    return found


def page(snapshots: Snapshots, **settings: object) -> Page:
    return Page(ExporterSettings(**settings), snapshots, CollectorRegistry())  # type: ignore[arg-type]


def text_of(page_: Page) -> str:
    return b"".join(page_.plain()).decode()


def series(name: str, found: dict[str, dict[Labels, float]]) -> dict[tuple[str, ...], float]:
    """Return a metric's values by its labels' values, the labels in alphabetical order."""
    return {
        tuple(value for _, value in sorted(labels)): number
        for labels, number in found.get(name, {}).items()
    }


def partition(number: int, **values: object) -> dict[str, object]:
    return {
        "topic": "orders",
        "partition": number,
        "leader": 1,
        "preferred_leader": 1,
        "replicas": [1, 2, 3],
        "in_sync_replicas": [1, 2, 3],
        "adding_replicas": [],
        "removing_replicas": [],
        "min_in_sync_replicas": 2,
        "log_start": 10,
        "log_end": 100,
        "last_stable": 97,
        "size_bytes": 500,
        **values,
    }


def offset(number: int, **values: object) -> dict[str, object]:
    return {
        "group": "billing",
        "topic": "orders",
        "partition": number,
        "committed": 90,
        "log_start": 10,
        "log_end": 100,
        "lag": 10,
        "lost_messages": 0,
        "time_lag_seconds": 2.5,
        "member_id": "m-1",
        "committed_at": NOW,
        "commits_per_second": 0.25,
        **values,
    }


BROKERS = frame(
    "brokers",
    {
        "broker_id": 1,
        "host": "kafka-1",
        "port": 9092,
        "rack": "a",
        "is_controller": True,
        "is_alive": True,
        "leaders": 2,
        "replicas": 3,
        "under_replicated": 0,
        "log_bytes": 4096,
        "disk_total_bytes": 10_000,
        "disk_free_bytes": 5_000,
    },
    {"broker_id": 2, "host": "kafka-2", "port": 9092, "is_alive": False, "is_controller": False},
)
GROUPS = frame(
    "groups",
    {
        "group": "billing",
        "state": "preparing_rebalance",
        "type": "classic",
        "kind": "plain",
        "protocol": "range",
        "coordinator": 1,
        "members": 2,
        "idle_members": 1,
    },
    {"group": "lost", "state": "unknown", "unknown_reason": "broker 3 is silent"},
)
MEMBERS = frame(
    "group_members",
    {"group": "billing", "member_id": "m-1", "assigned_partitions": 2},
    {"group": "billing", "member_id": "m-2", "assigned_partitions": 0},
)
TOPICS = frame(
    "topics",
    {
        "topic": "orders",
        "kind": "application",
        "cleanup_policy": "delete",
        "retention_seconds": 60.0,
    },
    {"topic": "deleted", "kind": "application"},
)


def filled(
    *,
    offsets: pl.DataFrame | None = None,
    partitions: pl.DataFrame | None = None,
    source: Named | None = None,
    clock: Clock | None = None,
) -> Snapshots:
    """Return the snapshot of a small cluster."""
    source = source or Named()
    snapshots = Snapshots([source], clock or Clock())  # type: ignore[list-item]
    fill(snapshots, source, offsets=offsets, partitions=partitions)
    return snapshots


def fill(
    snapshots: Snapshots,
    source: Named,
    *,
    offsets: pl.DataFrame | None = None,
    partitions: pl.DataFrame | None = None,
) -> None:
    offsets = frame("group_offsets", offset(0), offset(1)) if offsets is None else offsets
    partitions = (
        frame("partitions", partition(0), partition(1)) if partitions is None else partitions
    )
    for each in (
        result("groups", groups=GROUPS, group_members=MEMBERS),
        result("group_offsets", group_offsets=offsets),
        result("partitions", partitions=partitions),
        result("topics", topics=TOPICS),
        result("brokers", brokers=BROKERS),
    ):
        snapshots.take(source, each)  # type: ignore[arg-type]
    snapshots.poll_ended(source)  # type: ignore[arg-type]


def found_in(snapshots: Snapshots, *names: str, per_partition: bool = True) -> dict[str, dict]:  # type: ignore[type-arg]
    wanted = list(names) or ["headroom"]
    return samples(
        text_of(page(snapshots, names=wanted, per_partition=wanted if per_partition else []))
    )


def labelled(name: str, labels: Mapping[str, str], found: dict[str, dict]) -> float:  # type: ignore[type-arg]
    value: float = found[name][frozenset(labels.items())]
    return value


INTEGRATIONS: dict[str, pl.DataFrame] = {
    "dead_letters": frame(
        "dead_letters",
        {
            "source": "kafka",
            "name": "orders.dlq",
            "origin": "orders",
            "retained": 7,
            "unprocessed": 3,
            "log_end": 9,
            "oldest_arrived_at": NOW,
            "reasons": [{"key": "java.lang.E", "value": 5}],
        },
        {"source": "kafka", "name": "other.dlq", "retained": 1},
    ),
    "connectors": frame(
        "connectors",
        {
            "connect": "main",
            "connector": "sink",
            "type": "sink",
            "state": "RUNNING",
            "tasks": 2,
            "tasks_running": 1,
            "tasks_failed": 1,
            "tasks_expected": 2,
        },
        {"connect": "main", "connector": "paused", "type": "sink", "state": "PAUSED"},
    ),
    "connector_tasks": frame(
        "connector_tasks",
        {"connect": "main", "connector": "sink", "task": 0, "state": "RUNNING", "worker": "w:1"},
        {"connect": "main", "connector": "sink", "task": 1, "state": "FAILED", "worker": "w:1"},
    ),
    "mirror_offsets": frame(
        "mirror_offsets",
        {"connect": "main", "connector": "mm", "topic": "a", "partition": 0, "lag": 4},
        {"connect": "main", "connector": "mm", "topic": "a", "partition": 1, "lag": 5},
        {"connect": "main", "connector": "mm", "topic": "b", "partition": 0, "lag": 4},
        {"connect": "main", "connector": "mm", "topic": "b", "partition": 1},
    ),
    "queues": frame(
        "queues",
        {
            "vhost": "/",
            "queue": "mail",
            "kind": "plain",
            "ready": 12,
            "unacknowledged": 3,
            "consumers": 1,
            "consumer_capacity": 0.5,
            "dead_letter_target_missing": True,
        },
    ),
    "ditto_connections": frame(
        "ditto_connections",
        {
            "ditto": "twins",
            "connection": "c1",
            "name": "hono",
            "type": "kafka",
            "desired_status": "open",
            "live_status": "open",
            "clients": 2,
            "clients_open": 1,
        },
        {
            "ditto": "twins",
            "connection": "c2",
            "name": "old",
            "type": "kafka",
            "desired_status": "open",
            "live_status": "closed",
        },
    ),
    "schema_registries": frame(
        "schema_registries",
        {
            "schema_registry": "schemas",
            "subjects": 3,
            "deleted_subjects": 1,
            "compatibility": "BACKWARD",
        },
        {"schema_registry": "slow", "subjects": 9, "subjects_unknown": 5},
    ),
    "log_directories": frame(
        "log_directories",
        {"broker_id": 1, "path": "/data", "is_offline": False, "total_bytes": 9, "free_bytes": 4},
        {"broker_id": 2, "unknown_reason": "silent"},
    ),
    "quorum": frame("quorum", {"node_id": 1, "role": "voter", "lag": 3}),
}
