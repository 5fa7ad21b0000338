"""Headroom's own names: dead letters, and what the systems around Kafka have."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from collectors.exporter import rules
from collectors.exporter.rules import columns, of_columns, present, rule, whole_sum
from collectors.exporter.text import Samples

_CONNECTOR = ("connect", "connector")
_CONNECTION = ("ditto", "connection", "name")

_OF_DEAD_LETTERS = columns(
    "headroom_dead_letters_",
    ("source", "name", "origin"),
    {
        "retained": "Messages that are there.",
        "unprocessed": "Messages that the declared redrive group has not read; none where none is "
        "declared.",
        "log_end_offset": (
            "Sum of the topic's log ends; its rate is the arrival of dead letters.",
            "log_end",
        ),
        "oldest_unprocessed_timestamp_seconds": (
            "Timestamp of the first message that the redrive group has not read.",
            "oldest_unprocessed_at",
        ),
        "oldest_retained_timestamp_seconds": (
            "Timestamp of the first message, where no redrive group is declared.",
            "oldest_retained_at",
        ),
        "oldest_arrived_timestamp_seconds": (
            "When that message became a dead letter.",
            "oldest_arrived_at",
        ),
    },
)
_OF_REASONS = columns(
    "headroom_dead_letters_",
    ("source", "name", "reason"),
    {
        "sampled_reasons": "Messages of the newest and oldest that name this exception class in "
        "their headers.",
    },
)


def _dead_letters(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["dead_letters"]
    yield from of_columns(rows, _OF_DEAD_LETTERS)
    reasons = rows.select("source", "name", "reasons").explode(
        "reasons", empty_as_null=True, keep_nulls=True
    )
    reasons = reasons.drop_nulls("reasons").select(
        "source",
        "name",
        pl.col("reasons").struct.field("key").alias("reason"),
        pl.col("reasons").struct.field("value").alias("sampled_reasons"),
    )
    yield from of_columns(reasons, _OF_REASONS)


_OF_CONNECTOR_INFO = columns(
    "headroom_connector_",
    (*_CONNECTOR, "type", "kind", "state", "worker", "group"),
    {
        "info": (
            "Always 1: what the connector is and its state, in its labels.",
            present("connector"),
        )
    },
)
_OF_CONNECTOR = columns(
    "headroom_connector_",
    _CONNECTOR,
    {
        "running": (
            "1 where the connector itself is RUNNING.",
            pl.col("state").str.to_uppercase() == "RUNNING",
        ),
        "tasks": "Tasks that the connector has.",
        "tasks_expected": "Its tasks.max.",
        "tasks_running": "Tasks that are RUNNING.",
        "tasks_failed": "Tasks that are FAILED.",
    },
)
_OF_CONNECTORS = columns(
    "headroom_", ("connect", "type", "state"), {"connectors": "Connectors in this state."}
)


def _connectors(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["connectors"]
    states = rows.group_by("connect", "type", "state", maintain_order=True)
    yield from of_columns(states.agg(pl.len().alias("connectors")), _OF_CONNECTORS)
    yield from of_columns(rows, (*_OF_CONNECTOR_INFO, *_OF_CONNECTOR))


_OF_TASK = columns(
    "headroom_connector_task_",
    (*_CONNECTOR, "task", "state", "worker"),
    {"info": ("Always 1: the task's state and worker, in its labels.", present("task"))},
)
_OF_TASKS = columns(
    "headroom_connect_", ("connect", "state"), {"tasks": "Tasks of all connectors in this state."}
)


def _tasks(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["connector_tasks"]
    totals = rows.group_by("connect", "state", maintain_order=True).agg(pl.len().alias("tasks"))
    yield from of_columns(totals, _OF_TASKS)
    yield from of_columns(rows, _OF_TASK)


_MIRROR = (*_CONNECTOR, "source_cluster", "topic")
_OF_MIRROR = columns(
    "headroom_mirror_",
    _MIRROR,
    {"lag": "Messages of the source topic that MirrorMaker has not copied yet."},
)


def _mirrors(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["mirror_offsets"].group_by(_MIRROR, maintain_order=True)
    return of_columns(rows.agg(whole_sum("lag")), _OF_MIRROR)


_OF_QUEUE = columns(
    "headroom_queue_",
    ("vhost", "queue", "kind"),
    {
        "ready": "Messages that wait to be delivered.",
        "unacknowledged": "Messages that are delivered and not yet acknowledged.",
        "consumers": "Consumers of the queue.",
        "consumer_capacity_ratio": (
            "Share of the time in which consumers could take a message at once.",
            "consumer_capacity",
        ),
        "publish_per_second": "Messages published to it.",
        "deliver_per_second": "Messages delivered.",
        "ack_per_second": "Messages acknowledged.",
        "redeliver_per_second": "Messages delivered again.",
        "memory_bytes": "Memory that the queue takes.",
        "message_bytes": "Size of its messages' bodies.",
        "dead_letter_target_missing": "1 where its dead letters go to no queue and are lost.",
    },
)


def _queues(view: rules.MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["queues"], _OF_QUEUE)


_OF_DITTO_INFO = columns(
    "headroom_ditto_connection_",
    (*_CONNECTION, "type", "desired", "live"),
    {
        "info": (
            "Always 1: the wanted and the present status, in its labels.",
            present("connection"),
        )
    },
)
_OF_DITTO = columns(
    "headroom_ditto_connection_",
    _CONNECTION,
    {
        "as_desired": (
            "1 where the connection's live status is the one that is wanted.",
            pl.col("live").str.to_lowercase() == pl.col("desired").str.to_lowercase(),
        ),
        "clients": "Clients it is configured with.",
        "clients_open": "Clients that are open.",
        "consumers": "Consumers of its sources.",
        "sources_failed": "Sources that failed.",
        "targets_failed": "Targets that failed.",
        "consumed_last_minute": ("Messages consumed in the last minute.", "consumed_minute"),
        "dropped_last_minute": ("Messages dropped in the last minute.", "dropped_minute"),
        "failed_last_minute": ("Messages that failed in the last minute.", "failed_minute"),
        "published_last_minute": ("Messages published in the last minute.", "published_minute"),
    },
)


def _ditto(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["ditto_connections"].rename(
        {"desired_status": "desired", "live_status": "live"}
    )
    return of_columns(rows, (*_OF_DITTO_INFO, *_OF_DITTO))


_OF_REGISTRY_INFO = columns(
    "headroom_schema_registry_",
    ("schema_registry", "compatibility", "mode"),
    {
        "info": (
            "Always 1: the levels of subjects without their own, in its labels.",
            present("schema_registry"),
        )
    },
)
_OF_REGISTRY = columns(
    "headroom_schema_registry_",
    ("schema_registry",),
    {
        "subjects": "Watched subjects.",
        "subjects_unknown": "Those whose newest version is not known.",
        "deleted_subjects": "Watched subjects that were deleted softly.",
    },
)


def _registries(view: rules.MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["schema_registries"], (*_OF_REGISTRY_INFO, *_OF_REGISTRY))


RULES: tuple[rules.Rule, ...] = (
    rule("dead_letters", _dead_letters, _OF_DEAD_LETTERS, _OF_REASONS),
    rule("connectors", _connectors, _OF_CONNECTORS, _OF_CONNECTOR_INFO, _OF_CONNECTOR),
    rule("connector_tasks", _tasks, _OF_TASKS, _OF_TASK),
    rule("mirror_offsets", _mirrors, _OF_MIRROR),
    rule("queues", _queues, _OF_QUEUE),
    rule("ditto_connections", _ditto, _OF_DITTO_INFO, _OF_DITTO),
    rule("schema_registries", _registries, _OF_REGISTRY_INFO, _OF_REGISTRY),
)
