"""Computing all history tables for one range of time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

import polars as pl
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.schemas.grain import Grain
from lake.schemas.tables import COLLECTIONS
from lake.storage.store import Lake
from spark_metrics.arrivals import SPARK_ERRORS, cause
from spark_metrics.errors import HistoryError
from spark_metrics.gold import GoldTable
from spark_metrics.history import HISTORIES, SOURCES
from spark_metrics.minutes import Collections, computed
from spark_metrics.progress import TimeRange

SMALL_ROWS = 500_000
"""Up to so many samples, code that is not generated is the quickest."""

_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
_LARGE = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}


class HistoryTables:
    """The way from the samples of a time range to all history tables."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: Settings) -> None:
        self.spark = spark
        self.lake = lake
        self.settings = settings
        self._gold = {table: GoldTable(spark, lake, table) for table in HISTORIES}

    def exists(self) -> bool:
        """Tell whether every history table was written.

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
                tune(self.spark, sum(collections.samples(one, start, end) for one in SOURCES))
                with computed(self.spark, self.lake, collections, start, end) as minutes:
                    for table, rows in minutes.items():
                        self._gold[table].replace_minutes(rows, start, end)
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
            files = self.lake.files(table)
            if files.is_empty():
                continue
            dates = {hour.date() for hour in hours}
            parts = {hour.hour for hour in hours}
            minutes = files.filter(
                pl.col("partition.grain_seconds") == Grain.MINUTE.seconds,
                pl.col("partition.date").is_in(dates),
                pl.col("partition.part").is_in(parts),
            )
            rows = int(minutes["num_records"].sum())
            tune(self.spark, rows)
            try:
                gold.roll_up(hours, rows)
            except SPARK_ERRORS as error:
                raise HistoryError(f"{table.name}: {cause(error)}") from error

    def earliest(self) -> datetime | None:
        """Return a moment that no sample is before; None without samples.

        Raises:
            LakeError: A table cannot be read.
        """
        moments = [first_of(self.lake.files(table)) for table in (*SOURCES, COLLECTIONS)]
        return min((moment for moment in moments if moment is not None), default=None)


def first_of(files: pl.DataFrame) -> datetime | None:
    """Return the first moment of samples, by their files' statistics; None without files."""
    if files.is_empty():
        return None
    first = files["min.observed_at"].min()
    if isinstance(first, datetime):
        return first.replace(tzinfo=UTC) if first.tzinfo is None else first.astimezone(UTC)
    return None


def tune(spark: SparkSession, rows: int) -> None:
    """Set the session up for the work on so many rows."""
    for key, value in (_SMALL if rows <= SMALL_ROWS else _LARGE).items():
        spark.conf.set(key, value)
