"""What changed in the cluster since the poll before."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.changes import Seen, TopicSeen, backward_ends, compare
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
    seen = Seen(
        client.controller,
        {broker.broker_id: f"{broker.host}:{broker.port}" for broker in metadata.brokers},
        frozenset(client.broker_ids),
        {topic: TopicSeen(id_, count) for topic, id_, count in counts.sort("topic").iter_rows()},
    )
    events, client.memory.seen = compare(client.memory.seen, seen)
    try:
        events += backward_ends(client.ends)
    except CollectorError as error:
        client.problems.append(f"whether logs lost records is unknown: {error}")
    return {"cluster_events": frame(CLUSTER_EVENTS, [asdict(event) for event in events])}
