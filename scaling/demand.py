"""How much arrives: now, at the end of the lead time, and at the next peak. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from scaling.intervals import Floats

SHORT_SECONDS = 60.0
"""What counts as now."""

LONG_SECONDS = 900.0
"""What trend and spread are taken from."""

_Z_95 = 1.645
_STEP_SIGMAS = 4.0
_MINIMUM_POINTS = 4
_HOUR = 3600.0
_DAY_HOURS, _WEEK_HOURS = 24, 168
TOO_LITTLE = "too little history: two seasons are needed, two days at the least"


@dataclass(frozen=True, slots=True)
class Demand:
    """What arrives, messages per second.

    Attributes:
        now: By partition.
        soon: By partition, what will not be exceeded at the end of the lead time (95 %).
        growth_per_second: By how much the total grows a second, messages/s².
        deviation: Standard deviation of the total around its trend, messages/s, a minute's mean.
    """

    now: Floats
    soon: Floats
    growth_per_second: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest arrival that is to be expected in some time to come.

    Attributes:
        high: 95 % quantile, messages per second; None where it cannot be told.
        season_hours: 168 for hours of the week, 24 for hours of the day; None without a season.
        reason: Why it cannot be told, or from how much history it is.
    """

    high: float | None
    season_hours: int | None
    reason: str


def demand(at: Floats, log_end: Floats, *, lead_seconds: float) -> Demand:
    """Return what arrives now and what will at the end of the lead time.

    The level is a straight line through the last quarter of an hour, unless the last minute is
    far away from it: then something has happened, and the last minute alone counts. Partitions
    have their share of the whole window, since a single one's last minute is mostly noise.

    Args:
        at: Times of the polls, seconds, oldest first; two at least.
        log_end: Log ends, one row a poll, one column a partition.
        lead_seconds: How far ahead.

    Raises:
        ValueError: There are fewer than two polls.
    """
    if len(at) < 2:
        raise ValueError("a rate needs two polls")
    first = int(np.searchsorted(at, at[-1] - LONG_SECONDS))
    at, log_end = at[min(first, len(at) - 2) :], log_end[min(first, len(at) - 2) :]
    arrived = np.maximum(log_end[-1] - log_end[0], 0.0)
    total = float(arrived.sum())
    partitions = log_end.shape[1]
    shares = arrived / total if total > 0 else np.full(partitions, 1.0 / max(1, partitions))
    level, soon, slope, deviation = _trend(at, log_end.sum(axis=1), lead_seconds)
    return Demand(shares * level, shares * soon, slope, deviation)


def _trend(at: Floats, ends: Floats, lead: float) -> tuple[float, float, float, float]:
    """Return level, upper level after the lead time, slope and spread of a total rate."""
    newest = min(int(np.searchsorted(at, at[-1] - SHORT_SECONDS - 1e-9)), len(at) - 2)
    short_seconds = float(at[-1] - at[newest])
    short = max(0.0, float(ends[-1] - ends[newest])) / short_seconds
    seconds = np.diff(at[: newest + 1])
    if len(seconds) < _MINIMUM_POINTS:
        return short, short, 0.0, 0.0
    rates = np.maximum(np.diff(ends[: newest + 1]), 0.0) / seconds
    when = (at[:newest] + at[1 : newest + 1]) / 2 - at[-1]
    centre, mean = when.mean(), rates.mean()
    square = float(((when - centre) ** 2).sum())
    slope = float(((when - centre) * (rates - mean)).sum()) / square
    rest = rates - mean - slope * (when - centre)
    # Neighbours in time are alike: the spread of a minute's mean is taken from minutes.
    per_minute = max(1, round(short_seconds / float(seconds.mean())))
    minutes = rest[: len(rest) // per_minute * per_minute].reshape(-1, per_minute).mean(axis=1)
    deviation = float(minutes.std()) if len(minutes) > 2 else float(rest.std())
    error_of_slope = deviation / sqrt(square / per_minute) if square else 0.0
    expected = mean + slope * (-short_seconds / 2 - centre)
    # A slope counts only where it is more than noise; a spread of nothing is no certainty either.
    if abs(slope) < 2 * error_of_slope:
        slope, expected = 0.0, float(mean)
    if abs(short - expected) > max(_STEP_SIGMAS * deviation, 0.05 * expected):
        return short, short, 0.0, deviation
    level = max(0.0, (short + expected) / 2 + slope * short_seconds / 2)
    return level, level + max(0.0, slope) * lead + _Z_95 * deviation, slope, deviation


def peak_ahead(hour_starts: Floats, rates: Floats, *, now: float, horizon_seconds: float) -> Peak:
    """Return the highest arrival that past weeks, or days, let expect within a horizon.

    The 95 % quantile of the same hours of earlier weeks, as a multiple of the level of the season
    before, so that growth is carried on. Two weeks make hours of the week, two days hours of the
    day; with less there is no answer.

    Args:
        hour_starts: Starts of past hours, Unix seconds (UTC), oldest first.
        rates: Highest arrival in each of them (or its mean), messages per second.
        now: The present, Unix seconds.
        horizon_seconds: How far ahead.
    """
    known = np.isfinite(rates) & (hour_starts + _HOUR <= now)
    starts, rates = hour_starts[known], rates[known]
    hours = (now - float(starts[0])) / _HOUR if len(starts) else 0.0
    season = _WEEK_HOURS if hours >= 2 * _WEEK_HOURS else _DAY_HOURS
    if hours < 2 * _DAY_HOURS or len(starts) < 2 * _DAY_HOURS * 0.8:
        return Peak(None, None, TOO_LITTLE)
    past = (starts // _HOUR).astype(np.int64)
    ahead = np.arange(int(now // _HOUR), int((now + horizon_seconds) // _HOUR) + 1)
    level = float(rates[past > past[-1] - season].mean())
    highest = 0.0
    for hour in ahead:
        same = (past % season) == (hour % season)
        if not same.any():
            return Peak(None, season, "an hour of the season was never seen")
        highest = max(
            highest, float(np.quantile(_levelled(past, rates, same, season, level), 0.95))
        )
    name = "weeks" if season == _WEEK_HOURS else "days"
    return Peak(highest, season, f"from {hours / season:.1f} {name} of history")


def _levelled(
    past: np.ndarray[tuple[int], np.dtype[np.int64]],
    rates: Floats,
    same: np.ndarray[tuple[int], np.dtype[np.bool_]],
    season: int,
    level: float,
) -> Floats:
    """Return the rates of the same hours, each brought from its season's level to today's."""
    found = []
    for hour, rate in zip(past[same], rates[same], strict=True):
        around = np.abs(past - hour) <= season // 2
        then = float(rates[around].mean())
        found.append(float(rate) * (level / then if then > 0 else 1.0))
    return np.asarray(found)
