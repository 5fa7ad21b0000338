"""What is kept of a Kafka cluster from poll to poll."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.broker_reads import SIZES_SCHEMA, LogDirectories
from collectors.kafka.cluster.changes import Seen
from collectors.kafka.cluster.offsets import LAG_SCHEMA
from collectors.kafka.cluster.settings_reads import BrokerVersion, Found
from collectors.kafka.cluster.transactions import Transaction
from collectors.kafka.commit_log.estimate import NOTHING_SEEN, CommitsSeen
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.dead_letters.header_samples import Sample, Span
from collectors.kafka.groups.model import GroupRef
from collectors.kafka.groups.subscriptions import TopicPatterns
from collectors.kafka.protocol.broker_requests import Broker
from collectors.kafka.time_lag.partition_times import PartitionTimes

log = logging.getLogger(__name__)

# Goes on while the machine sleeps, where the system has such a clock.
_STEADY_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_STEP_SECONDS = 0.5

TopicConfig = Mapping[str, tuple[str | None, bool]]
"""Setting: its value, and whether it was set on the topic itself."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A dead-letter topic's sample, kept until the topic moves."""

    at: datetime
    spans: tuple[Span, ...]
    outcome: Sample | str


@dataclass(slots=True)
class Memory:
    """What is kept from poll to poll.

    Attributes:
        seen: What the poll before saw of the cluster, for its events.
        ends: Where the logs ended at the poll before (``changes.ENDS_SCHEMA``).
        brokers: Every broker that was ever seen, where it was seen last.
        states: Group: its state, and since when, as far as that was watched.
        group_partitions: group, topic, partition of the last poll's committed offsets.
        times: Topic and partition: what is known of it over time.
        lookup_turn: How many records were asked for so far where not all could be at once.
        configs: Topic: its configuration, or why it is unknown.
        configs_at: When configurations were last read, in monotonic seconds; so log_directories_at.
        configs_seen: The known ones at the poll before, for its events.
        versions: Broker: what it said of its software.
        broker_configs: Broker: setting: its value, and whether somebody set it.
        settings: What administrators have set, by kind, as far as it is known.
        settings_unknown: Kind: why it could not be read the last time.
        settings_due: Kind: when it is to be read anew, in monotonic seconds.
        settings_seen: ``settings`` at the poll before, for its events.
        settings_written: What was last written of it, and when (monotonic seconds).
        follower_lag: topic, partition, broker_id, lag of replicas that were not in sync.
        follower_lag_at: When that was read, in monotonic seconds.
        registrations: Broker: whether it is fenced; or why that is unknown.
        registrations_read: When they were read, and which brokers were alive then.
        transactions: Open ones and what stayed unknown; None: the brokers do not offer them.
        transactions_at: When they were last read, in monotonic seconds.
        transactions_due: When they are to be read anew, likewise.
        topics_written: Topic: its row as it was last written, and when (monotonic seconds).
        clock_offset: This machine's clock minus the time since it was started.
        commit_log: Follows the log of commits; None in a first poll, and where it is switched off.
    """

    cluster_id: str | None = None
    controller: int | None = None
    seen: Seen = field(default_factory=Seen)
    ends: pl.DataFrame | None = None
    brokers: dict[int, Broker] = field(default_factory=dict)
    groups: Mapping[str, GroupRef] = field(default_factory=dict)
    states: dict[str, tuple[str | None, datetime | None]] = field(default_factory=dict)
    group_partitions: pl.DataFrame | None = None
    topic_patterns: TopicPatterns = field(default_factory=TopicPatterns)
    times: dict[tuple[str, int], PartitionTimes] = field(default_factory=dict)
    lookup_turn: int = 0
    configs: dict[str, TopicConfig | str] = field(default_factory=dict)
    configs_at: float | None = None
    configs_seen: Mapping[str, TopicConfig] = field(default_factory=dict)
    follower_lag: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LAG_SCHEMA))
    follower_lag_at: float | None = None
    transactions: tuple[list[Transaction], list[str]] | None = None
    transactions_at: float | None = None
    transactions_due: float = -math.inf
    registrations: Mapping[int, bool] | CollectorError | None = None
    registrations_read: tuple[float, frozenset[int]] | None = None
    versions: dict[int, BrokerVersion] = field(default_factory=dict)
    broker_configs: dict[int, Mapping[str, tuple[str, bool]]] = field(default_factory=dict)
    settings: dict[str, Found] = field(default_factory=dict)
    settings_unknown: dict[str, str] = field(default_factory=dict)
    settings_due: dict[str, float] = field(default_factory=dict)
    settings_seen: Mapping[str, Found] = field(default_factory=dict)
    settings_written: tuple[object, float] | None = None
    log_directories: dict[int, LogDirectories | str] = field(default_factory=dict)
    sizes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SIZES_SCHEMA))
    log_directories_at: float | None = None
    topics_written: dict[str, tuple[object, float]] = field(default_factory=dict)
    samples: dict[str, Sampled] = field(default_factory=dict)
    commit_log: CommitLog | None = None
    commits_seen: CommitsSeen = NOTHING_SEEN
    clock_offset: float | None = None

    def follow_clock(self, now: datetime) -> None:
        """Move the times that were taken from this machine's clock along where that was set.

        Else a clock that was set back would stop all timelines until it is where it was before.
        """
        offset = now.timestamp() - time.clock_gettime(_STEADY_CLOCK)
        before, self.clock_offset = self.clock_offset, offset
        if before is None or abs(offset - before) < _STEP_SECONDS:
            return
        log.warning("this machine's clock was set by %+.1f s", offset - before)
        step = timedelta(seconds=offset - before)
        for times in self.times.values():
            times.shift(offset - before)
        self.commits_seen = self.commits_seen.shifted(step)
        self.states = {
            group: (state, since and since + step) for group, (state, since) in self.states.items()
        }
