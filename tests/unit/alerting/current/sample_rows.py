"""Rows of the lake as a poll would have written them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from lake.schemas.model import Table

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def rows(table: Table, *given: dict[str, Any], ago: float = 0.0) -> pl.DataFrame:
    at = NOW - timedelta(seconds=ago)
    common = {"cluster": "c", "observed_at": at, "poll_id": at.isoformat(), "date": at.date()}
    full = [{name: None for name in table.polars_schema} | common | one for one in given]
    return pl.DataFrame(full, schema=table.polars_schema)
