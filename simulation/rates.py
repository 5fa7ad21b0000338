"""Arrival rates over time: small functions to build workloads from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulation.model import Floats, Rate

DAY = 86400.0
WEEK = 7 * DAY
_MONDAY = 4 * DAY  # 1 January 1970 was a Thursday

Factor = Callable[[Floats], Floats]
"""Times (seconds) to what a rate is multiplied by."""


def constant(per_second: float) -> Rate:
    """Return the same rate at all times."""
    return lambda times: np.full(len(times), per_second)


def times_factors(rate: Rate, *factors: Factor) -> Rate:
    """Return a rate multiplied by factors."""

    def product(times: Floats) -> Floats:
        result = rate(times)
        for factor in factors:
            of_time = factor(times)
            result = result * (of_time if result.ndim == 1 else of_time[:, None])
        return result

    return product


def day_season(amplitude: float, peak_at: float = 15 * 3600.0) -> Factor:
    """Return a daily wave of mean 1, highest at a time of the day, with a shoulder before it."""

    def factor(times: Floats) -> Floats:
        phase = 2 * np.pi * (times - peak_at) / DAY
        wave = (np.cos(phase) + 0.25 * np.cos(2 * phase)) / 1.25
        season: Floats = np.maximum(1 + amplitude * wave, 0.0)
        return season

    return factor


def week_season(weekend: float) -> Factor:
    """Return a factor that is lower on Saturdays and Sundays (UTC), with a soft change."""

    def factor(times: Floats) -> Floats:
        day = ((times - _MONDAY) % WEEK) / DAY
        away = np.clip(np.minimum(day - 4.9, 7.0 - day) / 0.1, 0.0, 1.0)
        season: Floats = 1 - (1 - weekend) * away
        return season

    return factor


def between(start: float, end: float, factor: float, ramp_seconds: float = 0.0) -> Factor:
    """Return a factor that holds from ``start`` to ``end``, 1 elsewhere, with a ramp between."""
    edge = max(ramp_seconds, 1e-9)

    def of_time(times: Floats) -> Floats:
        inside = np.clip(np.minimum((times - start) / edge, (end - times) / edge), 0.0, 1.0)
        result: Floats = 1 + (factor - 1) * inside
        return result

    return of_time


def growing(start: float, end: float, factor: float) -> Factor:
    """Return a factor that goes from 1 at ``start`` straight to ``factor`` at ``end``."""
    return lambda times: np.interp(times, (start, end), (1.0, factor))


def flapping(seed: int, low: float, high: float, seconds: tuple[float, float]) -> Factor:
    """Return a factor that jumps about, held for random times; it repeats after a day."""
    rng = np.random.default_rng((seed, 3))
    lengths = rng.uniform(*seconds, size=int(DAY / seconds[0]) + 1)
    edges = np.cumsum(lengths)
    levels = rng.uniform(low, high, size=len(lengths))

    def factor(times: Floats) -> Floats:
        held: Floats = levels[np.searchsorted(edges, times % DAY, side="right")]
        return held

    return factor
