"""What is known of a group or a topic, taken from the rows of the lake; no input or output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from alerting.deadline import Backlog, Retention
from alerting.lag_status import GroupStatus, PartitionStatus, group_status
from alerting.windows import GroupKey, build_windows


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition of a group.

    Attributes:
        status: What it is doing, with its rates.
        member_id: The member that holds it; None where nobody does, or it is unknown.
        bytes_per_message: Mean size on the broker's disk, of one replica.
    """

    status: PartitionStatus
    member_id: str | None = None
    bytes_per_message: float | None = None

    @property
    def backlog(self) -> Backlog:
        """What waits in it."""
        numbers = self.status.numbers
        return Backlog(
            lag=numbers.lag,
            age_seconds=numbers.behind_seconds,
            lost_messages=numbers.lost_messages,
            arrival_per_second=numbers.arrival_per_second,
            consumption_per_second=numbers.consumption_per_second,
            bytes_per_message=self.bytes_per_message,
        )


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """What a group must know of a topic that it reads.

    Attributes:
        partitions: Its partitions.
        retention: What it keeps.
        kind: ``application``, ``changelog``, ``repartition`` and so on; None is unknown.
        is_compacted: Whether old values of a key are removed.
    """

    partitions: int
    retention: Retention
    kind: str | None = None
    is_compacted: bool = False


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What is known of a consumer group.

    Attributes:
        cluster: Its cluster.
        group: Its name.
        status: What it is doing.
        partitions: Its partitions, in the order of ``status.partitions``.
        topics: The topics that it reads, by name.
        kind: ``plain``, ``connect``, ``streams``, ``ksqldb``, ``ditto`` and so on.
        type: ``classic``, ``consumer`` (KIP-848) or ``share``.
        assignor: Its protocol, for example ``range``; None is unknown.
        members: Its members; None is unknown.
        idle_members: Members that hold no partition; None is unknown.
        static_members: Members with a group.instance.id; None is unknown.
    """

    cluster: str
    group: str
    status: GroupStatus
    partitions: tuple[PartitionFacts, ...] = ()
    topics: Mapping[str, TopicLimits] = field(default_factory=dict)
    kind: str = "plain"
    type: str | None = None
    assignor: str | None = None
    members: int | None = None
    idle_members: int | None = None
    static_members: int | None = None

    @property
    def subscribed(self) -> dict[str, int]:
        """Partitions of each topic that the group still reads."""
        read = {part.status.topic for part in self.partitions if part.status.subscribed}
        seen: dict[str, int] = {}
        for part in self.partitions:
            if part.status.topic in read:
                seen[part.status.topic] = seen.get(part.status.topic, 0) + 1
        return {
            topic: self.topics[topic].partitions if topic in self.topics else seen[topic]
            for topic in sorted(read)
        }


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


def group_facts(
    offsets: pl.DataFrame,
    groups: pl.DataFrame,
    members: pl.DataFrame,
    topics: pl.DataFrame,
    partitions: pl.DataFrame,
    *,
    now: float | None = None,
) -> dict[GroupKey, GroupFacts]:
    """Gather what is known of every group.

    Args:
        offsets: Rows of ``group_offsets`` of about the last ten minutes.
        groups: Rows of ``groups`` of the same time.
        members: Rows of ``group_members`` of the same time.
        topics: The newest rows of ``topics``, however old.
        partitions: The newest rows of ``partitions``.
        now: The present in Unix seconds; where given, old samples say nothing.

    Returns:
        The facts of each group of the newest polls.
    """
    windows = build_windows(offsets, groups)
    limits = _limits(topics, partitions)
    sizes = _bytes_per_message(partitions)
    holders = _holders(offsets)
    idle = _idle(members)
    facts = {}
    for row in _of_newest_poll(groups).iter_rows(named=True):
        key = GroupKey(row["cluster"], row["group"])
        status = group_status(windows.get(key, ()), now=now)
        read = {part.topic for part in status.partitions}
        idle_members, static_members = _of_members(row, idle)
        facts[key] = GroupFacts(
            cluster=key.cluster,
            group=key.group,
            status=status,
            partitions=tuple(
                PartitionFacts(
                    part,
                    holders.get((*key, part.topic, part.partition)),
                    sizes.get((key.cluster, part.topic, part.partition)),
                )
                for part in status.partitions
            ),
            topics={
                topic: limits[key.cluster, topic]
                for topic in read
                if (key.cluster, topic) in limits
            },
            kind=row["kind"] or "plain",
            type=row["type"],
            assignor=row["protocol"],
            members=row["members"],
            idle_members=idle_members,
            static_members=static_members,
        )
    return facts


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
    counts = _partition_counts(partitions)
    slowest = _slowest(groups)
    facts = {}
    seen = {cluster for cluster, _ in counts}
    for row in _newest(topics, "topic").iter_rows(named=True):
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
            retention=_retention(row),
            slowest_group=group,
            slowest_age_seconds=age,
            rates=rates.get(key, {}),
            span_seconds=spans.get(key, 0.0),
            unknown_reason=row["unknown_reason"],
        )
    return facts


def _newest(rows: pl.DataFrame, *key: str) -> pl.DataFrame:
    return rows.sort("observed_at").unique(["cluster", *key], keep="last", maintain_order=True)


def _of_newest_poll(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("observed_at") == pl.col("observed_at").max().over("cluster"))


def _retention(row: Mapping[str, Any]) -> Retention:
    return Retention(
        seconds=_limit(row["retention_seconds"]),
        bytes_per_partition=_limit(row["retention_bytes"]),
        deletes="delete" in (row["cleanup_policy"] or "delete"),
        unknown_reason=row["unknown_reason"],
    )


def _limit(value: Any) -> Any:
    """Return a limit; Kafka's -1 stands for none."""
    return None if value is None or value < 0 else value


def _limits(topics: pl.DataFrame, partitions: pl.DataFrame) -> dict[tuple[str, str], TopicLimits]:
    counts = _partition_counts(partitions)
    return {
        (row["cluster"], row["topic"]): TopicLimits(
            partitions=counts.get((row["cluster"], row["topic"])) or row["partitions"] or 0,
            retention=_retention(row),
            kind=row["kind"],
            is_compacted="compact" in (row["cleanup_policy"] or ""),
        )
        for row in _newest(topics, "topic").iter_rows(named=True)
    }


def _partition_counts(partitions: pl.DataFrame) -> dict[tuple[str, str], int]:
    return {
        (cluster, topic): number
        for cluster, topic, number in _of_newest_poll(partitions)
        .group_by("cluster", "topic")
        .agg(pl.col("partition").n_unique())
        .iter_rows()
    }


def _bytes_per_message(partitions: pl.DataFrame) -> dict[tuple[str, str, int], float]:
    held = pl.col("log_end") - pl.col("log_start")
    rows = (
        _newest(partitions, "topic", "partition")
        .filter(held > 0, pl.col("size_bytes").is_not_null())
        .select("cluster", "topic", "partition", (pl.col("size_bytes") / held).alias("size"))
    )
    return {(cluster, topic, number): size for cluster, topic, number, size in rows.iter_rows()}


def _holders(offsets: pl.DataFrame) -> dict[tuple[str, str, str, int], str]:
    rows = (
        _newest(offsets, "group", "topic", "partition")
        .filter(pl.col("member_id").is_not_null())
        .select("cluster", "group", "topic", "partition", "member_id")
    )
    return {
        (cluster, group, topic, number): member
        for cluster, group, topic, number, member in rows.iter_rows()
    }


def _idle(members: pl.DataFrame) -> dict[tuple[str, str, str], tuple[int | None, int]]:
    """Return idle and static members by cluster, group and poll."""
    rows = members.group_by("cluster", "group", "poll_id").agg(
        pl.when(pl.col("assigned_partitions").null_count() == 0)
        .then((pl.col("assigned_partitions") == 0).sum())
        .alias("idle"),
        pl.col("instance_id").is_not_null().sum().alias("static"),
    )
    return {
        (cluster, group, poll): (idle, static)
        for cluster, group, poll, idle, static in rows.iter_rows()
    }


def _of_members(
    group: Mapping[str, Any], idle: Mapping[tuple[str, str, str], tuple[int | None, int]]
) -> tuple[int | None, int | None]:
    found = idle.get((group["cluster"], group["group"], group["poll_id"]))
    if found is not None:
        return found
    return (0, 0) if group["members"] == 0 else (None, None)


def _alive(brokers: pl.DataFrame) -> dict[str, int]:
    alive = _of_newest_poll(brokers).filter(pl.col("is_alive"))
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
