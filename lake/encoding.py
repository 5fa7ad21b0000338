"""How data files are encoded: those that are appended, and those that upkeep makes of them."""

from __future__ import annotations

from functools import cache

from deltalake import ColumnProperties, WriterProperties

from lake.schema import Table

COMPACTED = WriterProperties(compression="ZSTD", compression_level=1)
"""For files of many polls: a dictionary finds what repeats from poll to poll."""

_DIFFERENCES = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
_PREFIXES = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BYTE_ARRAY")
_COUNTS = ("int", "long", "timestamp")
_NAMES = ("member_id", "client_id", "host")


@cache
def appended(table: Table) -> WriterProperties:
    """Return how the file of one append is written.

    A poll's rows come in order and hardly repeat a number: differences between neighbours take a
    third less than dictionaries, of names only what differs from the one before.
    """
    names = {*table.series, *_NAMES} - {"cluster"}
    chosen: dict[str, ColumnProperties] = {}
    for column in table.columns:
        if column.type in _COUNTS:
            chosen[column.name] = _DIFFERENCES
        elif column.type == "string" and column.name in names:
            chosen[column.name] = _PREFIXES
    return WriterProperties(compression="ZSTD", compression_level=1, column_properties=chosen)
