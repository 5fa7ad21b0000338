"""What one poll has read of a cluster: what sections turn into rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from collectors.errors import CollectorError, SwitchedOffError
from collectors.kafka.cluster.broker_reads import Quorum
from collectors.kafka.cluster.metadata import Metadata, TopicConfig
from collectors.kafka.commit_log.commit_times import LogReport
from collectors.kafka.groups.model import Groups
from collectors.kafka.poll.cluster_changes import Changes
from collectors.kafka.poll.cluster_settings import SettingsFound
from collectors.kafka.poll.dead_letter_topics import Depth, Samples
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.poll.rare_reads import Disks, OpenTransactions
from collectors.kafka.poll.topic_facts import TopicFacts
from collectors.kafka.poll.watched_topics import Topics
from collectors.kafka.protocol.broker_requests import Broker
from collectors.source.shared_facts import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReads:
    """Everything that one poll has read, each with its error where that failed.

    Attributes:
        metadata: Brokers and partitions; all partitions, watched or not.
        topics: All topics, and the partitions of the watched ones.
        groups: Watched groups with their members.
        state_since: Group: since when it is in its state; None where that is not known.
        group_lags: The rows of ``group_offsets``.
        offsets: First, last stable and end offsets of the watched partitions.
        ends: The log ends beside those of the poll before (``changes.compare_ends``).
        configs: Topic: its configuration, or why it is unknown.
        tiered: What lies on disks and in remote storage (``TIERED_SCHEMA``), of tiered topics.
        topic_facts: Topic: what its row says.
        topics_due: The topics whose rows are to be written.
        reassignments: Partitions that are being moved (``REASSIGNMENTS_SCHEMA``).
        follower_lag: How far replicas that are not in sync are behind (``LAG_SCHEMA``).
        eligible_leaders: Who may lead partitions without a leader (``ELIGIBLE_SCHEMA``).
        controller: Node id of the controller; None where there is none or it is not permitted to
            know.
        registrations: Broker: whether it is fenced.
        settings: What administrators have set.
        settings_due: Whether that is to be written: empty or not.
        dead_letters: Watched dead-letter topics, with how each was found.
        depths: Dead-letter topic: how many records it holds.
        commit_log: What the log of commits told; None where it is not followed.
        known_brokers: Every broker that is not taken out of the cluster, alive or not.
        failures: Broker: why it did not answer.
        throttled_seconds: Broker: how long it asked to wait since the poll before.
        certificates: Broker: when the certificate expires that it showed.
        sinks: Sinks of Kafka Connect on this cluster.
        ditto_groups: Groups that Eclipse Ditto calls its own.
        problems: What went wrong in the section that is being computed; such a one is ``partial``.
    """

    metadata: Outcome[Metadata]
    topics: Outcome[Topics]
    groups: Outcome[Groups]
    state_since: Outcome[Mapping[str, datetime | None]]
    group_lags: Outcome[pl.DataFrame]
    commit_log: Outcome[LogReport | None]
    offsets: Outcome[pl.DataFrame]
    ends: Outcome[pl.DataFrame]
    disks: Outcome[Disks]
    quorum: Outcome[Quorum]
    controller: Outcome[int | None]
    reassignments: Outcome[pl.DataFrame]
    follower_lag: Outcome[pl.DataFrame]
    eligible_leaders: Outcome[pl.DataFrame]
    configs: Outcome[Mapping[str, TopicConfig | str]]
    tiered: Outcome[pl.DataFrame]
    topic_facts: Outcome[Mapping[str, TopicFacts]]
    topics_due: Outcome[Sequence[str]]
    registrations: Outcome[Mapping[int, bool]]
    settings: Outcome[SettingsFound]
    settings_due: Outcome[Collection[str]]
    transactions: Outcome[OpenTransactions]
    changes: Outcome[Changes]
    dead_letters: Outcome[Mapping[str, str]]
    depths: Outcome[Mapping[str, Depth]]
    samples: Outcome[Samples]
    known_brokers: Mapping[int, Broker]
    failures: Mapping[int, str]
    throttled_seconds: Mapping[int, float]
    certificates: Mapping[int, datetime]
    sinks: Sequence[Sink]
    ditto_groups: Collection[str]
    problems: list[str] = field(default_factory=list)

    def report(self, what: str, error: CollectorError) -> None:
        """Note what is unknown because of an error; what is switched off is no problem."""
        if not isinstance(error, SwitchedOffError):
            self.problems.append(f"{what}: {error}")

    def seconds(self, names: Sequence[str]) -> float:
        """Return how long some of the reads took together."""
        outcomes: list[Outcome[object]] = [getattr(self, name) for name in names]
        return sum(outcome.seconds for outcome in outcomes)
