"""When a series changed for good: a step, or growth that began on a day. Pure.

Days are compared, not hours: a day's median leaves the daily rhythm and short peaks aside, and
days of the week are set against their own kind where there are three weeks. On the logarithm of
these medians a step (y = a + b for t >= T) and a bend (y = a + b (t - T) for t >= T) are fitted at
every possible T by least squares on bounded residuals, and tested against "nothing happened" and
against each other by Schwarz's criterion (BIC, Annals of Statistics 6, 1978).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np

from spark_metrics.derived.series import DAY, WEEK, Floats, Integers, lagged, quantile

LEAST_DAYS = 6
MOST_CHANGES = 4
LEAST_CONFIDENCE = 0.9
LEAST_RATIO = 1.15
"""A smaller change is nobody's concern."""
_EDGE_DAYS = 2
_HOURS_OF_A_DAY = 6
"""Fewer known hours do not make a day."""
_DAYS_TO_TELL_WEEKENDS, _DAYS_TO_TELL_WEEKDAYS = 9, 21
_THURSDAY = 3
"""1970-01-01 was one."""
_WIDTH_90 = 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a series.

    Attributes:
        kind: ``step``, or ``growth`` (also where it shrinks).
        at_hour: Hours since 1970: of a step the hour, of growth the day's first.
        before: The median level before, in the unit of the series.
        after: After it; of growth the level at the end.
        ratio: after ÷ before of a step; of growth the factor a week.
        ratio_low: Lower end of its 90 % interval.
        ratio_high: Upper end.
        confidence: How sure it is that there was a change, 0 to 1.
    """

    kind: str
    at_hour: int
    before: float
    after: float
    ratio: float
    ratio_low: float
    ratio_high: float
    confidence: float


def changes(first_hour: int, values: Floats) -> list[Change]:
    """Return the changes of a series, oldest first.

    Args:
        first_hour: Hours since 1970 of the first value.
        values: One value an hour, none negative; NaN is unknown.
    """
    day, level = _days(first_hour, values)
    if len(day) < LEAST_DAYS:
        return []
    floor = float(np.median(level)) * 1e-3 + 1e-9
    y = np.log(np.maximum(level, floor))
    y = _without_weekdays(day, y)
    fits: list[_Fit] = []
    segments = [(0, len(day))]
    while segments and len(fits) < MOST_CHANGES:
        start, end = segments.pop()
        best = _best(day[start:end].astype(np.float64), y[start:end])
        if best is None:
            continue
        fits.append(replace(best, at=start + best.at))
        segments.append((start, start + best.at))
        if best.kind == "step":
            segments.append((start + best.at, end))
    fits.sort(key=lambda fit: fit.at)
    found = [
        _described(
            _between(fits, number, day, y), day, level, _adjacent_changes(fits, number, len(day))
        )
        for number in range(len(fits))
    ]
    large = (one for one in found if max(one.ratio, 1 / one.ratio) >= LEAST_RATIO)
    return [_to_the_hour(one, first_hour, values) if one.kind == "step" else one for one in large]


def _adjacent_changes(fits: list[_Fit], number: int, days: int) -> tuple[int, int]:
    """Return from where to where only this change happened."""
    start = fits[number - 1].at if number else 0
    return start, fits[number + 1].at if number + 1 < len(fits) else days


def _between(fits: list[_Fit], number: int, day: Integers, y: Floats) -> _Fit:
    """Return a change measured anew between its neighbours, which it was found without."""
    fit = fits[number]
    start, end = _adjacent_changes(fits, number, len(day))
    segment = day[start:end].astype(np.float64)
    _, _, _, slope, error = _fitted(
        fit.kind,
        fit.at - start,
        _shape(fit.kind, fit.at - start, segment),
        y[start:end],
        fit.bound,
    )
    return replace(fit, slope=slope, error=error)


def _shape(kind: str, at: int, day: Floats) -> Floats:
    if kind == "step":
        return (np.arange(len(day)) >= at).astype(np.float64)
    bend: Floats = np.maximum(0.0, day - day[at - 1])
    return bend


def _days(first_hour: int, values: Floats) -> tuple[Integers, Floats]:
    """Return the days since 1970 of which enough is known, and their medians."""
    before = first_hour % DAY
    rows = -(-(before + len(values)) // DAY)
    padded = np.full(rows * DAY, np.nan)
    padded[before : before + len(values)] = values
    by_day = padded.reshape(rows, DAY)
    enough = np.count_nonzero(np.isfinite(by_day), axis=1) >= _HOURS_OF_A_DAY
    if not enough.any():
        return np.empty(0, dtype=np.int64), np.empty(0)
    medians = np.nanmedian(by_day[enough], axis=1)
    return np.flatnonzero(enough) + first_hour // DAY, medians


def _without_weekdays(day: Integers, y: Floats) -> Floats:
    """Take out what each day of the week, or each kind of day, differs from its surroundings by."""
    days = int(day[-1] - day[0]) + 1
    if days < _DAYS_TO_TELL_WEEKENDS:
        return y
    weekday = (day + _THURSDAY) % 7
    kind = weekday if days >= _DAYS_TO_TELL_WEEKDAYS else weekday // 5
    apart = y - np.array([np.median(y[np.abs(day - one) <= 3]) for one in day])
    cleaned = y.copy()
    for one in np.unique(kind):
        cleaned[kind == one] -= np.median(apart[kind == one])
    return cleaned


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    kind: str
    at: int
    slope: float
    error: float
    confidence: float
    bound: float


def _best(day: Floats, y: Floats) -> _Fit | None:
    """Return the best single change, None where "nothing happened" explains the days as well."""
    number = len(y)
    if number < LEAST_DAYS:
        return None
    noise = 1.4826 * float(np.median(np.abs(np.diff(y)))) / sqrt(2)
    bound = 3 * noise + 0.02
    candidates: list[tuple[float, str, int, float, float]] = []
    none = _squares(y - np.median(y), bound)
    for at in range(_EDGE_DAYS, number - _EDGE_DAYS + 1):
        candidates.append(_fitted("step", at, _shape("step", at, day), y, bound))
        if number - at >= 2 * _EDGE_DAYS:
            candidates.append(_fitted("growth", at, _shape("growth", at, day), y, bound))
    squares, kind, at, slope, error = min(candidates)
    # Days resemble their neighbours: two of them count as about one.
    counted = number / 2
    smallest = 0.02**2 * number
    gain = counted * log((none + smallest) / (squares + smallest)) - 2 * log(number)
    confidence = 1 / (1 + exp(-min(50.0, gain / 2)))
    if confidence < LEAST_CONFIDENCE:
        return None
    return _Fit(kind=kind, at=at, slope=slope, error=error, confidence=confidence, bound=bound)


def _fitted(
    kind: str, at: int, shape: Floats, y: Floats, bound: float
) -> tuple[float, str, int, float, float]:
    """Fit y = a + b·shape, outliers bounded; return squares, kind, place, b and its error."""
    target = y
    slope = offset = 0.0
    centred = shape - shape.mean()
    spread = float(centred @ centred)
    for _ in range(4):
        slope = float(centred @ target) / spread
        offset = float(target.mean() - slope * shape.mean())
        line = offset + slope * shape
        target = line + np.clip(y - line, -bound, bound)
    squares = _squares(y - line, bound)
    error = sqrt(squares / max(1, len(y) - 2) / spread)
    return squares, kind, at, slope, error


def _squares(residuals: Floats, bound: float) -> float:
    """Return the sum of squares with larger residuals counted linearly (Huber)."""
    size = np.abs(residuals)
    bounded = np.minimum(size, bound)
    return float((bounded * (2 * size - bounded)).sum())


def _described(fit: _Fit, day: Integers, level: Floats, window: tuple[int, int]) -> Change:
    before = float(np.median(level[window[0] : fit.at]))
    after = float(np.median(level[fit.at : window[1]]))
    factor = 1.0
    at_day = int(day[fit.at])
    if fit.kind == "growth":
        factor = WEEK / DAY
        after = float(np.median(level[: window[1]][-3:]))
        at_day = int(day[fit.at - 1])
    middle, half = fit.slope * factor, _WIDTH_90 * fit.error * factor
    return Change(
        kind=fit.kind,
        at_hour=at_day * DAY,
        before=before,
        after=after,
        ratio=_exp(middle),
        ratio_low=_exp(middle - half),
        ratio_high=_exp(middle + half),
        confidence=fit.confidence,
    )


def _exp(value: float) -> float:
    return exp(max(-50.0, min(50.0, value)))


def _to_the_hour(change: Change, first_hour: int, values: Floats) -> Change:
    """Return a step with the hour from which values are nearer to what came after.

    Each hour around the step's day is compared with the median of its own hour on the days before.
    """
    begin = max(DAY, change.at_hour - DAY - first_hour)
    hours = range(begin, min(len(values), change.at_hour + DAY - first_hour))
    if not hours:
        return change
    earlier = lagged(values, [DAY * number for number in range(1, 8)])[hours.start : hours.stop]
    before = np.maximum(quantile(earlier, 0.5), 1e-9)
    apart = np.log(np.maximum(values[hours.start : hours.stop], 1e-9) / before)
    # How much better "after" explains each hour than "before"; the change is where the sum over
    # the hours from there on is largest, that is where it is lowest before.
    vote = np.where(np.isfinite(apart), np.abs(apart) - np.abs(apart - log(change.ratio)), 0.0)
    at = int(np.argmin(np.concatenate([[0.0], np.cumsum(vote)])))
    return replace(change, at_hour=first_hour + begin + at)
