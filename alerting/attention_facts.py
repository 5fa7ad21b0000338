"""What the list of things that need attention is made from; whoever asks fills these in."""

from __future__ import annotations

from dataclasses import dataclass

from alerting.samples import GroupStatus


@dataclass(frozen=True, slots=True)
class GroupFact:
    """A consumer group and what it is doing.

    Attributes:
        cluster: Its cluster.
        group: Its name.
        status: From ``group_status``.
        coordinator: The broker that coordinates it, where known.
        kind: What uses it: ``connect``, ``streams``, ``plain`` and so on, where known.
    """

    cluster: str
    group: str
    status: GroupStatus
    coordinator: int | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class DeadlineFact:
    """When retention will reach the oldest message that a group has not read.

    Attributes:
        cluster: Its cluster.
        group: The group.
        topic: The topic.
        partition: The partition that is reached first.
        at: When, in Unix seconds.
    """

    cluster: str
    group: str
    topic: str
    partition: int
    at: float


@dataclass(frozen=True, slots=True)
class IdleFact:
    """A group with consumers that hold no partition.

    Attributes:
        cluster: Its cluster.
        group: The group.
        members: All its members.
        idle: Those without a partition.
        partitions: Partitions that the group can share out.
    """

    cluster: str
    group: str
    members: int
    idle: int
    partitions: int


@dataclass(frozen=True, slots=True)
class MissingBroker:
    """A broker that was there and is not.

    Attributes:
        broker_id: Its id.
        since: First sample without it, in Unix seconds, where known.
    """

    broker_id: int
    since: float | None = None


@dataclass(frozen=True, slots=True)
class ClusterFact:
    """The state of a cluster's brokers and partitions; None is unknown, never zero.

    Attributes:
        cluster: Its name.
        brokers: Brokers that belong to it, missing ones included.
        missing: Those that are missing.
        has_controller: Whether a controller is known to be active.
        under_replicated: Partitions with fewer in-sync replicas than replicas.
        under_min_isr: Partitions with fewer in-sync replicas than min.insync.replicas.
        offline: Partitions without a leader.
        since: When the first of these partitions was seen so, in Unix seconds, where known.
    """

    cluster: str
    brokers: int | None = None
    missing: tuple[MissingBroker, ...] = ()
    has_controller: bool | None = None
    under_replicated: int | None = None
    under_min_isr: int | None = None
    offline: int | None = None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterFact:
    """A dead-letter topic or queue; None is unknown, never zero.

    Attributes:
        cluster: Its cluster.
        source: ``kafka`` or another system.
        name: Its name.
        origin: The topic whose failures it holds.
        redrive_group: The group that works through it; None where none is declared.
        unprocessed: Messages that the redrive group has not read.
        retained: Messages that it holds.
        arrivals_per_second: New messages.
        since: When they began to arrive, in Unix seconds, where known.
        deleted_at: When retention will delete the oldest unprocessed one, where known.
        top_reason: The most frequent exception.
        unknown_reason: Why a value is missing.
    """

    cluster: str
    source: str
    name: str
    origin: str | None = None
    redrive_group: str | None = None
    unprocessed: int | None = None
    retained: int | None = None
    arrivals_per_second: float | None = None
    since: float | None = None
    deleted_at: float | None = None
    top_reason: str | None = None
    unknown_reason: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionFact:
    """A section of the collectors: the monitor watches itself.

    Attributes:
        cluster: Its cluster.
        section: Its name, for example ``group_offsets``.
        status: Of the newest attempt: ``ok``, ``partial``, ``failed`` or ``skipped``.
        last_success_at: Newest attempt that worked, in Unix seconds; None where there is none.
        interval_seconds: Its cadence; None for a single poll, whose age means nothing.
        error: What went wrong.
    """

    cluster: str
    section: str
    status: str
    last_success_at: float | None = None
    interval_seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AttentionFacts:
    """Everything that the list is made from.

    Attributes:
        now: The present, in Unix seconds.
        groups: Every watched group.
        clusters: Every watched cluster.
        dead_letters: Every dead-letter topic and queue.
        deadlines: Groups that retention will overtake.
        idle: Groups with consumers that hold nothing.
        collections: Every section of every cluster.
    """

    now: float
    groups: tuple[GroupFact, ...] = ()
    clusters: tuple[ClusterFact, ...] = ()
    dead_letters: tuple[DeadLetterFact, ...] = ()
    deadlines: tuple[DeadlineFact, ...] = ()
    idle: tuple[IdleFact, ...] = ()
    collections: tuple[CollectionFact, ...] = ()
