"""What the numerical parts share: hours on a regular grid, and medians that pass over gaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HOUR_SECONDS = 3600
DAY = 24
WEEK = 168
"""Hours."""
_MONDAY_OF_EPOCH = 72
"""1970-01-01 was a Thursday: this many hours after a Monday's midnight."""


def hour_of_week(hours: Integers) -> Integers:
    """Return the hour of the week, Monday 00:00 UTC being 0, of hours since 1970."""
    return (hours + _MONDAY_OF_EPOCH) % WEEK


def on_grid(hours: Sequence[int], values: Sequence[float | None]) -> tuple[int, Floats]:
    """Put values on a grid without holes.

    Args:
        hours: Hours since 1970, in any order.
        values: A value for each; None and what is not finite is unknown.

    Returns:
        The first hour, and one value an hour from there to the last; NaN where it is unknown.
    """
    if len(hours) == 0:
        return 0, np.empty(0)
    at = np.asarray(hours, dtype=np.int64)
    given = np.asarray(values, dtype=np.float64)
    grid = np.full(int(at.max() - at.min()) + 1, np.nan)
    grid[at - at.min()] = np.where(np.isfinite(given), given, np.nan)
    return int(at.min()), grid


def quantile(rows: Floats, at: float) -> Floats:
    """Return a quantile of each row over what is known; NaN where nothing is.

    Linear interpolation between neighbours (R's type 7), as ``numpy.nanquantile`` but quick for
    many short rows.

    Args:
        rows: Two dimensions.
        at: Which quantile, 0 to 1.
    """
    ranked = np.sort(rows, axis=1)
    known = np.count_nonzero(np.isfinite(ranked), axis=1)
    place = np.maximum(known - 1, 0) * at
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(known - 1, 0))
    index = np.arange(len(ranked))
    below, above = ranked[index, low], ranked[index, high]
    return np.where(known > 0, below + (place - low) * (above - below), np.nan)


def lagged(values: Floats, lags: Sequence[int]) -> Floats:
    """Return a column for each lag: the value that many steps earlier, NaN before the first."""
    columns = np.full((len(values), len(lags)), np.nan)
    for number, lag in enumerate(lags):
        if lag < len(values):
            columns[lag:, number] = values[: len(values) - lag]
    return columns
