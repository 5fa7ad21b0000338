"""Writing history tables: minutes as they close, and the hours and days that hold them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from config.settings import LakeSettings
from lake.schemas.grain import PARTITIONED_BY, Grain
from lake.schemas.model import Table
from lake.storage.store import Lake
from spark_metrics.commits import commit
from spark_metrics.files import File, Position, TableFiles, for_spark
from spark_metrics.longer import Day, Kept
from spark_metrics.target import Target, looked_for, written
from spark_metrics.tasks import Files, shares, struct

MOST_FILES = 15
"""In so many files the minutes of the current hour may lie."""

MOST_ROWS = 500_000
"""Up to so many minutes the current hour's files are put together before it has ended."""
WIDTH = 2
"""How much more memory a row of history takes than a sample."""

Parts = dict[tuple[int, datetime], list[File]]


def properties(table: Table) -> dict[str, str]:
    """Return the properties of a table that Spark writes.

    Statistics are kept of the columns alone by which rows are looked for: where Delta computes
    them (to put files together), those of all columns take longer than everything else.
    """
    return {
        "delta.checkpointInterval": "50",
        "delta.logRetentionDuration": "interval 1 days",
        "delta.deletedFileRetentionDuration": "interval 1 hours",
        "delta.dataSkippingStatsColumns": ",".join(looked_for(table)),
    }


class GoldTable:
    """One history table as the history jobs write it. Every method is one atomic commit.

    Workers write files (``Target``), the driver commits them. Before that it makes a table that
    is not there, without a row, and adds columns that it lacks.

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
        self.target = Target.of(table, self._files.uri, self._files.options)

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
        if not self.exists():
            return None
        parts = self._parts()
        newest = max((hour for grain, hour in parts if grain == Grain.MINUTE), default=None)
        if newest is None:
            return None
        last = newest + timedelta(minutes=59)
        known = [file.highest("window_start") for file in parts[Grain.MINUTE, newest]]
        return max((moment or last for moment in known), default=last)

    def append_minutes(self, minutes: DataFrame) -> None:
        """Add minutes of which the table has no row: the caller must know that.

        Args:
            minutes: The files that hold them, as ``written`` returns them.
        """
        self._defined()
        added = _added(minutes)
        if added:
            commit(self._spark, self._files.uri, added)

    def replace_minutes(self, minutes: DataFrame, start: datetime, end: datetime) -> None:
        """Put minutes in the place of all that the table has from start to end.

        Args:
            minutes: The files that hold them, as ``written`` returns them.
            start: The first minute.
            end: The end of the last minute.

        Raises:
            HistoryError: Somebody else changed the table meanwhile; nothing was replaced.
        """
        seen = self._defined()
        parts = self._parts()
        touched = [hour for hour in hours(start, end) if (Grain.MINUTE, hour) in parts]
        kept = [Kept(self._of(parts, Grain.MINUTE, [hour]), start, end) for hour in touched]
        table = self.table
        others = written(self._spark, self.target, kept, lambda one: one.rows(table))
        self._replace(others.unionByName(minutes), parts, seen)

    def roll_up(self, touched: Collection[datetime], newest: datetime) -> None:
        """Compute hours anew from their minutes, and their days from all hours of the day.

        Where the minutes of an hour lie in many files, these are put together on the way.

        Args:
            touched: Beginnings of hours.
            newest: The newest sample; hours that ended before it are complete.

        Raises:
            HistoryError: Somebody else changed the table meanwhile; nothing was replaced.
        """
        seen = self._defined()
        parts = self._parts()
        by_day: dict[datetime, list[datetime]] = defaultdict(list)
        for hour in touched:
            by_day[hour.replace(hour=0)].append(hour)
        tasks = []
        for day, of_day in by_day.items():
            together = [hour for hour in of_day if self._is_scattered(parts, hour, newest)]
            minutes = {hour: self._of(parts, Grain.MINUTE, [hour]) for hour in of_day}
            most = max(_rows(parts.get((Grain.MINUTE, hour), [])) for hour in of_day)
            tasks += [
                Day(self._of(parts, Grain.HOUR, [day]), minutes, frozenset(together), share)
                for share in shares(WIDTH * most, _split(self.table))
            ]
        table = self.table
        files = written(self._spark, self.target, tasks, lambda task: task.rows(table))
        self._replace(files, parts, seen)

    def minutes_of(self, touched: Collection[datetime]) -> int:
        """Return how many minutes there are in hours."""
        parts = self._parts() if self.exists() else {}
        return sum(_rows(parts.get((Grain.MINUTE, hour), [])) for hour in touched)

    def _is_scattered(self, parts: Parts, hour: datetime, newest: datetime) -> bool:
        files = parts.get((Grain.MINUTE, hour), [])
        if hour + timedelta(hours=1) <= newest:
            return len(files) > 1
        return len(files) > MOST_FILES and _rows(files) <= MOST_ROWS

    def _parts(self) -> Parts:
        """Return the files by grain and the part's beginning, of the version looked at last."""
        parts: Parts = defaultdict(list)
        for file in self._files.current():
            day = datetime.fromisoformat(file.partition["date"]).replace(tzinfo=UTC)
            start = day + timedelta(hours=int(file.partition["part"]))
            parts[int(file.partition["grain_seconds"]), start].append(file)
        return dict(parts)

    def _of(self, parts: Parts, grain_seconds: int, starts: Collection[datetime]) -> Files:
        """Return the files of whole parts."""
        files = [file for start in starts for file in parts.get((grain_seconds, start), [])]
        paths = tuple(self._files.address(file) for file in files)
        return Files(self.table, paths, self._files.options)

    def _defined(self) -> Position | None:
        """Return the newest version, having seen to it that it has every column."""
        wanted = set(self.table.polars_schema)
        seen = self._files.position()
        if seen is not None and wanted <= self._files.columns():
            return seen
        nothing = self._spark.createDataFrame([], struct(self.table.spark_ddl))
        writer = nothing.write.format("delta").mode("append").option("mergeSchema", "true")
        writer = writer.options(**properties(self.table)).partitionBy(*PARTITIONED_BY)
        writer.save(for_spark(self._files.uri))
        return self._files.position()

    def _replace(self, files: DataFrame, parts: Parts, seen: Position | None) -> None:
        """Have files written, and commit them in the place of all that their parts hold."""
        added = _added(files)
        if not added:
            return
        places = [json.loads(action)["add"]["partitionValues"] for action in added]
        replaced = [
            file for of_part in parts.values() for file in of_part if dict(file.partition) in places
        ]
        commit(self._spark, self._files.uri, added, replaced=replaced, seen=seen)


def _added(files: DataFrame) -> list[str]:
    """Have files written; return the actions that add them."""
    return [row.action for row in files.collect()]


def _rows(files: Collection[File]) -> int:
    return sum(file.rows for file in files)


def _split(table: Table) -> str | None:
    """Return the column by which a table's rows are split over tasks."""
    return next((name for name in ("group", "topic") if name in table.key), None)


def hours(start: datetime, end: datetime) -> list[datetime]:
    """Return the beginnings of the hours that a stretch of time touches."""
    found = []
    hour = start.replace(minute=0, second=0, microsecond=0)
    while hour < end:
        found.append(hour)
        hour += timedelta(hours=1)
    return found
