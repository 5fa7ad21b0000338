"""The minutes of history tables, computed from samples on Spark's workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, CLUSTER_HISTORY, COLLECTIONS
from lake.storage.store import Lake
from spark_metrics.history import CADENCE, PASSES, POLLS, Pass, of_clusters
from spark_metrics.rollups import clusters
from spark_metrics.rollups.samples import DEFAULT_GAP_SECONDS, GAP_INTERVALS
from spark_metrics.samples import Results, Samples, Source, collected, taken, tasks_for, worked

LONGEST_REACH = timedelta(hours=4)
MOST_AT_ONCE = 10_000_000
"""About so many samples are computed at once; their minutes wait in Spark's cache to be written."""


@dataclass(frozen=True, slots=True)
class Collections:
    """What collectors say of their polls in a stretch of time: few rows, read on the driver.

    Attributes:
        rows: Rows of ``collections``, from as far before the stretch as a difference may reach.
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
        longest = rows.select(pl.col("interval_seconds").max()).item()
        seconds = max(DEFAULT_GAP_SECONDS, GAP_INTERVALS * (longest or 0.0))
        reach = min(timedelta(seconds=seconds), LONGEST_REACH)
        return cls(rows.filter(pl.col("observed_at") >= start - reach), reach)

    def samples(self, table: Table, start: datetime, end: datetime) -> int:
        """Return how many samples of a table collectors counted in a stretch."""
        time = pl.col("observed_at")
        inside = (time >= start) & (time < end) & (pl.col("section") == table.name)
        return int(self.rows.filter(inside)["rows"].sum())

    def pieces(self, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
        """Cut a stretch into pieces of whole minutes with not too many samples."""
        most = max(sum(self.samples(table, start, end) for table in one.sources) for one in PASSES)
        minutes = max(1, round((end - start) / timedelta(minutes=1)))
        count = min(minutes, -(-most // MOST_AT_ONCE) or 1)
        length = timedelta(minutes=-(-minutes // count))
        starts = [start + length * number for number in range(count)]
        return [(first, min(first + length, end)) for first in starts if first < end]


@contextmanager
def computed(
    spark: SparkSession, lake: Lake, collections: Collections, start: datetime, end: datetime
) -> Iterator[Mapping[Table, DataFrame]]:
    """Compute the minutes of all history tables from start to end.

    Each pass is computed once, when its first table is written, and kept until all are.

    Yields:
        The minutes by table.
    """
    passes = [minutes_of(spark, lake, one, collections, start, end).persist() for one in PASSES]
    try:
        made = {
            table: taken(results, table.name)
            for one, results in zip(PASSES, passes, strict=True)
            for table in one.histories
        }
        polls = [taken(found, POLLS).toArrow() for found in passes[:2]]
        seen = collected(spark, lake, BROKERS, ("is_alive",), start, end)
        parts = [pl.DataFrame(one) for one in polls]
        rows = of_clusters(parts, seen, collections.rows, start, end)
        whole = spark.createDataFrame(rows.to_arrow(), CLUSTER_HISTORY.spark_ddl)
        yield made | {CLUSTER_HISTORY: whole}
    finally:
        for one in passes:
            one.unpersist()


def minutes_of(
    spark: SparkSession,
    lake: Lake,
    one: Pass,
    collections: Collections,
    start: datetime,
    end: datetime,
) -> DataFrame:
    """Return what a pass makes of the samples from start to end; see ``samples.worked``.

    Args:
        spark: The session.
        lake: Where the samples are.
        one: The pass.
        collections: What collectors say of that time.
        start: The first minute.
        end: The end of the last minute.

    Raises:
        LakeError: The polls cannot be read.
    """
    since = start - collections.reach
    sources = {
        table.name: Source.of(spark, lake, table, one.columns[table.name], one.together, since, end)
        for table in one.sources
    }
    rows = sum(collections.samples(table, since, end) for table in one.sources)
    columns = {table.name: table.spark_ddl for table in one.histories}
    said, work = collections.rows, one.work

    def on_samples(written: Samples) -> Results:
        samples = {name: sources[name].whole(found) for name, found in written.items()}
        return work({**samples, COLLECTIONS.name: said}, start, end)

    results = columns | {POLLS: clusters.PARTS_DDL}
    return worked(spark, lake, sources, tasks_for(rows), on_samples, results)
