"""Advice on a cluster, evaluated here and now: for who finds none of the job's in the lake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import polars as pl

from alerting.inputs.windows import GroupKey
from config.scaling import ScalingSettings
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, CONNECTORS, DITTO_CONNECTIONS, QUEUES
from lake.storage.store import Lake
from scaling.advice.model import Recommendation
from scaling.advisers.advise import advise_groups, advise_sources, advise_topics
from scaling.advisers.integrations.spark_query import query_facts
from scaling.facts.group_facts import GroupFacts
from scaling.facts.lake_reader import WINDOW, facts_of, read_groups
from scaling.facts.topic_facts import Reader, topic_readers


def evaluate(
    lake: Lake,
    cluster: str,
    now: datetime,
    settings: ScalingSettings,
    only_group: str | None = None,
) -> list[Recommendation]:
    """Return everything that is advised on a cluster, or on one of its groups.

    What the job remembered of earlier advice counts; nothing is written.
    """
    names = None if only_group is None else [only_group]
    frames = read_groups(lake, now, cluster=cluster, names=names)
    facts = facts_of(frames, now=now, objective=settings.objective_seconds)
    advice = advise_groups(facts, frames.state_texts()).advice
    if only_group is not None:
        return advice
    readers = topic_readers(facts)
    topics = (frames.topics, frames.partitions)
    others = evaluate_others(lake, now, settings, topics, readers, facts, advice, cluster=cluster)
    return [*advice, *others]


def evaluate_others(
    lake: Lake,
    now: datetime,
    settings: ScalingSettings,
    topics: tuple[pl.DataFrame, pl.DataFrame],
    readers: Mapping[tuple[str, str], tuple[Reader, ...]],
    groups: Mapping[GroupKey, GroupFacts],
    on_groups: Iterable[Recommendation],
    *,
    cluster: str | None = None,
) -> list[Recommendation]:
    """Return the advice on topics, connectors, connections, queues and queries."""

    def rows(table: Table) -> pl.DataFrame:
        return lake.read(table, since=now - WINDOW, cluster=cluster)

    on_topics = advise_topics(*topics, rows(BROKERS), readers)
    on_sources = advise_sources(
        groups,
        on_groups,
        connectors=rows(CONNECTORS),
        connections=rows(DITTO_CONNECTIONS),
        queues=rows(QUEUES),
        streaming=query_facts(settings.spark_queries, topics[1]),
    )
    return [*on_topics, *on_sources]
