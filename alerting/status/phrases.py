"""How numbers read in a sentence."""

from __future__ import annotations

from math import floor, log10


def count(value: int) -> str:
    """Return a count with separators: ``1,204``."""
    return f"{value:,}"


QUORUM_ENDS = (
    "the controllers' quorum has no majority: partitions that it leads get no other leader, and no "
    "topic can be changed"
)
"""What the loss of a broker means whose controller the majority needs."""


def messages(value: int) -> str:
    """Return ``1 message`` or ``1,204 messages``."""
    return f"{value:,} message{'' if value == 1 else 's'}"


def share(ratio: float) -> str:
    """Return a ratio as a percentage, with two figures below ten: ``0.25 %``, ``82 %``."""
    percent = ratio * 100
    if percent == 0 or abs(percent) >= 10:
        return f"{round(percent)} %"
    text = f"{percent:.{1 - floor(log10(abs(percent)))}f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def rate(per_second: float) -> str:
    """Return a rate in its natural unit: ``1,240/s``, ``2.5/s``, ``3/min``, ``4/h``."""
    if per_second <= 0:
        return "0/s"
    if per_second >= 10:
        return f"{per_second:,.0f}/s"
    if per_second >= 1:
        return f"{per_second:.1f}/s".replace(".0/", "/")
    for factor, unit in ((60, "min"), (3600, "h"), (86400, "d")):
        value = per_second * factor
        if value >= 1:
            return (
                f"{value:.0f}/{unit}" if value >= 10 else f"{value:.1f}/{unit}".replace(".0/", "/")
            )
    return "under 1/d"


def duration(seconds: float) -> str:
    """Return a duration in one unit or two: ``40 s``, ``4 min 20 s``, ``2 d 3 h``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    for size, unit, below, unit_below in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {unit_below}" if rest else "")
    raise AssertionError("unreachable: minutes take every duration from 60 s")


_SOON_SECONDS = 300
"""Sooner than this nobody acts by the minute."""

_STEPS = (
    (2 * 86_400, 43_200),
    (86_400, 3600),
    (3 * 3600, 1800),
    (3600, 300),
    (_SOON_SECONDS, 60),
)
"""From which time left on: in steps of how much."""


def time_left(seconds: float) -> str:
    """Return when something comes at the present rates: ``within 5 min``, ``in 1 h 25 min``.

    A deadline moves with the rates from poll to poll: no finer than somebody could act on it, and
    never more than there is. The sentence stands still within a step.
    """
    at_least = in_steps(seconds)
    if not at_least:
        return f"within {duration(_SOON_SECONDS)}"
    if at_least < 3 * 3600:
        return f"in {duration(at_least)}"
    unit, name = (86_400, "d") if at_least >= 2 * 86_400 else (3600, "h")
    return f"in {at_least / unit:g} {name}"


def in_steps(seconds: float) -> float:
    """Return the time left as ``time_left`` writes it; zero: sooner than anybody acts by."""
    for least, step in _STEPS:
        if seconds >= least:
            return seconds // step * step
    return 0.0


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return ``1 group`` or ``3 groups``; ``many`` where it is not ``one`` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def short(value: float) -> str:
    """Return three significant figures with a unit: ``940``, ``12.4 k``, ``1.24 M``."""
    for size, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size * 0.9995:
            scaled = f"{value / size:.3g}"
            return f"{float(scaled):g}{unit}"
    return f"{value:.3g}" if value % 1 else f"{value:.0f}"
