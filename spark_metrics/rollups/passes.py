"""Which history tables there are, and how their minutes follow from the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake.differences import cadences, differences, leading, with_cadence
from lake.schemas.bronze import IN_TOTALS
from lake.schemas.grain import Grain
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
    TABLES,
    TOPIC_HISTORY,
)
from spark_metrics.rollups import clusters, dead_letters, group_partitions, groups, topics
from spark_metrics.rollups.windows import finished, sorted_by_series

Frames = Mapping[str, pl.DataFrame]
"""Rows by the name of what they are of, such as a table's."""

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


CADENCE = ("source", "section", "status", "interval_seconds", "rows")
"""What is needed of ``collections``: one row a section and poll, which every task gets."""

_LAG = ("lag", "lost_messages", "time_lag_seconds", "log_start", "log_end", "committed")


def of_groups(samples: Frames, start: datetime, end: datetime) -> Frames:
    """Return the minutes of groups and their partitions, and what polls saw of all groups."""
    series, counters = group_partitions.SERIES, group_partitions.COUNTERS
    offsets = _counted(samples, GROUP_OFFSETS, series, counters, start, end)
    seen = samples[GROUPS.name].filter(_inside(start, end))
    known = cadences(samples[COLLECTIONS.name])
    polls = groups.group_polls(offsets.filter(IN_TOTALS), seen, known)
    partitions = group_partitions.group_partition_minutes(offsets)
    return {
        GROUP_PARTITION_HISTORY.name: _minutes(GROUP_PARTITION_HISTORY, partitions),
        GROUP_HISTORY.name: _minutes(GROUP_HISTORY, groups.group_minutes(polls)),
        clusters.POLLS.name: clusters.of_groups(polls),
    }


def of_topics(samples: Frames, start: datetime, end: datetime) -> Frames:
    """Return the minutes of topics, and what polls saw of all topics."""
    series = (*topics.SERIES, "partition")
    partitions = _counted(samples, PARTITIONS, series, topics.COUNTERS, start, end)
    polls = topics.topic_polls(partitions)
    return {
        TOPIC_HISTORY.name: _minutes(TOPIC_HISTORY, topics.topic_minutes(polls)),
        clusters.POLLS.name: clusters.of_topics(polls),
    }


def of_dead_letters(samples: Frames, start: datetime, end: datetime) -> Frames:
    """Return the minutes of dead-letter topics and queues."""
    series, counters = dead_letters.SERIES, dead_letters.COUNTERS
    letters = _counted(samples, DEAD_LETTERS, series, counters, start, end)
    rows = dead_letters.dead_letter_minutes(letters)
    return {DEAD_LETTER_HISTORY.name: _minutes(DEAD_LETTER_HISTORY, rows)}


def of_clusters(
    polls: pl.DataFrame,
    brokers: pl.DataFrame,
    collections: pl.DataFrame,
    start: datetime,
    end: datetime,
) -> pl.DataFrame:
    """Return the minutes of clusters.

    Args:
        polls: The rows of ``clusters.POLLS`` of all passes.
        brokers: Rows of ``brokers``.
        collections: Rows of ``collections``.
        start: The first minute.
        end: The end of the last minute.
    """
    inside = _inside(start, end)
    of_brokers = clusters.of_brokers(brokers.filter(inside), collections.filter(inside))
    whole = clusters.together([polls, of_brokers])
    return _minutes(CLUSTER_HISTORY, clusters.cluster_minutes(whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Samples that are read and worked on together.

    Attributes:
        columns: By bronze table: the columns that are read, beside those of every sample.
        together: Rows follow from the samples alone that agree in these columns.
        histories: The history tables whose minutes it makes.
        work: Makes them, of samples and ``collections``; pure.
    """

    columns: Mapping[str, tuple[str, ...]]
    together: tuple[str, ...]
    histories: tuple[Table, ...]
    work: Callable[[Frames, datetime, datetime], Frames]

    @property
    def sources(self) -> tuple[Table, ...]:
        """The bronze tables."""
        return tuple(TABLES[name] for name in self.columns)


PASSES: tuple[Pass, ...] = (
    Pass(
        columns={
            GROUP_OFFSETS.name: ("group", "topic", "partition", "is_subscribed", *_LAG),
            GROUPS.name: ("group", "members"),
        },
        together=("cluster", "group"),
        histories=(GROUP_PARTITION_HISTORY, GROUP_HISTORY),
        work=of_groups,
    ),
    Pass(
        columns={
            PARTITIONS.name: (
                *("topic", "partition", "leader", "replicas", "in_sync_replicas"),
                *("adding_replicas", "min_in_sync_replicas", "log_start", "log_end", "size_bytes"),
            )
        },
        together=("cluster", "topic"),
        histories=(TOPIC_HISTORY,),
        work=of_topics,
    ),
    Pass(
        columns={
            DEAD_LETTERS.name: (
                *("source", "name", "redrive_group", "unprocessed", "retained", "log_end"),
            ),
        },
        together=dead_letters.SERIES,
        histories=(DEAD_LETTER_HISTORY,),
        work=of_dead_letters,
    ),
)
"""All history but the cluster's, which is made of the polls of all passes."""


def _minutes(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    return sorted_by_series(finished(rows, table, Grain.MINUTE), table)


def _counted(
    samples: Frames,
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
