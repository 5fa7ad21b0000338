"""What a row of ``topics`` says of a topic."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import polars as pl

from collectors.errors import SwitchedOffError
from collectors.kafka.cluster.kinds import hono_tenant, mirror_aliases, topic_kind
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.poll.watched_topics import Topics


class TopicFacts(NamedTuple):
    """A topic as its row tells; one tuple a topic, since there may be very many."""

    kind: str
    tenant: str | None
    partitions: int
    replication_factor: int
    config: TopicConfig | str


def topic_facts(
    topics: Topics,
    dead_letters: Collection[str],
    configs: Outcome[Mapping[str, TopicConfig | str]],
) -> dict[str, TopicFacts]:
    """Return the facts of each watched topic."""
    known: Mapping[str, TopicConfig | str] = {}
    unread = "its configuration was not read"
    try:
        known = configs.value
    except SwitchedOffError as error:
        unread = str(error)
    grouped = topics.partitions.group_by("topic", maintain_order=True).agg(
        pl.len().alias("partitions"),
        pl.col("replicas").list.len().min().alias("replication_factor"),
        pl.col("internal").first(),
    )
    mirrors = mirror_aliases(topics.all.keys())
    return {
        topic: TopicFacts(
            kind=topic_kind(
                topic, internal=internal, dead_letter=topic in dead_letters, mirrors=mirrors
            ),
            tenant=hono_tenant(topic),
            partitions=partitions,
            replication_factor=factor,
            config=known.get(topic, unread),
        )
        for topic, partitions, factor, internal in grouped.iter_rows()
    }
