"""Which history tables there are, and how their minutes follow from the samples."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake.schema import Table
from lake.tables import (
    BROKERS,
    CLUSTER_HISTORY,
    COLLECTIONS,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    PARTITIONS,
    TOPIC_HISTORY,
)
from spark_metrics.rollups import clusters, dead_letters, group_partitions, groups, topics
from spark_metrics.rollups.samples import cadences, differences, with_cadence

SOURCES: tuple[Table, ...] = (
    COLLECTIONS,
    BROKERS,
    PARTITIONS,
    GROUPS,
    GROUP_OFFSETS,
    DEAD_LETTERS,
)
"""The bronze tables that history is made of."""

HISTORIES: tuple[Table, ...] = (
    GROUP_PARTITION_HISTORY,
    GROUP_HISTORY,
    TOPIC_HISTORY,
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
)


def minutes(
    bronze: Mapping[str, DataFrame], start: datetime, end: datetime
) -> dict[str, DataFrame]:
    """Return the minute rows of every history table.

    Args:
        bronze: The samples by table, from as far before ``start`` as a difference may reach.
        start: The first minute.
        end: The end of the last minute.

    Returns:
        By table: rows of the minutes from start to end, not yet ``finished``.
    """
    cadence = cadences(bronze[COLLECTIONS.name])
    inside = (F.col("observed_at") >= start) & (F.col("observed_at") < end)

    def counted(table: Table, series: tuple[str, ...], counters: tuple[str, ...]) -> DataFrame:
        samples = with_cadence(bronze[table.name], cadence)
        return differences(samples, series, counters).where(inside)

    offsets = counted(GROUP_OFFSETS, group_partitions.SERIES, group_partitions.COUNTERS)
    seen_groups = with_cadence(bronze[GROUPS.name].where(inside), cadence)
    read = F.coalesce(F.col("is_subscribed"), F.lit(True))  # else: left over, and in no total
    group_polls = groups.group_polls(offsets.where(read), seen_groups)
    partitions = counted(PARTITIONS, (*topics.SERIES, "partition"), topics.COUNTERS)
    topic_polls = topics.topic_polls(partitions)
    cluster_polls = clusters.cluster_polls(
        topic_polls,
        group_polls,
        bronze[BROKERS.name].where(inside),
        bronze[COLLECTIONS.name].where(inside),
    )
    letters = counted(DEAD_LETTERS, dead_letters.SERIES, dead_letters.COUNTERS)
    return {
        GROUP_PARTITION_HISTORY.name: group_partitions.group_partition_minutes(offsets),
        GROUP_HISTORY.name: groups.group_minutes(group_polls),
        TOPIC_HISTORY.name: topics.topic_minutes(topic_polls),
        CLUSTER_HISTORY.name: clusters.cluster_minutes(cluster_polls),
        DEAD_LETTER_HISTORY.name: dead_letters.dead_letter_minutes(letters),
    }
