"""What the last minutes were, an evaluation at a time: charts end with it, before history is there.

Pure.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl

from config.storage import COURSE_KEPT
from lake.schemas.current import CLUSTER_COURSE, GROUP_COURSE

GROUPS_FOLLOWED = 100
"""Groups with the most waiting messages: charts of many groups name these first."""

_OF_CLUSTER = (
    *("lag", "time_lag_seconds", "under_replicated", "under_min_isr", "offline"),
    *("topics", "groups"),
)


def cluster_course(known: pl.DataFrame, status: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Return the rows of ``cluster_course``.

    Args:
        known: Its rows of the evaluation before.
        status: The row of ``cluster_status``.
        now: The moment of this evaluation.
    """
    missing = pl.col("missing_brokers").list.len()
    rows = status.select(
        pl.col("newest_poll_at").alias("observed_at"),
        *_OF_CLUSTER,
        (pl.col("brokers") - missing).alias("brokers_alive"),
        pl.col("brokers").alias("brokers_known"),
    )
    rows = rows.filter(
        pl.any_horizontal(pl.col("lag", "under_replicated", "brokers_known").is_not_null())
    )
    return _followed(known, rows, CLUSTER_COURSE.polars_schema, (), now)


def group_course(known: pl.DataFrame, status: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Return the rows of ``group_course``: of the groups that are furthest behind.

    Args:
        known: Its rows of the evaluation before.
        status: The rows of ``group_status``.
        now: The moment of this evaluation.
    """
    rows = (
        status.drop_nulls(["lag", "observed_at"])
        .top_k(GROUPS_FOLLOWED, by="lag")
        .select("observed_at", "group", "lag", "time_lag_seconds", "members")
    )
    return _followed(known, rows, GROUP_COURSE.polars_schema, ("group",), now)


def _followed(
    known: pl.DataFrame,
    rows: pl.DataFrame,
    schema: pl.Schema,
    key: tuple[str, ...],
    now: datetime,
) -> pl.DataFrame:
    """Put what was found now behind what is known, and forget what history tells by now."""
    typed = rows.drop_nulls("observed_at").select(
        pl.col(name).cast(schema[name]) for name in rows.columns
    )
    return (
        pl.concat([known.select(typed.columns), typed])
        .filter(pl.col("observed_at") >= now - COURSE_KEPT)
        .unique(["observed_at", *key], keep="last", maintain_order=True)
    )
