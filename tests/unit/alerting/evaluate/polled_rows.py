"""Rows of polls of a cluster, as collectors write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from alerting.evaluate.status_history import GroupMemory
from alerting.inputs.frames import Frames
from alerting.inputs.windows import GroupKey
from alerting.status.model import GroupStatus
from config.settings import LakeSettings
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS
from lake.storage.store import Lake

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SECTIONS = ("brokers", "partitions", "groups", "group_offsets", "dead_letters")


def classified(frames: Frames) -> Mapping[GroupKey, GroupStatus]:
    """Return what groups do by the rows alone: what a memory finds that has no past."""
    nowhere = Lake(LakeSettings(uri="/nonexistent/lake"))
    return GroupMemory(nowhere).statuses(frames)


def rows(table: Table, *given: dict[str, Any], seconds_ago: float = 0.0) -> pl.DataFrame:
    at = NOW - timedelta(seconds=seconds_ago)
    common = {"cluster": "c", "observed_at": at, "poll_id": at.isoformat()}
    full = [{name: None for name in table.polars_schema} | common | one for one in given]
    return pl.DataFrame(full, schema=table.polars_schema)


def collected(
    *, seconds_ago: float = 0.0, status: str = "ok", source: str = "kafka", interval: float = 15.0
) -> Any:
    sections = [
        {
            "source": source,
            "section": name,
            "status": status,
            "interval_seconds": interval,
            "rows": 1,
            "error": None if status == "ok" else "not authorised",
        }
        for name in SECTIONS
    ]
    return rows(COLLECTIONS, *sections, seconds_ago=seconds_ago)
