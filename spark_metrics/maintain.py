"""Maintenance of history, by Spark; what delta-rs writes is ``lake.maintenance.run``'s."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

import polars as pl
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import (
    FileSelector,
    FileSystem,
    FileType,
    LocalFileSystem,
    PyFileSystem,
    SubTreeFileSystem,
)
from pyspark.sql import SparkSession

from config.settings import LakeSettings
from lake.errors import LakeError, one_line
from lake.maintenance.run import JOB, each_table, summary
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.storage.store import Lake
from lake.storage.table_maintenance import Maintained, oldest_kept, written_by_delta_rs
from spark_metrics.arrivals import SPARK_ERRORS
from spark_metrics.progress import JobRecords, MicroBatch
from spark_metrics.samples import address

_STREAM = re.compile(r"[0-9a-f]{32}")
"""How the job names its streams, and nobody else a folder."""

log = logging.getLogger(__name__)

Notice = Callable[[str], None]


class Maintenance:
    """Maintenance of the tables that Spark writes; only for the one that may write history."""

    def __init__(self, lake: Lake, settings: LakeSettings) -> None:
        self._lake = lake
        self._settings = settings
        self._records = JobRecords(lake, JOB)

    def of_history(
        self, spark: SparkSession, on_progress: Notice | None = None
    ) -> list[Maintained]:
        """Maintain them, one after the other.

        Args:
            spark: The session.
            on_progress: Called with each table's name.

        Raises:
            LakeError: Tables failed; raised when the others are done.
        """
        history = _History(spark, self._lake, self._settings)
        done = each_table(history.maintain_table, on_progress)
        delete_checkpoints(self._lake)
        return done

    def between_micro_batches(self, spark: SparkSession) -> None:
        """Maintain them, and write down in ``jobs`` how it went; failures end nothing."""
        started_at = datetime.now(UTC)
        try:
            done = self.of_history(spark)
            self._records.add(MicroBatch(started_at=started_at, status="ok"), None)
            log.info("maintenance: %s", summary(done))
        except LakeError as error:
            log.error("maintenance failed: %s", error)
            try:
                self._records.add(
                    MicroBatch(started_at=started_at, status="failed", error=one_line(error)), None
                )
            except LakeError as another:
                log.error("the failure could not be written down: %s", another)


def delete_checkpoints(lake: Lake) -> list[str]:
    """Delete the checkpoints of streams that nothing reads any more; return their names.

    Only for the one that may write history, between two of its micro-batches. A stream is given up
    when a table was made anew, or its log no longer has what the stream has not read yet.

    Raises:
        LakeError: The checkpoints cannot be listed or deleted.
    """
    progress = JobRecords(lake).last()
    if progress is None:
        return []
    try:
        root = lake.checkpoints_uri
        folder: FileSystem = (
            SubTreeFileSystem(root, LocalFileSystem())
            if lake.is_local
            else PyFileSystem(DeltaStorageHandler(root, lake.options))
        )
        found = folder.get_file_info(FileSelector("history", allow_not_found=True))
        old = [
            one
            for one in found
            if one.type == FileType.Directory
            and _STREAM.fullmatch(one.base_name)
            and one.base_name != progress.stream
        ]
        for one in old:
            folder.delete_dir(one.path)
    except (DeltaError, OSError) as error:
        raise LakeError(f"old checkpoints cannot be deleted: {one_line(error)}") from error
    return [str(one.base_name) for one in old]


class _History:
    """Maintenance of the tables that Spark writes."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: LakeSettings) -> None:
        self._spark = spark
        self._lake = lake
        self._retention = settings.retention

    def maintain_table(self, table: Table) -> Maintained | None:
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
            if "hour" in table.polars_schema:  # by date, grain and hour, as the history is
                parts = pl.DataFrame(handle.partitions(), orient="row")
                expired = sum(self._expire(name, *old) for old in self._expired(parts))
                compacted = self._compact(name, table)
            self._spark.sql(f"VACUUM {name}").collect()
        except (*SPARK_ERRORS, DeltaError) as error:
            raise LakeError(f"{table.name}: maintenance failed: {one_line(error)}") from error
        return Maintained(table=table.name, expired_days=expired, compacted_files=compacted)

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

    def _compact(self, name: str, table: Table) -> int:
        """Make few files of the many small ones of each part; return how many there were."""
        done = self._spark.sql(f"OPTIMIZE {name}").select("metrics.numFilesRemoved").collect()
        return sum(int(row[0]) for row in done)
