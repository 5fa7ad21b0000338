"""What is kept of a Kafka cluster from poll to poll."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from collectors.kafka.cluster.broker_reads import SIZES_SCHEMA, LogDirectories
from collectors.kafka.cluster.changes import Seen
from collectors.kafka.commit_log.estimate import NOTHING_SEEN, CommitsSeen
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.dead_letters.header_samples import Sample, Span
from collectors.kafka.groups.model import GroupRef
from collectors.kafka.protocol.broker_requests import Broker
from collectors.kafka.time_lag.partition_times import PartitionTimes

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
        topics_written: Topic: its row as it was last written, and when.
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
    times: dict[tuple[str, int], PartitionTimes] = field(default_factory=dict)
    lookup_turn: int = 0
    configs: dict[str, TopicConfig | str] = field(default_factory=dict)
    configs_at: datetime | None = None
    log_directories: dict[int, LogDirectories | str] = field(default_factory=dict)
    sizes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SIZES_SCHEMA))
    log_directories_at: datetime | None = None
    topics_written: dict[str, tuple[object, datetime]] = field(default_factory=dict)
    samples: dict[str, Sampled] = field(default_factory=dict)
    commit_log: CommitLog | None = None
    commits_seen: CommitsSeen = NOTHING_SEEN
