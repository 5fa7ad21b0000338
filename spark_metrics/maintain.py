"""Maintenance of history, by Spark; what delta-rs writes is ``lake.maintenance.run``'s."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from config.settings import LakeSettings
from lake.errors import LakeError, one_line
from lake.maintenance.run import JOB, each_table, summary
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.storage.store import Lake
from lake.storage.table_maintenance import Upkept, oldest_kept, written_by_delta_rs
from spark_metrics.errors import HistoryError
from spark_metrics.files import File, TableFiles, for_spark
from spark_metrics.progress import Journal, Round

log = logging.getLogger(__name__)

Notice = Callable[[str], None]


class Upkeep:
    """Maintenance of the tables that Spark writes; only for the one that may write history."""

    def __init__(self, lake: Lake, settings: LakeSettings) -> None:
        self._lake = lake
        self._settings = settings
        self._journal = Journal(lake, JOB)

    def of_history(self, spark: SparkSession, notice: Notice | None = None) -> list[Upkept]:
        """Maintain them, one after the other.

        Args:
            spark: The session.
            notice: Called with each table's name.

        Raises:
            LakeError: Tables failed; raised when the others are done.
        """
        history = _History(spark, self._settings)
        return each_table(lambda table: history.keep_up(table, self._lake.uri(table)), notice)

    def between_rounds(self, spark: SparkSession) -> None:
        """Maintain them, and write down in ``jobs`` how it went; failures end nothing."""
        started_at = datetime.now(UTC)
        try:
            done = self.of_history(spark)
            self._journal.add(Round(started_at, "ok"), None)
            log.info("maintenance: %s", summary(done))
        except LakeError as error:
            log.error("maintenance failed: %s", error)
            try:
                self._journal.add(Round(started_at, "failed", error=one_line(error)), None)
            except LakeError as another:
                log.error("the failure could not be written down: %s", another)


class _History:
    """Upkeep of the tables that Spark writes."""

    def __init__(self, spark: SparkSession, settings: LakeSettings) -> None:
        self._spark = spark
        self._settings = settings

    def keep_up(self, table: Table, uri: str) -> Upkept | None:
        """Delete what is too old, put the parts of past days together, delete dead files.

        Returns:
            What was done; None if the table does not exist or delta-rs writes it.

        Raises:
            LakeError: The table cannot be read, or Spark failed.
        """
        if table.layer == "bronze":
            return None
        files = TableFiles(uri, self._settings)
        try:
            if files.position() is None or _is_of_delta_rs(uri, files.options):
                return None
            today = datetime.now(UTC).date()
            name = f"delta.`{for_spark(uri)}`"
            expired = scattered = 0
            if "part" in table.polars_schema:  # by date, grain and part, as the history is
                current = list(files.current())
                expired = sum(self._expire(name, *old) for old in self._expired(current))
                scattered = self._put_together(name, current, today)
            self._spark.sql(f"VACUUM {name}").collect()
        except (HistoryError, PySparkException, Py4JError, DeltaError, OSError) as error:
            raise LakeError(f"{table.name}: maintenance failed: {one_line(error)}") from error
        return Upkept(table.name, expired, scattered)

    def _expired(self, files: list[File]) -> Iterator[tuple[Grain, date, int]]:
        """Yield grains of which there is too much: the first date to keep, dates before it."""
        retention, now = self._settings.retention, datetime.now(UTC)
        for grain in Grain:
            first = oldest_kept(grain.kept_days(retention), now)
            if first is None:
                continue
            dates = {
                file.partition["date"]
                for file in files
                if file.partition["grain_seconds"] == str(grain.seconds)
                and date.fromisoformat(file.partition["date"]) < first
            }
            if dates:
                yield grain, first, len(dates)

    def _expire(self, name: str, grain: Grain, first: date, dates: int) -> int:
        """Delete a grain's rows before a date: whole partitions, of which no file is read."""
        # Neither statement takes parameters; what is put in are a number and a date.
        where = f"grain_seconds = {grain.seconds:d} AND date < '{first.isoformat()}'"
        self._spark.sql(f"DELETE FROM {name} WHERE {where}").collect()  # noqa: S608
        return dates

    def _put_together(self, name: str, files: list[File], today: date) -> int:
        """Make one file of each part of a past day that has several; return how many had."""
        seen: set[tuple[str, ...]] = set()
        scattered: dict[str, int] = {}
        for file in files:
            part = tuple(file.partition.values())
            day = file.partition["date"]
            if part in seen and date.fromisoformat(day) < today:
                scattered[day] = scattered.get(day, 0) + 1
            seen.add(part)
        for day in scattered:
            self._spark.sql(f"OPTIMIZE {name} WHERE date = '{date.fromisoformat(day)}'").collect()
        return sum(scattered.values())


def _is_of_delta_rs(uri: str, options: dict[str, str] | None) -> bool:
    return written_by_delta_rs(DeltaTable(uri, storage_options=options))
