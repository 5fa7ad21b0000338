"""What changed in the cluster since the poll before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import polars as pl

from collectors.errors import CollectorError, SwitchedOffError
from collectors.kafka.cluster.broker_reads import Quorum
from collectors.kafka.cluster.changes import (
    ClusterEvent,
    ClusterView,
    TopicIdentity,
    backward_ends,
    compare,
)
from collectors.kafka.cluster.metadata import Metadata, TopicConfig
from collectors.kafka.cluster.replica_changes import SEEN, replica_changes, voter_changes
from collectors.kafka.cluster.setting_changes import setting_changes, topic_config_changes
from collectors.kafka.cluster.settings_reads import Found
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.poll.watched_topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What changed.

    Attributes:
        problems: What could not be compared.
    """

    events: list[ClusterEvent]
    problems: list[str]


class ClusterChanges:
    """Compares each poll with the one before.

    Before the first poll nothing is known but what the lake tells of.
    """

    def __init__(
        self,
        seen: ClusterView | None = None,
        topic_configs: Mapping[str, TopicConfig] | None = None,
        settings: Mapping[str, Found] | None = None,
    ) -> None:
        """Begin with what was known before a restart."""
        self._seen = seen or ClusterView()
        self._topic_configs = dict(topic_configs or {})
        self._settings = dict(settings or {})
        self._replicas: pl.DataFrame | None = None
        self._voters: frozenset[int] | None = None

    def compare(
        self,
        *,
        metadata: Metadata,
        topics: Topics,
        controller: int | None,
        quorum: Outcome[Quorum],
        registrations: Outcome[Mapping[int, bool]],
        ends: Outcome[pl.DataFrame],
        configs: Outcome[Mapping[str, TopicConfig | str]],
        settings: Mapping[str, Found],
        known_brokers: Collection[int],
    ) -> Changes:
        """Return what changed since the last call."""
        events = self._cluster(metadata, topics, controller, registrations, known_brokers)
        events += self._moves(topics, quorum)
        problems = []
        try:
            events += backward_ends(ends.value)
        except CollectorError as error:
            problems.append(f"whether logs lost records is unknown: {error}")
        events += self._configs(configs)
        events += setting_changes(self._settings, settings)
        self._settings = dict(settings)
        return Changes(events=events, problems=problems)

    def _cluster(
        self,
        metadata: Metadata,
        topics: Topics,
        controller: int | None,
        registrations: Outcome[Mapping[int, bool]],
        known_brokers: Collection[int],
    ) -> list[ClusterEvent]:
        counts = dict(topics.partitions["topic"].value_counts().iter_rows())
        seen = ClusterView(
            controller=controller,
            brokers={
                broker.broker_id: f"{broker.host}:{broker.port}" for broker in metadata.brokers
            },
            alive=frozenset(broker.broker_id for broker in metadata.brokers),
            topics={
                topic: TopicIdentity(topic_id=topics.all[topic], partitions=counts[topic])
                for topic in topics.watched
            },
            registered=_registered(registrations),
        )
        events, seen = compare(self._seen, seen)
        places = (seen.brokers or {}).items()
        self._seen = replace(
            seen, brokers={broker: at for broker, at in places if broker in known_brokers}
        )
        return events

    def _moves(self, topics: Topics, quorum: Outcome[Quorum]) -> list[ClusterEvent]:
        """Compare leaders, in-sync replicas and the controllers that vote."""
        replicas = topics.partitions.select(SEEN)
        events = [] if self._replicas is None else replica_changes(self._replicas, replicas)
        self._replicas = replicas
        voters = _voters(quorum)
        events += voter_changes(self._voters, voters)
        self._voters = self._voters if voters is None else voters
        return events

    def _configs(self, configs: Outcome[Mapping[str, TopicConfig | str]]) -> list[ClusterEvent]:
        """Compare the configurations that are known with those of the poll before."""
        try:
            now = configs.value
        except SwitchedOffError:
            return []
        known = {topic: config for topic, config in now.items() if not isinstance(config, str)}
        before = self._topic_configs
        # Of one that is unknown just now, what was known before stays.
        self._topic_configs = {
            topic: config for topic, config in before.items() if topic in now
        } | known
        return list(topic_config_changes(before, known))


def _registered(registrations: Outcome[Mapping[int, bool]]) -> frozenset[int] | None:
    """Return the brokers that are registered; None where that is unknown."""
    try:
        return frozenset(registrations.value)
    except CollectorError:
        return None


def _voters(quorum: Outcome[Quorum]) -> frozenset[int] | None:
    """Return the controllers that vote; None where that is unknown."""
    try:
        nodes = quorum.value.nodes
    except CollectorError:
        return None
    return frozenset(node.node_id for node in nodes if node.role != "observer")
