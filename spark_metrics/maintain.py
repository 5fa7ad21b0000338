"""Maintenance of history, by Spark; what delta-rs writes is ``lake.maintenance.run``'s."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

import polars as pl
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from config.settings import LakeSettings
from lake.errors import LakeError, one_line
from lake.maintenance.run import JOB, each_table, summary
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.storage.store import Lake
from lake.storage.table_maintenance import Upkept, oldest_kept, written_by_delta_rs
from spark_metrics.arrivals import SPARK_ERRORS
from spark_metrics.progress import JobRecords, MicroBatch
from spark_metrics.samples import address

log = logging.getLogger(__name__)

Notice = Callable[[str], None]


class Maintenance:
    """Maintenance of the tables that Spark writes; only for the one that may write history."""

    def __init__(self, lake: Lake, settings: LakeSettings) -> None:
        self._lake = lake
        self._settings = settings
        self._records = JobRecords(lake, JOB)

    def of_history(self, spark: SparkSession, on_progress: Notice | None = None) -> list[Upkept]:
        """Maintain them, one after the other.

        Args:
            spark: The session.
            on_progress: Called with each table's name.

        Raises:
            LakeError: Tables failed; raised when the others are done.
        """
        history = _History(spark, self._lake, self._settings)
        return each_table(history.keep_up, on_progress)

    def between_micro_batches(self, spark: SparkSession) -> None:
        """Maintain them, and write down in ``jobs`` how it went; failures end nothing."""
        started_at = datetime.now(UTC)
        try:
            done = self.of_history(spark)
            self._records.add(MicroBatch(started_at, "ok"), None)
            log.info("maintenance: %s", summary(done))
        except LakeError as error:
            log.error("maintenance failed: %s", error)
            try:
                self._records.add(MicroBatch(started_at, "failed", error=one_line(error)), None)
            except LakeError as another:
                log.error("the failure could not be written down: %s", another)


class _History:
    """Maintenance of the tables that Spark writes."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: LakeSettings) -> None:
        self._spark = spark
        self._lake = lake
        self._retention = settings.retention

    def keep_up(self, table: Table) -> Upkept | None:
        """Delete what is too old, put small files together, delete dead files.

        Returns:
            What was done; None if the table does not exist or delta-rs writes it.

        Raises:
            LakeError: The table cannot be read, or Spark failed.
        """
        handle = None if table.layer == "bronze" else self._lake.handle(table)
        if handle is None or written_by_delta_rs(handle):
            return None
        name = f"delta.`{address(self._lake, table)}`"
        expired = compacted = 0
        try:
            if "part" in table.polars_schema:  # by date, grain and part, as the history is
                parts = pl.DataFrame(handle.partitions(), orient="row")
                expired = sum(self._expire(name, *old) for old in self._expired(parts))
                compacted = self._put_together(name, table)
            self._spark.sql(f"VACUUM {name}").collect()
        except (*SPARK_ERRORS, DeltaError) as error:
            raise LakeError(f"{table.name}: maintenance failed: {one_line(error)}") from error
        return Upkept(table.name, expired, compacted)

    def _expired(self, parts: pl.DataFrame) -> Iterator[tuple[Grain, date, int]]:
        """Yield grains of which there is too much: the first date to keep, dates before it."""
        if parts.is_empty():
            return
        now = datetime.now(UTC)
        for grain in Grain:
            first = oldest_kept(grain.kept_days(self._retention), now)
            of_grain = pl.col("grain_seconds").cast(pl.Int32) == grain.seconds
            if first is not None:
                old = parts.filter(of_grain, pl.col("date").cast(pl.String) < first.isoformat())
                if not old.is_empty():
                    yield grain, first, old["date"].n_unique()

    def _expire(self, name: str, grain: Grain, first: date, dates: int) -> int:
        """Delete a grain's rows before a date: whole partitions, of which no file is read."""
        # Neither statement takes parameters; what is put in are a number and a date.
        where = f"grain_seconds = {grain.seconds:d} AND date < '{first.isoformat()}'"
        self._spark.sql(f"DELETE FROM {name} WHERE {where}").collect()  # noqa: S608
        return dates

    def _put_together(self, name: str, table: Table) -> int:
        """Make few files of the many small ones of each part; return how many there were."""
        done = self._spark.sql(f"OPTIMIZE {name}").select("metrics.numFilesRemoved").collect()
        return sum(int(row[0]) for row in done)
