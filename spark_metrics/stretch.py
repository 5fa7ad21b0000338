"""Computing all history tables for one stretch of time."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import polars as pl
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.errors import one_line
from lake.schemas.tables import COLLECTIONS
from lake.storage.store import Lake
from spark_metrics.bronze import BronzeTable
from spark_metrics.errors import HistoryError
from spark_metrics.gold import GoldTable
from spark_metrics.history import HISTORIES, SOURCES, Needs
from spark_metrics.minutes import Piece, Step, write_minutes
from spark_metrics.progress import MINUTE, Span, minute_of
from spark_metrics.rollups.samples import DEFAULT_GAP_SECONDS, GAP_INTERVALS
from spark_metrics.sampling import begin
from spark_metrics.tasks import ROWS_AT_ONCE, UNREADABLE, Files, shares, slices

SMALL_ROWS = 500_000
"""Up to so many samples, one task without shuffles and generated code is the quickest."""

_LONGEST_REACH = timedelta(hours=4)
_TABLES_AT_ONCE = 2
_STEPS = 8
"""So many times what is in memory at once a task works on, one after the other."""

_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
_LARGE = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
}


class Stretch:
    """All bronze and history tables of a lake, and the way from the ones to the others."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: Settings) -> None:
        self._spark = spark
        self._lake = lake
        self._cores = spark.sparkContext.defaultParallelism
        self.bronze = tuple(BronzeTable(lake, settings.lake, table) for table in SOURCES)
        self._gold = tuple(GoldTable(spark, lake, settings.lake, table) for table in HISTORIES)

    def exists(self) -> bool:
        """Tell whether every history table was written."""
        return all(table.exists() for table in self._gold)

    def reach(self, first: datetime, last: datetime) -> timedelta:
        """Return how far a difference between samples of a stretch may reach at most.

        Where a file of collections is broken, as far as any: more is read than need be, no less.

        Raises:
            UnreadableTableError: The log of the table of collections cannot be read.
        """
        frame = self._lake.scan(COLLECTIONS, since=first, until=last + _LONGEST_REACH)
        try:
            longest = frame.select(pl.col("interval_seconds").max()).collect().item()
        except UNREADABLE:
            return _LONGEST_REACH
        seconds = max(DEFAULT_GAP_SECONDS, GAP_INTERVALS * (longest or 0.0))
        return min(timedelta(seconds=seconds), _LONGEST_REACH)

    def compute(self, span: Span, *, is_new: bool) -> None:
        """Compute the minutes of a span in every history table, from all their samples.

        Args:
            span: The minutes.
            is_new: Whether no table has a row of them for certain, which saves a look.

        Raises:
            HistoryError: Spark failed; some tables may have the minutes, others not.
            UnreadableTableError: The log of the table of collections cannot be read.
        """
        rows = sum(table.rows(span.start, span.end) for table in self.bronze)
        tune(self._spark, rows)

        def write(table: GoldTable) -> None:
            written = write_minutes(
                self._spark, table.target, lambda needs: self.pieces(needs, span.start, span.end)
            )
            if is_new:
                table.append_minutes(written)
            else:
                table.replace_minutes(written, span.start, span.end)

        self._each(write)

    def set_aside(self, span: Span) -> list[str]:
        """Leave out from now on the files with samples of a span that cannot be read.

        Returns:
            Their addresses.

        Raises:
            HistoryError: A table itself cannot be read.
        """
        since = span.start - self.reach(span.start, span.end)
        return [path for table in self.bronze for path in table.set_aside(since, span.end)]

    def pieces(self, needs: Needs, start: datetime, end: datetime) -> list[Piece]:
        """Return how the work on a stretch of time is cut into tasks.

        Args:
            needs: The samples that it needs.
            start: The first minute.
            end: The end of the last minute.

        Raises:
            UnreadableTableError: The log of the table of collections cannot be read.
        """
        reach = self.reach(start, end)
        bronze = {table.table.name: table for table in self.bronze}
        tables = [bronze[name] for name in needs.columns]

        def rows(since: datetime, until: datetime) -> int:
            return sum(table.rows(since, until) for table in tables)

        found = []
        for first, last in slices(start, end, self._tasks(rows(start, end))):
            at_once = rows(first, last)
            cuts = slices(first, last, -(-at_once // ROWS_AT_ONCE) or 1)
            steps = tuple(
                Step(
                    since,
                    until,
                    tuple(_unread(table, since, until, first, reach) for table in tables),
                )
                for since, until in cuts
            )
            for share in shares(at_once // len(cuts), needs.split_by):
                found.append(Piece(steps, reach, share))
        return found

    def _tasks(self, rows: int) -> int:
        """Return in how many tasks; what a failed one has done is done again."""
        side_by_side = min(self._cores, rows // SMALL_ROWS)
        return max(1, side_by_side, -(-rows // (_STEPS * ROWS_AT_ONCE)))

    def roll_up(self, hours: Collection[datetime], newest: datetime) -> None:
        """Compute hours, and the days that hold them, in every history table.

        Args:
            hours: Beginnings of hours.
            newest: The newest sample.

        Raises:
            HistoryError: Spark failed; some tables may have the hours, others not.
        """
        rows = sum(table.minutes_of(hours) for table in self._gold)
        tune(self._spark, rows)
        self._each(lambda table: table.roll_up(sorted(hours), newest))

    def written_until(self) -> datetime:
        """Return a moment from which on no history table has a minute."""
        last = datetime.min.replace(tzinfo=UTC)
        for table in self._gold:
            last = max(last, table.last_minute() or last)
        return minute_of(last) + MINUTE

    def earliest(self) -> datetime | None:
        """Return a moment that no sample is before; None without samples."""
        moments = [table.earliest() for table in self.bronze if table.position() is not None]
        return min((moment for moment in moments if moment is not None), default=None)

    def _each(self, work: Callable[[GoldTable], None]) -> None:
        """Do the same for every history table, some at once; the first failure is raised."""
        with ThreadPoolExecutor(_TABLES_AT_ONCE, thread_name_prefix="history") as pool:
            pending = [(table, pool.submit(work, table)) for table in self._gold]
        for table, future in pending:
            try:
                future.result()
            except (PySparkException, Py4JError, OSError) as error:
                raise HistoryError(f"{table.table.name}: {_cause(error)}") from error


def _unread(
    table: BronzeTable, since: datetime, until: datetime, first: datetime, reach: timedelta
) -> Files:
    """Return the files of a step; the first one reads what came before, too."""
    return table.files(begin(table.table, since - reach) if since == first else since, until)


def tune(spark: SparkSession, rows: int) -> None:
    """Set the session up for the work on so many rows."""
    for key, value in (_SMALL if rows <= SMALL_ROWS else _LARGE).items():
        spark.conf.set(key, value)


def _cause(error: Exception) -> str:
    """Return why Spark failed: what a worker said of a file, or its own first line."""
    said = re.search(r"HistoryError: (.+)", str(error))
    return said[1] if said else one_line(error)
