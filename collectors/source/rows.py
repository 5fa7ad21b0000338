"""Rows of a bronze table as a section yields them: without the columns that every sample has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from lake.schemas.model import Table


def section_schema(table: Table) -> dict[str, pl.DataType]:
    """Return the columns that a section fills."""
    sample = ("cluster", "observed_at", "poll_id", "date")
    return {name: type_ for name, type_ in table.polars_schema.items() if name not in sample}


def frame(table: Table, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows with the table's types."""
    return pl.DataFrame(rows, schema=section_schema(table))
