"""Polls of each kind of source, and checks, of which reports are made."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from collectors.report.document import PollReport, SourceCheck
from collectors.source.model import Check, SectionResult, Status
from lake.schemas.tables import TABLES

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def frame(table: str, *rows: dict[str, object]) -> pl.DataFrame:
    schema = {
        name: type_
        for name, type_ in TABLES[table].polars_schema.items()
        if name not in ("cluster", "observed_at", "poll_id", "date")
    }
    return pl.DataFrame(list(rows), schema=schema)


def section(name: str, status: Status = "ok", **frames: pl.DataFrame) -> SectionResult:
    error = None if status == "ok" else f"{name} went wrong"
    return SectionResult(
        section=name,
        started_at=NOW,
        duration_seconds=0.25,
        status=status,
        error=error,
        frames=frames,
    )


def partition(number: int, leader: int | None, in_sync: list[int], least: int | None = 2) -> dict:  # type: ignore[type-arg]
    return {
        "topic": "orders",
        "partition": number,
        "leader": leader,
        "replicas": [1, 2, 3],
        "in_sync_replicas": in_sync,
        "min_in_sync_replicas": least,
    }


def offsets(number: int, **values: object) -> dict[str, object]:
    return {"group": "billing", "topic": "orders", "partition": number, **values}


FULL = PollReport(
    cluster="shop",
    cluster_id="id-1",
    controller=2,
    results=[
        section(
            "groups",
            groups=frame(
                "groups",
                {"group": "billing", "state": "stable", "type": "classic", "members": 2},
                {"group": "lost", "state": "unknown", "unknown_reason": "broker 3 is silent"},
            ),
            group_members=frame("group_members"),
        ),
        section(
            "group_offsets",
            group_offsets=frame(
                "group_offsets",
                offsets(0, committed=4, log_end=10, lag=6, time_lag_seconds=1.5, lost_messages=0),
                offsets(1, unknown_reason="nothing was ever committed"),
            ),
        ),
        section(
            "partitions",
            "partial",
            partitions=frame(
                "partitions",
                partition(0, 1, [1, 2, 3]),
                partition(1, 1, [1]),
                partition(2, None, []),
            ),
        ),
        section(
            "brokers",
            brokers=frame("brokers", {"broker_id": 1, "is_alive": True, "is_controller": False}),
        ),
        section(
            "dead_letters",
            dead_letters=frame(
                "dead_letters",
                {
                    "source": "kafka",
                    "name": "orders.dlq",
                    "retained": 7,
                    "reasons": [{"key": "java.lang.E", "value": 5}],
                    "oldest_retained_at": NOW,
                },
            ),
        ),
    ],
)


CONNECT = PollReport(
    cluster="shop",
    results=[
        section(
            "connectors",
            "partial",
            connectors=frame(
                "connectors",
                {
                    "connect": "main",
                    "connector": "orders-sink",
                    "type": "sink",
                    "state": "RUNNING",
                    "tasks": 2,
                    "tasks_running": 1,
                    "tasks_failed": 1,
                    "dead_letter_topic": "orders.dlq",
                },
                {"connect": "main", "connector": "silent", "unknown_reason": "no answer in 5 s"},
            ),
        )
    ],
    source="connect/main",
)
RABBIT = PollReport(
    cluster="rabbit",
    results=[
        section(
            "queues",
            queues=frame(
                "queues",
                {
                    "vhost": "/",
                    "queue": "mail",
                    "kind": "plain",
                    "ready": 12,
                    "unacknowledged": 3,
                    "consumers": 1,
                    "dead_letter_queues": ["mail.dlq"],
                },
                {
                    "vhost": "/",
                    "queue": "sms",
                    "kind": "plain",
                    "ready": 5,
                    "dead_letter_target_missing": True,
                },
            ),
            dead_letters=frame(
                "dead_letters",
                {
                    "source": "rabbitmq",
                    "name": "mail.dlq",
                    "retained": 4,
                    "reasons": [{"key": "rejected", "value": 4}],
                },
            ),
        )
    ],
    source="rabbitmq/rabbit",
)
METRICS = PollReport(
    cluster="shop",
    results=[
        section(
            "broker_metrics",
            broker_metrics=frame(
                "broker_metrics",
                {
                    "prometheus": "m",
                    "metric": "bytes_in_per_second",
                    "broker": "kafka-1:9404",
                    "labels": [{"key": "topic", "value": "orders"}],
                    "value": float("nan"),
                },
                {
                    "prometheus": "m",
                    "metric": "bytes_in_per_second",
                    "broker": "kafka-2:9404",
                    "value": 2.5,
                },
                {"prometheus": "m", "metric": "idle_ratio", "unknown_reason": "no series"},
            ),
        )
    ],
    source="prometheus/m",
)


CHECKS = [
    SourceCheck(
        cluster="shop",
        source="kafka",
        check=Check(feature="connection", works=True, required=True, detail="fine"),
    ),
    SourceCheck(
        cluster="shop",
        source="kafka",
        check=Check(
            feature="headers", works=False, required=False, detail="needs READ on the topic [x]"
        ),
    ),
    SourceCheck(
        cluster="shop",
        source="connect/main",
        check=Check(feature="connectors", works=None, required=True, detail="no disks"),
    ),
]
