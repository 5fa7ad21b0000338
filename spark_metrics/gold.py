"""Writing history tables with Delta's writer: minutes, and the hours and days that hold them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession

from lake.errors import LakeError, one_line
from lake.schemas.format_version import DESCRIPTION
from lake.schemas.grain import PARTITIONED_BY, Grain
from lake.schemas.model import Table
from lake.storage.store import Lake
from spark_metrics.rollups.windows import coarser, sorted_by_series
from spark_metrics.samples import address, map_partitions, read, tasks_for
from spark_metrics.session import SMALL_ROWS, tune

HOUR = timedelta(hours=1)

_WRITER = "headroom-history"
_WRITES_OF_A_PROCESS = 1_000_000
"""More than a process has asked for when it ends: it waits for each."""


def indexed_columns(table: Table) -> tuple[str, ...]:
    """Return the columns by which rows of a table are looked for: those that have statistics."""
    names = (table.time, *(name for name in table.key if name not in PARTITIONED_BY))
    return tuple(dict.fromkeys(names))


def properties(table: Table) -> dict[str, str]:
    """Return the properties of a table that Spark writes.

    Statistics are kept of the columns alone by which rows are looked for: those of all columns
    take longer than everything else.
    """
    return {
        "delta.checkpointInterval": "50",
        "delta.logRetentionDuration": "interval 1 days",
        "delta.deletedFileRetentionDuration": "interval 1 hours",
        "delta.dataSkippingStatsColumns": ",".join(indexed_columns(table)),
    }


def define(spark: SparkSession, lake: Lake, table: Table, partitioned_by: Collection[str]) -> None:
    """Make a table that is not there, without a row.

    In SQL: the type that a schema sent through Spark Connect gives to texts (``string collate
    UTF8_BINARY``) is not one that other readers of Delta know.

    Raises:
        LakeError: It cannot be read.
    """
    if lake.exists(table):
        return
    if lake.is_local:
        _clear(Path(lake.uri(table)))
    settings = ", ".join(f"'{name}' = '{value}'" for name, value in properties(table).items())
    parts = ", ".join(partitioned_by)
    spark.sql(
        f"CREATE TABLE delta.`{address(lake, table)}` ({table.spark_ddl})"
        f" USING DELTA PARTITIONED BY ({parts}) COMMENT '{DESCRIPTION}' TBLPROPERTIES ({settings})"
    ).collect()


def _clear(folder: Path) -> None:
    """Remove what a kill left of a table before its first commit.

    Spark makes no table in a folder that is not empty; the first rows would make one without
    partitions. A folder with rows is left for Spark to refuse.
    """
    if folder.is_dir() and not any(folder.rglob("*.parquet")):
        shutil.rmtree(folder)


def save(
    spark: SparkSession,
    lake: Lake,
    table: Table,
    rows: DataFrame,
    partitioned_by: Collection[str],
    mode: str,
    **options: str,
) -> None:
    """Write rows with Delta's writer, in one commit; a table that is not there is made.

    Args:
        spark: The session.
        lake: Where the table is.
        table: The table.
        rows: The rows, in its columns.
        partitioned_by: Its partitions, where it is made.
        mode: ``append`` or ``overwrite``.
        options: The writer's options, which say what is overwritten.
    """
    define(spark, lake, table, partitioned_by)
    writer = rows.write.format("delta").mode(mode).option("mergeSchema", "true")
    writer.options(**options).save(address(lake, table))


def next_transaction(lake: Lake, table: Table) -> int:
    """Return a number above those of all writes that processes before have asked for.

    Raises:
        LakeError: The table's log cannot be read.
    """
    try:
        handle = lake.handle(table)
        last = 0 if handle is None else handle.transaction_version(_WRITER) or 0
    except (DeltaError, OSError) as error:
        raise LakeError(f"{table.name}: cannot be read: {one_line(error)}") from error
    # Of the time, too: what a process has asked for need not be in the log yet.
    return max(last + _WRITES_OF_A_PROCESS, time.time_ns() // 1000)


def as_transaction(number: int) -> dict[str, str]:
    """Return the options of a write that Delta leaves out once one with this number was made."""
    return {"txnAppId": _WRITER, "txnVersion": str(number)}


class GoldTable:
    """One history table. Rows are replaced in one commit: doing a thing twice changes nothing.

    Spark may outlive the process that it works for, and still be writing what that asked for. So
    each write is a transaction of Delta with a number (``txnVersion``), and those of a process are
    above those of all before it: once it has written, whatever they still write is left out.
    """

    def __init__(self, spark: SparkSession, lake: Lake, table: Table) -> None:
        """Prepare to write a table."""
        self._spark = spark
        self._lake = lake
        self._transaction: int | None = None
        self._is_settled = False
        self.table = table

    def replace_minutes(self, minutes: DataFrame, start: datetime, end: datetime) -> None:
        """Put minutes in the place of all that the table has from start to end."""
        where = (
            f"grain_seconds = {Grain.MINUTE.seconds} AND {_dates(start, end)}"
            f" AND window_start >= {_literal(start)} AND window_start < {_literal(end)}"
        )
        files = self._lake.files(self.table)
        self._write(minutes, where, replaces=self._may_have(files, [Grain.MINUTE], start))

    def roll_up(self, hours: Collection[datetime]) -> None:
        """Compute hours anew from their minutes, and their days from all hours of the day.

        Args:
            hours: Beginnings of hours.

        Raises:
            LakeError: The table's log cannot be read.
        """
        table, touched = self.table, sorted(hours)
        files = self._lake.files(table)
        if files.is_empty():
            return
        count = _rows_of_minutes(files, touched)
        tune(self._spark, is_small=count <= SMALL_ROWS)
        days = sorted({hour.replace(hour=0) for hour in touched})
        dates = _dates(days[0], days[-1])
        minutes_of_touched = (
            f"grain_seconds = {Grain.MINUTE.seconds}"
            f" AND date_trunc('hour', window_start) IN ({_list(touched)})"
        )
        other_hours = (
            f"grain_seconds = {Grain.HOUR.seconds} AND window_start NOT IN ({_list(touched)})"
            f" AND date_trunc('day', window_start) IN ({_list(days)})"
        )
        rows = read(self._spark, self._lake, table).where(
            f"{dates} AND (({minutes_of_touched}) OR ({other_hours}))"
        )
        tasks = tasks_for(2 * count)  # a row of history takes more memory than a sample
        split = [name for name in table.series if name in ("group", "topic")][:1]
        dealt = rows.repartition(tasks, *split) if tasks > 1 and split else rows.coalesce(1)

        def longer(found: pl.DataFrame) -> Iterator[pl.DataFrame]:
            is_minute = pl.col("grain_seconds") == Grain.MINUTE.seconds
            made = coarser(found.filter(is_minute), table, Grain.HOUR)
            yield sorted_by_series(made, table)
            whole = pl.concat([found.filter(~is_minute), made])
            yield sorted_by_series(coarser(whole, table, Grain.DAY), table)

        where = (
            f"{dates} AND ((grain_seconds = {Grain.HOUR.seconds}"
            f" AND window_start IN ({_list(touched)}))"
            f" OR (grain_seconds = {Grain.DAY.seconds} AND window_start IN ({_list(days)})))"
        )
        made = map_partitions(dealt, longer, table.spark_ddl)
        self._write(made, where, replaces=self._may_have(files, [Grain.HOUR, Grain.DAY], days[0]))

    def _may_have(self, files: pl.DataFrame, grains: Collection[Grain], start: datetime) -> bool:
        """Return whether the table may have windows from start on, by its files' statistics."""
        last = f"max.{self.table.time}"
        if last not in files.columns:
            return not files.is_empty()
        of_grains = pl.col("partition.grain_seconds").is_in([grain.seconds for grain in grains])
        may_reach = pl.col(last).is_null() | (pl.col(last) >= start)
        return not files.filter(of_grains, may_reach).is_empty()

    def _write(self, rows: DataFrame, where: str, *, replaces: bool) -> None:
        """Write rows, in one commit.

        Args:
            rows: The rows.
            where: What they take the place of.
            replaces: Whether there may be anything: to look for it costs Spark four times what an
                append does.

        Raises:
            LakeError: The table's log cannot be read.
        """
        if self._transaction is None:
            self._transaction = next_transaction(self._lake, self.table)
        self._transaction += 1
        # What was written last, by a process before this one or by a write that failed here, may
        # come any time.
        replaces |= not self._is_settled
        self._is_settled = False
        mode, options = ("overwrite", {"replaceWhere": where}) if replaces else ("append", {})
        options |= as_transaction(self._transaction)
        save(self._spark, self._lake, self.table, rows, PARTITIONED_BY, mode, **options)
        self._is_settled = True


def _rows_of_minutes(files: pl.DataFrame, hours: Collection[datetime]) -> int:
    """Return about how many rows of minutes there are in hours, by a table's files."""
    inside = files.filter(
        pl.col("partition.grain_seconds") == Grain.MINUTE.seconds,
        pl.col("partition.date").is_in({hour.date() for hour in hours}),
        pl.col("partition.hour").is_in({hour.hour for hour in hours}),
    )
    return int(inside["num_records"].sum())


def hours(start: datetime, end: datetime) -> list[datetime]:
    """Return the beginnings of the hours that a time range touches."""
    found = []
    hour = start.replace(minute=0, second=0, microsecond=0)
    while hour < end:
        found.append(hour)
        hour += HOUR
    return found


def _dates(start: datetime, end: datetime) -> str:
    return f"date >= DATE '{start.date()}' AND date <= DATE '{end.date()}'"


def _literal(moment: datetime) -> str:
    return f"TIMESTAMP '{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}+00:00'"


def _list(moments: Collection[datetime]) -> str:
    return ", ".join(_literal(one) for one in moments)
