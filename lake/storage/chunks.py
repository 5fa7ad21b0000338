"""Rows that were read from many files, put together."""

from __future__ import annotations

import polars as pl

_SMALL_CHUNK_ROWS = 1_000
"""Chunks of more rows on average stay as they are: to copy them takes memory, and saves little."""


def in_few_chunks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows that were put together of many small chunks as one; others as they are.

    Each file that is read is a chunk. Whatever is done with rows is done with each chunk: with a
    few rows in each of hundreds, that takes ten times as long and more.
    """
    return rows.rechunk() if rows.height < rows.n_chunks() * _SMALL_CHUNK_ROWS else rows
