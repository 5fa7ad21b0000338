"""Computing all history tables for one range of time, again and again or once more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

import polars as pl
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.storage.store import Lake
from spark_metrics.arrivals import SPARK_ERRORS, cause
from spark_metrics.errors import HistoryError
from spark_metrics.gold import GoldTable, hours
from spark_metrics.minutes import Collections, computed
from spark_metrics.progress import MINUTE, TimeRange, minute_of
from spark_metrics.rollups.passes import HISTORIES, SOURCES
from spark_metrics.session import SMALL_ROWS, is_remote, tune

CHUNK_HOURS = 6
"""The longest time range that is computed at once."""


class HistoryTables:
    """The way from the samples of a time range to all history tables."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: Settings) -> None:
        self.spark = spark
        self.lake = lake
        self.settings = settings
        remote = is_remote(settings.spark)
        self._gold = {table: GoldTable(spark, lake, table, is_remote=remote) for table in HISTORIES}

    def exists(self) -> bool:
        """Return whether every history table was written.

        Raises:
            LakeError: One cannot be read.
        """
        return all(table.exists() for table in self._gold.values())

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
                with computed(self.spark, self.lake, collections, start, end) as minutes:
                    for table, made in minutes.items():
                        self._gold[table].replace_minutes(made, start, end)
        except SPARK_ERRORS as error:
            raise cause(error) from error

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

    def earliest(self) -> datetime | None:
        """Return a moment that no sample is before; None without samples.

        Raises:
            LakeError: A table cannot be read.
        """
        moments = [first_of(self.lake.files(table)) for table in SOURCES]
        return min((moment for moment in moments if moment is not None), default=None)


def first_of(files: pl.DataFrame) -> datetime | None:
    """Return the first moment of samples, by their files' statistics; None without files."""
    if files.is_empty():
        return None
    first = files["min.observed_at"].min()
    if isinstance(first, datetime):
        return first.replace(tzinfo=UTC) if first.tzinfo is None else first.astimezone(UTC)
    return None


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
    earliest = tables.earliest()
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
