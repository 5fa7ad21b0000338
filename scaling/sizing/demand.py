"""How much arrives: now, at the end of the lead time, and at the next peak. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from scaling.facts.intervals import Floats, Integers

SHORT_SECONDS = 60.0
"""What counts as now."""

LONG_SECONDS = 900.0
"""What trend and spread are taken from."""

_Z_95 = 1.645
_STEP_SIGMAS = 4.0
_MINIMUM_POINTS = 4
HOUR_SECONDS = 3600.0
_DAY_HOURS, _WEEK_HOURS = 24, 168
_FILLED = 0.8
TOO_LITTLE = "too little history: two seasons are needed, two days at the least"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What arrives, messages per second."""

    now: Floats
    soon: Floats  # by partition, what will not be exceeded at the end of the lead time (95 %)
    lasting: Floats
    growth_per_second: float  # by how much the total grows a second, messages/s²


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """What is usual at each hour of a season, as a multiple of the season's mean."""

    hours: int  # 168 for hours of the week, 24 for hours of the day; 0 without a season
    usual: Floats  # median of each hour; NaN where it was never seen
    high: Floats  # 95 % quantile of each hour
    reason: str  # why there is none, or from how much history it is


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
    level, soon, slope = _trend(at, log_end.sum(axis=1), lead_seconds)
    return Demand(
        now=shares * level,
        soon=shares * soon,
        lasting=arrived / float(at[-1] - at[0]),
        growth_per_second=slope,
    )


def _trend(at: Floats, ends: Floats, lead: float) -> tuple[float, float, float]:
    """Return level, upper level after the lead time, and slope of a total rate."""
    newest = min(int(np.searchsorted(at, at[-1] - SHORT_SECONDS - 1e-9)), len(at) - 2)
    short_seconds = float(at[-1] - at[newest])
    short = max(0.0, float(ends[-1] - ends[newest])) / short_seconds
    seconds = np.diff(at[: newest + 1])
    if len(seconds) < _MINIMUM_POINTS:
        return short, short, 0.0
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
        return short, short, 0.0
    level = max(0.0, (short + expected) / 2 + slope * short_seconds / 2)
    return level, level + max(0.0, slope) * lead + _Z_95 * deviation, slope


def season(hour_starts: Floats, rates: Floats, *, now: float) -> Season:
    """Return what is usual at each hour.

    Two weeks of history make hours of the week, two days hours of the day. Each rate is taken as a
    multiple of the mean of the season around it, so that growth does not look like a season.

    Args:
        hour_starts: Starts of hours, Unix seconds (UTC), in any order.
        rates: Mean arrival in each of them, messages per second; NaN is unknown.
        now: The present, Unix seconds; the hour that has just begun is left out.
    """
    known = np.isfinite(rates) & (hour_starts + HOUR_SECONDS <= now)
    hours = np.round(hour_starts[known] / HOUR_SECONDS).astype(np.int64)
    order = np.argsort(hours)
    hours, rates = hours[order], rates[known][order]
    length = _WEEK_HOURS
    if not _is_covered(hours, now, length):
        length = _DAY_HOURS
        if not _is_covered(hours, now, length):
            return Season(hours=0, usual=np.empty(0), high=np.empty(0), reason=TOO_LITTLE)
    sums = np.concatenate([[0.0], np.cumsum(rates)])
    half = length // 2
    low = np.searchsorted(hours, hours - half)
    high = np.searchsorted(hours, hours + half, side="right")
    means = (sums[high] - sums[low]) / (high - low)
    multiples = np.divide(rates, means, out=np.ones_like(rates), where=means > 0)
    usual, top = np.full(length, np.nan), np.full(length, np.nan)
    slot = hours % length
    for hour in range(length):
        same = multiples[slot == hour]
        if len(same):
            usual[hour], top[hour] = np.median(same), np.quantile(same, 0.95)
    name = "weeks" if length == _WEEK_HOURS else "days"
    return Season(
        hours=length,
        usual=usual,
        high=top,
        reason=f"from {len(hours) / length:.1f} {name} of history",
    )


def _is_covered(hours: Integers, now: float, length: int) -> bool:
    """Return whether there are two seasons, with few holes."""
    if not len(hours):
        return False
    recent = hours[hours >= now // HOUR_SECONDS - 2 * length]
    return now / HOUR_SECONDS - hours[0] >= 2 * length and len(recent) >= _FILLED * 2 * length


def peak_ahead(season: Season, *, at: float, horizon_seconds: float, now: float) -> float | None:
    """Return the highest arrival that the season lets expect within a horizon (95 %).

    The present rate is carried along the season: what is above the usual now stays above it.

    Args:
        season: What is usual.
        at: The present, Unix seconds.
        horizon_seconds: How far ahead.
        now: The present arrival, messages per second.

    Returns:
        Messages per second; None without a season, or where an hour was never seen.
    """
    if not season.hours:
        return None
    # The figure of an hour belongs to its middle; between two middles there is a straight line.
    times = at + np.arange(0.0, horizon_seconds + 1, HOUR_SECONDS / 4)
    usual_now = float(_between(season.usual, times[:1])[0])
    high = _between(season.high, times)
    if not usual_now > 0 or np.isnan(high).any():
        return None
    return now * float(high.max()) / usual_now


def _between(of_hour: Floats, times: Floats) -> Floats:
    position = times / HOUR_SECONDS - 0.5
    before = np.floor(position).astype(np.int64)
    weight = position - before
    length = len(of_hour)
    result: Floats = (
        of_hour[before % length] * (1 - weight) + of_hour[(before + 1) % length] * weight
    )
    return result
