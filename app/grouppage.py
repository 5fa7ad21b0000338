"""One consumer group in detail, shaped for its page: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from app.format import listing, thin
from app.groups import LOOKS
from app.history import TIME
from lake.bronze import IN_TOTALS
from scaling.facts import GroupFacts

HEATMAP_ROWS = 60
"""Most partitions of one heatmap: those with the highest lag."""


def partition_rows(facts: GroupFacts, offsets: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Return one row a partition with its status, offsets and why something is unknown.

    Args:
        facts: What is known of the group.
        offsets: Its rows of ``group_offsets`` of the newest poll.
        now: The present.
    """
    order = list(LOOKS)
    decided = pl.DataFrame(
        [
            {
                "topic": part.topic,
                "partition": part.partition,
                "order": order.index(part.status),
                "label": [LOOKS[part.status].label],
                "behind_seconds": part.numbers.behind_seconds,
                "arrival": part.numbers.arrival_per_second,
                "consumption": part.numbers.consumption_per_second,
                "why": thin(part.reason),
            }
            for part in facts.status.partitions
        ],
        schema=_PARTITION_SCHEMA,
    )
    read = offsets.select(
        "topic",
        pl.col("partition").cast(pl.Int64),
        "committed",
        "log_end",
        "lag",
        "lost_messages",
        pl.coalesce("client_id", "member_id").alias("member"),
        ((pl.lit(now) - pl.col("committed_at")).dt.total_milliseconds() / 1000)
        .clip(lower_bound=0)
        .alias("commit_age_seconds"),
        "unknown_reason",
    )
    return (
        decided.join(read, on=["topic", "partition"], how="left")
        .sort("order", "lag", "topic", "partition", descending=[False, True, False, False])
        .drop("order")
    )


def left_over(offsets: pl.DataFrame) -> str | None:
    """Say which topics the group has committed to and reads no more; None where there are none.

    Args:
        offsets: Its rows of ``group_offsets`` of the newest poll.
    """
    rows = offsets.filter(~IN_TOTALS)
    if rows.is_empty():
        return None
    topics = sorted(rows["topic"].unique())
    return (
        f"Left out: {rows.height} partitions of {listing(topics, limit=5)}. The group has "
        "committed offsets there, and no member subscribes to it any more."
    )


_PARTITION_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "topic": pl.String,
    "partition": pl.Int64,
    "order": pl.Int64,
    "label": pl.List(pl.String),
    "behind_seconds": pl.Float64,
    "arrival": pl.Float64,
    "consumption": pl.Float64,
    "why": pl.String,
}


def member_rows(facts: GroupFacts, members: pl.DataFrame) -> pl.DataFrame:
    """Return one row a member with what it holds and reads; the idle ones come last.

    Args:
        facts: What is known of the group.
        members: Its rows of ``group_members`` of the newest poll.
    """
    held = pl.DataFrame(
        [
            {
                "member_id": part.member_id,
                "consumption": part.status.numbers.consumption_per_second,
                "lag": part.status.numbers.lag,
                "behind_seconds": part.status.numbers.behind_seconds,
            }
            for part in facts.partitions
            if part.member_id is not None
        ],
        schema={
            "member_id": pl.String,
            "consumption": pl.Float64,
            "lag": pl.Int64,
            "behind_seconds": pl.Float64,
        },
    )

    def complete(column: str) -> pl.Expr:
        # A member with a partition that is not known has no known sum.
        return pl.when(pl.col(column).null_count() == 0).then(pl.col(column).sum()).alias(column)

    sums = held.group_by("member_id").agg(
        complete("consumption"), complete("lag"), pl.col("behind_seconds").max()
    )
    rows = members.join(sums, on="member_id", how="left")
    idle = pl.col("assigned_partitions") == 0
    return (
        rows.with_columns(
            pl.when(idle).then(0.0).otherwise(pl.col("consumption")).alias("consumption"),
            pl.when(idle).then(0).otherwise(pl.col("lag")).alias("lag"),
            pl.when(idle).then(pl.lit("idle")).otherwise(pl.lit("works")).alias("does"),
        )
        .with_columns((pl.col("consumption") / pl.col("consumption").sum()).alias("load"))
        .sort("assigned_partitions", "client_id", "member_id", descending=[True, False, False])
    )


def heat_rows(history: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return the rows of a heatmap, and how many partitions there are in all.

    Args:
        history: History of the group's partitions.

    Returns:
        Rows with ``label`` and ``order``: of the partitions with the highest lag, in their order.
    """
    partitions = history.group_by("topic", "partition").agg(pl.col("lag").max().alias("peak"))
    kept = partitions.sort("peak", descending=True, nulls_last=True).head(HEATMAP_ROWS)
    several = partitions["topic"].n_unique() > 1
    label = (
        pl.format("{}-{}", "topic", "partition") if several else pl.col("partition").cast(pl.String)
    )
    ordered = kept.sort("topic", "partition").with_row_index("order").drop("peak")
    rows = history.join(ordered, on=["topic", "partition"]).with_columns(label.alias("label"))
    return rows.select(TIME, "label", "order", "lag", "time_lag_seconds"), partitions.height


def topics_of(facts: GroupFacts) -> Sequence[str]:
    """Return the topics that the group reads, in order."""
    return sorted({part.topic for part in facts.status.partitions})


def with_whole_delays(history: pl.DataFrame, partitions: pl.DataFrame) -> pl.DataFrame:
    """Leave out the group's time lag where that of a partition with messages waiting is unknown.

    The highest of those that are known would look like the delay of the group.

    Args:
        history: History of the group.
        partitions: History of its partitions at the same steps.
    """
    lacking = _lacks_delay(partitions).select("time").unique()
    known = history.join(lacking, on="time", how="anti").select("time", "time_lag_seconds")
    return history.drop("time_lag_seconds").join(known, on="time", how="left").sort("time")


def lacks_delays(rows: pl.DataFrame) -> bool:
    """Tell whether messages wait somewhere whose age is unknown."""
    return not _lacks_delay(rows).is_empty()


def _lacks_delay(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter((pl.col("lag") > 0) & pl.col("time_lag_seconds").is_null())


def neutral_lag(facts: GroupFacts, seconds: float, least: float = 10.0) -> float:
    """Return how many messages arrive on one partition in that time, on average."""
    arrival = facts.status.numbers.arrival_per_second
    number = len(facts.status.partitions)
    if arrival is None or not number:
        return least
    return max(least, arrival * seconds / number)
