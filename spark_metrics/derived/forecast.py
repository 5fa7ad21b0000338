"""The next hours of a series, with intervals whose coverage was measured: pure.

Some simple forecasters ("experts": a season ago, medians over weeks and days, each with and without
a correction to the present level, the present level alone) say for every past hour what they would
have said, from what was known then. At each horizon they are mixed by how little they erred lately,
so that the seasonal-naive forecast (the value a week ago) is left where something is better, and
kept where nothing is. Intervals are quantiles of the mixture's own errors, scaled by the hour of
the day (split conformal prediction: Vovk et al., Algorithmic Learning in a Random World, 2005),
which supposes nothing about how errors are distributed. The last quarter of those errors is held
back once, to measure on it how far mixture and intervals can be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it ships no types

from spark_metrics.derived.series import DAY, WEEK, Floats, Integers, lagged, quantile

HORIZON = 24
LEVELS = (0.8, 0.9)
"""Share of what comes that an interval should hold."""
SEASONS_NEEDED = 2
LEAST_KNOWN = 0.5
"""Share of the hours of these seasons that must be known."""
LONGEST_HISTORY = 10 * WEEK
"""What is older is not looked at."""

_WEEKS, _DAYS = 8, 7
_SHARPNESS = 8.0
"""Weight of an expert: its error to the power of minus this."""
_HALF_LIFE = 14 * DAY
"""After so many hours an error counts half."""
_DEPENDENT = 24.0
"""Errors, over three neighbouring horizons, that count as one: they come in runs."""
_OUTLIER = 0.98
"""Larger errors than this quantile count as this quantile when experts are compared."""
_HELD_BACK = 0.25
_JUDGED = 5 * WEEK
"""Over so many of the last hours experts are compared."""
_LEAST_PAIRS = 48


@dataclass(frozen=True, slots=True)
class Measured:
    """How forecasts did on the last quarter of history, with nothing learnt from it.

    Attributes:
        hours: Hours held back.
        mae: Mean absolute error, in the unit of the series.
        mae_seasonal_naive: That of the value a season ago, over the same hours.
        coverage: Share of what came that each interval of ``LEVELS`` held.
    """

    hours: int
    mae: float
    mae_seasonal_naive: float | None
    coverage: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The next hours of a series.

    Attributes:
        status: ``ok`` or ``too little history``.
        reason: Why there are no numbers; None where there are.
        median: One value a step; empty where there are no numbers.
        low: Lower ends, one row a level of ``LEVELS``.
        high: Upper ends.
        measured: How such forecasts did; None where there are no numbers.
    """

    status: str
    reason: str | None
    median: Floats
    low: Floats
    high: Floats
    measured: Measured | None


def forecast(
    values: Floats, *, horizon: int = HORIZON, season: int = WEEK, day: int = DAY
) -> Forecast:
    """Forecast the steps that follow the last value.

    Args:
        values: One value a step, oldest first, none negative; NaN is unknown.
        horizon: Steps to forecast, at most ``day``.
        season: Steps of the longest season.
        day: Steps of a day.
    """
    kept = values[-LONGEST_HISTORY:] if season == WEEK else values
    refusal = _refusal(kept, season)
    if refusal is not None:
        none = np.empty((len(LEVELS), 0))
        return Forecast("too little history", refusal, np.empty(0), none, none, None)
    actual = np.concatenate([kept, np.full(horizon, np.nan)])
    first = max(season, len(kept) - _JUDGED)
    now = len(kept) - first
    held = now - int(now * _HELD_BACK)
    said = _experts(actual, horizon, season, day, fitted_until=first + held)[:, first:]
    actual = actual[first:]
    measured = _measure(said, actual, held, now, day)
    mixture = _Mixture.fitted(said, actual, now, day)
    steps = np.arange(horizon)
    median = mixture.said[now + steps, steps]
    low, high = mixture.interval(now + steps, steps)
    return Forecast("ok", None, median, low, high, measured)


def _refusal(values: Floats, season: int) -> str | None:
    needed = SEASONS_NEEDED * season
    known = np.flatnonzero(np.isfinite(values))
    span = int(len(values) - known[0]) if len(known) else 0
    if span < needed:
        return f"{span} hours of history, {needed} are needed to tell one season from another"
    share = len(known) / span
    if share < LEAST_KNOWN:
        return f"only {share:.0%} of {span} hours are known, {LEAST_KNOWN:.0%} are needed"
    if len(values) - 1 - known[-1] >= season:
        return "nothing is known of the last season"
    return None


def _experts(actual: Floats, horizon: int, season: int, day: int, *, fitted_until: int) -> Floats:
    """Return what each expert says of each time, by horizon: (expert, time, horizon).

    An entry [., t, h] uses values up to t - h - 1 alone. The first expert is seasonal-naive.
    """
    weeks = lagged(actual, [season * number for number in range(1, _WEEKS + 1)])
    days = lagged(actual, [day * number for number in range(1, _DAYS + 1)])
    by_day, by_week = quantile(days, 0.5), quantile(weeks[:, : _WEEKS // 2], 0.5)
    by_week = _filled(by_week, by_day)
    by_day = _filled(by_day, by_week)
    profiles = [
        _filled(weeks[:, 0], by_week),
        by_week,
        _filled(quantile(weeks, 0.5), by_week),
        by_day,
        _filled(quantile(days[:, :3], 0.5), by_day),
    ]
    said = [np.repeat(profile[:, None], horizon, axis=1) for profile in profiles]
    for profile in (by_week, by_day):
        above = actual - profile
        for weight in (0.5, 0.1):
            level = _smoothed(above, weight)
            slopes = _slopes(above, level, horizon, fitted_until)
            said.append(profile[:, None] + _carried(level, horizon) * slopes)
        grown = _sum(actual, day) / np.maximum(_sum(profile, day, where=actual), 1e-12)
        ratio = np.clip(np.where(np.isfinite(grown) & (grown > 0), grown, 1.0), 0.2, 5.0)
        said.append(profile[:, None] * _carried(ratio, horizon))
    recent = np.column_stack([actual, lagged(actual, list(range(1, day)))])
    for level in (quantile(recent, 0.5), _smoothed(actual, 0.5)):
        said.append(_carried(level, horizon))
    found: Floats = np.maximum(np.stack(said), 0.0)
    return found


def _filled(values: Floats, others: Floats) -> Floats:
    return np.where(np.isfinite(values), values, others)


def _smoothed(values: Floats, weight: float) -> Floats:
    """Return the exponentially weighted mean up to each step; gaps are passed over."""
    smooth = pd.Series(values).ewm(alpha=weight, adjust=False, ignore_na=True).mean()
    return np.asarray(smooth, dtype=np.float64)


def _carried(level: Floats, horizon: int) -> Floats:
    """Return what was known of a level when each time was forecast: (time, horizon)."""
    return lagged(level, list(range(1, horizon + 1)))


def _sum(values: Floats, steps: int, *, where: Floats | None = None) -> Floats:
    """Return the sum of the last steps that are known (in ``where`` too)."""
    known = np.isfinite(values) if where is None else np.isfinite(values) & np.isfinite(where)
    total = np.cumsum(np.where(known, values, 0.0))
    before: Floats = np.concatenate([np.zeros(steps), total[:-steps]])
    return np.asarray(total - before, dtype=np.float64)


def _slopes(above: Floats, level: Floats, horizon: int, until: int) -> Floats:
    """Return how much of a level above the profile is left at each horizon, from 0 to 1."""
    slopes: Floats = np.zeros(horizon)
    known = np.abs(above[:until][np.isfinite(above[:until])])
    if len(known) < _LEAST_PAIRS:
        return slopes
    most = float(np.quantile(known, _OUTLIER))
    later, earlier = np.clip(above[:until], -most, most), np.clip(level[:until], -most, most)
    both = np.isfinite(later)
    later, earlier = np.where(both, later, 0.0), np.where(np.isfinite(earlier), earlier, 0.0)
    for steps in range(1, horizon + 1):
        x = earlier[:-steps] * both[steps:]
        squares = float(x @ x)
        if squares > 0:
            slopes[steps - 1] = min(1.0, max(0.0, float(x @ later[steps:]) / squares))
    return slopes


@dataclass(frozen=True, slots=True)
class _Mixture:
    """Experts weighted by their errors up to a moment, and the errors that the mixture made.

    Attributes:
        said: What the mixture says: (time, horizon).
        spread: The typical error at each time.
        errors: Its scaled errors up to the moment: (time, horizon).
        weights: How much the errors of each of these times count.
    """

    said: Floats
    spread: Floats
    errors: Floats
    weights: Floats

    @classmethod
    def fitted(cls, said: Floats, actual: Floats, until: int, day: int) -> _Mixture:
        weights = 0.5 ** ((until - 1 - np.arange(until)) / _HALF_LIFE)
        mixed = _mixed(said, actual, until, weights)
        errors = actual[:until, None] - mixed[:until]
        spread = _spread(np.abs(errors), len(actual), day)
        scaled = errors / spread[:until, None]
        return cls(mixed, spread, scaled, weights)

    def interval(self, times: Integers, steps: Integers) -> tuple[Floats, Floats]:
        """Return both ends for each level at times and horizons."""
        horizon = self.errors.shape[1]
        tails = [(1 - level) / 2 for level in LEVELS]
        ends = np.empty((horizon, 2 * len(LEVELS)))
        for step in range(horizon):
            near = self.errors[:, max(0, step - 1) : step + 2]
            weights = np.repeat(self.weights, near.shape[1])
            ends[step] = _tails(near.ravel(), weights, tails)
        middle, spread = self.said[times, steps], self.spread[times]
        found = np.maximum(0.0, middle[:, None] + spread[:, None] * ends[steps])
        return found[:, : len(LEVELS)].T, found[:, len(LEVELS) :].T


def _mixed(said: Floats, actual: Floats, until: int, weights: Floats) -> Floats:
    wrong = np.abs(actual[:until, None] - said[:, :until])
    known = np.isfinite(wrong)
    naive = wrong[0][known[0]]
    most = float(np.quantile(naive, _OUTLIER)) if len(naive) else np.inf
    bounded = np.where(known, np.minimum(wrong, max(most, 1e-12)), 0.0)
    counted = np.einsum("eth,t->eh", known, weights)
    error = np.einsum("eth,t->eh", bounded, weights) / np.maximum(counted, 1e-12)
    error += error.max(axis=0) * 1e-3 + 1e-12
    share = np.where(counted > 0, (error / error.min(axis=0)) ** -_SHARPNESS, 0.0)
    finite = np.isfinite(said)
    total = np.einsum("eth,eh->th", finite, share)
    mixed = np.einsum("eth,eh->th", np.where(finite, said, 0.0), share)
    return np.where(total > 0, mixed / np.maximum(total, 1e-300), np.nan)


def _spread(wrong: Floats, length: int, day: int) -> Floats:
    """Return the typical error by the hour of the day, for every time."""
    known = wrong[np.isfinite(wrong)]
    if not len(known):
        return np.ones(length)
    bounded = np.minimum(wrong, np.quantile(known, 0.99))
    overall = float(np.nanmean(bounded))
    of_day = np.arange(len(wrong)) % day
    is_known = np.isfinite(bounded)
    sums = np.bincount(of_day, np.where(is_known, bounded, 0.0).sum(axis=1), minlength=day)
    counts = np.bincount(of_day, is_known.sum(axis=1), minlength=day)
    by_hour = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
    found: Floats = (0.9 * by_hour + 0.1 * overall)[np.arange(length) % day] + 1e-12
    return found


def _tails(errors: Floats, weights: Floats, tails: list[float]) -> Floats:
    """Return the errors that leave so much in each tail, lower ones first.

    A tail is made smaller by what so few errors leave uncertain: q(1 + 1/n) for n of them.
    """
    known = np.isfinite(errors)
    errors, weights = errors[known], weights[known]
    if not len(errors):
        return np.zeros(2 * len(tails))
    order = np.argsort(errors)
    ranked, heaped = errors[order], np.cumsum(weights[order])
    number = heaped[-1] ** 2 / float(weights @ weights) / _DEPENDENT
    beyond = [max(0.0, 1 - (1 - tail) * (1 + 1 / number)) for tail in tails]
    places = np.searchsorted(heaped, [share * heaped[-1] for share in beyond])
    from_above = np.searchsorted(heaped, [(1 - share) * heaped[-1] for share in beyond])
    last = len(ranked) - 1
    return np.concatenate([ranked[np.minimum(places, last)], ranked[np.minimum(from_above, last)]])


def _measure(said: Floats, actual: Floats, held: int, now: int, day: int) -> Measured | None:
    """Judge the last times by a mixture that was fitted before them."""
    if held == now or held < day:
        return None
    earlier = _Mixture.fitted(said, actual, held, day)
    horizon = said.shape[2]
    times, steps = np.repeat(np.arange(held, now), horizon), np.tile(np.arange(horizon), now - held)
    came = actual[times]
    low, high = earlier.interval(times, steps)
    error = np.abs(came - earlier.said[times, steps])
    naive = np.abs(came - said[0, times, steps])
    known = np.isfinite(error)
    if not known.any():
        return None
    both = known & np.isfinite(naive)
    near = 1e-9 * np.abs(came)
    inside = (came >= low - near) & (came <= high + near)
    return Measured(
        hours=now - held,
        mae=float(error[known].mean()),
        mae_seasonal_naive=float(naive[both].mean()) if both.any() else None,
        coverage=tuple(float(one[known].mean()) for one in inside),
    )
