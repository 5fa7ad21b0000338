"""Forecasts against what came, on recorded and generated series and the demo's history.

At some sixty origins a series is cut, its next 24 hours are forecast from what lies before, and
compared with what came. The floor is seasonal-naive, the value a season ago, with the quantiles of
its own past errors as its interval.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from bench.support.figures import Figure
from demo.history.generated import DAYS, simulate_history
from demo.workload.catalogue import CATALOGUE
from simulation.traces import Trace, read_traces
from spark_metrics.derived.forecast import HORIZON, LEVELS, LONGEST_HISTORY, forecast
from spark_metrics.derived.series import DAY, HOUR_SECONDS, WEEK, Floats

_ORIGINS = 60
_QUANTILES = np.array([0.05, 0.1, 0.5, 0.9, 0.95])
_SEEDED_WEEKS = 9
_DEMO_DAYS = 5
_LEAST_COVERAGE = (0.75, 0.85)
"""Of intervals that should hold 80 and 90 %: sixty days, and errors that come in runs, leave so
much to chance."""
_HOLDS = (0.85, 0.95)
"""What should come inside an interval that says 90 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastScore:
    """How one series was forecast."""

    mae_ratio: float  # mean absolute error ÷ that of seasonal-naive; both 0 is 0
    pinball_ratio: float  # the same of the mean pinball loss over five quantiles
    coverage: tuple[float, ...]  # share of what came inside each interval of ``LEVELS``
    origins: int
    season: int
    seconds: float


def hours(trace: Trace) -> Floats:
    """Return the mean rate of each hour of a recorded series; NaN in its gaps."""
    hour = (trace.times // HOUR_SECONDS).astype(np.int64)
    hour -= hour[0]
    seen = np.bincount(hour)
    totals = np.bincount(hour, np.maximum(trace.per_second, 0.0))
    return np.where(seen > 0, totals / np.maximum(seen, 1), np.nan)


def generated() -> dict[str, Floats]:
    """Return series of known kinds, from a fixed seed."""
    dice = np.random.default_rng(20)
    number = _SEEDED_WEEKS * WEEK
    at = np.arange(number)
    daily = 100 * (1 + 0.5 * np.sin(2 * np.pi * at / DAY)) * np.exp(0.1 * dice.normal(size=number))
    weekly = daily * np.where(at // DAY % 7 >= 5, 0.4, 1.0)
    gaps = weekly.copy()
    for start in dice.integers(0, number, 30):
        gaps[start : start + dice.integers(1, 12)] = np.nan
    return {
        "daily": daily,
        "weekly": weekly,
        "weekly with gaps": gaps,
        "weekly with spikes": weekly * np.where(dice.random(number) < 0.01, 20.0, 1.0),
        "weekly, growing": weekly * (1 + at / 500),
        "weekly, a step": weekly * np.where(at > number // 2, 2.5, 1.0),
        "random walk": np.maximum(0.0, 500 + np.cumsum(10 * dice.normal(size=number))),
        "noise": np.maximum(0.0, 100 + 10 * dice.normal(size=number)),
        "few messages": dice.poisson(0.2, number).astype(np.float64),
        "nightly batch": np.where(at % DAY == 2, 1000 * np.exp(0.2 * dice.normal(size=number)), 0),
        "constant": np.full(number, 100.0),
        "zeros": np.zeros(number),
    }


def of_demo() -> dict[str, Floats]:
    """Return the arrival at the demo's groups, five days longer than the history it begins with.

    They end on a Saturday evening: what is forecast has working days and a weekend in it.
    """
    until = datetime(2026, 1, 10, 20, tzinfo=UTC)
    minutes = simulate_history(CATALOGUE, until, days=DAYS + _DEMO_DAYS)
    hours = (
        minutes.group_by("group", pl.col("at").dt.truncate("1h"))
        .agg(pl.col("arrived").sum() / HOUR_SECONDS)
        .sort("group", "at")
    )
    return {
        group: rows["arrived"].to_numpy()
        for (group,), rows in hours.group_by("group", maintain_order=True)
    }


def score(
    values: Floats, origins: int = _ORIGINS, *, known: int | None = None
) -> ForecastScore | str:
    """Forecast a series at many origins; return why not where it is too short.

    A series of less than three weeks is scored with a season of a day, since no week is left over
    to compare with.

    Args:
        values: One value an hour.
        origins: How many times about.
        known: Hours before each origin that the forecast is given, with a season of a week; all
            of them without.
    """
    season = WEEK if known or len(values) >= 3 * WEEK else DAY
    start = known or 2 * season
    if len(values) < start + 2 * HORIZON:
        return f"{len(values)} hours are too few to hold any back"
    step = max(1, (len(values) - HORIZON - start) // origins)
    ours: list[Floats] = []
    floor: list[Floats] = []
    came: list[Floats] = []
    seconds: list[float] = []
    for origin in range(start, len(values) - HORIZON + 1, step):
        begun = process_time()
        past = values[origin - (known or origin) : origin]
        found = forecast(past, season=season)
        seconds.append(process_time() - begun)
        if not len(found.median):
            continue
        low, high = found.low[::-1], found.high
        ours.append(np.vstack([low, found.median, high]).T)
        floor.append(_seasonal_naive(past[-LONGEST_HISTORY:], season))
        came.append(values[origin : origin + HORIZON])
    if not came:
        return "no forecast was possible: too much of it is unknown"
    truth, mine, naive = np.concatenate(came), np.concatenate(ours), np.concatenate(floor)
    both = np.isfinite(truth) & np.isfinite(naive).all(axis=1)
    if not both.any():
        return "nothing that was forecast is known"
    truth, mine, naive = truth[both], mine[both], naive[both]
    near = 1e-9 * np.abs(truth)
    return ForecastScore(
        mae_ratio=_ratio(np.abs(truth - mine[:, 2]).mean(), np.abs(truth - naive[:, 2]).mean()),
        pinball_ratio=_ratio(_pinball(truth, mine), _pinball(truth, naive)),
        coverage=tuple(
            float(((truth >= mine[:, 1 - n] - near) & (truth <= mine[:, 3 + n] + near)).mean())
            for n in range(len(LEVELS))
        ),
        origins=len(came),
        season=season,
        seconds=float(np.median(seconds)),
    )


def figures_of(name: str, found: ForecastScore) -> Iterator[Figure]:
    """Return one series' figures."""
    season = "" if found.season == WEEK else " (season: a day)"
    yield Figure(
        name=f"{name}{season}: MAE ÷ seasonal-naive's", value=found.mae_ratio, unit="", most=1.0
    )
    yield Figure(
        name=f"{name}: pinball loss ÷ seasonal-naive's",
        value=found.pinball_ratio,
        unit="",
        most=1.0,
    )
    for level, share, least in zip(LEVELS, found.coverage, _LEAST_COVERAGE, strict=True):
        yield Figure(
            name=f"{name}: inside the {level:.0%} interval", value=share, unit="", least=least
        )


def measure(traces: Path | None, on_progress: Callable[[str], None]) -> list[Figure]:
    """Score the recorded series of a folder, if any, the generated ones and the demo's."""
    recorded, problems = ([], []) if traces is None else read_traces(traces)
    for problem in problems:
        print(problem, file=sys.stderr)
    demo = of_demo()
    series = {trace.name: hours(trace) for trace in recorded} | generated() | demo
    found: list[Figure] = []
    slowest = 0.0
    shares: list[float] = []
    for name, values in series.items():
        on_progress(f"forecast: {name}")
        scored = score(values, known=DAYS * DAY if name in demo else None)
        if isinstance(scored, str):
            print(f"{name}: {scored}", file=sys.stderr)
            continue
        slowest = max(slowest, scored.seconds)
        shares.append(scored.coverage[-1])
        found += figures_of(name, scored)
    return [
        *found,
        Figure(
            name="series of whose values the 90% interval held 85 to 95%",
            value=sum(_HOLDS[0] <= share <= _HOLDS[1] for share in shares),
            unit=f"of {len(shares)}",
        ),
        Figure(
            name="one forecast, the slowest series' median", value=1000 * slowest, unit="ms CPU"
        ),
    ]


def _seasonal_naive(past: Floats, season: int) -> Floats:
    """Return the quantiles that the value a season ago gives: (horizon, quantile)."""
    ahead = np.arange(len(past), len(past) + HORIZON)
    said = np.full(HORIZON, np.nan)
    for back in range(1, len(past) // season + 1):
        earlier = past[ahead - back * season]
        said = np.where(np.isfinite(said), said, earlier)
    errors = past[season:] - past[:-season]
    errors = errors[np.isfinite(errors)]
    if not len(errors):
        return np.full((HORIZON, len(_QUANTILES)), np.nan)
    ends = np.where(_QUANTILES == 0.5, 0.0, np.quantile(errors, _QUANTILES))
    found: Floats = np.maximum(0.0, said[:, None] + ends)
    return found


def _pinball(truth: Floats, said: Floats) -> float:
    """Return the mean pinball loss (Koenker and Bassett, Econometrica 46, 1978)."""
    apart = truth[:, None] - said
    return float(np.maximum(_QUANTILES * apart, (_QUANTILES - 1) * apart).mean())


def _ratio(ours: float, floor: float) -> float:
    if floor > 0:
        return float(ours / floor)
    return 0.0 if ours <= 1e-9 else float("inf")
