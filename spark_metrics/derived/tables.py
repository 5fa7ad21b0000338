"""Reading history and samples for what is derived from them, and replacing derived tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from config.settings import LakeSettings
from lake.schemas.grain import PARTITIONED_BY, Grain
from lake.schemas.model import Table
from lake.storage.store import Lake
from spark_metrics.bronze import BronzeTable
from spark_metrics.derived.of_groups import Source
from spark_metrics.files import TableFiles, for_spark
from spark_metrics.gold import properties
from spark_metrics.sampling import begin

HOUR = timedelta(hours=1)


class DerivedTables:
    """The lake as derivations see it."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: LakeSettings) -> None:
        self.spark = spark
        self._lake = lake
        self._settings = settings

    def exists(self, table: Table) -> bool:
        """Tell whether anything was ever written to a table.

        Raises:
            UnreadableTableError: There is something, but it is not a readable table.
        """
        return self._lake.exists(table)

    def last_hour(self, table: Table) -> datetime | None:
        """Return the newest hour that a history table has a row of.

        Raises:
            HistoryError: It cannot be read.
        """
        files = TableFiles(self._lake.uri(table), self._settings)
        files.position()
        hours = (
            file
            for file in files.current()
            if file.partition["grain_seconds"] == str(Grain.HOUR.seconds)
        )
        return max((moment for one in hours if (moment := one.highest(table.time))), default=None)

    def first_sample(self, table: Table) -> datetime | None:
        """Return a moment that no sample of a bronze table is before; None without samples.

        Raises:
            HistoryError: It cannot be read.
        """
        files = TableFiles(self._lake.uri(table), self._settings)
        files.position()
        return min((at for one in files.current() if (at := one.lowest(table.time))), default=None)

    def read(self, table: Table, since: datetime, until: datetime) -> DataFrame:
        """Return a table's rows of a stretch of time, with every column of its definition.

        Args:
            table: Any table; one that does not exist has no rows.
            since: First moment of its time column, inclusive.
            until: Last moment, exclusive.
        """
        if not self.exists(table):
            return self.spark.createDataFrame([], table.spark_ddl)
        rows = self.spark.read.format("delta").load(for_spark(self._lake.uri(table)))
        dates = (F.col("date") >= since.date()) & (F.col("date") <= until.date())
        time = F.col(table.time)
        return _arranged(rows.where(dates & (time >= since) & (time < until)), table)

    def source(
        self,
        table: Table,
        since: datetime,
        until: datetime,
        *,
        named: str = "group",
        wanted: pl.Expr | None = None,
    ) -> Source:
        """Return a table's rows of a stretch of time, as workers read them of some groups.

        Args:
            table: Any table that is partitioned by date; one that does not exist has no rows.
            since: First moment of its time column, inclusive.
            until: Last moment, exclusive.
            named: The column that names the group.
            wanted: Which rows; None: all of them.

        Raises:
            HistoryError: The table cannot be read.
        """
        samples = BronzeTable(self._lake, self._settings, table)
        samples.position()
        first = begin(table, since)
        files, rows = samples.files(first, until), samples.rows(first, until)
        return Source(files, since, until, rows, named, wanted)

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
        together = _arranged(rows, table).repartition(1).sortWithinPartitions(*order)
        writer = together.write.format("delta").mode("overwrite").option("mergeSchema", "true")
        writer.options(**properties(table)).partitionBy("date").save(
            for_spark(self._lake.uri(table))
        )

    def replace_hours(self, table: Table, rows: DataFrame) -> None:
        """Put the rows of whole hours in the place of what the table has of these hours.

        Args:
            table: A table partitioned by date, grain and part (the hour of the day).
            rows: Its rows but for these columns.
        """
        time = F.col(table.time)
        places = {
            "date": F.to_date(time),
            "grain_seconds": F.lit(Grain.HOUR.seconds),
            "part": F.hour(time),
        }
        writer = _arranged(rows.withColumns(places), table).repartition(1).write.format("delta")
        writer = writer.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer = (
            writer.option("mergeSchema", "true")
            .options(**properties(table))
            .partitionBy(*PARTITIONED_BY)
        )
        writer.save(for_spark(self._lake.uri(table)))


def _arranged(rows: DataFrame, table: Table) -> DataFrame:
    """Return the table's columns in its order and types; those that are absent are null."""
    return rows.select(
        *(
            (F.col(f"`{column.name}`") if column.name in rows.columns else F.lit(None))
            .cast(column.spark_type)
            .alias(column.name)
            for column in table.columns
        )
    )


def fields(table: Table, *without: str) -> str:
    """Return a table's columns as Spark's schema text, for rows that Python makes.

    Args:
        table: The table.
        without: Columns that are added afterwards.
    """
    left_out = {"as_of", "date", *without}
    kept = (column for column in table.columns if column.name not in left_out)
    return ", ".join(f"`{column.name}` {column.spark_type}" for column in kept)


def names_of(table: Table, *without: str) -> Sequence[str]:
    """Return the names of these columns, in order."""
    left_out = {"as_of", "date", *without}
    return [column.name for column in table.columns if column.name not in left_out]
