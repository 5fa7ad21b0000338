"""Log directories of the brokers, path by path."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

import polars as pl

from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import LOG_DIRECTORIES


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``log_directories``.

    Rows are written when the directories are read: once a minute, and not at every poll. A broker
    whose directories are unknown has one row, without a path and with the reason.
    """
    disks = reads.disks.value
    rows: list[dict[str, Any]] = []
    for broker, found in sorted(disks.by_broker.items()):
        if isinstance(found, str):
            rows.append({"broker_id": broker, "unknown_reason": found})
            reads.problems.append(found)
            continue
        reads.problems.extend(f"broker {broker}: {problem}" for problem in found.problems)
        rows += [
            {"broker_id": broker, **asdict(directory), "is_offline": directory.is_offline}
            for directory in found.directories
        ]
    return {"log_directories": frame(LOG_DIRECTORIES, rows if disks.is_new else [])}
