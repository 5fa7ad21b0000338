"""Writing history tables: minutes as they close, and the hours and days that hold them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta

import polars as pl
from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F

from lake.schema import Table
from lake.store import Lake
from spark_metrics.rollups.windows import (
    DAY,
    HOUR,
    MINUTE,
    PARTITIONED_BY,
    coarser,
    conformed,
    finished,
)

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

    def __init__(self, spark: SparkSession, lake: Lake, table: Table) -> None:
        self._spark = spark
        self._lake = lake
        self.table = table
        self._uri = lake.uri(table).replace("s3://", "s3a://", 1)

    def exists(self) -> bool:
        """Tell whether the table was ever written."""
        return self._lake.exists(self.table)

    def last_minute(self) -> datetime | None:
        """Return the newest minute that the table has a row of.

        Raises:
            UnreadableTableError: The table cannot be read.
        """
        minute = pl.col("grain_seconds") == MINUTE
        day = self._lake.read(self.table, minute, columns=["date"])["date"].max()
        if not isinstance(day, date):
            return None
        since = datetime(day.year, day.month, day.day, tzinfo=UTC)
        found = self._lake.read(self.table, minute, since=since, columns=["window_start"])
        last = found["window_start"].max()
        return last if isinstance(last, datetime) else None

    def append_minutes(self, minutes: DataFrame) -> None:
        """Add minutes of which the table has no row: the caller must know that."""
        rows = finished(minutes, self.table, MINUTE)
        self._writer(rows, "append").save(self._uri)

    def replace_minutes(self, minutes: DataFrame, start: datetime, end: datetime) -> None:
        """Put minutes in the place of all that the table has from start to end."""
        rows = finished(minutes, self.table, MINUTE)
        if self.exists():
            outside = (F.col("window_start") < start) | (F.col("window_start") >= end)
            kept = self._parts(MINUTE, hours(start, end)).where(outside)
            rows = kept.unionByName(rows).coalesce(1)
        self._replace(rows)

    def roll_up(self, touched: Collection[datetime]) -> None:
        """Compute hours anew from their minutes, and their days from all hours of the day.

        The minutes of these hours are put together in one file on the way.

        Args:
            touched: Beginnings of hours.
        """
        minutes = self._parts(MINUTE, touched)
        new = coarser(minutes, self.table, HOUR)
        days = sorted({hour.replace(hour=0) for hour in touched})
        kept = self._parts(HOUR, days).where(~F.col("window_start").isin(list(touched)))
        all_hours = kept.unionByName(new).coalesce(1).persist()
        try:
            rows = minutes.unionByName(all_hours).unionByName(coarser(all_hours, self.table, DAY))
            self._replace(rows.coalesce(1))
        finally:
            all_hours.unpersist()

    def vacuum(self) -> None:
        """Delete the files that no version of the last hour needs."""
        self._spark.sql(f"VACUUM delta.`{self._uri}`")

    def _parts(self, grain_seconds: int, starts: Collection[datetime]) -> DataFrame:
        """Return the rows of whole parts; none where the table has none."""
        rows = self._spark.read.format("delta").load(self._uri)
        wanted: Column = F.lit(False)
        for start in starts:
            part = start.hour if grain_seconds == MINUTE else 0
            wanted |= (F.col("date") == F.lit(start.date())) & (F.col("part") == part)
        rows = rows.where(wanted & (F.col("grain_seconds") == grain_seconds))
        return conformed(rows, self.table).coalesce(1)

    def _replace(self, rows: DataFrame) -> None:
        writer = self._writer(rows, "overwrite")
        writer.option("partitionOverwriteMode", "dynamic").save(self._uri)

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
