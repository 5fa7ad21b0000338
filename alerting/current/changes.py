"""What changed between two evaluations of a cluster: members, brokers, topics. Pure."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from config.storage import RECENT_CHANGES_KEPT

_MOST = 500


def recent_changes(
    known: pl.DataFrame,
    before: tuple[pl.DataFrame, pl.DataFrame],
    after: tuple[pl.DataFrame, pl.DataFrame],
    now: datetime,
) -> pl.DataFrame:
    """Return the changes of the last hour, the newest first.

    A number that is unknown before or after is no change.

    Args:
        known: Rows of ``recent_changes`` of the evaluation before.
        before: Rows of ``group_status`` and ``cluster_status`` of the evaluation before.
        after: The same of this one.
        now: The moment of this evaluation.
    """
    groups = _counts(before[0], "group", "members", "members").join(
        _counts(after[0], "group", "members", "members"), on=["kind", "name"], suffix="_after"
    )
    clusters = _of_cluster(before[1]).join(
        _of_cluster(after[1]), on=["kind", "name"], suffix="_after"
    )
    new = (
        pl.concat([groups, clusters])
        .filter(pl.col("number") != pl.col("number_after"))
        .select(
            pl.lit(now).alias("changed_at"),
            "kind",
            pl.when(pl.col("kind") == "brokers")
            .then(pl.lit(_brokers_of_change(before[1], after[1])))
            .otherwise(pl.col("name"))
            .alias("name"),
            pl.col("number").alias("before"),
            pl.col("number_after").alias("after"),
        )
        .sort("kind", "name")
    )
    columns = ["changed_at", "kind", "name", "before", "after"]
    return (
        pl.concat([new, known.select(columns)], how="vertical_relaxed")
        .filter(pl.col("changed_at") >= now - RECENT_CHANGES_KEPT)
        .head(_MOST)
        .with_columns(pl.lit(now).alias("evaluated_at"))
    )


def _brokers_of_change(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """Return the ids of the brokers that went, or else of those that came back: ``1, 2``."""
    was, now = _missing(before), _missing(after)
    return ", ".join(str(broker) for broker in sorted((now - was) or (was - now)))


def _missing(rows: pl.DataFrame) -> set[int]:
    return {broker for row in rows["missing_brokers"].to_list() for broker in row or ()}


def _counts(rows: pl.DataFrame, name: str, column: str, kind: str) -> pl.DataFrame:
    return rows.filter(pl.col(column).is_not_null()).select(
        pl.lit(kind).alias("kind"),
        pl.col(name).alias("name"),
        pl.col(column).cast(pl.Int64).alias("number"),
    )


def _of_cluster(rows: pl.DataFrame) -> pl.DataFrame:
    named = rows.with_columns(
        pl.lit("").alias("name"),
        (pl.col("brokers") - pl.col("missing_brokers").list.len()).alias("alive"),
    )
    return pl.concat(
        [_counts(named, "name", "alive", "brokers"), _counts(named, "name", "topics", "topics")]
    )
