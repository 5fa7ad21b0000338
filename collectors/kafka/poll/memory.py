"""What is kept of a Kafka cluster from poll to poll."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import polars as pl

from collectors.kafka.commit_log.commit_times import CommitTimes
from collectors.kafka.groups.model import GroupRef
from collectors.kafka.groups.subscriptions import TopicPatterns
from collectors.kafka.poll.cluster_changes import ClusterChanges
from collectors.kafka.poll.cluster_settings import SettingsReads
from collectors.kafka.poll.dead_letter_topics import DeadLetterSamples
from collectors.kafka.poll.group_states import GroupStates
from collectors.kafka.poll.known_brokers import KnownBrokers
from collectors.kafka.poll.rare_reads import (
    DiskReads,
    FollowerLagReads,
    RegistrationReads,
    TieredReads,
    TransactionReads,
)
from collectors.kafka.poll.topic_configs import TopicConfigs
from collectors.kafka.poll.written_on_change import WrittenOnChange
from collectors.kafka.time_lag.time_lags import TimeLags
from lake.schemas.model import Table
from lake.schemas.tables import CLUSTER_SETTINGS, TOPICS, WRITTEN_EVERY_SECONDS
from runtime.clock_steps import ClockSteps

# Goes on while the machine sleeps, where the system has such a clock.
_STEADY_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _written(table: Table) -> WrittenOnChange:
    return WrittenOnChange(WRITTEN_EVERY_SECONDS[table.name])


@dataclass(slots=True, kw_only=True)
class Memory:
    """What is kept from poll to poll: each part changes itself, ``read_cluster`` the plain ones.

    Attributes:
        group_refs: Every group that exists as far as is known.
        group_partitions: Gives group, topic, partition of the last poll's committed offsets.
        ends: Where the logs ended at the poll before (``changes.ENDS_SCHEMA``).
    """

    brokers: KnownBrokers = field(default_factory=KnownBrokers)
    group_refs: Mapping[str, GroupRef] = field(default_factory=dict)
    group_states: GroupStates = field(default_factory=GroupStates)
    group_partitions: Callable[[], pl.DataFrame | None] = lambda: None
    topic_patterns: TopicPatterns = field(default_factory=TopicPatterns)
    time_lags: TimeLags = field(default_factory=TimeLags)
    commit_times: CommitTimes = field(default_factory=CommitTimes)
    ends: pl.DataFrame | None = None
    topic_configs: TopicConfigs = field(default_factory=TopicConfigs)
    topics_written: WrittenOnChange = field(default_factory=lambda: _written(TOPICS))
    disks: DiskReads = field(default_factory=DiskReads)
    follower_lag: FollowerLagReads = field(default_factory=FollowerLagReads)
    tiered: TieredReads = field(default_factory=TieredReads)
    registrations: RegistrationReads = field(default_factory=RegistrationReads)
    transactions: TransactionReads = field(default_factory=TransactionReads)
    settings: SettingsReads = field(default_factory=SettingsReads)
    settings_written: WrittenOnChange = field(default_factory=lambda: _written(CLUSTER_SETTINGS))
    changes: ClusterChanges = field(default_factory=ClusterChanges)
    samples: DeadLetterSamples = field(default_factory=DeadLetterSamples)
    _clock: ClockSteps = field(
        default_factory=lambda: ClockSteps(partial(time.clock_gettime, _STEADY_CLOCK))
    )

    def follow_clock(self, now: datetime) -> None:
        """Move the times that were taken from this machine's clock along where that was set.

        Else a clock that was set back would stop all timelines until it is where it was before.
        """
        step = self._clock.step(now.timestamp())
        if not step:
            return
        for timed in (self.time_lags, self.commit_times, self.group_states):
            timed.shift(step)
