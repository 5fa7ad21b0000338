"""What changed in the cluster since the poll before."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime

import polars as pl

from collectors.errors import CollectorError, SwitchedOffError
from collectors.kafka.cluster.changes import (
    ClusterEvent,
    ClusterView,
    TopicIdentity,
    backward_ends,
    compare,
)
from collectors.kafka.cluster.setting_changes import setting_changes, topic_config_changes
from collectors.kafka.poll.reads import PollView
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import CLUSTER_EVENTS


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``cluster_events``: rows only where something changed.

    Before the first poll nothing is known but the brokers and the controller that the lake tells
    of.
    """
    metadata = client.metadata
    counts = client.partitions.group_by("topic").agg(pl.col("topic_id").first(), pl.len())
    seen = ClusterView(
        controller=client.controller,
        brokers={broker.broker_id: f"{broker.host}:{broker.port}" for broker in metadata.brokers},
        alive=frozenset(client.broker_ids),
        topics={
            topic: TopicIdentity(topic_id=id_, partitions=count)
            for topic, id_, count in counts.sort("topic").iter_rows()
        },
        registered=_registered(client),
    )
    events, seen = compare(client.memory.seen, seen)
    known = client.memory.brokers.keys() | {broker.broker_id for broker in metadata.brokers}
    client.memory.seen = replace(
        seen, brokers={broker: at for broker, at in (seen.brokers or {}).items() if broker in known}
    )
    try:
        events += backward_ends(client.ends)
    except CollectorError as error:
        client.problems.append(f"whether logs lost records is unknown: {error}")
    events += _topic_configs(client)
    found = client.settings_found
    events += setting_changes(client.memory.settings.seen, found)
    client.memory.settings.seen = found
    return {"cluster_events": frame(CLUSTER_EVENTS, [asdict(event) for event in events])}


def _registered(client: PollView) -> frozenset[int] | None:
    """Return the brokers that are registered; None where that is unknown."""
    try:
        return frozenset(client.registrations)
    except CollectorError:
        return None


def _topic_configs(client: PollView) -> list[ClusterEvent]:
    """Compare the configurations that are known with those of the poll before."""
    try:
        now = client.configs
    except SwitchedOffError:
        return []
    known = {topic: config for topic, config in now.items() if not isinstance(config, str)}
    before, client.memory.configs_seen = client.memory.configs_seen, known
    return list(topic_config_changes(before, known))
