"""Connectors and their tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from collectors.connect.answers import Connector
from collectors.connect.client import ConnectClient
from collectors.source.rows import frame
from collectors.source.shared_state import Sink
from config.integrations import ConnectSettings
from lake.schemas.tables import CONNECTOR_TASKS, CONNECTORS


def collect(
    client: ConnectClient, settings: ConnectSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the tables ``connectors`` and ``connector_tasks``; tell the sinks."""
    connectors = sorted(client.connectors(), key=lambda each: each.name)
    client.exchange.tell_sinks(
        client.cluster,
        settings.name,
        [
            Sink(each.name, each.group, each.dead_letter_topic)
            for each in connectors
            if each.group is not None
        ],
    )
    for each in connectors:
        if each.unknown_reason is not None:
            client.problems.append(f"{each.name}: {each.unknown_reason}")
    rows = [_row(settings.name, each) for each in connectors]
    tasks = [
        {
            "connect": settings.name,
            "connector": each.name,
            "task": task.number,
            "state": task.state,
            "worker": task.worker,
            "error_class": task.error_class,
            "cause_class": task.cause_class,
            "error": task.error,
        }
        for each in connectors
        for task in each.tasks or ()
    ]
    return {
        "connectors": frame(CONNECTORS, rows),
        "connector_tasks": frame(CONNECTOR_TASKS, tasks),
    }


def _row(connect: str, connector: Connector) -> dict[str, Any]:
    return {
        "connect": connect,
        "connector": connector.name,
        "type": connector.type,
        "kind": connector.kind,
        "class_name": connector.class_name,
        "state": connector.state,
        "worker": connector.worker,
        "tasks_expected": connector.tasks_expected,
        "tasks": None if connector.tasks is None else len(connector.tasks),
        "tasks_running": connector.count("RUNNING"),
        "tasks_failed": connector.count("FAILED"),
        "error": connector.error,
        "topics": connector.topics,
        "group": connector.group,
        "dead_letter_topic": connector.dead_letter_topic,
        "dead_letter_headers": connector.dead_letter_headers,
        "errors_tolerance": connector.errors_tolerance,
        "unknown_reason": connector.unknown_reason,
    }
