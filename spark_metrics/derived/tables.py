"""Reading history and samples for what is derived from them, and replacing derived tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from config.settings import LakeSettings
from lake.schemas.grain import PARTITIONED_BY, Grain
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_HISTORY, GROUPS
from lake.storage.store import Lake
from spark_metrics.derived.forecast import LONGEST_HISTORY
from spark_metrics.gold import as_transaction, next_transaction, save
from spark_metrics.samples import Source, between, read, with_all_columns
from spark_metrics.session import SMALL_ROWS, tune

HOUR = timedelta(hours=1)
GROUPS_A_TASK = 250
"""Groups a task: their samples of ten minutes, or of an hour, fit into a worker's memory."""
_COUNTED = timedelta(minutes=10)
"""The time over which groups are counted, if there are any."""


class DerivedTables:
    """The lake as derivations see it."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: LakeSettings) -> None:
        self.spark = spark
        self._lake = lake
        self._settings = settings

    def tune(self, until: datetime) -> None:
        """Set the session up for a lake with as many groups and hours as this one has.

        Args:
            until: The end of the time that is read.

        Raises:
            LakeError: The lake cannot be read.
        """
        hours = self.rows(GROUP_HISTORY, until - LONGEST_HISTORY * HOUR)
        is_small = hours <= SMALL_ROWS and self.tasks(until - HOUR, until) == 1
        tune(self.spark, is_small=is_small)
        # Many small tasks, that adaptive planning puts together: a task holds its series in memory.
        self.spark.conf.set("spark.sql.shuffle.partitions", "1" if is_small else "16")

    def exists(self, table: Table) -> bool:
        """Return whether anything was ever written to a table.

        Raises:
            UnreadableTableError: There is something, but it is not a readable table.
        """
        return self._lake.exists(table)

    def last_hour(self, table: Table) -> datetime | None:
        """Return the newest hour that a history table has a row of.

        Raises:
            HistoryError: It cannot be read.
        """
        files = self._lake.files(table)
        if files.is_empty():
            return None
        hours = files.filter(pl.col("partition.grain_seconds") == Grain.HOUR.seconds)
        last = hours[f"max.{table.time}"].max()
        return last.astimezone(UTC) if isinstance(last, datetime) else None

    def read(self, table: Table, since: datetime, until: datetime) -> DataFrame:
        """Return a table's rows of a time range, with every column of its definition.

        Args:
            table: Any table; one that does not exist has no rows.
            since: First moment of its time column, inclusive.
            until: Last moment, exclusive.
        """
        return read(self.spark, self._lake, table).where(between(table, since, until))

    def source(
        self,
        table: Table,
        since: datetime,
        until: datetime,
        *,
        columns: Sequence[str],
        named: str = "group",
    ) -> Source:
        """Return a table's rows of a time range, as workers get them of whole groups.

        Args:
            table: Any table that is partitioned by date; one that does not exist has no rows.
            since: First moment of its time column, inclusive.
            until: Last moment, exclusive.
            columns: Those that are needed.
            named: The column that names the group.

        Raises:
            LakeError: The table cannot be read.
        """
        return Source.of(self.spark, self._lake, table, columns, ("cluster", named), since, until)

    def rows(self, table: Table, since: datetime) -> int:
        """Return how many hours a history table has of the dates since a moment.

        Raises:
            LakeError: The table's log cannot be read.
        """
        files = self._lake.files(table)
        if files.is_empty():
            return 0
        inside = (pl.col("partition.grain_seconds") == Grain.HOUR.seconds) & (
            pl.col("partition.date") >= since.date()
        )
        return int(files.filter(inside)["num_records"].sum())

    def tasks(self, since: datetime, until: datetime) -> int:
        """Return over how many tasks the groups of a time range are dealt out.

        They are counted at its end: a day's samples of groups are many times as many rows.

        Raises:
            LakeError: The samples of groups cannot be read.
        """
        number = self._groups(max(since, until - _COUNTED), until) or self._groups(since, until)
        return -(-number // GROUPS_A_TASK) or 1

    def _groups(self, since: datetime, until: datetime) -> int:
        groups = self._lake.scan(GROUPS, since=since, until=until).select("cluster", "group")
        return self._lake.collect(GROUPS, groups.unique()).height

    def hours(self, table: Table, since: datetime, until: datetime) -> DataFrame:
        """Return the hours of a history table; see ``read``."""
        return self.read(table, since, until).where(F.col("grain_seconds") == Grain.HOUR.seconds)

    def replace(self, table: Table, rows: DataFrame, as_of: datetime) -> None:
        """Put rows in the place of the whole table, in one commit.

        Args:
            table: A table that holds the newest computation only.
            rows: Its rows but for ``as_of`` and ``date``; absent columns become null.
            as_of: The end of the newest hour that they are made of.
        """
        stamped = rows.withColumns({"as_of": F.lit(as_of), "date": F.lit(as_of)})
        names = [name for name in ("cluster", "name", "group", "topic") if name in rows.columns]
        self.rewrite(table, stamped, *names)

    def rewrite(self, table: Table, rows: DataFrame, *order: str) -> None:
        """Put rows in the place of the whole table, in one commit.

        Args:
            table: The table.
            rows: Its rows; absent columns become null.
            order: The columns that they are sorted by, so that a page's query reads little.
        """
        together = with_all_columns(rows, table).repartition(1).sortWithinPartitions(*order)
        self._save(table, together, ("date",))

    def replace_hours(self, table: Table, rows: DataFrame) -> None:
        """Put the rows of whole hours in the place of what the table has of these hours.

        Args:
            table: A table partitioned by date, grain and hour (the hour of the day).
            rows: Its rows but for these columns.
        """
        time = F.col(table.time)
        places = {
            "date": F.to_date(time),
            "grain_seconds": F.lit(Grain.HOUR.seconds),
            "hour": F.hour(time),
        }
        together = with_all_columns(rows.withColumns(places), table).repartition(1)
        self._save(table, together, PARTITIONED_BY, partitionOverwriteMode="dynamic")

    def _save(
        self, table: Table, rows: DataFrame, partitioned_by: Sequence[str], **options: str
    ) -> None:
        """Write rows as a transaction with a number: see ``GoldTable``."""
        options |= as_transaction(next_transaction(self._lake, table))
        save(self.spark, self._lake, table, rows, partitioned_by, "overwrite", **options)
