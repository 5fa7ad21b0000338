"""Writing history tables: minutes as they close, and the hours and days that hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F

from config.settings import LakeSettings
from lake.schema import Table
from lake.store import Lake
from spark_metrics.files import File, TableFiles, for_spark, read_parquet
from spark_metrics.rollups.windows import (
    DAY,
    HOUR,
    MINUTE,
    PARTITIONED_BY,
    coarser,
    finished,
    placed,
)

MOST_FILES = 15
"""In so many files the minutes of the current hour may lie."""

Parts = dict[tuple[int, datetime], list[File]]

_PROPERTIES = {
    "delta.checkpointInterval": "50",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 1 hours",
}


class GoldTable:
    """One history table as the history jobs write it. Every method is one atomic commit.

    A row's part (``date``, ``grain_seconds``, ``part``) is the minutes of an hour, the hours of a
    day, or a day. Whole parts are replaced, so that doing a thing twice changes nothing, and no
    file has to be searched for the rows to be replaced.
    """

    def __init__(
        self, spark: SparkSession, lake: Lake, settings: LakeSettings, table: Table
    ) -> None:
        self._spark = spark
        self._files = TableFiles(lake.uri(table), settings)
        self.table = table

    def exists(self) -> bool:
        """Tell whether the table was ever written.

        Raises:
            HistoryError: It cannot be read.
        """
        return self._files.position() is not None

    def last_minute(self) -> datetime | None:
        """Return the newest minute that the table has a row of.

        Raises:
            HistoryError: It cannot be read.
        """
        parts = self._parts()
        newest = max((hour for grain, hour in parts if grain == MINUTE), default=None)
        if newest is None:
            return None
        last = newest + timedelta(minutes=59)
        known = [file.highest("window_start") for file in parts[MINUTE, newest]]
        return max((moment or last for moment in known), default=last)

    def append_minutes(self, minutes: DataFrame) -> None:
        """Add minutes of which the table has no row: the caller must know that."""
        rows = finished(minutes, self.table, MINUTE)
        self._writer(rows, "append").save(for_spark(self._files.uri))

    def replace_minutes(self, minutes: DataFrame, start: datetime, end: datetime) -> None:
        """Put minutes in the place of all that the table has from start to end."""
        parts = self._parts()
        if not parts:
            self.append_minutes(minutes)
            return
        outside = (F.col("window_start") < start) | (F.col("window_start") >= end)
        kept = self._rows(parts, MINUTE, hours(start, end)).where(outside)
        self._replace(kept.unionByName(finished(minutes, self.table, MINUTE)))

    def roll_up(self, touched: Collection[datetime], newest: datetime) -> None:
        """Compute hours anew from their minutes, and their days from all hours of the day.

        Where the minutes of an hour lie in many files, these are put together on the way.

        Args:
            touched: Beginnings of hours.
            newest: The newest sample; hours that ended before it are complete.
        """
        parts = self._parts()
        new = coarser(self._rows(parts, MINUTE, touched), self.table, HOUR)
        days = sorted({hour.replace(hour=0) for hour in touched})
        others = ~F.col("window_start").isin(list(touched))
        all_hours = self._rows(parts, HOUR, days).where(others).unionByName(new).coalesce(1)
        rows = all_hours.unionByName(coarser(all_hours, self.table, DAY))
        scattered = [hour for hour in touched if self._is_scattered(parts, hour, newest)]
        if scattered:
            rows = rows.unionByName(self._rows(parts, MINUTE, scattered))
        self._replace(rows)

    def _is_scattered(self, parts: Parts, hour: datetime, newest: datetime) -> bool:
        files = len(parts.get((MINUTE, hour), []))
        return files > (1 if hour + timedelta(hours=1) <= newest else MOST_FILES)

    def _parts(self) -> Parts:
        """Return the files of the table's newest version by grain and the part's beginning."""
        self._files.position()
        parts: Parts = defaultdict(list)
        for file in self._files.current():
            day = datetime.fromisoformat(file.partition["date"]).replace(tzinfo=UTC)
            start = day + timedelta(hours=int(file.partition["part"]))
            parts[int(file.partition["grain_seconds"]), start].append(file)
        return dict(parts)

    def _rows(self, parts: Parts, grain_seconds: int, starts: Collection[datetime]) -> DataFrame:
        """Return the rows of whole parts; none where the table has none."""
        columns = [column for column in self.table.columns if column.name not in PARTITIONED_BY]
        files = [file for start in starts for file in parts.get((grain_seconds, start), [])]
        paths = [for_spark(self._files.address(file)) for file in files]
        rows = read_parquet(self._spark, paths, columns)
        return placed(rows.coalesce(1), self.table, grain_seconds)

    def _replace(self, rows: DataFrame) -> None:
        writer = self._writer(rows.coalesce(1), "overwrite")
        writer = writer.option("partitionOverwriteMode", "dynamic")
        writer.save(for_spark(self._files.uri))

    def _writer(self, rows: DataFrame, mode: str) -> DataFrameWriter:
        writer = rows.write.format("delta").mode(mode).option("mergeSchema", "true")
        return writer.options(**_PROPERTIES).partitionBy(*PARTITIONED_BY)


def hours(start: datetime, end: datetime) -> list[datetime]:
    """Return the beginnings of the hours that a stretch of time touches."""
    found = []
    hour = start.replace(minute=0, second=0, microsecond=0)
    while hour < end:
        found.append(hour)
        hour += timedelta(hours=1)
    return found
