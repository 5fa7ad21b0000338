"""What is kept of a Kafka cluster from poll to poll."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.broker_reads import SIZES_SCHEMA, LogDirectories
from collectors.kafka.cluster.changes import ClusterView
from collectors.kafka.cluster.offsets import LAG_SCHEMA
from collectors.kafka.cluster.transactions import Transaction
from collectors.kafka.commit_log.estimate import NOTHING_SEEN, CommitsSeen
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.dead_letters.header_samples import OffsetRange, Sample
from collectors.kafka.groups.model import GroupRef
from collectors.kafka.groups.subscriptions import TopicPatterns
from collectors.kafka.poll.cluster_settings import SettingsMemory
from collectors.kafka.poll.due import Due
from collectors.kafka.protocol.broker_requests import Broker
from collectors.kafka.time_lag.partition_times import PartitionTimes

log = logging.getLogger(__name__)

# Goes on while the machine sleeps, where the system has such a clock.
_STEADY_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_STEP_SECONDS = 0.5

TopicConfig = Mapping[str, tuple[str | None, bool]]
"""Setting: its value, and whether it was set on the topic itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A dead-letter topic's sample, kept until the topic moves."""

    at: datetime
    spans: tuple[OffsetRange, ...]
    outcome: Sample | str


@dataclass(slots=True, kw_only=True)
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
        configs_seen: The known ones at the poll before, for its events.
        settings: What administrators have set.
        follower_lag: topic, partition, broker_id, lag of replicas that were not in sync.
        registrations: Broker: whether it is fenced; or why that is unknown.
        registered_of: Which brokers were alive when they were read.
        transactions: Open ones and what stayed unknown; None: the brokers do not offer them.
        due: When each of those that are not read at every poll is read anew.
        topics_written: Topic: its row as it was last written, and when (monotonic seconds).
        clock_offset: This machine's clock minus the time since it was started.
        rebalances_since: When the last group rebalanced before a restart.
        commit_log: Follows the log of commits; None in a first poll, and where it is switched off.
    """

    cluster_id: str | None = None
    controller: int | None = None
    seen: ClusterView = field(default_factory=ClusterView)
    ends: pl.DataFrame | None = None
    brokers: dict[int, Broker] = field(default_factory=dict)
    groups: Mapping[str, GroupRef] = field(default_factory=dict)
    states: dict[str, tuple[str | None, datetime | None]] = field(default_factory=dict)
    group_partitions: pl.DataFrame | None = None
    topic_patterns: TopicPatterns = field(default_factory=TopicPatterns)
    times: dict[tuple[str, int], PartitionTimes] = field(default_factory=dict)
    lookup_turn: int = 0
    configs: dict[str, TopicConfig | str] = field(default_factory=dict)
    configs_seen: Mapping[str, TopicConfig] = field(default_factory=dict)
    follower_lag: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LAG_SCHEMA))
    transactions: tuple[list[Transaction], list[str]] | None = None
    registrations: Mapping[int, bool] | CollectorError = field(default_factory=dict)
    registered_of: frozenset[int] | None = None
    due: Due = field(default_factory=Due)
    settings: SettingsMemory = field(default_factory=SettingsMemory)
    log_directories: dict[int, LogDirectories | str] = field(default_factory=dict)
    sizes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SIZES_SCHEMA))
    topics_written: dict[str, tuple[object, float]] = field(default_factory=dict)
    samples: dict[str, Sampled] = field(default_factory=dict)
    rebalances_since: datetime | None = None
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
