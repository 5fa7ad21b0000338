"""The words in which the demo's workload is declared: topics, streams of records, groups.

Rates are messages per second, times are seconds since the start of the workload.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic that the demo creates."""

    name: str
    partitions: int
    retention_seconds: int = 7200
    config: dict[str, str] = field(default_factory=dict)

    def configuration(self) -> dict[str, str]:
        """Return the topic's whole configuration as Kafka wants it."""
        return {"retention.ms": str(self.retention_seconds * 1000), **self.config}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Messages per second over time: a level, with or without a "day" as a sine wave.

    Attributes:
        swing: How far the rate goes above and below the mean.
        start_of_day: Where in the day the workload starts, as a share of it; 0 is the mean on
            the way up, 0.25 the peak.
    """

    mean: float
    swing: float = 0.0
    day_seconds: float = 600.0
    start_of_day: float = 0.0

    def at(self, seconds: float) -> float:
        """Return the messages per second at a time since the start."""
        if not self.swing:
            return self.mean
        share = seconds / self.day_seconds + self.start_of_day
        return max(0.0, self.mean + self.swing * math.sin(2 * math.pi * share))

    @property
    def peak(self) -> float:
        """Return the highest rate of a day."""
        return self.mean + self.swing


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What is produced into one topic.

    Attributes:
        hot_key_share: Share of the records that carry one and the same key.
        seed_age_seconds: The seed's timestamps spread evenly over that many seconds before now.
        poison_partition: The seed holds one record there that no handler can process.
        broken_one_in: Every so-manieth record is no JSON; none by default.
    """

    topic: str
    rate: Rate
    key_prefix: str
    keys: int = 500
    hot_key_share: float = 0.0
    payload_bytes: int = 110
    seed_messages: int = 0
    seed_age_seconds: float = 0.0
    poison_partition: int | None = None
    broken_one_in: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetters:
    """How a group gets rid of records that it cannot process."""

    topic: str
    one_in: int  # every so-manieth record of each partition fails
    style: str  # whose headers they carry: ``spring`` or ``connect``


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A consumer group and what it does."""

    name: str
    topic: str
    members: int
    capacity_per_second: float
    protocol: str = "classic"  # ``classic``, or ``consumer`` for KIP-848
    commit_seconds: float = 1.0
    read_committed: bool = False
    stuck_on_poison: bool = False  # a poison record is tried for ever; its partition stands still
    leaves_after: int | None = None  # processes that many records, commits and never comes back
    delay_seconds: float = 0.0
    dead_letters: DeadLetters | None = None
    forwards_to: str | None = None
    transactional: bool = False  # records and offsets go through one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All topics, streams and groups of a workload, and who works through dead letters."""

    topics: tuple[Topic, ...]
    streams: tuple[Stream, ...]
    groups: tuple[Group, ...]
    redrive_groups: dict[str, str]  # Dead-letter topic to the group that works through it

    def topic(self, name: str) -> Topic:
        """Return the topic of that name."""
        return next(topic for topic in self.topics if topic.name == name)

    def group(self, name: str) -> Group:
        """Return the group of that name."""
        return next(group for group in self.groups if group.name == name)

    def stream(self, topic: str) -> Stream:
        """Return what is produced into a topic."""
        return next(stream for stream in self.streams if stream.topic == topic)
