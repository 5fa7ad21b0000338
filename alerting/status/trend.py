"""Straight lines through samples: how fast messages arrive, are read, and wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from operator import mul

from alerting.status.growth import Point
from alerting.status.model import StatusRules

LEAST_POINTS = 3
"""Fewer samples tell no direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Least-squares slopes over some samples."""

    arrival_per_second: float
    consumption_per_second: float
    growth_per_second: float  # of the lag; negative while it shrinks
    noise_per_second: float  # a slope smaller than this may come from commit steps or bursts
    span_seconds: float

    @property
    def direction(self) -> int:
        """1 while the lag grows, -1 while it shrinks, 0 where neither is certain."""
        if abs(self.growth_per_second) <= self.noise_per_second:
            return 0
        return 1 if self.growth_per_second > 0 else -1


def trend_of(points: Sequence[Point], period: float | None, rules: StatusRules) -> Trend | None:
    """Fit straight lines; None where they cover less than the time that a trend needs.

    The committed offset moves in steps of one commit period, so the lag swings by arrival x
    period without any trend; bursts show in the residuals. A slope must exceed both.
    """
    if len(points) < LEAST_POINTS:
        return None
    span = points[-1][0] - points[0][0]
    if span < rules.trend_seconds:
        return None
    every = -(-len(points) // rules.fitted_points)
    kept = points[::-every]
    start, first_end, first_committed, _ = kept[-1]
    times = [point[0] - start for point in kept]
    ends = [point[1] - first_end for point in kept]
    steps = [point[2] - first_committed for point in kept]
    lags = [point[3] for point in kept]
    count, sum_times = len(kept), sum(times)
    squares: float = sum(map(mul, times, times))
    spread = squares - sum_times * sum_times / count
    if spread <= 0:
        return None

    def slope(values: Sequence[int]) -> float:
        products: float = sum(map(mul, times, values))
        return (products - sum_times * sum(values) / count) / spread

    arrival, growth = max(0.0, slope(ends)), slope(lags)
    scatter = sum(map(mul, lags, lags)) - sum(lags) ** 2 / count - growth * growth * spread
    # Two standard deviations: 19 of 20 samples lie within.
    noise = max(
        float(rules.minimum_messages),
        (1 + rules.much_share) * arrival * (period or 0.0),
        2 * sqrt(max(0.0, scatter) / count),
    )
    return Trend(
        arrival_per_second=arrival,
        consumption_per_second=max(0.0, slope(steps)),
        growth_per_second=growth,
        noise_per_second=noise / span,
        span_seconds=span,
    )


def draining(points: Sequence[Point], period: float | None, rules: StatusRules) -> Trend | None:
    """Return the trend of the newest points where all of them say that the lag shrinks."""
    count = 1
    for later, earlier in zip(points[::-1], points[-2::-1], strict=False):
        if later[3] >= earlier[3]:
            return None
        count += 1
        if count >= LEAST_POINTS and points[-1][0] - earlier[0] >= rules.trend_seconds:
            break
    found = trend_of(points[len(points) - count :], period, rules)
    if found is None or found.direction >= 0:
        return None
    more = (1 + rules.much_share) * found.arrival_per_second
    return found if found.consumption_per_second > more else None


def level_trend(times: Sequence[float], rules: StatusRules) -> Trend | None:
    """Return what ``trend_of`` finds where nothing but the time changes."""
    span = times[-1] - times[0] if times else 0.0
    if len(times) < LEAST_POINTS or span < rules.trend_seconds:
        return None
    return Trend(
        arrival_per_second=0.0,
        consumption_per_second=0.0,
        growth_per_second=0.0,
        noise_per_second=rules.minimum_messages / span,
        span_seconds=span,
    )
