"""Which history tables there are, and how their minutes follow from the samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake.schemas.bronze import IN_TOTALS
from lake.schemas.model import Table
from lake.schemas.tables import (
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
from spark_metrics.rollups.samples import cadences, differences, leading, with_cadence

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


Samples = Mapping[str, pl.DataFrame]
"""Samples by bronze table, from as far before a stretch as a difference may reach."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What rows are made of.

    Attributes:
        columns: By bronze table: the columns that are read, beside those of every sample.
        split_by: The column by whose values samples may be split over tasks: rows follow from the
            samples of one value alone. None: from all.
    """

    columns: Mapping[str, tuple[str, ...]]
    split_by: str | None = None


_CADENCE = {COLLECTIONS.name: ("source", "interval_seconds")}
_LAG = ("lag", "lost_messages", "time_lag_seconds", "log_end", "committed")
_OF_GROUPS = {
    GROUP_OFFSETS.name: ("group", "topic", "partition", "is_subscribed", *_LAG),
    GROUPS.name: ("group", "members"),
}
_OF_TOPICS = {
    PARTITIONS.name: (
        *("topic", "partition", "leader", "replicas", "in_sync_replicas"),
        *("min_in_sync_replicas", "log_start", "log_end", "size_bytes"),
    )
}

NEEDS: Mapping[str, Needs] = {
    GROUP_PARTITION_HISTORY.name: Needs(
        {GROUP_OFFSETS.name: ("group", "topic", "partition", "log_start", *_LAG), **_CADENCE},
        "group",
    ),
    GROUP_HISTORY.name: Needs({**_OF_GROUPS, **_CADENCE}, "group"),
    TOPIC_HISTORY.name: Needs({**_OF_TOPICS, **_CADENCE}, "topic"),
    DEAD_LETTER_HISTORY.name: Needs(
        {
            DEAD_LETTERS.name: (
                *("source", "name", "redrive_group", "unprocessed", "retained", "log_end"),
            ),
            **_CADENCE,
        }
    ),
}
"""What the minutes of each history table are made of, but for the cluster's."""

CLUSTER_PARTS: tuple[Needs, ...] = (
    Needs({**_OF_GROUPS, **_CADENCE}, "group"),
    Needs({**_OF_TOPICS, **_CADENCE}, "topic"),
    Needs(
        {
            BROKERS.name: ("broker_id", "is_alive"),
            COLLECTIONS.name: ("source", "section", "status", "interval_seconds"),
        }
    ),
)
"""What the parts of a cluster's polls are made of, that ``clusters.together`` adds up."""


def minutes(table: Table, samples: Samples, start: datetime, end: datetime) -> pl.DataFrame:
    """Return the minute rows of a history table other than the cluster's.

    Args:
        table: The table.
        samples: The samples that ``NEEDS`` names.
        start: The first minute.
        end: The end of the last minute.

    Returns:
        Rows of the minutes from start to end, not yet ``finished``.
    """
    if table == GROUP_PARTITION_HISTORY:
        return group_partitions.group_partition_minutes(_offsets(samples, start, end))
    if table == GROUP_HISTORY:
        return groups.group_minutes(_group_polls(samples, start, end))
    if table == TOPIC_HISTORY:
        return topics.topic_minutes(_topic_polls(samples, start, end))
    if table == DEAD_LETTER_HISTORY:
        series, counters = dead_letters.SERIES, dead_letters.COUNTERS
        letters = _counted(samples, DEAD_LETTERS, series, counters, start, end)
        return dead_letters.dead_letter_minutes(letters)
    raise ValueError(f"{table.name} has no minutes of its own")


def cluster_parts(samples: Samples, start: datetime, end: datetime) -> pl.DataFrame:
    """Return what the samples of one of ``CLUSTER_PARTS`` tell of each poll of each cluster."""
    if GROUP_OFFSETS.name in samples:
        return clusters.of_groups(_group_polls(samples, start, end))
    if PARTITIONS.name in samples:
        return clusters.of_topics(_topic_polls(samples, start, end))
    inside = _inside(start, end)
    return clusters.of_brokers(
        samples[BROKERS.name].filter(inside), samples[COLLECTIONS.name].filter(inside)
    )


def _offsets(samples: Samples, start: datetime, end: datetime) -> pl.DataFrame:
    series, counters = group_partitions.SERIES, group_partitions.COUNTERS
    return _counted(samples, GROUP_OFFSETS, series, counters, start, end)


def _group_polls(samples: Samples, start: datetime, end: datetime) -> pl.DataFrame:
    offsets = _offsets(samples, start, end).filter(IN_TOTALS)
    seen = samples[GROUPS.name].filter(_inside(start, end))
    return groups.group_polls(offsets, seen, cadences(samples[COLLECTIONS.name]))


def _topic_polls(samples: Samples, start: datetime, end: datetime) -> pl.DataFrame:
    series = (*topics.SERIES, "partition")
    return topics.topic_polls(_counted(samples, PARTITIONS, series, topics.COUNTERS, start, end))


def _counted(
    samples: Samples,
    table: Table,
    series: tuple[str, ...],
    counters: tuple[str, ...],
    start: datetime,
    end: datetime,
) -> pl.DataFrame:
    # In one piece: to sort what lies in a piece a file costs half as much again.
    needed = leading(samples[table.name], series, counters, start).rechunk()
    timed = with_cadence(needed, cadences(samples[COLLECTIONS.name]))
    return differences(timed, series, counters).filter(_inside(start, end))


def _inside(start: datetime, end: datetime) -> pl.Expr:
    return (pl.col("observed_at") >= start) & (pl.col("observed_at") < end)
