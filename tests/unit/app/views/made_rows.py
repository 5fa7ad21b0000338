"""Rows of the lake's tables made by hand, from one moment on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def rows(table: Any, *given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"cluster": "c", "poll_id": "p", "observed_at": START, **one} for one in given],
        schema=table.polars_schema,
    )
