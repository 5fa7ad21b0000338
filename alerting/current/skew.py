"""How unevenly a topic's traffic falls on its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from math import sqrt
from operator import mul

MINIMUM_PARTITIONS = 3
MINIMUM_MESSAGES = 200
"""Fewer messages in the time looked at fall unevenly by chance."""

HOT_SIGMAS = 2.0
HOT_FACTOR = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """How traffic falls on partitions."""

    busiest: int | None
    busiest_ratio: float | None  # its share of all traffic, 0 to 1
    even_ratio: float | None
    hot: tuple[int, ...]
    unknown_reason: str | None = None


def skew(rates: Mapping[int, float | None], *, span_seconds: float) -> Skew:
    """Return how unevenly traffic falls on the partitions of one topic.

    A partition is hot if it gets more than the mean + 2 standard deviations *of the others*, and
    at least twice their mean. The usual rule (mean + 2 population standard deviations of all,
    from three partitions on) counts the hot partition itself: its own z-score is at most
    (P - 1) / sqrt(P), so that with fewer than six partitions it can never fire.
    """
    known = {number: rate for number, rate in rates.items() if rate is not None}
    if not rates or len(known) < len(rates):
        missing = len(rates) - len(known)
        return _unknown(
            f"the rate of {missing} of {len(rates)} partitions is unknown"
            if rates
            else "no partition is known"
        )
    total = sum(known.values())
    if total * span_seconds < MINIMUM_MESSAGES:
        return _unknown(
            f"{total * span_seconds:.0f} messages are too few to tell, "
            f"{MINIMUM_MESSAGES} are needed"
        )
    ranked = sorted(sorted(known), key=known.__getitem__, reverse=True)
    hot: list[int] = []
    if len(known) >= MINIMUM_PARTITIONS:
        squares = sum(map(mul, known.values(), known.values()))
        # One that gets less than one that is not hot is not hot either.
        hot.extend(takewhile(lambda n: _is_hot(known[n], len(known) - 1, total, squares), ranked))
    return Skew(
        busiest=ranked[0],
        busiest_ratio=known[ranked[0]] / total,
        even_ratio=1 / len(known),
        hot=tuple(hot),
    )


def _is_hot(rate: float, others: int, total: float, squares: float) -> bool:
    """Compare one partition with the others, from the sums over all."""
    mean = (total - rate) / others
    variance = max(0.0, (squares - rate * rate) / others - mean * mean)
    return rate >= HOT_FACTOR * mean and rate > mean + HOT_SIGMAS * sqrt(variance)


def _unknown(reason: str) -> Skew:
    return Skew(busiest=None, busiest_ratio=None, even_ratio=None, hot=(), unknown_reason=reason)
