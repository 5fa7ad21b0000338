"""When retention deletes dead letters before somebody redrives them: one answer for everybody."""

from __future__ import annotations

import polars as pl

from alerting.checks.retention_deadline import DeadlineState
from lake.schemas.current import READERS

_COMING, _NONE, _UNKNOWN = (
    pl.lit(state.value)
    for state in (DeadlineState.COMING, DeadlineState.NONE, DeadlineState.UNKNOWN)
)


def with_deletion(letters: pl.DataFrame, readers: pl.DataFrame | None) -> pl.DataFrame:
    """Add what retention does to the oldest dead letter that waits in each topic.

    Where the redrive group reads the topic, it is what ``readers`` has of the two. Where nobody
    does, the oldest is deleted when it is as old as its topic keeps it.

    Args:
        letters: Rows of ``dead_letter_rows``.
        readers: Rows of ``readers``; None: who reads what is not known.

    Returns:
        Besides the rows ``is_redriven``, whether its redrive group reads the topic, ``loss``, a
        ``DeadlineState``, and ``deleted_at`` where it is coming.
    """
    kept = pl.duration(microseconds=(pl.col("retention_seconds") * 1e6).cast(pl.Int64))
    old_at = pl.coalesce("oldest_unprocessed_at", "oldest_retained_at") + kept
    is_redriven = pl.col("is_redriven")
    may_be_redriven = pl.col("redrive_group").is_not_null() & pl.lit(readers is None)
    loss = (
        pl.when(pl.coalesce("unprocessed", "retained") == 0)
        .then(_NONE)
        .when(is_redriven)
        .then(pl.coalesce("loss", _UNKNOWN))
        .when(may_be_redriven | old_at.is_null())
        .then(_UNKNOWN)
        .otherwise(_COMING)
    )
    return (
        letters.join(_reads(readers), on=["redrive_group", "name"], how="left")
        .with_columns(is_redriven.fill_null(False))
        .with_columns(
            loss.alias("loss"),
            pl.when(is_redriven).then("data_loss_at").otherwise(old_at).alias("deleted_at"),
        )
        .with_columns(pl.when(pl.col("loss") == _COMING).then("deleted_at").alias("deleted_at"))
        .drop("data_loss_at")
    )


def _reads(readers: pl.DataFrame | None) -> pl.DataFrame:
    rows = READERS.empty if readers is None else readers
    return rows.select(
        pl.col("group").alias("redrive_group"),
        pl.col("topic").alias("name"),
        pl.lit(True).alias("is_redriven"),
        "loss",
        "data_loss_at",
    )
