"""Rows of a bronze table as a section yields them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from lake.schemas.model import Table

_SAMPLE = ("cluster", "observed_at", "poll_id", "date")


def frame(table: Table, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows with the table's types, without the columns that every sample has."""
    schema = {name: kind for name, kind in table.polars_schema.items() if name not in _SAMPLE}
    return pl.DataFrame(rows, schema=schema)
