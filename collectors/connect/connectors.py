"""Connectors and their tasks."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

import polars as pl

from collectors.connect.answers import Connector
from collectors.connect.client import ConnectClient
from collectors.source.rows import frame
from collectors.source.shared_facts import Sink
from config.integrations import ConnectSettings
from lake.schemas.tables import CONNECTOR_TASKS, CONNECTORS


def collect(
    client: ConnectClient, settings: ConnectSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the tables ``connectors`` and ``connector_tasks``; tell the sinks."""
    connectors = sorted(client.connectors(), key=lambda each: each.name)
    client.shared.set_sinks(
        client.cluster,
        settings.name,
        [
            Sink(connector=each.name, group=each.group, dead_letter_topic=each.dead_letter_topic)
            for each in connectors
            if each.group is not None
        ],
    )
    for each in connectors:
        if each.unknown_reason is not None:
            client.problems.append(f"{each.name}: {each.unknown_reason}")
    rows = [_row(settings.name, each) for each in connectors]
    tasks = [
        {"connect": settings.name, "connector": each.name, **asdict(task)}
        for each in connectors
        for task in each.tasks or ()
    ]
    return {
        "connectors": frame(CONNECTORS, rows),
        "connector_tasks": frame(CONNECTOR_TASKS, tasks),
    }


def _row(connect: str, connector: Connector) -> dict[str, Any]:
    return {
        **asdict(connector),
        "connect": connect,
        "connector": connector.name,
        "tasks": None if connector.tasks is None else len(connector.tasks),
        "tasks_running": connector.count("RUNNING"),
        "tasks_failed": connector.count("FAILED"),
    }
