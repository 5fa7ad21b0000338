"""Upkeep of a whole lake: samples through delta-rs, history through Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from config.settings import LakeSettings
from lake.errors import LakeError, one_line
from lake.schema import Table
from lake.store import Lake
from lake.tables import TABLES
from lake.upkeep import Upkept, keep_up, oldest_kept, written_by_delta_rs
from spark_metrics.errors import HistoryError
from spark_metrics.files import File, TableFiles, for_spark
from spark_metrics.progress import Journal, Round
from spark_metrics.rollups.windows import DAY, HOUR, MINUTE

log = logging.getLogger(__name__)

JOB = "upkeep"

Notice = Callable[[str], None]


class Upkeep:
    """The upkeep of one lake, table by table: whatever stops it, the next one goes on."""

    def __init__(self, lake: Lake, settings: LakeSettings) -> None:
        self._lake = lake
        self._settings = settings
        self._journal = Journal(lake, JOB)
        self._samples: threading.Thread | None = None

    def of_samples(self, notice: Notice | None = None) -> list[Upkept]:
        """Keep up the tables that delta-rs writes; beside collectors and the history job.

        Args:
            notice: Called with each table's name.

        Returns:
            What was done. One table that fails stops no other.

        Raises:
            LakeError: Tables failed; told when the others are done.
        """
        return self._each(
            lambda table: keep_up(
                table, self._lake.uri(table), self._lake.options, self._settings.retention
            ),
            notice,
        )

    def of_history(self, spark: SparkSession, notice: Notice | None = None) -> list[Upkept]:
        """Keep up the tables that Spark writes; only for the one that may write history.

        Args:
            spark: The session.
            notice: Called with each table's name.

        Raises:
            LakeError: Tables failed; told when the others are done.
        """
        history = _History(spark, self._settings)
        return self._each(lambda table: history.keep_up(table, self._lake.uri(table)), notice)

    def beside_history(self, spark: SparkSession) -> None:
        """Do all of it: the samples in a thread of their own, for they may take minutes.

        Failures are written down and end nothing.
        """
        if self._samples is None or not self._samples.is_alive():
            self._samples = threading.Thread(
                target=self._told, args=(self.of_samples,), name="upkeep", daemon=True
            )
            self._samples.start()
        self._told(lambda: self.of_history(spark))

    def _told(self, work: Callable[[], list[Upkept]]) -> None:
        """Do something, and write down in ``jobs`` how it went."""
        started_at = datetime.now(UTC)
        try:
            done = work()
            self._journal.add(Round(started_at, "ok"), None)
            log.info("upkeep: %s", summary(done))
        except LakeError as error:
            log.error("upkeep failed: %s", error)
            try:
                self._journal.add(Round(started_at, "failed", error=one_line(error)), None)
            except LakeError as another:
                log.error("the failure could not be written down: %s", another)

    def _each(self, work: Callable[[Table], Upkept | None], notice: Notice | None) -> list[Upkept]:
        done, failures = [], []
        for table in TABLES.values():
            if notice is not None:
                notice(table.name)
            try:
                upkept = work(table)
            except LakeError as error:
                failures.append(str(error))
                continue
            except HistoryError as error:
                failures.append(f"{table.name}: {one_line(error)}")
                continue
            if upkept is not None:
                done.append(upkept)
        if failures:
            raise LakeError("; ".join(failures))
        return done


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
            HistoryError: The table cannot be read, or Spark failed.
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
        except (PySparkException, Py4JError, DeltaError, OSError) as error:
            raise HistoryError(f"upkeep failed: {one_line(error)}") from error
        return Upkept(table.name, expired, scattered)

    def _expired(self, files: list[File]) -> Iterator[tuple[int, date, int]]:
        """Yield grains of which there is too much: the first date to keep, dates before it."""
        retention, now = self._settings.retention, datetime.now(UTC)
        for grain, days in (
            (MINUTE, retention.minute_days),
            (HOUR, retention.hour_days),
            (DAY, retention.day_days),
        ):
            first = oldest_kept(days, now)
            if first is None:
                continue
            dates = {
                file.partition["date"]
                for file in files
                if file.partition["grain_seconds"] == str(grain)
                and date.fromisoformat(file.partition["date"]) < first
            }
            if dates:
                yield grain, first, len(dates)

    def _expire(self, name: str, grain_seconds: int, first: date, dates: int) -> int:
        """Delete a grain's rows before a date: whole partitions, of which no file is read."""
        # Neither statement takes parameters; what is put in are a number and a date.
        where = f"grain_seconds = {grain_seconds:d} AND date < '{first.isoformat()}'"
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


def summary(done: list[Upkept]) -> str:
    """Return what upkeep did as a few words."""
    return (
        f"{len(done)} tables, {sum(one.expired_days for one in done)} days expired, "
        f"{sum(one.compacted_files for one in done)} small files put together, "
        f"{sum(one.deleted_files for one in done)} files of samples deleted"
    )
