"""Headroom's own names: dead letters, and what Connect, RabbitMQ and Ditto have."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from collectors.exporter.rules import (
    MetricView,
    Rule,
    of_columns,
    own,
    present,
    rule,
    whole_sum,
)
from collectors.exporter.text import Samples

_DEAD = ("source", "name", "origin")
_CONNECTOR = ("connect", "connector")
_TASK = ("connect", "connector", "task")
_QUEUE = ("vhost", "queue", "kind")
_CONNECTION = ("ditto", "connection", "name")

_OF_DEAD_LETTERS = (
    own("dead_letters_retained", "Messages that are there.", _DEAD, "retained"),
    own(
        "dead_letters_unprocessed",
        "Messages that the declared redrive group has not read; none where none is declared.",
        _DEAD,
        "unprocessed",
    ),
    own(
        "dead_letters_log_end_offset",
        "Sum of the topic's log ends; its rate is the arrival of dead letters.",
        _DEAD,
        "log_end",
    ),
    own(
        "dead_letters_oldest_unprocessed_timestamp_seconds",
        "Timestamp of the first message that the redrive group has not read.",
        _DEAD,
        "oldest_unprocessed_at",
    ),
    own(
        "dead_letters_oldest_retained_timestamp_seconds",
        "Timestamp of the first message, where no redrive group is declared.",
        _DEAD,
        "oldest_retained_at",
    ),
    own(
        "dead_letters_oldest_arrived_timestamp_seconds",
        "When that message became a dead letter.",
        _DEAD,
        "oldest_arrived_at",
    ),
)
_OF_REASONS = (
    own(
        "dead_letters_sampled_reasons",
        "Messages of the newest and oldest that name this exception class in their headers.",
        ("source", "name", "reason"),
        "number",
    ),
)


def _dead_letters(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["dead_letters"]
    yield from of_columns(rows, _OF_DEAD_LETTERS)
    reasons = (
        rows.select("source", "name", pl.col("reasons"))
        .explode("reasons", empty_as_null=True, keep_nulls=True)
        .filter(pl.col("reasons").is_not_null())
        .select(
            "source",
            "name",
            pl.col("reasons").struct.field("key").alias("reason"),
            pl.col("reasons").struct.field("value").alias("number"),
        )
    )
    yield from of_columns(reasons, _OF_REASONS)


_OF_CONNECTOR = (
    own(
        "connector_info",
        "Always 1: what the connector is and its state, in its labels.",
        (*_CONNECTOR, "type", "kind", "state", "worker", "group"),
        present("connector"),
    ),
    own("connector_running", "1 where the connector itself is RUNNING.", _CONNECTOR, "running"),
    own("connector_tasks", "Tasks that the connector has.", _CONNECTOR, "tasks"),
    own("connector_tasks_expected", "Its tasks.max.", _CONNECTOR, "tasks_expected"),
    own("connector_tasks_running", "Tasks that are RUNNING.", _CONNECTOR, "tasks_running"),
    own("connector_tasks_failed", "Tasks that are FAILED.", _CONNECTOR, "tasks_failed"),
)
_OF_CONNECTORS = (
    own("connectors", "Connectors in this state.", ("connect", "type", "state"), "number"),
)


def _connectors(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["connectors"].with_columns(
        (pl.col("state").str.to_uppercase() == "RUNNING").alias("running")
    )
    yield from of_columns(
        rows.group_by("connect", "type", "state", maintain_order=True).agg(
            pl.len().alias("number")
        ),
        _OF_CONNECTORS,
    )
    yield from of_columns(rows, _OF_CONNECTOR)


_OF_TASK = (
    own(
        "connector_task_info",
        "Always 1: the task's state and worker, in its labels.",
        (*_TASK, "state", "worker"),
        present("task"),
    ),
)
_OF_TASKS = (
    own("connect_tasks", "Tasks of all connectors in this state.", ("connect", "state"), "number"),
)


def _tasks(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["connector_tasks"]
    totals = rows.group_by("connect", "state", maintain_order=True).agg(pl.len().alias("number"))
    yield from of_columns(totals, _OF_TASKS)
    yield from of_columns(rows, _OF_TASK)


_OF_MIRROR = (
    own(
        "mirror_lag",
        "Messages of the source topic that MirrorMaker has not copied yet.",
        (*_CONNECTOR, "source_cluster", "topic"),
    ),
)


def _mirrors(view: MetricView) -> Iterable[Samples]:
    keys = [*_CONNECTOR, "source_cluster", "topic"]
    rows = view.tables["mirror_offsets"].group_by(keys, maintain_order=True)
    return of_columns(rows.agg(whole_sum("lag").alias("mirror_lag")), _OF_MIRROR)


_OF_QUEUE = (
    own("queue_ready", "Messages that wait to be delivered.", _QUEUE, "ready"),
    own(
        "queue_unacknowledged",
        "Messages that are delivered and not yet acknowledged.",
        _QUEUE,
        "unacknowledged",
    ),
    own("queue_consumers", "Consumers of the queue.", _QUEUE, "consumers"),
    own(
        "queue_consumer_capacity_ratio",
        "Share of the time in which consumers could take a message at once.",
        _QUEUE,
        "consumer_capacity",
    ),
    own("queue_publish_per_second", "Messages published to it.", _QUEUE, "publish_per_second"),
    own("queue_deliver_per_second", "Messages delivered.", _QUEUE, "deliver_per_second"),
    own("queue_ack_per_second", "Messages acknowledged.", _QUEUE, "ack_per_second"),
    own("queue_redeliver_per_second", "Messages delivered again.", _QUEUE, "redeliver_per_second"),
    own("queue_memory_bytes", "Memory that the queue takes.", _QUEUE, "memory_bytes"),
    own("queue_message_bytes", "Size of its messages' bodies.", _QUEUE, "message_bytes"),
    own(
        "queue_dead_letter_target_missing",
        "1 where its dead letters go to no queue and are lost.",
        _QUEUE,
        "dead_letter_target_missing",
    ),
)


def _queues(view: MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["queues"], _OF_QUEUE)


_OF_DITTO = (
    own(
        "ditto_connection_info",
        "Always 1: the wanted and the present status, in its labels.",
        (*_CONNECTION, "type", "desired", "live"),
        present("connection"),
    ),
    own(
        "ditto_connection_as_desired",
        "1 where the connection's live status is the one that is wanted.",
        _CONNECTION,
        pl.col("live").str.to_lowercase() == pl.col("desired").str.to_lowercase(),
    ),
    own("ditto_connection_clients", "Clients it is configured with.", _CONNECTION, "clients"),
    own("ditto_connection_clients_open", "Clients that are open.", _CONNECTION, "clients_open"),
    own("ditto_connection_consumers", "Consumers of its sources.", _CONNECTION, "consumers"),
    own("ditto_connection_sources_failed", "Sources that failed.", _CONNECTION, "sources_failed"),
    own("ditto_connection_targets_failed", "Targets that failed.", _CONNECTION, "targets_failed"),
    own(
        "ditto_connection_consumed_last_minute",
        "Messages consumed in the last minute.",
        _CONNECTION,
        "consumed_minute",
    ),
    own(
        "ditto_connection_dropped_last_minute",
        "Messages dropped in the last minute.",
        _CONNECTION,
        "dropped_minute",
    ),
    own(
        "ditto_connection_failed_last_minute",
        "Messages that failed in the last minute.",
        _CONNECTION,
        "failed_minute",
    ),
    own(
        "ditto_connection_published_last_minute",
        "Messages published in the last minute.",
        _CONNECTION,
        "published_minute",
    ),
)


def _ditto(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["ditto_connections"].rename(
        {"desired_status": "desired", "live_status": "live"}
    )
    return of_columns(rows, _OF_DITTO)


RULES: tuple[Rule, ...] = (
    rule("dead_letters", _dead_letters, _OF_DEAD_LETTERS, _OF_REASONS),
    rule("connectors", _connectors, _OF_CONNECTORS, _OF_CONNECTOR),
    rule("connector_tasks", _tasks, _OF_TASKS, _OF_TASK),
    rule("mirror_offsets", _mirrors, _OF_MIRROR),
    rule("queues", _queues, _OF_QUEUE),
    rule("ditto_connections", _ditto, _OF_DITTO),
)
