"""The list of topics and one topic in detail, shaped for their pages: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from alerting.facts import with_replication
from app.groups import LOOKS
from app.history import TIME
from app.tables import NEVER
from app.theme import Look
from scaling.facts import GroupFacts
from scaling.skew import Skew, skew
from scaling.topic_facts import TopicFacts

REPLICATION: dict[str, Look] = {
    "offline": Look("offline", "✖", ":material/cloud_off:", "red", "A partition has no leader."),
    "under min ISR": Look(
        "under min ISR",
        "●",
        ":material/error:",
        "red",
        "Fewer in-sync replicas than min.insync.replicas: producers with acks=all are refused.",
    ),
    "under-replicated": Look(
        "under-replicated",
        "▲",
        ":material/warning:",
        "orange",
        "Fewer in-sync replicas than replicas.",
    ),
    "unknown": Look("unknown", "?", ":material/help:", "violet", "It could not be read."),
    "in sync": Look("in sync", "✓", ":material/check:", "gray", "All replicas are in sync."),
}
"""What can be wrong with a partition's replicas, worst first."""


def replication_state() -> pl.Expr:
    """Return the worst that is wrong with a row of ``with_replication``."""
    return (
        pl.when(pl.col("is_offline"))
        .then(pl.lit("offline"))
        .when(pl.col("is_under_min_isr"))
        .then(pl.lit("under min ISR"))
        .when(pl.col("is_under_replicated"))
        .then(pl.lit("under-replicated"))
        .when(pl.col("is_under_replicated").is_null())
        .then(pl.lit("unknown"))
        .otherwise(pl.lit("in sync"))
        .alias("state")
    )


def worst_state(states: set[str]) -> str:
    """Return the worst of the states."""
    return next((state for state in REPLICATION if state in states), "unknown")


def topic_skew(facts: TopicFacts) -> Skew:
    """Return how the topic's traffic falls on its partitions."""
    return skew(facts.rates, span_seconds=facts.span_seconds)


def readers(groups: Mapping[str, GroupFacts]) -> dict[str, list[str]]:
    """Return the groups that read each topic."""
    found: dict[str, list[str]] = {}
    for name, facts in groups.items():
        for topic in facts.subscribed:
            found.setdefault(topic, []).append(name)
    return found


def rows(
    facts: Mapping[str, TopicFacts],
    partitions: pl.DataFrame,
    groups: Mapping[str, GroupFacts],
    trend: pl.DataFrame | None,
) -> pl.DataFrame:
    """Return one row a topic, the busiest first.

    Args:
        facts: What is known of each topic.
        partitions: Rows of ``partitions`` of the newest poll.
        groups: What is known of each group.
        trend: History of topics; None where it cannot be read.
    """
    states = {
        topic: set(found)
        for topic, found in with_replication(partitions)
        .with_columns(replication_state())
        .group_by("topic")
        .agg(pl.col("state").unique())
        .iter_rows()
    }
    sizes = dict(
        partitions.group_by("topic")
        .agg(
            pl.when(pl.col("size_bytes").null_count() == 0)
            .then(pl.col("size_bytes").sum())
            .alias("size")
        )
        .iter_rows()
    )
    read_by = readers(groups)
    frame = pl.DataFrame(
        [_row(name, fact, states, sizes, read_by) for name, fact in facts.items()], schema=_SCHEMA
    )
    if trend is not None and not trend.is_empty():
        courses = (
            trend.sort(TIME)
            .group_by("topic")
            .agg(pl.col("arrival_per_second").drop_nulls().tail(60).alias("trend"))
        )
        frame = frame.join(courses, on="topic", how="left")
    else:
        frame = frame.with_columns(pl.lit(None, pl.List(pl.Float64)).alias("trend"))
    return frame.sort("arrival", "topic", descending=[True, False], nulls_last=True)


def hot_partitions(found: Skew) -> str | None:
    """Name the hot partitions: a bare number would be taken for how many there are."""
    if found.unknown_reason is not None:
        return None
    numbers = ", ".join(str(number) for number in found.hot)
    return f"no. {numbers}" if numbers else "none"


def _row(
    name: str,
    fact: TopicFacts,
    states: Mapping[str, set[str]],
    sizes: Mapping[str, int | None],
    read_by: Mapping[str, list[str]],
) -> dict[str, Any]:
    how_skewed = topic_skew(fact)
    return {
        "topic": name,
        "kind": fact.kind,
        "arrival": total_rate(fact),
        "partitions": fact.partitions,
        "busiest_ratio": how_skewed.busiest_ratio,
        "even_ratio": how_skewed.even_ratio,
        "hot": hot_partitions(how_skewed),
        "size_bytes": sizes.get(name),
        "retention_seconds": retention_seconds(fact),
        "groups": len(read_by.get(name, [])),
        "slowest_group": fact.slowest_group,
        "slowest_age_seconds": fact.slowest_age_seconds,
        "label": [REPLICATION[worst_state(states.get(name, set()))].label],
        "unknown_reason": fact.unknown_reason or how_skewed.unknown_reason,
    }


_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "topic": pl.String,
    "kind": pl.String,
    "arrival": pl.Float64,
    "partitions": pl.Int64,
    "busiest_ratio": pl.Float64,
    "even_ratio": pl.Float64,
    "hot": pl.String,
    "size_bytes": pl.Int64,
    "retention_seconds": pl.Float64,
    "groups": pl.Int64,
    "slowest_group": pl.String,
    "slowest_age_seconds": pl.Float64,
    "label": pl.List(pl.String),
    "unknown_reason": pl.String,
}


def total_rate(facts: TopicFacts) -> float | None:
    """Return what the topic receives; None where a partition's rate is not known."""
    rates = [one for one in facts.rates.values() if one is not None]
    return sum(rates) if rates and len(rates) == len(facts.rates) else None


def retention_seconds(facts: TopicFacts) -> float | None:
    """Return how long the topic keeps messages; ``NEVER`` ends where it deletes none by age."""
    if facts.retention.unknown_reason:
        return None
    if facts.retention.seconds is None or not facts.retention.deletes:
        return NEVER
    return facts.retention.seconds


def partition_rows(facts: TopicFacts, partitions: pl.DataFrame) -> pl.DataFrame:
    """Return one row a partition of a topic: rate, leader, replicas, ends.

    Args:
        facts: What is known of the topic.
        partitions: Its rows of ``partitions`` of the newest poll.
    """
    rates = pl.DataFrame(
        {"partition": list(facts.rates), "arrival": list(facts.rates.values())},
        schema={"partition": pl.Int32, "arrival": pl.Float64},
    )
    hot = set(topic_skew(facts).hot)
    return (
        with_replication(partitions)
        .with_columns(replication_state())
        .join(rates, on="partition", how="left")
        .with_columns(
            pl.col("partition").is_in(hot).alias("is_hot"),
            pl.col("state")
            .map_elements(lambda state: [REPLICATION[state].label], return_dtype=pl.List(pl.String))
            .alias("label"),
            _joined("replicas"),
            _joined("in_sync_replicas"),
            (pl.col("log_end") - pl.col("log_start")).alias("retained"),
        )
        .sort("partition")
    )


def _joined(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.List(pl.String)).list.join(", ").alias(column)


def reader_rows(topic: str, groups: Mapping[str, GroupFacts]) -> pl.DataFrame:
    """Return one row a group that reads the topic, with its lag there; the slowest first."""
    found = []
    for name, facts in groups.items():
        parts = [
            part.status
            for part in facts.partitions
            if part.status.topic == topic and part.status.subscribed
        ]
        if not parts:
            continue
        lags = [part.numbers.lag for part in parts if part.numbers.lag is not None]
        ages = [
            part.numbers.behind_seconds for part in parts if part.numbers.behind_seconds is not None
        ]
        found.append(
            {
                "group": name,
                "label": [LOOKS[facts.status.status].label],
                "lag": sum(lags) if lags else None,
                "unknown": len(parts) - len(lags),
                "behind_seconds": max(ages) if ages else None,
                "members": facts.members,
            }
        )
    return pl.DataFrame(
        found,
        schema={
            "group": pl.String,
            "label": pl.List(pl.String),
            "lag": pl.Int64,
            "unknown": pl.Int64,
            "behind_seconds": pl.Float64,
            "members": pl.Int64,
        },
    ).sort("behind_seconds", "group", descending=[True, False], nulls_last=True)
