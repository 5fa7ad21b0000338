"""One poll of all groups of a cluster, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alerting.status.model import Sample

NONE = -1
"""An unknown whole number."""

PARTITION_LAG = pl.Schema(
    {
        "group": pl.String(),
        "topic": pl.String(),
        "partition": pl.Int32(),
        "lag": pl.Int64(),
        "time_lag_seconds": pl.Float64(),
    }
)
"""How late each group is on each subscribed partition; null is unknown."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll; arrays over partitions, or over groups for the last two; -1 and NaN are unknown."""

    at: float
    present: Booleans
    committed: Integers
    log_start: Integers
    log_end: Integers
    lag: Integers
    time_lag: Floats
    assigned: NDArray[np.int8]
    members: Integers
    states: tuple[str | None, ...]

    def has_any(self, partitions: Sequence[int]) -> bool:
        """Return whether one of some partitions was there."""
        asked = np.asarray(partitions, dtype=np.int64)
        return bool(self.present[asked[asked < len(self.present)]].any())

    def sample(self, partition: int, group: int) -> Sample | None:
        """Return what was seen of a partition; None where it was not there."""
        if partition >= len(self.present) or not self.present[partition]:
            return None
        time_lag = float(self.time_lag[partition])
        assigned = int(self.assigned[partition])
        return Sample(
            self.at,
            known(self.committed[partition]),
            known(self.log_start[partition]),
            known(self.log_end[partition]),
            known(self.lag[partition]),
            None if np.isnan(time_lag) else time_lag,
            None if assigned == NONE else bool(assigned),
            known(self.members[group]),
            self.states[group],
        )


def known(value: np.int64) -> int | None:
    """Return a whole number; None where it is unknown."""
    return None if value == NONE else int(value)


def finite(values: Floats) -> list[float | None]:
    """Return numbers; None where one is unknown."""
    return [None if value != value else value for value in values.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates of each partition in messages per second; NaN is unknown."""

    arrival: Floats
    consumption: Floats
    growth: Floats


def rates_of(polls: Sequence[Poll], *, shortest_seconds: float, most_polls: int) -> Rates:
    """Return each partition's rates: least-squares slopes, as ``alerting.status.trend`` fits them.

    Args:
        polls: Polls in order of time, the recent half of the window.
        shortest_seconds: Over less time than this no rate is known.
        most_polls: Of more polls than this every n-th is taken.

    Returns:
        The rates of the newest poll's partitions. Only one that was known in all polls that are
        taken has a rate.
    """
    count = len(polls[-1].present)
    unknown = np.full(count, np.nan)
    if len(polls) < 3 or polls[-1].at - polls[0].at < shortest_seconds:
        return Rates(arrival=unknown, consumption=unknown, growth=unknown)
    every = -(-len(polls) // most_polls)
    taken = polls[::-every]
    size = min(len(poll.present) for poll in taken)
    times = np.array([poll.at - taken[-1].at for poll in taken])
    centred = times - times.mean()
    weights = centred / (centred @ centred)
    complete = np.ones(size, dtype=np.bool_)
    sums = np.zeros((3, size))
    for poll, weight in zip(taken, weights, strict=True):
        complete &= poll.present[:size]
        for total, values, newest in zip(
            sums,
            (poll.log_end, poll.committed, poll.lag),
            (taken[0].log_end, taken[0].committed, taken[0].lag),
            strict=True,
        ):
            complete &= values[:size] != NONE
            # Differences are small: offsets are not, and floats would lose their last digits.
            total += weight * (values[:size] - newest[:size])
    slopes = np.full((3, count), np.nan)
    slopes[:, :size] = np.where(complete, sums, np.nan)
    return Rates(
        arrival=np.maximum(slopes[0], 0.0),
        consumption=np.maximum(slopes[1], 0.0),
        growth=slopes[2],
    )
