"""History tables, computed from samples on Spark's workers: of new samples, or once more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from config.settings import Settings
from lake.differences import LONGEST_REACH, reach_of
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, CLUSTER_HISTORY, COLLECTIONS
from lake.storage.store import Lake
from spark_metrics.arrivals import SPARK_ERRORS, cause
from spark_metrics.errors import HistoryError
from spark_metrics.gold import GoldTable, hours
from spark_metrics.progress import MINUTE, TimeRange, minute_of
from spark_metrics.rollups import clusters
from spark_metrics.rollups.passes import (
    CADENCE,
    HISTORIES,
    PASSES,
    SOURCES,
    Frames,
    Pass,
    of_clusters,
)
from spark_metrics.samples import (
    Source,
    collected,
    map_together,
    rows_of,
    standing_of,
    tasks_for,
)
from spark_metrics.session import SMALL_ROWS, tune

CHUNK_HOURS = 6
"""The longest time range that is computed at once."""
MOST_AT_ONCE = 10_000_000
"""Samples computed at once, about; their minutes wait in Spark's cache to be written."""

_STANDING = {
    table.name: standing_of(table, one.columns[table.name])
    for one in PASSES
    for table in one.sources
    if table.change_only
}
"""What is kept of bronze tables that leave out what repeats; see ``Standing``."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What minutes from a moment on follow from, beside the samples from then on.

    With it a computation that follows the last one reads a minute of a large cluster, and not a
    quarter of an hour. It is no more than what it would read, so it may be lost at any time.

    Attributes:
        at: The moment.
        rows: By bronze table that leaves out what repeats: the rows that stood then.
    """

    at: datetime
    rows: Mapping[str, pa.Table]


def minutes_of(
    spark: SparkSession,
    lake: Lake,
    passes: Sequence[Pass],
    collections: Collections,
    start: datetime,
    end: datetime,
    *,
    standing: Standing | None = None,
    keep: bool = False,
) -> DataFrame:
    """Return what passes make of the samples from start to end; see ``samples.map_together``.

    Args:
        spark: The session.
        lake: Where the samples are.
        passes: The passes.
        collections: What collectors say of that time.
        start: The first minute.
        end: The end of the last minute.
        standing: What stands at a moment; it is of use where that is the first that is read.
        keep: Whether the result has ``Standing.rows``, for minutes from the end on.

    Raises:
        LakeError: The polls cannot be read.
    """
    since = start - collections.reach
    stood = standing.rows if standing is not None and standing.at == since else {}
    rows = sum(collections.samples(table, since, end) for one in passes for table in one.sources)
    tasks = tasks_for(rows)
    sources = {
        table.name: Source.of(
            *(spark, lake, table, one.columns[table.name], one.together, since, end),
            one_task=tasks == 1,
            standing=stood.get(table.name),
        )
        for one in passes
        for table in one.sources
    }
    written = {
        name: (source.written(spark, lake, stood.get(name)), source.together)
        for name, source in sources.items()
    }
    results = [*(table for one in passes for table in one.histories), clusters.POLLS]
    kept = [(sources[one], table) for one, table in _STANDING.items() if keep and one in sources]
    said, next_since = collections.rows, end - collections.reach

    def on_samples(found: Frames) -> Iterator[tuple[Table, pl.DataFrame]]:
        for source, stands in kept:
            yield stands, source.standing(found[source.table.name], next_since)
        for one in passes:
            if all(found[name].is_empty() for name in one.columns):
                continue
            samples = {name: sources[name].whole(found[name]) for name in one.columns}
            made = one.work({**samples, COLLECTIONS.name: said}, start, end)
            yield from ((table, made[table.name]) for table in results if table.name in made)

    return map_together(written, tasks, on_samples, [*results, *(stands for _, stands in kept)])


class HistoryTables:
    """The way from the samples of a time range to all history tables."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: Settings) -> None:
        self.spark = spark
        self.lake = lake
        self.settings = settings
        self._gold = {table: GoldTable(spark, lake, table) for table in HISTORIES}
        self._standing: Standing | None = None

    def exists(self) -> bool:
        """Return whether every history table was written.

        Raises:
            LakeError: One cannot be read.
        """
        return all(self.lake.exists(table) for table in HISTORIES)

    def compute(self, time_range: TimeRange) -> None:
        """Compute the minutes of a time_range in every history table, from all their samples.

        Args:
            time_range: The minutes.

        Raises:
            HistoryError: Spark failed; some tables may have the minutes, others not.
            LakeError: The lake cannot be read.
        """
        try:
            collections = Collections.read(self.spark, self.lake, time_range.start, time_range.end)
            for start, end in reversed(collections.batches(time_range.start, time_range.end)):
                rows = sum(collections.samples(one, start, end) for one in SOURCES)
                tune(self.spark, is_small=rows <= SMALL_ROWS)
                self._compute(collections, start, end, keep=rows > SMALL_ROWS)
        except SPARK_ERRORS as error:
            raise cause(error) from error

    def _compute(
        self, collections: Collections, start: datetime, end: datetime, *, keep: bool
    ) -> None:
        """Compute minutes once, and keep them until all tables are written."""
        standing, self._standing = self._standing, None
        results = minutes_of(
            *(self.spark, self.lake, PASSES, collections, start, end), standing=standing, keep=keep
        ).persist()
        try:
            polls = pl.DataFrame(rows_of(results, clusters.POLLS).toArrow())
            seen = collected(self.spark, self.lake, BROKERS, ("is_alive",), start, end)
            of_all = of_clusters(polls, seen, collections.rows, start, end).to_arrow()
            whole = self.spark.createDataFrame(of_all, CLUSTER_HISTORY.spark_ddl)
            for table, gold in self._gold.items():
                made = whole if table is CLUSTER_HISTORY else rows_of(results, table)
                gold.replace_minutes(made, start, end)
            if keep:
                rows = {name: rows_of(results, one).toArrow() for name, one in _STANDING.items()}
                self._standing = Standing(at=end - collections.reach, rows=rows)
        finally:
            results.unpersist()

    def roll_up(self, hours: Collection[datetime]) -> None:
        """Compute hours, and the days that hold them, in every history table.

        Args:
            hours: Beginnings of hours.

        Raises:
            HistoryError: Spark failed; some tables may have the hours, others not.
            LakeError: The lake cannot be read.
        """
        for table, gold in self._gold.items():
            try:
                gold.roll_up(hours)
            except SPARK_ERRORS as error:
                raise HistoryError(f"{table.name}: {cause(error)}") from error


def first_sample(lake: Lake, *tables: Table) -> datetime | None:
    """Return a moment that no sample is before, by the statistics of files; None without samples.

    Raises:
        LakeError: A table cannot be read.
    """
    moments = []
    for files in map(lake.files, tables):
        first = None if files.is_empty() else files["min.observed_at"].min()
        if isinstance(first, datetime):
            moments.append(first.astimezone(UTC) if first.tzinfo else first.replace(tzinfo=UTC))
    return min(moments, default=None)


def backfill(
    tables: HistoryTables,
    start: datetime,
    end: datetime,
    *,
    on_progress: Callable[[TimeRange, int, int], None] | None = None,
) -> TimeRange:
    """Compute all history from start to end anew; the rows are those that streaming gives.

    Minutes before the first sample that is still there are left as they are: their samples have
    been deleted, their history has not.

    Args:
        tables: The tables.
        start: The first moment; its whole minute is computed.
        end: The last moment, exclusive.
        on_progress: Called before each time_range with it, its number and how many there are.

    Returns:
        The minutes that were computed.

    Raises:
        HistoryError: There are no samples in that time, or Spark failed.
        LakeError: The lake cannot be read.
    """
    earliest = first_sample(tables.lake, *SOURCES)
    if earliest is None:
        raise HistoryError("there are no samples yet: start the collectors first")
    first = max(minute_of(start), minute_of(earliest))
    last = minute_of(end - timedelta(microseconds=1)) + MINUTE
    if first >= last:
        raise HistoryError(
            f"there are no samples before {earliest:%Y-%m-%d %H:%M} UTC: nothing to compute anew"
        )
    touched = hours(first, last)
    chunks = [touched[at : at + CHUNK_HOURS] for at in range(0, len(touched), CHUNK_HOURS)]
    for number, chunk in enumerate(chunks, start=1):
        time_range = TimeRange(
            start=max(first, chunk[0]), end=min(last, chunk[-1] + timedelta(hours=1))
        )
        if on_progress is not None:
            on_progress(time_range, number, len(chunks))
        tables.compute(time_range)
        tables.roll_up(chunk)
    return TimeRange(start=first, end=last)
