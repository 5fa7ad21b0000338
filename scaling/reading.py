"""Reads from the lake what advice and what-ifs start from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from alerting.windows import WINDOW_SECONDS, GroupKey
from config.scaling import ScalingSettings
from lake.schema import Table
from lake.store import Lake
from lake.tables import (
    BROKERS,
    CAPACITY,
    CONNECTORS,
    DITTO_CONNECTIONS,
    FORECASTS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    QUEUES,
    TOPICS,
)
from scaling.advise import advise_sources, advise_topics
from scaling.facts import GroupFacts, group_facts
from scaling.model import Recommendation
from scaling.recommend import recommend_group
from scaling.spark import query_facts
from scaling.topic_facts import topic_readers

_SETTINGS_AGE = timedelta(days=1)  # topics are written when they change, and hourly
_DERIVED_AGE = timedelta(days=2)  # Spark derives capacity and forecasts hourly


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What is known of a cluster now.

    Attributes:
        groups: Its groups.
        topics: Rows of ``topics``.
        partitions: Rows of ``partitions`` of the last minutes.
    """

    groups: dict[GroupKey, GroupFacts]
    topics: pl.DataFrame
    partitions: pl.DataFrame


def read_cluster(
    store: Lake, cluster: str, now: datetime, settings: ScalingSettings
) -> ClusterFacts:
    """Read a cluster's groups and topics.

    Raises:
        LakeError: A table cannot be read.
    """
    since = now - timedelta(seconds=WINDOW_SECONDS)
    topics = store.read(TOPICS, since=now - _SETTINGS_AGE, cluster=cluster)
    partitions = store.read(PARTITIONS, since=since, cluster=cluster)
    groups = group_facts(
        store.read(GROUP_OFFSETS, since=since, cluster=cluster),
        store.read(GROUPS, since=since, cluster=cluster),
        store.read(GROUP_MEMBERS, since=since, cluster=cluster),
        topics,
        partitions,
        now=now.timestamp(),
        capacity=store.read(CAPACITY, since=now - _DERIVED_AGE, cluster=cluster),
        forecasts=store.read(FORECASTS, since=now - _DERIVED_AGE, cluster=cluster),
        objective=settings.objective_seconds,
    )
    return ClusterFacts(groups, topics, partitions)


def read_advice(
    store: Lake,
    cluster: str,
    now: datetime,
    settings: ScalingSettings,
    only_group: str | None = None,
) -> list[Recommendation]:
    """Return everything that is advised on a cluster, or on one of its groups.

    Args:
        store: The lake.
        cluster: The cluster.
        now: The present, UTC.
        settings: The objectives.
        only_group: Advise on this group alone.

    Raises:
        LakeError: A table cannot be read.
    """
    facts = read_cluster(store, cluster, now, settings)
    advice = [
        one
        for key, of_group in facts.groups.items()
        if only_group in (None, key.group)
        for one in recommend_group(of_group)
    ]
    if only_group is not None:
        return advice
    since = now - timedelta(seconds=WINDOW_SECONDS)

    def rows(table: Table) -> pl.DataFrame:
        return store.read(table, since=since, cluster=cluster)

    on_topics = advise_topics(
        facts.topics, facts.partitions, rows(BROKERS), topic_readers(facts.groups)
    )
    on_sources = advise_sources(
        facts.groups,
        advice,
        connectors=rows(CONNECTORS),
        connections=rows(DITTO_CONNECTIONS),
        queues=rows(QUEUES),
        streaming=query_facts(settings.spark_queries, facts.partitions),
    )
    return [*advice, *on_topics, *on_sources]
