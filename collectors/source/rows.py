"""Rows of a bronze table as a section yields them: without the columns that every sample has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from collectors.source.excerpt import storable
from lake.schemas.model import Table


def section_schema(table: Table) -> dict[str, pl.DataType]:
    """Return the columns that a section fills."""
    sample = ("cluster", "observed_at", "poll_id", "date")
    return {name: type_ for name, type_ in table.polars_schema.items() if name not in sample}


def columns_frame(columns: Mapping[str, Any], schema: pl.Schema) -> pl.DataFrame:
    """Return columns with their types; of texts also those that hold half of a surrogate pair."""
    try:
        return pl.DataFrame(columns, schema=schema)
    except UnicodeEncodeError:
        clean = {
            name: [storable(value) if isinstance(value, str) else value for value in values]
            for name, values in columns.items()
        }
        return pl.DataFrame(clean, schema=schema)


def distinct(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return rows of which no two have the same key; the first of such stays."""
    # Numbers are compared first, which is several times as fast as comparing names.
    if rows.select(key).hash_rows().n_unique() == rows.height:
        return rows
    return rows.unique(key, keep="first", maintain_order=True)


def frame(table: Table, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows with the table's types."""
    return pl.DataFrame(rows, schema=section_schema(table))
