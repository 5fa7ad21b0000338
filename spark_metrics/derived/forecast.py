"""The next hours of a series, with intervals whose coverage was measured: pure.

Three methods say for every past hour what they would have said, from what was known then: the
value a day ago, the value a week ago, and ``_profile_and_level``. The one that erred least is
taken. Intervals are weighted quantiles of its own errors by lead time, after split conformal
prediction (Vovk et al., Algorithmic Learning in a Random World, 2005). They suppose no distribution
of errors, but that errors to come are like those before: what they hold is measured, not promised.
For that, intervals are made once without the last quarter of the errors.

Values are compared as log(1 + value ÷ half the median): what grows by a tenth grows at every hour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it ships no types

from spark_metrics.derived.series import DAY, WEEK, Floats, lagged, quantile

HORIZON = 24
LEVELS = (0.8, 0.9)
"""Share of what comes that an interval should hold."""
METHODS = ("a week ago", "a day ago", "profile and level")
SEASONS_NEEDED = 2
LEAST_KNOWN = 0.5
"""Share of the hours of these seasons that must be known."""
LONGEST_HISTORY = 10 * WEEK
"""What is older is not looked at."""

_EVALUATION_HOURS = 5 * WEEK
"""Methods are compared over this many of the last hours."""
_HOLDOUT_RATIO = 0.25
_HALF_LIFE = 14 * DAY
"""The half-life of an error, in hours."""
_DEPENDENT = 9.0
"""Errors, over three neighbouring lead times, that count as one: they come in runs."""
_QUANTILES = (0.05, 0.1, 0.5, 0.9, 0.95)

_SMOOTHED_HOURS = 7
_FAST, _SLOW = 0.5, 0.1
"""Weights of the newest hour in the two levels."""
_PRIOR_HOURS = 10.0
"""The weight of the profile alone, in hours of usual noise."""
_OUTLIER = 8.0
"""Hours further from the profile, in standard deviations, count as that far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """How the taken method did over the last quarter of the hours that methods are compared over.

    Its intervals are not fitted to these hours. That it was taken is due to them too: the error
    of the best of three is a little too good.

    Attributes:
        hours: Hours held back.
        mae: Mean absolute error of the taken method, in the unit of the series.
        mae_seasonal_naive: That of the value a season ago, over the same hours.
        coverage: Share of what came that each interval of ``LEVELS`` held.
    """

    hours: int
    mae: float
    mae_seasonal_naive: float
    coverage: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The next hours of a series.

    Attributes:
        reason: Why there are no numbers; None where there are.
        method: The one of ``METHODS`` that was taken.
        median: One value an hour; empty where there are no numbers.
        low: Lower ends, one row a level of ``LEVELS``.
        high: Upper ends.
        measured: How such forecasts did; None where nothing was held back.
    """

    reason: str | None
    method: str | None
    median: Floats
    low: Floats
    high: Floats
    measured: Measured | None


def forecast(values: Floats, *, season: int = WEEK) -> Forecast:
    """Forecast the hours that follow the last value.

    Args:
        values: One value an hour, oldest first, none negative; NaN is unknown.
        season: Hours of the longest season.
    """
    recent = values[-LONGEST_HISTORY:]
    reason = _refusal(recent, season)
    if reason is not None:
        return _nothing(reason)
    now = len(recent)
    first = max(season, now - _EVALUATION_HOURS)
    held = now - int((now - first) * _HOLDOUT_RATIO)
    positive = recent[recent > 0]
    unit = float(np.median(positive)) / 2 if len(positive) else 1.0
    actual = np.log1p(np.concatenate([recent, np.full(HORIZON, np.nan)]) / unit)
    said = _said(actual, season)
    errors = np.abs(recent[:, None] - unit * np.expm1(said[:, :now]))
    checked = int(np.isfinite(errors[:, first:held]).all(axis=0).sum()) // HORIZON
    if checked < DAY:
        return _nothing(
            f"too little history without gaps: forecasts of {checked} hours can be compared with "
            f"what came, {DAY} are needed"
        )
    method = _best(errors[:, first:])
    ahead = np.arange(HORIZON)
    found = unit * np.expm1(_quantiles(actual, said[method], first, now)[:, ahead, ahead])
    return Forecast(
        reason=None,
        method=METHODS[method],
        median=found[2],
        low=found[1::-1],
        high=found[3:],
        measured=_measured(actual, said[method], errors[[method, 0]], first, held),
    )


def _nothing(reason: str) -> Forecast:
    none = np.empty((len(LEVELS), 0))
    return Forecast(
        reason=reason, method=None, median=np.empty(0), low=none, high=none, measured=None
    )


def _refusal(values: Floats, season: int) -> str | None:
    needed = SEASONS_NEEDED * season
    known = np.flatnonzero(np.isfinite(values))
    hours = int(len(values) - known[0]) if len(known) else 0
    if hours < needed:
        return f"history is {hours} h long, {needed} are needed to tell one season from another"
    ratio = len(known) / hours
    if ratio < LEAST_KNOWN:
        return f"only {ratio:.0%} of {hours} hours are known, {LEAST_KNOWN:.0%} are needed"
    if len(values) - 1 - known[-1] >= season:
        return "nothing is known of the last season"
    return None


def _said(actual: Floats, season: int) -> Floats:
    """Return what each method says of each hour, by lead time: (method, hour, lead).

    An entry [., t, h] uses values up to t - h - 1 alone.
    """
    weeks = lagged(actual, [season * number for number in range(1, 5)])
    days = lagged(actual, [DAY * number for number in range(1, 8)])
    by_week, by_day = quantile(weeks, 0.5), quantile(days, 0.5)
    by_week, by_day = _filled(by_week, by_day), _filled(by_day, by_week)
    week_ago, day_ago = _filled(weeks[:, 0], by_week), _filled(days[:, 0], by_day)
    return np.stack(
        [
            np.repeat(week_ago[:, None], HORIZON, axis=1),
            np.repeat(day_ago[:, None], HORIZON, axis=1),
            _profile_and_level(actual, by_week, season),
        ]
    )


def _profile_and_level(actual: Floats, by_week: Floats, season: int) -> Floats:
    """Return a weekly profile, and as much of the present distance from it as used to last.

    The profile is half the median of the same hour of some weeks, and half a smoother one: the
    usual day, and the median of some hours around of how the week differs from it. At each lead
    time, what came above the profile is a linear function of three things that were known: the
    difference of both halves, and two exponentially smoothed levels above the profile. It is
    fitted anew each day by least squares on all that came before.
    """
    now = len(actual) - HORIZON
    usual_day = quantile(lagged(actual, [DAY * number for number in range(2, 9)]), 0.5)
    apart = pd.Series(by_week - usual_day)
    around = apart.rolling(_SMOOTHED_HOURS, center=True, min_periods=1).median()
    smoother = _filled(usual_day + around.to_numpy(), by_week)
    profile = (by_week + smoother) / 2

    above = actual - profile
    above[:season] = np.nan
    noise = 1.4826 * pd.Series(np.abs(above)).expanding().median().to_numpy()
    above = np.clip(above, -_OUTLIER * noise, _OUTLIER * noise)
    levels = [_known_at(_smoothed(above, weight)) for weight in (_FAST, _SLOW)]
    difference = np.repeat((by_week - smoother)[:, None], HORIZON, axis=1)
    known = np.nan_to_num(np.stack([difference, *levels], axis=-1))

    weights = 0.5 ** ((len(actual) - np.arange(len(actual))) / _HALF_LIFE)
    is_known = np.isfinite(above)
    weighted = known * (weights * is_known)[:, None, None]
    squares = np.cumsum(np.einsum("thp,thq->thpq", weighted, known), axis=0)
    products = np.cumsum(weighted * np.nan_to_num(above)[:, None, None], axis=0)
    fits = np.arange(now, season, -DAY)[::-1]
    last = fits - 1
    prior = _PRIOR_HOURS * weights[last] * (np.nan_to_num(noise[last]) ** 2 + 1e-9)
    shares = np.linalg.solve(
        squares[last] + prior[:, None, None, None] * np.eye(known.shape[-1]),
        products[last][..., None],
    )[..., 0]

    lead = np.arange(HORIZON)
    made_at = np.arange(len(actual))[:, None] - lead
    fit = np.clip((made_at - fits[0]) // DAY, 0, len(fits) - 1)
    moved = np.einsum("thp,thp->th", known, shares[fit, lead])
    found: Floats = np.maximum(0.0, profile[:, None] + np.where(made_at >= fits[0], moved, 0.0))
    return found


def _best(errors: Floats) -> int:
    """Return the method that erred least where all of them said something."""
    both = np.isfinite(errors).all(axis=0)
    return int(np.argmin(errors.sum(axis=(1, 2), where=both)))


def _quantiles(actual: Floats, said: Floats, first: int, now: int) -> Floats:
    """Return ``_QUANTILES`` of what comes from ``now`` on: (quantile, hour, lead).

    An error is measured against what is typical of its hour of the day, and of the time at which
    the forecast was made: where forecasts have lately been bad, intervals are wider.
    """
    errors = actual[:, None] - said
    past = np.abs(errors[first:now])
    bounded = np.minimum(np.abs(errors), np.nanquantile(past, 0.99))
    typical = float(np.nanmean(bounded[first:now]))
    hour = np.arange(len(actual)) % DAY
    of_hour = np.array([_mean(bounded[first:now][hour[first:now] == one]) for one in range(DAY)])
    usual = (_filled(of_hour, np.full(DAY, typical))[hour] + typical) / 2 + 1e-12

    lately = np.array([_mean(row) for row in bounded]) / usual
    lately[:first] = np.nan
    spread = usual[:, None] * (1 + _filled(_known_at(_smoothed(lately, 0.03)), np.array(1.0))) / 2
    scaled = errors / spread
    weights = 0.5 ** ((now - np.arange(first, now)) / _HALF_LIFE)
    ends = [
        _tails(scaled[first:now, max(0, lead - 1) : lead + 2], weights) for lead in range(HORIZON)
    ]
    found: Floats = np.maximum(0.0, said[now:] + spread[now:] * np.array(ends).T[:, None])
    return found


def _tails(errors: Floats, weights: Floats) -> Floats:
    """Return the errors at ``_QUANTILES``; that of the median is 0.

    A tail is made smaller by what so few errors leave uncertain: q(1 + 1/n) for n of them.
    """
    known = np.isfinite(errors)
    weights = np.repeat(weights, errors.shape[1])[known.ravel()]
    order = np.argsort(errors[known])
    ranked, heaped = errors[known][order], np.cumsum(weights[order])
    number = heaped[-1] ** 2 / float(weights @ weights) / _DEPENDENT
    found = np.zeros(len(_QUANTILES))
    for place, at in enumerate(_QUANTILES):
        tail = max(0.0, 1 - (1 - min(at, 1 - at)) * (1 + 1 / number))
        share = tail if at < 0.5 else 1 - tail
        if at != 0.5:
            found[place] = ranked[min(np.searchsorted(heaped, share * heaped[-1]), len(ranked) - 1)]
    return found


def _measured(
    actual: Floats, said: Floats, errors: Floats, first: int, held: int
) -> Measured | None:
    """Measure the taken method over the hours from ``held`` on, by errors before them.

    Args:
        actual: What came.
        said: What the method said.
        errors: Those of the method, and those of the value a season ago.
        first: The first hour whose errors are looked at.
        held: The first hour that is held back.
    """
    now = errors.shape[1]
    if now - held < 1:
        return None
    found = _quantiles(actual, said, first, held)[:, : now - held]
    came = np.repeat(actual[held:now, None], HORIZON, axis=1)
    known = np.isfinite(came) & np.isfinite(errors[:, held:]).all(axis=0)
    if not known.any():
        return None
    ends = ((found[1], found[3]), (found[0], found[4]))
    inside = [(came >= low - 1e-9) & (came <= high + 1e-9) for low, high in ends]
    mae, mae_seasonal_naive = (float(one[held:][known].mean()) for one in errors)
    return Measured(
        hours=now - held,
        mae=mae,
        mae_seasonal_naive=mae_seasonal_naive,
        coverage=tuple(float(one[known].mean()) for one in inside),
    )


def _filled(values: Floats, others: Floats) -> Floats:
    return np.where(np.isfinite(values), values, others)


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _smoothed(values: Floats, weight: float) -> Floats:
    """Return the exponentially weighted mean up to each hour; gaps are passed over."""
    smooth = pd.Series(values).ewm(alpha=weight, adjust=False, ignore_na=True).mean()
    return np.asarray(smooth, dtype=np.float64)


def _known_at(level: Floats) -> Floats:
    """Return what was known of a level when each hour was forecast: (hour, lead)."""
    return lagged(level, range(1, HORIZON + 1))
