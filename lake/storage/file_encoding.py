"""How data files are encoded: those that are appended, and those that compaction makes of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa
from deltalake import ColumnProperties, WriterProperties

from lake.schemas.model import Table

_DIFFERENCES: dict[str, Any] = {"dictionary_enabled": False, "encoding": "DELTA_BINARY_PACKED"}
_MOVING = ("committed", "log_end", "last_stable")

COMPACTED = WriterProperties(
    compression="ZSTD",
    compression_level=3,
    dictionary_page_size_limit=8 * 2**20,
    data_page_row_count_limit=200_000,
    column_properties={name: ColumnProperties(**_DIFFERENCES) for name in _MOVING},
)
"""For files of many polls, of which most repeats from poll to poll.

The member ids of 10,000 groups are a dictionary of 3 MB; with the usual limit of 1 MB most of them
were written in full. Pages are compressed one by one: only one of several polls holds what repeats.
Offsets that move hardly repeat, and a dictionary of them is longer than they are.
"""

_PLAIN_NAMES = {"dictionary_enabled": False, "encoding": "DELTA_LENGTH_BYTE_ARRAY"}
_COUNTS = ("int", "long", "timestamp")
_NAMES = ("member_id", "client_id", "host")
_PART_ROWS = 10_000
_SORTED_BY = 2
"""How many columns of a series rows are in order of: cluster, and group or topic."""


@cache
def appended(table: Table) -> WriterProperties:
    """Return how the file of one append is written.

    Numbers are stored as differences, which take a third less than dictionaries, since the rows of
    a poll are in order and hardly repeat a number. Names are stored plain: compressed they are as
    small as with prefixes left out, and are read three times as fast.

    A large file has parts, each of some groups or topics. There are statistics of their names
    alone, and of what marks a heartbeat: who asks for one group reads one part.
    """
    names = {*table.series, *_NAMES} - {"cluster"}
    chosen: dict[str, ColumnProperties] = {}
    for column in table.columns:
        properties: dict[str, Any] = {}
        if column.type in _COUNTS:
            properties |= _DIFFERENCES
        elif column.type == "string" and column.name in names:
            properties |= _PLAIN_NAMES
        if column.name not in (*table.series[:_SORTED_BY], table.time, "row_kind"):
            properties["statistics_enabled"] = "NONE"
        if properties:
            chosen[column.name] = ColumnProperties(**properties)
    return WriterProperties(
        compression="ZSTD",
        compression_level=1,
        max_row_group_size=_PART_ROWS,
        column_properties=chosen,
    )


def stream(table: Table, rows: pl.DataFrame) -> pa.RecordBatchReader:
    """Hand rows over by group or topic, in slices, which take less memory while they are written.

    The reader needs no Python. A call of delta-rs that changes a table's properties holds Python's
    lock, and would otherwise wait for ever for rows that wait for the lock.
    """
    if rows.height > _PART_ROWS:
        rows = rows.sort(table.series[:_SORTED_BY], maintain_order=True)
    return rows.to_arrow().to_reader(max_chunksize=_PART_ROWS)
