"""Rows of a window that lie together, and what they come to.

Once rows are in the order of series and time, the rows of a window are neighbours, and an
aggregate is one pass over a column. Polars' aggregates of grouped rows cost several times as much
where groups are small: a minute holds four samples of a partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Numbers = npt.NDArray[np.int64]


class Runs:
    """Rows in order, cut into windows. What is not known is left out of every aggregate.

    A column that is asked for has numbers or truth values; an aggregate of a window in which
    nothing is known is null.

    Attributes:
        rows: The rows.
    """

    def __init__(self, rows: pl.DataFrame, number: str, moment: str = "window_start") -> None:
        """Cut rows where another series or another moment begins.

        Args:
            rows: The rows; each series' are together and in the order of time.
            number: A column that numbers the series.
            moment: The column of the window's beginning.
        """
        self.rows = rows
        begins = (pl.col(number) != pl.col(number).shift(1)) | (
            pl.col(moment) != pl.col(moment).shift(1)
        )
        self._begins = rows.select(begins.fill_null(True).arg_true()).to_series()
        self._starts = self._begins.to_numpy().astype(np.int64)
        self._lengths = np.diff(self._starts, append=rows.height)

    def __len__(self) -> int:
        """Return how many windows there are."""
        return len(self._starts)

    @cached_property
    def number(self) -> Numbers:
        """The window's number, of each row."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self._lengths)

    def first(self, name: str) -> pl.Series:
        """Return the first value of each window, known or not."""
        return self.rows[name].gather(self._begins)

    def last(self, name: str) -> pl.Series:
        """Return the newest value of each window that is known."""
        column = self.rows[name]
        ends = self._starts + self._lengths - 1
        if not column.null_count():
            return column.gather(ends)
        places = np.where(column.is_not_null().to_numpy(), np.arange(len(column)), -1)
        newest = np.maximum.accumulate(places)[ends]
        return column.gather(pl.Series(_known(newest, newest >= self._starts)))

    def least(self, name: str) -> pl.Series:
        """Return the smallest value of each window."""
        return self._extreme(self.rows[name], np.minimum)

    def most(self, name: str) -> pl.Series:
        """Return the largest value of each window."""
        return self._extreme(self.rows[name], np.maximum)

    def total(self, name: str) -> pl.Series:
        """Return the sum of each window."""
        sums, known = self._sums(self.rows[name])
        return _known(sums, known > 0)

    def mean(self, name: str) -> pl.Series:
        """Return the mean of each window."""
        sums, known = self._sums(self.rows[name])
        return _known(sums / np.maximum(known, 1), known > 0)

    def weighted_mean(self, name: str, weights: pl.Series) -> pl.Series:
        """Return the mean of each window, with a weight for each row."""
        column = self.rows[name]
        of_known = pl.select(pl.when(column.is_not_null()).then(weights)).to_series()
        whole, known = self._sums(of_known)
        parts, _ = self._sums(column * weights)
        return _known(parts / np.where(whole > 0, whole, 1), (known > 0) & (whole > 0))

    def quantile(self, name: str, share: float) -> pl.Series:
        """Return a quantile of each window, interpolated between neighbours (R's type 7)."""
        rows = pl.DataFrame([self.rows[name].alias("value"), pl.Series("run", self.number)])
        of_runs = rows.with_columns(pl.col("run").set_sorted()).group_by("run", maintain_order=True)
        return of_runs.agg(pl.col("value").quantile(share, "linear"))["value"]

    def lengths(self) -> pl.Series:
        """Return how many rows each window has."""
        return pl.Series(self._lengths)

    def unknown(self, name: str) -> pl.Series:
        """Return in how many rows of each window the value is not known."""
        return pl.Series(self._lengths - self._count(self.rows[name]))

    def _count(self, column: pl.Series) -> Numbers:
        """Return how many values of each window are known."""
        if not column.null_count():
            return self._lengths
        return np.add.reduceat(column.is_not_null().to_numpy().astype(np.int64), self._starts)

    def _sums(self, column: pl.Series) -> tuple[npt.NDArray[Any], Numbers]:
        if not column.dtype.is_float():
            column = column.cast(pl.Int64)
        values = column.fill_null(0).to_numpy()
        return np.add.reduceat(values, self._starts), self._count(column)

    def _extreme(self, column: pl.Series, of: np.ufunc) -> pl.Series:
        if not column.dtype.is_float():
            column = column.cast(pl.Int64)
        known = self._count(column)
        # A window without any value has a neutral one here and is null below.
        neutral = column.min() if of is np.maximum else column.max()
        values = (column.fill_null(neutral) if neutral is not None else column).to_numpy()
        return _known(of.reduceat(values, self._starts), known > 0)


def lists(owners: Numbers, columns: Sequence[npt.NDArray[np.int32]], count: int) -> list[pl.Series]:
    """Return each column as lists, one an owner.

    Args:
        owners: Whose a value is: numbers from 0, in order.
        columns: The values.
        count: How many owners there are; one without a value gets an empty list.
    """
    offsets = np.searchsorted(owners, np.arange(count + 1)).astype(np.int64)
    return [
        pl.Series(pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values)))
        for values in columns
    ]


def _known(values: npt.NDArray[Any], is_known: npt.NDArray[np.bool_]) -> pl.Series:
    """Return values, null where they are not known."""
    column = pl.Series("value", values)
    if is_known.all():
        return column
    return pl.select(pl.when(pl.Series("known", is_known)).then(column)).to_series()
