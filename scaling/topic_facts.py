"""What is known of a topic, taken from the rows of the lake; no input or output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from alerting.deadline import Retention
from alerting.windows import GroupKey
from scaling.facts import GroupFacts, newest, of_newest_poll, partition_counts, retention


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What is known of a topic.

    Attributes:
        cluster: Its cluster.
        topic: Its name.
        partitions: Its partitions.
        brokers: Brokers of the cluster that are up; None is unknown.
        replication_factor: Copies of each partition; None is unknown.
        min_in_sync_replicas: Copies that must confirm a write with acks=all; None is unknown.
        kind: ``application``, ``dead letter`` and so on; None is unknown.
        retention: What it keeps.
        slowest_group: The group furthest behind; None where none reads it or none is known.
        slowest_age_seconds: Age of that group's oldest unread message; None is unknown.
        rates: Messages per second by partition, over ``span_seconds``.
        span_seconds: The time over which they were measured.
        unknown_reason: Why its settings are unknown.
    """

    cluster: str
    topic: str
    partitions: int
    brokers: int | None = None
    replication_factor: int | None = None
    min_in_sync_replicas: int | None = None
    kind: str | None = None
    retention: Retention = field(default_factory=Retention)
    slowest_group: str | None = None
    slowest_age_seconds: float | None = None
    rates: Mapping[int, float | None] = field(default_factory=dict)
    span_seconds: float = 0.0
    unknown_reason: str | None = None


def topic_facts(
    topics: pl.DataFrame,
    partitions: pl.DataFrame,
    brokers: pl.DataFrame,
    groups: Mapping[GroupKey, GroupFacts],
) -> dict[tuple[str, str], TopicFacts]:
    """Gather what is known of every topic.

    Args:
        topics: The newest rows of ``topics``, however old.
        partitions: Rows of ``partitions`` of about the last ten minutes.
        brokers: Rows of ``brokers`` of the newest poll.
        groups: From ``group_facts``.

    Returns:
        The facts of each topic by cluster and topic.
    """
    alive = _alive(brokers)
    rates, spans = _rates(partitions)
    counts = partition_counts(partitions)
    slowest = _slowest(groups)
    facts = {}
    seen = {cluster for cluster, _ in counts}
    for row in newest(topics, "topic").iter_rows(named=True):
        key = (row["cluster"], row["topic"])
        if row["cluster"] in seen and key not in counts:
            continue  # deleted since its settings were last written
        group, age = slowest.get(key, (None, None))
        facts[key] = TopicFacts(
            cluster=row["cluster"],
            topic=row["topic"],
            partitions=counts.get(key) or row["partitions"] or 0,
            brokers=alive.get(row["cluster"]),
            replication_factor=row["replication_factor"],
            min_in_sync_replicas=row["min_in_sync_replicas"],
            kind=row["kind"],
            retention=retention(row),
            slowest_group=group,
            slowest_age_seconds=age,
            rates=rates.get(key, {}),
            span_seconds=spans.get(key, 0.0),
            unknown_reason=row["unknown_reason"],
        )
    return facts


def _alive(brokers: pl.DataFrame) -> dict[str, int]:
    alive = of_newest_poll(brokers).filter(pl.col("is_alive"))
    return {cluster: number for cluster, number in alive.group_by("cluster").len().iter_rows()}


def _rates(
    partitions: pl.DataFrame,
) -> tuple[dict[tuple[str, str], dict[int, float | None]], dict[tuple[str, str], float]]:
    """Return arrival rates by topic and partition, and the time that each topic's cover."""
    seconds = (pl.col("observed_at").dt.epoch("us") / 1e6).alias("at")
    rows = (
        partitions.filter(pl.col("log_end").is_not_null())
        .sort("observed_at")
        .with_columns(seconds)
        .group_by("cluster", "topic", "partition", maintain_order=True)
        .agg(
            (pl.col("at").last() - pl.col("at").first()).alias("span"),
            (pl.col("log_end").last() - pl.col("log_end").first()).alias("arrived"),
            (pl.col("log_end").diff() < 0).any().alias("restarted"),
        )
        .with_columns(
            pl.when(pl.col("span") > 0, ~pl.col("restarted"))
            .then(pl.col("arrived") / pl.col("span"))
            .alias("rate")
        )
    )
    rates: dict[tuple[str, str], dict[int, float | None]] = {}
    spans: dict[tuple[str, str], float] = {}
    for cluster, topic, number, span, rate in rows.select(
        "cluster", "topic", "partition", "span", "rate"
    ).iter_rows():
        rates.setdefault((cluster, topic), {})[number] = rate
        spans[cluster, topic] = max(spans.get((cluster, topic), 0.0), span)
    return rates, spans


def _slowest(
    groups: Mapping[GroupKey, GroupFacts],
) -> dict[tuple[str, str], tuple[str, float]]:
    slowest: dict[tuple[str, str], tuple[str, float]] = {}
    for key, facts in groups.items():
        for part in facts.partitions:
            age = part.status.numbers.behind_seconds
            if age is None or not part.status.subscribed:
                continue
            topic = (key.cluster, part.status.topic)
            if topic not in slowest or age > slowest[topic][1]:
                slowest[topic] = (key.group, age)
    return slowest
