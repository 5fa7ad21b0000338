"""Reading samples with Spark, and working on them on its workers.

Spark reads bronze, deals whole groups or topics out to its tasks and hands each task its samples as
Arrow batches; what a task makes of them are Polars' columns (``rollups``), which cost a fraction of
what windows and sketches over Spark's rows do.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial, reduce

import polars as pl
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lake.change_encoding.expand import (
    HEARTBEAT,
    NEEDED,
    REWRITTEN_AFTER,
    expand,
    still_needed,
)
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.storage.store import Lake
from spark_metrics.objectstore import hadoop_address
from spark_metrics.rollups.passes import Frames

ROWS_A_TASK = 1_000_000
"""Samples that a task holds in memory, about: up to 1.3 GB, with what is made of them."""

_BATCH_ROWS = 50_000
_OF = "_of"
_DEALT_BY = "_dealt_by"


def address(lake: Lake, table: Table) -> str:
    """Return a table's address as Hadoop's file systems spell it."""
    return hadoop_address(lake.uri(table))


def read(spark: SparkSession, lake: Lake, table: Table) -> DataFrame:
    """Return a table with every column of its definition; those it lacks yet are null.

    Raises:
        LakeError: It cannot be read.
    """
    if not lake.exists(table):
        nothing: DataFrame = spark.createDataFrame([], table.spark_ddl)
        return nothing
    return with_all_columns(spark.read.format("delta").load(address(lake, table)), table)


def with_all_columns(rows: DataFrame, table: Table) -> DataFrame:
    """Return the table's columns in its order and types; those that are absent are null."""
    return rows.select(
        *(
            (F.col(f"`{column.name}`") if column.name in rows.columns else F.lit(None))
            .cast(column.spark_type)
            .alias(column.name)
            for column in table.columns
        )
    )


def between(table: Table, since: datetime, until: datetime) -> Column:
    """Return which rows lie in a time range, so that no other date's files are opened."""
    time, date = F.col(table.time), F.col("date")
    return (
        (date >= F.lit(since.date()))
        & (date <= F.lit(until.date()))
        & (time >= F.lit(since))
        & (time < F.lit(until))
    )


def collected(
    spark: SparkSession,
    lake: Lake,
    table: Table,
    columns: Sequence[str],
    since: datetime,
    until: datetime,
) -> pl.DataFrame:
    """Return rows of a table of which there are few in a time range, on the driver.

    Without Spark, which takes half a second for a query however small; where a file cannot be read
    Spark does it, which knows whether such a file is to be passed over.

    Raises:
        LakeError: The table cannot be read.
    """
    names = list(dict.fromkeys((*table.identity, *columns)))
    with suppress(LakeError):
        return lake.read(table, since=since, until=until, columns=names)
    rows = read(spark, lake, table).where(between(table, since, until)).select(*names)
    return table.distinct(pl.DataFrame(rows.toArrow()))


def standing_of(table: Table, columns: Sequence[str]) -> Table:
    """Return a table of what is read where some columns are needed; it is never stored."""
    keys = (*NEEDED, *table.series) if table.change_only else table.identity
    types = {column.name: column for column in table.columns}
    needed = tuple(types[name] for name in dict.fromkeys((*keys, *columns)))
    return replace(table, name=f"standing_{table.name}", columns=needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows of one table in a time range.

    Attributes:
        table: The table.
        columns: The columns that are needed beside those that tell rows apart.
        together: A task gets all rows that agree in these columns.
        since: First moment.
        until: Last moment, exclusive.
        polls: Of a table that leaves out what repeats: its heartbeats, of which each task needs
            all; None where one task gets every row.
    """

    table: Table
    columns: tuple[str, ...]
    together: tuple[str, ...]
    since: datetime
    until: datetime
    polls: pl.DataFrame | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        lake: Lake,
        table: Table,
        columns: Sequence[str],
        together: Sequence[str],
        since: datetime,
        until: datetime,
        *,
        one_task: bool = False,
        standing: pa.Table | None = None,
    ) -> Source:
        """Return a source, having read its polls unless one task gets them with all other rows.

        ``standing`` is as for ``written``.

        Raises:
            LakeError: They cannot be read.
        """
        polls = None
        if table.change_only and not one_task:
            first = since - REWRITTEN_AFTER if standing is None else since
            rows = read(spark, lake, table).where(between(table, first, until))
            polls = pl.DataFrame(
                rows.where(F.col("row_kind") == HEARTBEAT).select(*NEEDED).toArrow()
            )
            if standing is not None:
                stood = pl.DataFrame(standing).filter(pl.col("row_kind") == HEARTBEAT)
                polls = pl.concat([stood.select(NEEDED), polls])
        return cls(
            table=table,
            columns=tuple(columns),
            together=tuple(together),
            since=since,
            until=until,
            polls=polls,
        )

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return list(standing_of(self.table, self.columns).polars_schema)

    def written(
        self, spark: SparkSession, lake: Lake, standing: pa.Table | None = None
    ) -> DataFrame:
        """Return the rows as they were written, and those before that stand for the first polls.

        Args:
            spark: The session.
            lake: Where the table is.
            standing: What ``standing`` said of ``since``; None: a quarter of an hour is read.
        """
        rows = read(spark, lake, self.table)
        if not self.table.change_only:
            inside = rows.where(between(self.table, self.since, self.until))
            return inside.select(*self.names).where(F.col(self.together[-1]).isNotNull())
        if standing is not None:
            inside = rows.where(between(self.table, self.since, self.until)).select(*self.names)
            rows = inside.union(
                spark.createDataFrame(standing, standing_of(self.table, self.columns).spark_ddl)
            )
        else:
            near = between(self.table, self.since - REWRITTEN_AFTER, self.until)
            # A row that is complete by itself says nothing of later polls.
            holds = F.col("stream").isNotNull() | (F.col(self.table.time) >= F.lit(self.since))
            rows = rows.where(near & holds).select(*self.names)
        if self.polls is None:
            return rows
        return rows.where(F.col("row_kind").isNull() | (F.col("row_kind") != HEARTBEAT))

    def whole(self, written: pl.DataFrame) -> pl.DataFrame:
        """Return each row once, those that were left out included."""
        if not self.table.change_only:
            return self.table.distinct(written)
        return expand(self.table, self._with_polls(written), since=self.since, until=self.until)

    def standing(self, written: pl.DataFrame, moment: datetime) -> pl.DataFrame:
        """Return the rows before a moment that samples from then on follow from, too."""
        needed = still_needed(self.table, self._with_polls(written), moment)
        return needed.filter(pl.col(self.table.time) < moment)

    def _with_polls(self, written: pl.DataFrame) -> pl.DataFrame:
        parts = [written] if self.polls is None else [written, self.polls]
        return pl.concat(parts, how="diagonal")


def map_together(
    parts: Mapping[str, tuple[DataFrame, Sequence[str]]],
    tasks: int,
    work: Callable[[Frames], Iterable[tuple[Table, pl.DataFrame]]],
    results: Sequence[Table],
) -> DataFrame:
    """Work on rows of several frames, spread over tasks.

    Args:
        parts: Rows by the name under which ``work`` gets them, and the columns by which they are
            dealt out: a task gets all rows that agree in them. Columns with the same name have
            the same type in all of them, and in all results.
        tasks: How many tasks; one shuffles nothing.
        work: Makes rows of those that a task has, each with the table that they are of, of which
            they may lack columns; runs on any machine.
        results: All these tables.

    Returns:
        The rows of all results: each has the columns of its own, the others are null. ``rows_of``
        takes one apart.
    """
    marked = [
        rows.select(F.lit(number).alias(_OF), F.xxhash64(*by).alias(_DEALT_BY), *rows.columns)
        for number, (rows, by) in enumerate(parts.values())
    ]
    together = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), marked)
    dealt = together.coalesce(1) if tasks == 1 else together.repartition(tasks, _DEALT_BY)
    columns = {name: rows.columns for name, (rows, _) in parts.items()}
    types = {name: type_ for one in results for name, type_ in one.polars_schema.items()}

    def on_task(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        found = {
            name: rows.select(names).filter(rows[_OF] == number)
            for number, (name, names) in enumerate(columns.items())
        }
        for table, made in work(found):
            own = set(table.polars_schema) & set(made.columns)
            yield made.select(
                pl.lit(table.name).alias(_OF),
                *(
                    (pl.col(name) if name in own else pl.lit(None)).cast(type_).alias(name)
                    for name, type_ in types.items()
                ),
            )

    spark_types = {one.name: one.spark_type for table in results for one in table.columns}
    ddl = ", ".join(f"`{name}` {type_}" for name, type_ in {_OF: "string", **spark_types}.items())
    return map_partitions(dealt.drop(_DEALT_BY), on_task, ddl)


def by_group(
    parts: Mapping[str, tuple[DataFrame, str]],
    tasks: int,
    work: Callable[[Frames], pl.DataFrame],
    table: Table,
) -> DataFrame:
    """Return what a function makes of the rows of all groups, topics or series.

    Args:
        parts: Rows by name, each with the column that names the group (beside cluster).
        tasks: Over how many tasks they are dealt out; a task's rows are in memory at once.
        work: Is given the rows of some whole groups of every part.
        table: Of which the made rows are; columns that they lack become null.
    """
    dealt = {name: (rows, ("cluster", named)) for name, (rows, named) in parts.items()}

    def on_groups(found: Frames) -> Iterator[tuple[Table, pl.DataFrame]]:
        # Samples are millions of tuples without a cycle: looking for one takes a fifth of the time.
        gc.disable()
        try:
            yield table, work(found)
        finally:
            gc.enable()

    return rows_of(map_together(dealt, tasks, on_groups, [table]), table)


def rows_of(results: DataFrame, table: Table) -> DataFrame:
    """Return the rows of one result of ``map_together``."""
    return results.where(F.col(_OF) == table.name).select(*table.polars_schema)


def map_partitions(
    rows: DataFrame, work: Callable[[pl.DataFrame], Iterable[pl.DataFrame]], ddl: str
) -> DataFrame:
    """Return what a function makes of the rows of each partition as a whole.

    Args:
        rows: The rows.
        work: Makes rows with the columns of ``ddl``, in this order.
        ddl: Spark's schema text.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if found:
            for made in work(pl.DataFrame(pa.Table.from_batches(found))):
                yield from to_arrow(made)

    return rows.mapInArrow(run, ddl)


def tasks_for(rows: int) -> int:
    """Return over how many tasks a number of samples is spread."""
    return max(1, -(-rows // ROWS_A_TASK))


def to_arrow(rows: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    """Return rows as Spark takes them, and not too many at once."""
    for part in rows.iter_slices(_BATCH_ROWS):
        table = part.to_arrow(compat_level=pl.CompatLevel.oldest())
        columns = [one.with_type(_as_spark_has_it(one.type)) for one in table.schema]
        yield from table.cast(pa.schema(columns)).combine_chunks().to_batches()


def _as_spark_has_it(type_: pa.DataType) -> pa.DataType:
    """Return a type without the large texts and lists that Polars has, and Spark has not."""
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_list(type_):
        return pa.list_(_as_spark_has_it(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([one.with_type(_as_spark_has_it(one.type)) for one in type_])
    return type_
