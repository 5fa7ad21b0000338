"""How data files are encoded: those that are appended, and those that upkeep makes of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa
from deltalake import ColumnProperties, WriterProperties

from lake.schemas.model import Table

COMPACTED = WriterProperties(compression="ZSTD", compression_level=1)
"""For files of many polls: a dictionary finds what repeats from poll to poll."""

_DIFFERENCES = {"dictionary_enabled": False, "encoding": "DELTA_BINARY_PACKED"}
_PLAIN_NAMES = {"dictionary_enabled": False, "encoding": "DELTA_LENGTH_BYTE_ARRAY"}
_COUNTS = ("int", "long", "timestamp")
_NAMES = ("member_id", "client_id", "host")
_SLICE_ROWS = 10_000


@cache
def appended(table: Table) -> WriterProperties:
    """Return how the file of one append is written.

    A poll's rows come in order and hardly repeat a number: differences between neighbours take a
    third less than dictionaries. Names one after the other, without a dictionary, are as small
    once compressed, and are read three times as fast as what differs from the one before.
    Nobody looks for a name in the statistics of a file that holds all of them.
    """
    names = {*table.series, *_NAMES} - {"cluster"}
    chosen: dict[str, ColumnProperties] = {}
    for column in table.columns:
        properties: dict[str, Any] = {}
        if column.type in _COUNTS:
            properties |= _DIFFERENCES
        elif column.type == "string" and column.name in names:
            properties |= _PLAIN_NAMES
        if column.name not in ("cluster", table.time):
            properties["statistics_enabled"] = "NONE"
        if properties:
            chosen[column.name] = ColumnProperties(**properties)
    return WriterProperties(compression="ZSTD", compression_level=1, column_properties=chosen)


def stream(rows: pl.DataFrame) -> pa.RecordBatchReader:
    """Hand rows over in slices: as one, 150,000 of them take more memory while they are written.

    By a reader that needs no Python: a call of delta-rs that changes a table's properties holds
    Python's lock, and would wait for ever for rows that wait for the lock.
    """
    return rows.to_arrow().to_reader(max_chunksize=_SLICE_ROWS)
