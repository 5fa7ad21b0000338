"""Where the charts of a group stand: beside its advice, and over the whole width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """A chart of the page below that of the time lag, which always comes first."""

    LAG = "lag"
    FLOW = "flow"
    PARTITIONS = "partitions"
    EXPECTED = "expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """What stands where, in order."""

    left: Sequence[Part]  # below the time lag, beside the advice
    right: Sequence[Part] = ()  # below the advice
    whole: Sequence[Part] = ()  # rows of one below both


_BELOW = (Part.LAG, Part.FLOW, Part.PARTITIONS)
"""All that is of the same time stands below each other: moments are compared by eye."""

BALANCED = Arrangement(left=_BELOW, right=(Part.EXPECTED,))
"""The one for a card of advice that says to keep all as it is, and for phones."""

_ARRANGEMENTS = (
    BALANCED,
    Arrangement(left=_BELOW, whole=(Part.EXPECTED,)),
    Arrangement(left=(*_BELOW, Part.EXPECTED)),
)
_CHART, _EXPECTED, _HEATMAP, _HEADING = 245, 300, 110, 40
"""Pixels of a chart with its title, of a heatmap without its rows, and of the advice's title."""
_ROW, _LEAST_ROWS, _MOST_ROWS = 18, 5, 25


def arranged(advice_pixels: int, partitions: int) -> Arrangement:
    """Return the arrangement that leaves the least of the page empty.

    Args:
        advice_pixels: How high the cards of advice are.
        partitions: Rows of the heatmap.
    """
    rows = min(max(partitions, _LEAST_ROWS), _MOST_ROWS)
    high = {
        Part.LAG: _CHART,
        Part.FLOW: _CHART,
        Part.PARTITIONS: _HEATMAP + _ROW * rows,
        Part.EXPECTED: _EXPECTED,
    }

    def empty(one: Arrangement) -> int:
        left = _CHART + sum(high[part] for part in one.left)
        right = _HEADING + advice_pixels + sum(high[part] for part in one.right)
        return abs(left - right)

    return min(_ARRANGEMENTS, key=empty)
