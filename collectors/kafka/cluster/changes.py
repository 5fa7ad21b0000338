"""What changed in a cluster from one poll to the next: pure rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

ENDS_SCHEMA = pl.Schema(
    {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "topic_id": pl.String(),
        "log_end": pl.Int64(),  # at the last poll; null: unknown then
        "known_end": pl.Int64(),  # as last known
        "known_leader": pl.Int32(),  # where that was read
    }
)

CONTROLLER_CHANGED = "controller changed"
BROKER_ADDED = "broker added"
BROKER_MISSING = "broker missing"
BROKER_BACK = "broker back"
BROKER_UNREGISTERED = "broker unregistered"
TOPIC_CREATED = "topic created"
TOPIC_DELETED = "topic deleted"
TOPIC_RECREATED = "topic recreated"
PARTITIONS_ADDED = "partitions added"
UNCLEAN_ELECTION = "unclean election"
LOG_TRUNCATED = "log truncated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEvent:
    """Something that changed.

    Attributes:
        subject: To which broker, topic or partition; ``controller`` for the controller.
        topic: The topic that it is about, if it is about one.
        topics: Some of those that it is about, if there may be several.
    """

    kind: str
    subject: str
    before: str | None = None
    after: str | None = None
    detail: str | None = None
    topic: str | None = None
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicIdentity:
    """A topic: its id (None before Kafka 2.8) and how many partitions it has."""

    topic_id: str | None
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What a poll saw of a cluster; None: nothing was seen yet.

    Attributes:
        controller: Node id of the controller as last known.
        brokers: Broker: host and port, of every broker that was ever seen.
        alive: Those of them that were there.
        vanished: Those of them that this poll did not see. A broker whose metadata are stale must
            not delete topics, so one is gone when the poll after does not see it either.
        registered: The brokers that the controller knows of, running or not.
    """

    controller: int | None = None
    brokers: Mapping[int, str] | None = None
    alive: frozenset[int] | None = None
    topics: Mapping[str, TopicIdentity] | None = None
    vanished: frozenset[str] = frozenset()
    registered: frozenset[int] | None = None


def compare(before: ClusterView, now: ClusterView) -> tuple[list[ClusterEvent], ClusterView]:
    """Return what changed between two polls, and what to compare the next one with.

    The first poll has no events, and an unknown controller is no change.
    """
    events = [*_controller(before, now), *_brokers(before, now)]
    topics = dict(now.topics or {})
    vanished = set()
    for topic, known in (before.topics or {}).items():
        if topic in topics:
            continue
        if topic in before.vanished:
            events.append(
                ClusterEvent(
                    kind=TOPIC_DELETED, subject=topic, topic=topic, before=_partitions(known)
                )
            )
        else:
            vanished.add(topic)
            topics[topic] = known
    if before.topics is not None:
        events += _topics(before.topics, topics)
    controller = now.controller if now.controller is not None else before.controller
    brokers = {**(before.brokers or {}), **(now.brokers or {})}
    registered = now.registered if now.registered is not None else before.registered
    return events, ClusterView(
        controller=controller,
        brokers=brokers,
        alive=now.alive,
        topics=topics,
        vanished=frozenset(vanished),
        registered=registered,
    )


def _controller(before: ClusterView, now: ClusterView) -> Iterator[ClusterEvent]:
    if None not in (before.controller, now.controller) and before.controller != now.controller:
        yield ClusterEvent(
            kind=CONTROLLER_CHANGED,
            subject="controller",
            before=str(before.controller),
            after=str(now.controller),
        )


def _brokers(before: ClusterView, now: ClusterView) -> Iterator[ClusterEvent]:
    if before.alive is None or now.alive is None:
        return
    known, places = before.brokers or {}, now.brokers or {}
    if now.registered is not None:
        for broker in sorted((before.registered or frozenset()) - now.registered):
            yield ClusterEvent(
                kind=BROKER_UNREGISTERED, subject=str(broker), before=known.get(broker)
            )
    for broker in sorted(before.alive - now.alive):
        yield ClusterEvent(kind=BROKER_MISSING, subject=str(broker), before=known.get(broker))
    for broker in sorted(now.alive - before.alive):
        kind = BROKER_BACK if broker in known else BROKER_ADDED
        yield ClusterEvent(kind=kind, subject=str(broker), before=None, after=places.get(broker))


def _topics(
    before: Mapping[str, TopicIdentity], now: Mapping[str, TopicIdentity]
) -> Iterator[ClusterEvent]:
    for topic, seen in now.items():
        known = before.get(topic)
        if known is None:
            yield ClusterEvent(
                kind=TOPIC_CREATED, subject=topic, topic=topic, after=_partitions(seen)
            )
        elif known.topic_id != seen.topic_id and None not in (known.topic_id, seen.topic_id):
            yield ClusterEvent(
                kind=TOPIC_RECREATED,
                subject=topic,
                topic=topic,
                before=known.topic_id,
                after=seen.topic_id,
                detail="its records and the offsets that groups had committed on it are gone",
            )
        elif seen.partitions > known.partitions:
            yield ClusterEvent(
                kind=PARTITIONS_ADDED,
                subject=topic,
                topic=topic,
                before=_partitions(known),
                after=_partitions(seen),
            )


def _partitions(topic: TopicIdentity) -> str:
    return f"{topic.partitions} partition{'' if topic.partitions == 1 else 's'}"


def compare_ends(now: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Put log ends beside those of the poll before.

    Args:
        now: topic, partition, topic_id, leader, log_end.
        before: As ``ends_to_keep`` returned it at the poll before; None at the first one.

    Returns:
        ``now`` with ``before_end``, the end at the poll before, and ``known_end`` and
        ``known_leader``, the newest end that is known and where it was read. All three are null
        for a topic that was created anew in between.
    """
    if before is None:
        before = pl.DataFrame(schema=ENDS_SCHEMA)
    same = pl.col("topic_id").eq_missing(pl.col("topic_id_before"))
    return (
        now.join(
            before.rename({"log_end": "before_end", "topic_id": "topic_id_before"}),
            on=["topic", "partition"],
            how="left",
        )
        .with_columns(
            pl.when(same).then(name).alias(name)
            for name in ("before_end", "known_end", "known_leader")
        )
        .drop("topic_id_before")
    )


def ends_to_keep(ends: pl.DataFrame) -> pl.DataFrame:
    """Return what the next poll is compared with (``ENDS_SCHEMA``)."""
    known = pl.col("log_end").is_not_null()
    return ends.select(
        "topic",
        "partition",
        "topic_id",
        "log_end",
        pl.coalesce("log_end", "known_end").alias("known_end"),
        pl.when(known).then("leader").otherwise("known_leader").alias("known_leader"),
    )


def backward_ends(ends: pl.DataFrame) -> list[ClusterEvent]:
    """Return the partitions whose log ends before where it ended: records were lost.

    A broker tells no end that may still fall back after an orderly change of the leader, so an
    end that went backwards on the same topic is an unclean leader election where the leader
    changed, and a log that was cut or lost its disk where it did not. Where as many records
    arrived since, it goes unnoticed.
    """
    # Brokers without topic ids (before 2.8) may be so old that a new leader tells an end that is
    # not the last.
    is_known = pl.col("topic_id").is_not_null() | pl.col("leader").eq_missing(
        pl.col("known_leader")
    )
    lost = ends.filter(is_known, pl.col("log_end") < pl.col("known_end"))
    events = []
    for row in lost.sort("topic", "partition").iter_rows(named=True):
        old, new = row["known_leader"], row["leader"]
        count = row["known_end"] - row["log_end"]
        moved = old != new
        detail = (
            f"leader {old}, then {new}, which had {count} records less: they are lost"
            if moved
            else f"leader {new} lost {count} records"
        )
        events.append(
            ClusterEvent(
                kind=UNCLEAN_ELECTION if moved else LOG_TRUNCATED,
                subject=f"{row['topic']}-{row['partition']}",
                topic=row["topic"],
                before=str(row["known_end"]),
                after=str(row["log_end"]),
                detail=detail,
            )
        )
    return events


def arrivals_by_topic(ends: pl.DataFrame) -> dict[str, int | None]:
    """Return how many records arrived in each topic since the poll before.

    Returns:
        Topic: the sum over its partitions; None where an end is unknown, now or then, or went
        backwards.
    """
    arrived = pl.col("log_end") - pl.col("before_end")
    sums = ends.group_by("topic").agg(
        pl.when(arrived.is_null().any() | (arrived < 0).any())
        .then(None)
        .otherwise(arrived.sum())
        .alias("arrived")
    )
    return dict(sums.iter_rows())


def arrival_ratio(
    arrivals: Mapping[str, int | None], topic: str, origins: Sequence[str]
) -> float | None:
    """Return a dead-letter topic's arrivals as a share of its origins' arrivals.

    It can be above 1 for a while: what fails now may have arrived long ago.

    Returns:
        The ratio; None where any of the figures is unknown, where there is no origin, and where
        nothing arrived at the origins: five dead letters of no messages are no share of them.
    """
    dead = arrivals.get(topic)
    counts = [arrivals.get(origin) for origin in origins]
    if dead is None or not counts or any(count is None for count in counts):
        return None
    total = sum(count for count in counts if count is not None)
    return dead / total if total else None
