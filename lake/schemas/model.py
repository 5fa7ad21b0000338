"""How a table is described: once, for delta-rs (Arrow), Polars and Spark alike."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Literal

import polars as pl

Type = Literal[
    "string",
    "int",
    "long",
    "double",
    "boolean",
    "timestamp",
    "date",
    "binary",
    "list<int>",
    "list<string>",
    "map<string,long>",
    "map<string,string>",
]
"""A column's type; ``timestamp`` is UTC in microseconds."""


def _entries(value: pl.DataType) -> pl.DataType:
    return pl.List(pl.Struct({"key": pl.String(), "value": value}))


_POLARS: dict[Type, pl.DataType] = {
    "string": pl.String(),
    "int": pl.Int32(),
    "long": pl.Int64(),
    "double": pl.Float64(),
    "boolean": pl.Boolean(),
    "timestamp": pl.Datetime("us", "UTC"),
    "date": pl.Date(),
    "binary": pl.Binary(),
    "list<int>": pl.List(pl.Int32()),
    "list<string>": pl.List(pl.String()),
    "map<string,long>": _entries(pl.Int64()),
    "map<string,string>": _entries(pl.String()),
}
_SPARK: dict[Type, str] = {
    "long": "bigint",
    "list<int>": "array<int>",
    "list<string>": "array<string>",
    "map<string,long>": "array<struct<key:string,value:bigint>>",
    "map<string,string>": "array<struct<key:string,value:string>>",
}


_EPOCH = datetime.fromtimestamp(0, UTC)


def moment(at: datetime) -> pl.Expr:
    """Return a moment that a ``timestamp`` is compared with.

    As a number: Polars needs ten times as long for a time.
    """
    return pl.lit((at - _EPOCH) // timedelta(microseconds=1), _POLARS["timestamp"])


Merge = Literal["last", "sum", "min", "max", "mean", "histogram"]
"""How the values of a window's rows become the value of the longer window that holds them.

``last`` is the newest that is known; ``mean`` is weighted by another column.
"""


# Name and type stand by position: a table reads like its definition in SQL.
@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: Its name; units are in it (``_seconds``, ``_bytes``, ``_per_second``, ``_ratio``).
        type: Its type; a map is stored as a list of entries, which every reader of Delta knows.
        merge: How it becomes a longer window's; None: it is in the key, or follows from others.
        weight: The column that a mean is weighted by; of lists, by their sums.
    """

    name: str
    type: Type
    _: KW_ONLY
    required: bool = False
    merge: Merge | None = None
    weight: str | None = None

    @property
    def spark_type(self) -> str:
        """The type as Spark writes it."""
        return _SPARK.get(self.type, self.type)


@dataclass(frozen=True, kw_only=True)
class Table:
    """One Delta table of the lake.

    Attributes:
        layer: ``bronze`` is appended by collectors (delta-rs), ``gold`` is written by Spark,
            ``current`` is replaced whole (``lake.storage.current_store``).
        columns: All columns, the partition column ``date`` last; tables of the present have none.
        time: The column that ``date`` is taken from.
        change_only: Whether rows that repeat the one before are left out; see
            ``lake.change_encoding.expand``.
        collected_by: Kinds of source that have a section of the table's name.
        volatile: Columns of a ``change_only`` table whose change alone writes no row: what is read
            of them may be as old as a row stands.
    """

    name: str
    layer: Literal["bronze", "gold", "current"]
    columns: tuple[Column, ...]
    time: str
    key: tuple[str, ...]
    collected_by: tuple[str, ...] = ()
    change_only: bool = False
    volatile: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """The columns that name what is sampled: the key without poll and time."""
        return tuple(name for name in self.key if name not in ("poll_id", self.time))

    @cached_property
    def polars_schema(self) -> pl.Schema:
        """The columns as Polars knows them."""
        return pl.Schema({column.name: _POLARS[column.type] for column in self.columns})

    @cached_property
    def empty(self) -> pl.DataFrame:
        """No rows, with all columns."""
        return pl.DataFrame(schema=self.polars_schema)

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns by which two rows are the same one."""
        return tuple(dict.fromkeys((*self.key, self.time)))

    def distinct(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows without those that are there twice.

        Args:
            rows: Rows of the table; what all of them share may be missing: cluster, poll, time.
        """
        if rows.height < 2:
            return rows
        columns = [name for name in self.identity if name in rows.columns]
        # Numbers are compared first, which is several times as fast as comparing names.
        if not columns or rows.select(columns).hash_rows().n_unique() == rows.height:
            return rows
        return rows.unique(columns, keep="first", maintain_order=True)

    @property
    def spark_ddl(self) -> str:
        """The columns as Spark's schema text, for example ``group string, lag bigint``."""
        return ", ".join(f"`{column.name}` {column.spark_type}" for column in self.columns)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the columns that every row must fill."""
        return tuple(column.name for column in self.columns if column.required)


def columns(merge: Merge | None = None, /, **types: Type) -> tuple[Column, ...]:
    """Return columns by name and type, none of them required, that merge alike."""
    return tuple(Column(name, type_, merge=merge) for name, type_ in types.items())


def required(**types: Type) -> tuple[Column, ...]:
    """Return columns by name and type that every row fills."""
    return tuple(Column(name, type_, required=True) for name, type_ in types.items())


DATE = Column("date", "date", required=True)
"""By which every table is partitioned."""
