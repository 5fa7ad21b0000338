"""Writing the rows of a history table into files, on a worker.

Columns go into Parquet as they are: Spark's own writer takes rows one by one and costs twice what
computing them did. A file is part of the table once the driver has committed it (``commits``);
one that nobody commits is deleted by upkeep.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import PyFileSystem
from pyspark.sql import DataFrame, SparkSession

from lake.schemas.grain import PARTITIONED_BY
from lake.schemas.model import Table
from spark_metrics.tasks import Task, arrow_schema, spread, struct, to_arrow

WRITTEN_DDL = "action string"
"""A row is a file that was written, as the action of Delta's log that adds it."""

_ROWS_OF_A_GROUP = 25_000
"""A reader of one series among thousands skips row groups by their statistics."""
_ROWS_AT_ONCE = 250_000


@dataclass(frozen=True, slots=True)
class Target:
    """A history table as workers write it.

    Attributes:
        table: The table.
        schema: The columns in its files: all but those that name the part.
        uri: Its address.
        options: How to reach it; secrets may be among them.
    """

    table: Table
    schema: pa.Schema
    uri: str
    options: Mapping[str, str] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, table: Table, uri: str, options: Mapping[str, str] | None) -> Target:
        """Return a table as workers write it; on the driver alone."""
        kept = [column for column in table.columns if column.name not in PARTITIONED_BY]
        ddl = ", ".join(f"`{column.name}` {column.spark_type}" for column in kept)
        return cls(table, arrow_schema(struct(ddl)), uri, options)

    def write(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Write rows, a file for each part of the table (``PARTITIONED_BY``).

        Args:
            frames: Rows with all columns, in any order; not needed all at once.

        Yields:
            The files, as ``WRITTEN_DDL`` says.

        Raises:
            OSError: The store refused.
        """
        options = None if self.options is None else dict(self.options)
        system = PyFileSystem(DeltaStorageHandler(self.uri, options))
        parts: dict[tuple[Any, ...], _Part] = {}
        for frame in frames:
            for place, rows in frame.partition_by(PARTITIONED_BY, as_dict=True).items():
                if place not in parts:
                    parts[place] = _Part(self.table, self.schema, place, system)
                parts[place].add(rows)
        actions = [part.close() for part in parts.values()]
        yield pl.DataFrame({"action": actions}, schema={"action": pl.String})


def written(
    spark: SparkSession,
    target: Target,
    tasks: Sequence[Task],
    rows: Callable[[Task], Iterable[pl.DataFrame]],
) -> DataFrame:
    """Return the files that hold the rows of all tasks, a row each; they are yet to be written.

    Args:
        spark: The session.
        target: The table.
        tasks: What ``rows`` is called with, on whichever worker.
        rows: The rows of a task; see ``Target.write``.
    """
    return spread(spark, tasks, lambda task: target.write(rows(task)), WRITTEN_DDL)


class _Part:
    """The file of one part, while rows are added to it."""

    def __init__(
        self, table: Table, schema: pa.Schema, place: tuple[Any, ...], system: PyFileSystem
    ) -> None:
        self._table = table
        self._schema = schema
        self._system = system
        self._values = {name: str(value) for name, value in zip(PARTITIONED_BY, place, strict=True)}
        folder = "/".join(f"{name}={value}" for name, value in self._values.items())
        self._path = f"{folder}/part-{uuid.uuid4()}.zstd.parquet"
        self._waiting: list[pl.DataFrame] = []
        self._statistics = _Statistics(looked_for(table))
        self._stream = system.open_output_stream(self._path)
        self._writer = pq.ParquetWriter(
            self._stream,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=_repeating(table),
        )

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows; some wait for more, so that each series' are together."""
        self._waiting.append(rows)
        if sum(waiting.height for waiting in self._waiting) >= _ROWS_AT_ONCE:
            self._flush()

    def close(self) -> str:
        """Write what waits, and return the action that adds the file to the table."""
        self._flush()
        self._writer.close()
        self._stream.close()
        action = {
            "path": self._path,
            "partitionValues": self._values,
            "size": self._system.get_file_info(self._path).size,
            "modificationTime": int(time.time() * 1000),
            "dataChange": True,
            "stats": self._statistics.text(),
        }
        return json.dumps({"add": action})

    def _flush(self) -> None:
        if not self._waiting:
            return
        rows = in_order(pl.concat(self._waiting), self._table)
        self._waiting = []
        self._statistics.add(rows)
        for batch in to_arrow(rows, self._schema):
            self._writer.write_batch(batch, row_group_size=_ROWS_OF_A_GROUP)


class _Statistics:
    """What Delta's log says of a file, so that readers can pass it over."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._rows = 0
        self._least: dict[str, Any] = {}
        self._most: dict[str, Any] = {}

    def add(self, rows: pl.DataFrame) -> None:
        """Count rows in."""
        self._rows += rows.height
        for name in self._columns:
            least: Any = rows[name].min()
            most: Any = rows[name].max()
            self._least[name] = min(self._least.get(name, least), least)
            self._most[name] = max(self._most.get(name, most), most)

    def text(self) -> str:
        """Return the statistics as JSON."""
        return json.dumps(
            {
                "numRecords": self._rows,
                "minValues": {name: _plain(value) for name, value in self._least.items()},
                "maxValues": {name: _plain(value) for name, value in self._most.items()},
                "nullCount": dict.fromkeys(self._columns, 0),
            }
        )


def _plain(value: Any) -> Any:
    """Return a value as Delta's protocol writes it."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03}Z"
    return value


def _repeating(table: Table) -> list[str]:
    """Return the columns, as Parquet names them, whose values repeat enough for a dictionary.

    Counters and rates hardly do: a dictionary of theirs costs a quarter of the writing, and
    makes files a sixth larger.
    """
    return [
        f"{column.name}.list.element" if column.type == "list<int>" else column.name
        for column in table.columns
        if column.type not in ("long", "double")
    ]


def looked_for(table: Table) -> tuple[str, ...]:
    """Return the columns by which rows of a table are looked for: those that have statistics.

    None of them is ever null.
    """
    names = (table.time, *(name for name in table.key if name not in PARTITIONED_BY))
    return tuple(dict.fromkeys(names))


def in_order(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return rows with each series' together, so that a reader of one opens little."""
    series = [name for name in table.key if name not in ("cluster", "grain_seconds")]
    return rows.sort(*[name for name in series if name != "window_start"], "window_start")
