"""The minutes of history tables, computed from samples on Spark's workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, CLUSTER_HISTORY, COLLECTIONS
from lake.storage.store import Lake
from spark_metrics.rollups import clusters
from spark_metrics.rollups.passes import CADENCE, PASSES, Frames, Pass, of_clusters
from spark_metrics.rollups.samples import DEFAULT_GAP_SECONDS, GAP_INTERVALS
from spark_metrics.samples import Source, collected, map_together, rows_of, tasks_for

LONGEST_REACH = timedelta(hours=4)
MOST_AT_ONCE = 10_000_000
"""Samples computed at once, about; their minutes wait in Spark's cache to be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collections:
    """What collectors say of their polls in a time range: few rows, read on the driver.

    Attributes:
        rows: Rows of ``collections``, from as far before the range as a difference may reach.
        reach: How far before a moment that is.
    """

    rows: pl.DataFrame
    reach: timedelta

    @classmethod
    def read(cls, spark: SparkSession, lake: Lake, start: datetime, end: datetime) -> Collections:
        """Read them.

        Raises:
            LakeError: They cannot be read.
        """
        rows = collected(spark, lake, COLLECTIONS, CADENCE, start - LONGEST_REACH, end)
        reach = reach_of(rows.select(pl.col("interval_seconds").max()).item())
        return cls(rows=rows.filter(pl.col("observed_at") >= start - reach), reach=reach)

    def samples(self, table: Table, start: datetime, end: datetime) -> int:
        """Return how many samples of a table collectors counted in a time range."""
        time = pl.col("observed_at")
        inside = (time >= start) & (time < end) & (pl.col("section") == table.name)
        return int(self.rows.filter(inside)["rows"].sum())

    def batches(self, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
        """Cut a time range into batches of whole minutes with not too many samples."""
        count = sum(self.samples(table, start, end) for one in PASSES for table in one.sources)
        minutes = max(1, round((end - start) / timedelta(minutes=1)))
        count = min(minutes, -(-count // MOST_AT_ONCE) or 1)
        length = timedelta(minutes=-(-minutes // count))
        starts = [start + length * number for number in range(count)]
        return [(first, min(first + length, end)) for first in starts if first < end]


def reach_of(interval_seconds: float | None) -> timedelta:
    """Return how far apart two samples may lie for their difference to count.

    Args:
        interval_seconds: The longest interval between polls, None where it is unknown.
    """
    seconds = max(DEFAULT_GAP_SECONDS, GAP_INTERVALS * (interval_seconds or 0.0))
    return min(timedelta(seconds=seconds), LONGEST_REACH)


@contextmanager
def computed(
    spark: SparkSession, lake: Lake, collections: Collections, start: datetime, end: datetime
) -> Iterator[Mapping[Table, DataFrame]]:
    """Compute the minutes of all history tables from start to end.

    They are computed once, and kept until all tables are written.

    Yields:
        The minutes by table.
    """
    results = minutes_of(spark, lake, PASSES, collections, start, end).persist()
    try:
        polls = pl.DataFrame(rows_of(results, clusters.POLLS.name).toArrow())
        seen = collected(spark, lake, BROKERS, ("is_alive",), start, end)
        rows = of_clusters(polls, seen, collections.rows, start, end)
        whole = spark.createDataFrame(rows.to_arrow(), CLUSTER_HISTORY.spark_ddl)
        histories = [table for one in PASSES for table in one.histories]
        made = {table: rows_of(results, table.name) for table in histories}
        yield made | {CLUSTER_HISTORY: whole}
    finally:
        results.unpersist()


def minutes_of(
    spark: SparkSession,
    lake: Lake,
    passes: Sequence[Pass],
    collections: Collections,
    start: datetime,
    end: datetime,
) -> DataFrame:
    """Return what passes make of the samples from start to end; see ``samples.map_together``.

    Args:
        spark: The session.
        lake: Where the samples are.
        passes: The passes.
        collections: What collectors say of that time.
        start: The first minute.
        end: The end of the last minute.

    Raises:
        LakeError: The polls cannot be read.
    """
    since = start - collections.reach
    rows = sum(collections.samples(table, since, end) for one in passes for table in one.sources)
    tasks = tasks_for(rows)
    sources = {
        table.name: Source.of(
            *(spark, lake, table, one.columns[table.name], one.together, since, end),
            one_task=tasks == 1,
        )
        for one in passes
        for table in one.sources
    }
    written = {
        name: (source.written(spark, lake), source.together) for name, source in sources.items()
    }
    results = [table for one in passes for table in one.histories]
    said = collections.rows

    def on_samples(found: Frames) -> Iterator[tuple[str, pl.DataFrame]]:
        for one in passes:
            if all(found[name].is_empty() for name in one.columns):
                continue
            samples = {name: sources[name].whole(found[name]) for name in one.columns}
            yield from one.work({**samples, COLLECTIONS.name: said}, start, end).items()

    return map_together(written, tasks, on_samples, [*results, clusters.POLLS])
