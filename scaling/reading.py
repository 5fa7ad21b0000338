"""Reads from the lake what advice and what-ifs start from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from alerting.windows import WINDOW_SECONDS, GroupKey
from lake.store import Lake
from lake.tables import GROUP_MEMBERS, GROUP_OFFSETS, GROUPS, PARTITIONS, TOPICS
from scaling.facts import GroupFacts, group_facts

_SETTINGS_AGE = timedelta(days=1)  # topics are written when they change, and hourly


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


def read_cluster(store: Lake, cluster: str, now: datetime) -> ClusterFacts:
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
    )
    return ClusterFacts(groups, topics, partitions)
