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

from lake.carried import CARRIED_FOR, NEEDED, POLL, expanded
from lake.errors import one_line
from lake.schema import Table
from spark_metrics.errors import HistoryError

Task = TypeVar("Task")

ROWS_OF_A_TASK = 1_000_000
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


def read_samples(
    files: Files, columns: Sequence[str], since: datetime, until: datetime, share: Share
) -> pl.DataFrame:
    """Return samples of a stretch of time, those included that were left out.

    Args:
        files: Files of a bronze table.
        columns: Columns beside cluster, observed_at and poll_id.
        since: First moment, inclusive.
        until: Last moment, exclusive.
        share: Which of them.
    """
    table = files.table
    names = dict.fromkeys(("cluster", "observed_at", "poll_id", *columns))
    time = pl.col(table.time)
    contained = share.contains() if share.column in columns else pl.lit(True)
    if not table.carried:
        return files.collect(names, (time >= since) & (time < until) & contained)
    names |= dict.fromkeys((*table.series, *NEEDED))
    inside = (time >= since - CARRIED_FOR) & (time < until)
    rows = files.collect(names, inside & (contained | (pl.col("mark") == POLL)))
    return expanded(table, rows, since=since, until=until)


def shares(rows: int, column: str | None) -> list[Share]:
    """Return how so many rows are split over tasks by a column."""
    of = 1 if column is None else max(1, -(-rows // ROWS_OF_A_TASK))
    return [Share(column, number, of) for number in range(of)]


def slices(
    start: datetime, end: datetime, rows: int, tasks: int = 1
) -> list[tuple[datetime, datetime]]:
    """Return whole minutes of about a task's rows each.

    Args:
        start: The first minute.
        end: The end of the last minute.
        rows: How many rows there are from start to end.
        tasks: At least so many slices, if there are enough rows to be worth it.
    """
    minutes = max(1, round((end - start) / timedelta(minutes=1)))
    wanted = max(-(-rows // ROWS_OF_A_TASK), min(tasks, rows // (ROWS_OF_A_TASK // 8)), 1)
    length = timedelta(minutes=-(-minutes // min(wanted, minutes)))
    found = []
    while start < end:
        found.append((start, min(start + length, end)))
        start += length
    return found


def spread(
    spark: SparkSession, tasks: Sequence[Task], work: Callable[[Task], pl.DataFrame], ddl: str
) -> DataFrame:
    """Return the rows that all tasks together make.

    Args:
        spark: The session.
        tasks: What ``work`` is called with, on whichever worker.
        work: The work; its rows have the columns of ``ddl``.
        ddl: The columns as Spark's schema text.
    """
    schema = _schema(ddl)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from to_arrow(work(tasks[number]), schema)

    if not tasks:
        nothing: DataFrame = spark.createDataFrame([], schema)
        return nothing
    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, schema)


def each_partition(
    rows: DataFrame, work: Callable[[pl.DataFrame], pl.DataFrame], ddl: str
) -> DataFrame:
    """Return what a function makes of each partition's rows as a whole."""
    schema = _schema(ddl)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if found:
            frame = pl.DataFrame(pa.Table.from_batches(found))
            yield from to_arrow(work(frame), schema)

    return rows.mapInArrow(run, schema)


def _schema(ddl: str) -> StructType:
    schema = StructType.fromDDL(ddl)
    if not isinstance(schema, StructType):
        raise TypeError(f"no columns: {ddl}")
    return schema


def to_arrow(rows: pl.DataFrame, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Return rows as Spark takes them: its own types, and not too many at once."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    for part in rows.select(wanted.names).iter_slices(_BATCH_ROWS):
        table = part.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(wanted)
        yield from table.combine_chunks().to_batches()
