"""Rows of the lake's tables made by hand, from one moment on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from lake.schemas.current import GROUP_PARTITION_STATUS, GROUP_STATUS

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def rows(table: Any, *given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"cluster": "c", "poll_id": "p", "observed_at": START, **one} for one in given],
        schema=table.polars_schema,
    )


def statuses(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "cluster": "c",
                "evaluated_at": START,
                "status": "OK",
                "members": 1,
                "idle_members": 0,
                "partitions": 1,
                "unknown_partitions": 0,
                **one,
            }
            for one in given
        ],
        schema=GROUP_STATUS.polars_schema,
    )


def partition_statuses(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"cluster": "c", "group": "g", "topic": "t", "evaluated_at": START, **one}
            for one in given
        ],
        schema=GROUP_PARTITION_STATUS.polars_schema,
    )


def history(**values: list[int | None]) -> pl.DataFrame:
    length = len(next(iter(values.values())))
    return pl.DataFrame(
        {"time": [at(60 * number) for number in range(length)], **values},
    )
