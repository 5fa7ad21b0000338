"""Maintenance of history, by Spark; what delta-rs writes is ``lake.maintenance.run``'s."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from functools import partial

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


class Maintenance:
    """Maintenance of the tables that Spark writes; only for the one that may write history."""

    def __init__(self, lake: Lake, settings: LakeSettings) -> None:
        self._lake = lake
        self._retention = settings.retention
        self._records = JobRecords(lake, JOB)

    def between_micro_batches(self, spark: SparkSession) -> None:
        """Maintain them, and write down in ``jobs`` how it went; failures end nothing."""
        started_at = datetime.now(UTC)
        try:
            log.info("maintenance: %s", summary(self.of_history(spark)))
            done = MicroBatch(started_at=started_at, status="ok")
        except LakeError as error:
            log.error("maintenance failed: %s", error)
            done = MicroBatch(started_at=started_at, status="failed", error=one_line(error))
        try:
            self._records.add(done, None)
        except LakeError as error:
            log.error("how maintenance went could not be written down: %s", error)

    def of_history(self, spark: SparkSession) -> list[Maintained]:
        """Maintain them, one after the other.

        Raises:
            LakeError: Tables failed; raised when the others are done.
        """
        done = each_table(partial(self._maintain, spark))
        delete_checkpoints(self._lake)
        return done

    def _maintain(self, spark: SparkSession, table: Table) -> Maintained | None:
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
                expired = sum(self._expire(spark, name, parts, grain) for grain in Grain)
                # One file of the many small ones of each part.
                done = spark.sql(f"OPTIMIZE {name}").select("metrics.numFilesRemoved").collect()
                compacted = sum(int(row[0]) for row in done)
            spark.sql(f"VACUUM {name}").collect()
        except (*SPARK_ERRORS, DeltaError) as error:
            raise LakeError(f"{table.name}: maintenance failed: {one_line(error)}") from error
        return Maintained(table=table.name, expired_days=expired, compacted_files=compacted)

    def _expire(self, spark: SparkSession, name: str, parts: pl.DataFrame, grain: Grain) -> int:
        """Delete a grain's rows of dates that are too old: whole partitions, no file is read.

        Returns:
            How many dates there were.
        """
        first = oldest_kept(grain.kept_days(self._retention), datetime.now(UTC))
        if first is None or parts.is_empty():
            return 0
        of_grain = pl.col("grain_seconds").cast(pl.Int32) == grain.seconds
        old = parts.filter(of_grain, pl.col("date").cast(pl.String) < first.isoformat())
        if not old.is_empty():
            # The statement takes no parameters; what is put in are a number and a date.
            where = f"grain_seconds = {grain.seconds:d} AND date < '{first.isoformat()}'"
            spark.sql(f"DELETE FROM {name} WHERE {where}").collect()  # noqa: S608
        return old["date"].n_unique()


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
