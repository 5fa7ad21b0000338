"""How numbers read in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from statistics import median


def count(value: int) -> str:
    """Return a count with separators: ``1,204``."""
    return f"{value:,}"


QUORUM_ENDS = (
    "the controllers' quorum has no majority: no other leader is elected, no topic can be changed"
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


def minute_rate(per_second: float) -> str:
    """Return the rate of what is rare, such as dead letters: ``1,200/min``, ``0.5/min``.

    Its unit stays as it comes and goes.
    """
    value = per_second * 60
    return f"{value:,.0f}/min" if value >= 10 else f"{value:.2g}/min"


_IN_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_LEAST_DIFFERENCE = 0.05
"""Of the unit that rates are written in."""


def rates(arrival: float, consumption: float, where: str = "") -> str:
    """Return ``90/s arrive, 90/s consumed``; ``where`` follows the first: of which partitions."""
    return f"{rate(arrival)} arrive{where}, {rate(consumption)} consumed"


def compared_rates(arrival: float, consumption: float, where: str = "") -> str:
    """Return rates that are the evidence of a direction: that more arrives than is consumed.

    Where both read alike, the difference is said: ``90/s arrive, 0.4/s more than consumed``.

    Args:
        arrival: Messages a second that arrive.
        consumption: Those that are consumed.
        where: Follows the first rate: of which partitions they are.
    """
    arrives = rate(arrival)
    unit = arrives.rpartition("/")[2]
    difference = abs(arrival - consumption) * _IN_UNITS.get(unit, 1)
    if arrives != rate(consumption) or difference < _LEAST_DIFFERENCE:
        return rates(arrival, consumption, where)
    more = "more" if arrival > consumption else "fewer"
    return f"{arrives} arrive{where}, {difference:.1g}/{unit} {more} than consumed"


_STANDS_OUT = 2.0
"""A partition has much more than others from this many times their median on."""
_EVEN = 1.25
"""Partitions are alike up to this many times the least of them."""


def on_partitions(amounts: Mapping[str, float], number: int) -> str:
    """Say on which partitions something is: the one with most, or ``evenly`` where all are alike.

    ``on 3 of 12 partitions, most on orders-3``, ``on orders-3 (1 of 12)``,
    ``on 2 of 12 partitions`` or ``evenly on all 12 partitions``.

    Args:
        amounts: How much is on each partition that it is on, by the partition's name.
        number: How many partitions there are.
    """
    most = max(amounts, key=lambda name: amounts[name])
    others = [amount for name, amount in amounts.items() if name != most]
    every = plural(number, "partition")
    some = f"{len(amounts)} of {every}"
    if not others:
        return f"on {most} (1 of {number})"
    if amounts[most] > 0 and amounts[most] >= _STANDS_OUT * median(others):
        return f"on {some}, most on {most}"
    evenly = "evenly " if amounts[most] <= _EVEN * min(others) else ""
    if len(amounts) < number:
        return f"{evenly}on {some}"
    return f"{evenly}on {'both partitions' if number == 2 else f'all {every}'}"


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

_HOUR, _DAY = 3600, 86_400
_STEPS = ((2 * _DAY, _DAY), (10 * _HOUR, _HOUR), (_HOUR, 600), (_SOON_SECONDS, 60))
"""From which time left on: in steps of how much."""


def or_before(began: str, *, at_least: bool) -> str:
    """Write when something began; it may be earlier where nobody watched it until then."""
    return f"before {began}" if at_least else began


def time_left(seconds: float) -> str:
    """Return when something comes at the present rates: ``within 5 min``, ``in 1 h 20 min``.

    A deadline moves with the rates from poll to poll: no finer than somebody could act on it, and
    never more than there is. The sentence stands still within a step.
    """
    at_least = in_steps(seconds)
    return f"in {_left(at_least)}" if at_least else f"within {duration(_SOON_SECONDS)}"


def brief_time_left(seconds: float) -> str:
    """Return the time of ``time_left`` where a heading says what it is: ``under 5 min``."""
    at_least = in_steps(seconds)
    return _left(at_least) if at_least else f"under {duration(_SOON_SECONDS)}"


def _left(seconds: float) -> str:
    return f"{seconds / _HOUR:.0f} h" if _DAY <= seconds < 2 * _DAY else duration(seconds)


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
