"""What is usual at each hour of the week, robust to outliers: pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_metrics.derived.series import DAY, WEEK, Floats, Integers, hour_of_week

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
WEEKS_LOOKED_AT = 10
DAYS_NEEDED = 14
_BORROWED_WEEKS = 2.0
"""The same hour of the other days of its kind (working day or weekend) counts as this many weeks:
with two weeks of history, one outage would otherwise be half of what is known of its hour."""
_WEEKEND_FROM = 5 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """What is usual at each hour of the week.

    Attributes:
        quantiles: (168, 5): the ``QUANTILES`` by hour of the week, Monday 00:00 UTC first; NaN
            where nothing is known of an hour.
        samples: Hours of history behind each hour of the week itself.
        reason: Why there are no numbers; None where there are.
    """

    quantiles: Floats
    samples: Integers
    reason: str | None = None


def season(first_hour: int, values: Floats) -> Season:
    """Return the quantiles of a series by hour of the week.

    Args:
        first_hour: Hours since 1970 of the first value.
        values: One value an hour; NaN is unknown.
    """
    recent = values[-WEEKS_LOOKED_AT * WEEK :]
    start = first_hour + len(values) - len(recent)
    known = np.flatnonzero(np.isfinite(recent))
    hours = int(len(recent) - known[0]) if len(known) else 0
    if hours < DAYS_NEEDED * DAY:
        nothing = np.full((WEEK, len(QUANTILES)), np.nan)
        reason = (
            f"history is {hours} h long, {DAYS_NEEDED * DAY} are needed to tell a week's season"
        )
        return Season(quantiles=nothing, samples=np.zeros(WEEK, dtype=np.int64), reason=reason)
    by_hour = _weeks(start, recent)
    samples = np.count_nonzero(np.isfinite(by_hour), axis=1)
    found = np.empty((WEEK, len(QUANTILES)))
    for hour in range(DAY):
        for days in (range(0, _WEEKEND_FROM, DAY), range(_WEEKEND_FROM, WEEK, DAY)):
            rows = np.array([day + hour for day in days])
            found[rows] = _shared(by_hour[rows])
    return Season(quantiles=found, samples=samples)


def _weeks(start: int, values: Floats) -> Floats:
    """Return the values by hour of the week: (168, weeks)."""
    offset = int(hour_of_week(np.array([start]))[0])
    weeks = -(-(offset + len(values)) // WEEK)
    padded = np.full(weeks * WEEK, np.nan)
    padded[offset : offset + len(values)] = values
    return padded.reshape(weeks, WEEK).T


def _shared(rows: Floats) -> Floats:
    """Return quantiles for days of one kind, each weighing its own values most."""
    values = rows.ravel()
    known = np.isfinite(values)
    if not known.any():
        return np.full((len(rows), len(QUANTILES)), np.nan)
    owner = np.repeat(np.arange(len(rows)), rows.shape[1])[known]
    values = values[known]
    order = np.argsort(values)
    values, owner = values[order], owner[order]
    found = np.empty((len(rows), len(QUANTILES)))
    for number in range(len(rows)):
        is_own = owner == number
        others = int((~is_own).sum())
        borrowed = _BORROWED_WEEKS / others if others else 0.0
        weights = np.where(is_own, 1.0, borrowed)
        found[number] = weighted_quantiles(values, weights, QUANTILES)
    return found


def weighted_quantiles(ranked: Floats, weights: Floats, at: tuple[float, ...]) -> Floats:
    """Return quantiles of weighted values in order, linear between the middles of their weights.

    Args:
        ranked: Values, lowest first, at least one.
        weights: How much each counts, not all 0.
        at: Which quantiles, 0 to 1.
    """
    heaped = np.cumsum(weights)
    middles = (heaped - weights / 2) / heaped[-1]
    found: Floats = np.interp(at, middles, ranked)
    return found
