"""Connectors as their collector writes them, for the pages."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from config.load import load
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, CONNECTOR_TASKS, CONNECTORS, MIRROR_OFFSETS
from lake.storage.store import Lake
from tests.app.world import CLUSTER

TOLERANCE = "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded"


def connector(name: str, tasks: int = 1, failed: int = 0, **values: Any) -> dict[str, Any]:
    """A row of ``connectors``: a sink that runs."""
    return {
        "connect": "main",
        "connector": name,
        "type": "sink",
        "kind": "plain",
        "state": "RUNNING",
        "worker": "connect-1:8083",
        "tasks_expected": max(1, tasks),
        "tasks": tasks,
        "tasks_running": tasks - failed,
        "tasks_failed": failed,
        "topics": ["orders"],
        "group": f"connect-{name}",
        "dead_letter_topic": "orders.dlq",
        "errors_tolerance": "all",
        **values,
    }


SOURCE = {
    "type": "source",
    "topics": None,
    "group": None,
    "dead_letter_topic": None,
    "errors_tolerance": None,
}
CONNECTORS_HERE = [
    connector("fine", 2),
    connector("broken", 1, 1, dead_letter_topic=None, errors_tolerance="none"),
    connector("half", 2, 1),
    connector("silent", dead_letter_topic=None),
    connector("on-hold", 1, state="PAUSED", tasks_running=0),
    connector("mirror", 0, kind="mirror", tasks_expected=4, **SOURCE),
    {
        "connect": "main",
        "connector": "lost",
        "unknown_reason": "it has no status",
    },
]
TASKS_HERE = [
    {
        "connect": "main",
        "connector": name,
        "task": 0,
        "state": "FAILED",
        "worker": "connect-1:8083",
        "error_class": "org.apache.kafka.connect.errors.ConnectException",
        "cause_class": "com.fasterxml.jackson.core.JsonParseException",
        "error": TOLERANCE,
    }
    for name in ("broken", "half")
]
MIRRORS_HERE = [
    {
        "connect": "main",
        "connector": "mirror",
        "source_cluster": "east",
        "topic": "ledger",
        "partition": partition,
        "replicated": 100,
        "source_log_end": None if lag is None else 100 + lag,
        "lag": lag,
        "unknown_reason": None if lag is not None else "the end of its log is unknown",
    }
    for partition, lag in enumerate((1234, 0, None))
]


def add_connect(
    filled: Path,
    folder: Path,
    now: datetime,
    *,
    rows: bool = True,
    error: str | None = None,
    group: str | None = None,
) -> Path:
    """Return a copy of a filled folder with a Connect cluster that was just polled.

    Args:
        filled: The folder to copy.
        folder: Where to.
        now: The moment at which the page will be drawn.
        rows: Whether there are connectors.
        error: What a further poll, which failed, said.
        group: The group that the broken connector reads with; None: one that is not known.
    """
    shutil.copytree(filled, folder)
    path = folder / "headroom.yaml"
    path.write_text(path.read_text() + "connect:\n  - name: main\n    url: http://127.0.0.1:8083\n")
    lake = Lake(load(path).lake)
    at = now - timedelta(seconds=4)

    def put(table: Table, found: list[dict[str, Any]], at: datetime = at) -> None:
        sample = {"cluster": CLUSTER, "observed_at": at, "poll_id": f"connect-{at}"}
        schema = {name: table.polars_schema[name] for row in found for name in row}
        schema |= {name: table.polars_schema[name] for name in sample}
        lake.append(table, pl.DataFrame([{**sample, **row} for row in found], schema=schema))

    def tell(status: str, at: datetime, said: str | None) -> None:
        sections = [
            {
                "source": "connect/main",
                "section": section,
                "started_at": at,
                "duration_seconds": 0.1,
                "interval_seconds": 5.0,
                "status": status,
                "error": said,
                "rows": 0,
            }
            for section in ("connectors", "mirrors")
        ]
        put(COLLECTIONS, sections, at)

    # An older poll saw a connector that was deleted since.
    works = connector("broken", dead_letter_topic=None, errors_tolerance="none")
    put(CONNECTORS, [connector("deleted"), works], at - timedelta(seconds=5))
    tell("ok", at - timedelta(seconds=5), None)
    if rows:
        put(
            CONNECTORS,
            [
                {**one, "group": group} if group and one["connector"] == "broken" else one
                for one in CONNECTORS_HERE
            ],
        )
        put(CONNECTOR_TASKS, TASKS_HERE)
        put(MIRROR_OFFSETS, MIRRORS_HERE)
    tell("ok", at, None)
    if error is not None:
        tell("failed", now - timedelta(seconds=1), error)
    return folder
