"""Which groups' numbers of members changed between two evaluations of a cluster. Pure."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from config.storage import RECENT_CHANGES_KEPT

_MOST = 500
_COMPARED = ("group", "members")


def recent_changes(
    known: pl.DataFrame, before: pl.DataFrame, after: pl.DataFrame, now: datetime
) -> pl.DataFrame:
    """Return the changes of the last hour, the newest first.

    A number that is unknown before or after is no change.

    Args:
        known: Rows of ``recent_changes`` of the evaluation before.
        before: Rows of ``group_status`` of the evaluation before.
        after: The same of this one.
        now: The moment of this evaluation.
    """
    if known.is_empty() and before.select(_COMPARED).equals(after.select(_COMPARED)):
        return known
    new = (
        _members(before)
        .join(_members(after), on="name", suffix="_after")
        .filter(pl.col("members") != pl.col("members_after"))
        .select(
            pl.lit(now).alias("changed_at"),
            pl.lit("members").alias("kind"),
            "name",
            pl.col("members").alias("before"),
            pl.col("members_after").alias("after"),
        )
        .sort("name")
    )
    return (
        pl.concat([new, known.select(new.columns)], how="vertical_relaxed")
        .filter(pl.col("changed_at") >= now - RECENT_CHANGES_KEPT)
        .head(_MOST)
        .with_columns(pl.lit(now).alias("evaluated_at"))
    )


def _members(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop_nulls("members").select(
        pl.col("group").alias("name"), pl.col("members").cast(pl.Int64)
    )
