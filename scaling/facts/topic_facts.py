"""What is known of a topic, taken from the rows of the lake; no input or output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from alerting.checks.retention_deadline import Retention
from alerting.current.topics import arrivals
from alerting.inputs.windows import GroupKey
from scaling.facts.group_facts import (
    GroupFacts,
    bytes_per_message,
    newest,
    of_newest_poll,
    partition_counts,
    retention,
)
from scaling.facts.losses import losses


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A group that reads a topic; None is unknown.

    Attributes:
        age_seconds: Age of its oldest unread message on the topic; None is unknown.
        lost_messages: Messages of the topic that retention deleted of late before it read them;
            None: some, and how many is not known.
        kind: ``plain``, ``streams`` and so on.
        capacity_per_second: What one of its members processes at least (lower end of a measured
            interval); None is unknown.
        growth_ratio: Expected peak of what arrives, over what arrives now; None is unknown.
    """

    group: str
    age_seconds: float | None = None
    lost_messages: int | None = 0
    kind: str = "plain"
    members: int | None = None
    capacity_per_second: float | None = None
    growth_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """What is known of a topic; None is unknown.

    Attributes:
        min_in_sync_replicas: Copies that must confirm a write with acks=all; None is unknown.
        kind: ``application``, ``dead letter`` and so on; None is unknown.
        slowest_group: The group furthest behind; None where none reads it or none is known.
        slowest_age_seconds: Age of that group's oldest unread message; None is unknown.
        rates: Messages per second by partition, over ``span_seconds``.
        bytes_per_second: What is written to it, one replica; None is unknown.
        broker_replicas: Replicas on the fullest broker of the cluster; None is unknown.
        busiest_key_per_second: Messages per second of its busiest key; None: keys are not read.
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
    settings: Mapping[str, str] = field(default_factory=dict)
    is_compacted: bool = False
    bytes_per_second: float | None = None
    readers: tuple[Reader, ...] = ()
    broker_replicas: int | None = None
    busiest_key_per_second: float | None = None


def topic_facts(
    topics: pl.DataFrame,
    partitions: pl.DataFrame,
    brokers: pl.DataFrame,
    readers: Mapping[tuple[str, str], tuple[Reader, ...]],
) -> dict[tuple[str, str], TopicFacts]:
    """Gather what is known of every topic."""
    alive = _alive(brokers)
    fullest = _fullest(brokers)
    rates, spans = arrival_rates(partitions)
    counts = partition_counts(partitions)
    sizes = bytes_per_message(partitions)
    facts = {}
    seen = {cluster for cluster, _ in counts}
    for row in newest(topics, "topic").iter_rows(named=True):
        key = (row["cluster"], row["topic"])
        if row["cluster"] in seen and key not in counts:
            continue  # deleted since its settings were last written
        read_by = readers.get(key, ())
        slowest = min(
            (one for one in read_by if one.age_seconds is not None),
            key=lambda one: (-(one.age_seconds or 0.0), one.group),
            default=None,
        )
        facts[key] = TopicFacts(
            cluster=row["cluster"],
            topic=row["topic"],
            partitions=counts.get(key) or row["partitions"] or 0,
            brokers=alive.get(row["cluster"]),
            replication_factor=row["replication_factor"],
            min_in_sync_replicas=row["min_in_sync_replicas"],
            kind=row["kind"],
            retention=retention(row),
            slowest_group=slowest.group if slowest is not None else None,
            slowest_age_seconds=slowest.age_seconds if slowest is not None else None,
            rates=rates.get(key, {}),
            span_seconds=spans.get(key, 0.0),
            unknown_reason=row["unknown_reason"],
            settings={one["key"]: one["value"] for one in row["configs"] or ()},
            is_compacted="compact" in (row["cleanup_policy"] or ""),
            bytes_per_second=_byte_rate(key, rates.get(key, {}), sizes),
            readers=read_by,
            broker_replicas=fullest.get(row["cluster"]),
        )
    return facts


def topic_readers(
    groups: Mapping[GroupKey, GroupFacts],
) -> dict[tuple[str, str], tuple[Reader, ...]]:
    """Return the groups that read each topic, by cluster and topic."""
    found: dict[tuple[str, str], list[Reader]] = {}
    for key, facts in groups.items():
        capacity, numbers = facts.capacity, facts.status.numbers
        usable = capacity is not None and capacity.per_second is not None
        lost = losses(facts)
        peak, now = facts.forecast.per_second, numbers.arrival_per_second
        for topic in facts.subscribed:
            parts = [
                part.status
                for part in facts.partitions
                if part.status.topic == topic and part.status.subscribed
            ]
            ages = [
                part.numbers.behind_seconds
                for part in parts
                if part.numbers.behind_seconds is not None
            ]
            found.setdefault((key.cluster, topic), []).append(
                Reader(
                    group=key.group,
                    age_seconds=max(ages, default=None),
                    lost_messages=_together(
                        [number for part, number in lost if part.topic == topic]
                    ),
                    kind=facts.kind,
                    members=facts.members,
                    capacity_per_second=capacity.low if usable and capacity is not None else None,
                    growth_ratio=max(1.0, peak / now) if peak is not None and now else None,
                )
            )
    return {key: tuple(readers) for key, readers in found.items()}


def _together(lost: Sequence[int | None]) -> int | None:
    """Return how many messages partitions lost; None where no number is known of any."""
    known = [one for one in lost if one is not None]
    return sum(known) if known or not lost else None


def _alive(brokers: pl.DataFrame) -> dict[str, int]:
    alive = of_newest_poll(brokers).filter(pl.col("is_alive"))
    return {cluster: number for cluster, number in alive.group_by("cluster").len().iter_rows()}


def arrival_rates(
    partitions: pl.DataFrame,
) -> tuple[dict[tuple[str, str], dict[int, float | None]], dict[tuple[str, str], float]]:
    """Return how much arrives, by cluster and topic.

    Returns:
        Messages per second of each partition, None where its log was cut back meanwhile or only
        one poll knows it; and the seconds that a topic's rates cover.
    """
    found = arrivals(partitions).sort("cluster", "topic", "partition")
    rates: dict[tuple[str, str], dict[int, float | None]] = {}
    spans: dict[tuple[str, str], float] = {}
    for cluster, topic, number, span, rate in found.iter_rows():
        rates.setdefault((cluster, topic), {})[number] = rate
        spans[cluster, topic] = max(spans.get((cluster, topic), 0.0), span)
    return rates, spans


def _fullest(brokers: pl.DataFrame) -> dict[str, int]:
    """Return the replicas on each cluster's fullest broker."""
    rows = of_newest_poll(brokers).group_by("cluster").agg(pl.col("replicas").max())
    return {cluster: number for cluster, number in rows.iter_rows() if number is not None}


def _byte_rate(
    key: tuple[str, str],
    rates: Mapping[int, float | None],
    sizes: Mapping[tuple[str, str, int], float],
) -> float | None:
    """Return what is written, bytes per second; None where a partition's part is unknown."""
    parts = [
        None
        if rate is None
        else rate * sizes.get((*key, number), 0.0 if rate == 0 else float("nan"))
        for number, rate in rates.items()
    ]
    known = [part for part in parts if part is not None and part == part]
    return sum(known) if parts and len(known) == len(parts) else None
