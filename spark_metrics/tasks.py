"""Work on columns, spread over Spark's workers.

Spark plans, places, repeats and commits the work; what a task does with its samples is Polars',
over columns: several times as fast on the same core as Spark's rows, windows and sketches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lake.errors import one_line
from lake.schemas.model import Table
from spark_metrics.errors import HistoryError

Task = TypeVar("Task")

ROWS_AT_ONCE = 1_000_000
"""About so many rows are held in memory by a task at once: some hundred megabytes."""
_BATCH_ROWS = 50_000
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What reading a file raises; a truncated one makes Polars panic."""
_CASTS = pl.ScanCastOptions(
    integer_cast="upcast", datetime_cast=["nanosecond-downcast", "convert-timezone"]
)


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one table, as a worker reads them.

    Attributes:
        table: The table.
        paths: Their addresses.
        options: How to reach them; secrets may be among them.
    """

    table: Table
    paths: tuple[str, ...]
    options: Mapping[str, str] | None = field(default=None, repr=False)

    def collect(self, columns: Iterable[str], wanted: pl.Expr) -> pl.DataFrame:
        """Return these columns of the rows that are wanted; those that a file lacks are null.

        Raises:
            HistoryError: A file cannot be read.
        """
        schema = {name: self.table.polars_schema[name] for name in columns}
        if not self.paths:
            return pl.DataFrame(schema=schema)
        options = None if self.options is None else dict(self.options)
        try:
            rows = pl.scan_parquet(
                list(self.paths),
                schema=schema,
                missing_columns="insert",
                extra_columns="ignore",
                hive_partitioning=False,
                storage_options=options,
                cast_options=_CASTS,
            )
            return rows.filter(wanted).collect()
        except UNREADABLE as error:
            raise HistoryError(
                f"{self.table.name}: a file cannot be read: {one_line(error)}"
            ) from error


def is_readable(path: str, options: Mapping[str, str] | None) -> bool:
    """Tell whether every value of a file can be read; not much of it is in memory at once."""
    rows = pl.scan_parquet(path, storage_options=None if options is None else dict(options))
    try:
        rows.select(pl.struct(pl.all()).hash().sum()).collect(engine="streaming")
    except UNREADABLE:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Share:
    """The rows of which a column's value falls to one of several tasks.

    Attributes:
        column: The column; None: all rows.
        number: Which share, from 0.
        of: How many there are.
    """

    column: str | None = None
    number: int = 0
    of: int = 1

    def contains(self) -> pl.Expr:
        """Tell whether a row is in the share."""
        if self.column is None or self.of == 1:
            return pl.lit(True)
        # The first bits: tables are put together by the others.
        return (pl.col(self.column).hash(seed=1) // 2**20) % self.of == self.number


def shares(rows: int, column: str | None) -> list[Share]:
    """Return how so many rows are split over tasks by a column."""
    of = 1 if column is None else max(1, -(-rows // ROWS_AT_ONCE))
    return [Share(column, number, of) for number in range(of)]


def slices(start: datetime, end: datetime, wanted: int) -> list[tuple[datetime, datetime]]:
    """Return stretches of whole minutes, at most so many.

    Args:
        start: The first minute.
        end: The end of the last minute.
        wanted: How many, at least one.
    """
    minutes = max(1, round((end - start) / timedelta(minutes=1)))
    length = timedelta(minutes=-(-minutes // min(wanted, minutes)))
    found = []
    while start < end:
        found.append((start, min(start + length, end)))
        start += length
    return found


def spread(
    spark: SparkSession,
    tasks: Sequence[Task],
    work: Callable[[Task], Iterable[pl.DataFrame]],
    ddl: str,
) -> DataFrame:
    """Return the rows that all tasks together make.

    Args:
        spark: The session.
        tasks: What ``work`` is called with, on whichever worker.
        work: The work; its frames have the columns of ``ddl``, and are not needed all at once.
        ddl: The columns as Spark's schema text.
    """
    schema = struct(ddl)
    wanted = arrow_schema(schema)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in work(tasks[number]):
                    yield from to_arrow(rows, wanted)

    if not tasks:
        nothing: DataFrame = spark.createDataFrame([], schema)
        return nothing
    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, schema)


def each_partition(
    rows: DataFrame, work: Callable[[pl.DataFrame], Iterable[pl.DataFrame]], ddl: str
) -> DataFrame:
    """Return what a function makes of each partition's rows as a whole."""
    schema = struct(ddl)
    wanted = arrow_schema(schema)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if found:
            frame = pl.DataFrame(pa.Table.from_batches(found))
            for made in work(frame):
                yield from to_arrow(made, wanted)

    return rows.mapInArrow(run, schema)


def struct(ddl: str) -> StructType:
    """Return the columns that Spark's schema text names; on the driver alone."""
    schema = StructType.fromDDL(ddl)
    if not isinstance(schema, StructType):
        raise TypeError(f"no columns: {ddl}")
    return schema


def arrow_schema(columns: StructType) -> pa.Schema:
    """Return Spark's columns as Arrow knows them."""
    return to_arrow_schema(columns, timezone="UTC")


def to_arrow(rows: pl.DataFrame, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Return these columns of rows as Spark takes them, and not too many at once."""
    for part in rows.select(wanted.names).iter_slices(_BATCH_ROWS):
        table = part.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(wanted)
        yield from table.combine_chunks().to_batches()
