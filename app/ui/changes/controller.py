"""Controllers that move with a broker: a part of what became of the broker. Pure."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from alerting.inputs.event_phrases import BROKER_BACK, BROKER_MISSING, CONTROLLER_CHANGED

WITHIN = timedelta(minutes=2)
"""The controller and the brokers are seen by polls of their own, and an election takes a while."""


def folded(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows in which a controller that moved with a broker is told by the broker's row.

    It belongs to the broker that went or came back nearest to it, within ``WITHIN``. One that moved
    by itself keeps its row.

    Args:
        rows: Rows of ``cluster_events``.
    """
    numbered = rows.with_row_index("place")
    time, is_move = "observed_at", pl.col("kind") == CONTROLLER_CHANGED
    brokers = (
        numbered.filter(pl.col("kind").is_in([BROKER_MISSING, BROKER_BACK]))
        .select(time, pl.col("place").alias("of"))
        .sort(time)
    )
    told = (
        numbered.filter(is_move)
        .select(time, "place", "after")
        .sort(time)
        .join_asof(brokers, on=time, strategy="nearest", tolerance=WITHIN)
        .drop_nulls("of")
    )
    if told.is_empty():
        return rows
    moved = pl.lit("controller moved to ") + pl.col("after").str.join(", then to ")
    of_brokers = told.group_by("of", maintain_order=True).agg(moved.alias("moved"))
    detail = pl.concat_str("detail", "moved", separator=", ", ignore_nulls=True)
    return (
        numbered.filter(~pl.col("place").is_in(told["place"].implode()))
        .join(of_brokers, left_on="place", right_on="of", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("moved").is_null()).then("detail").otherwise(detail))
        .select(rows.columns)
    )
