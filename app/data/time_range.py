"""The time ranges that a page can show, and the grain that each is read at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.schemas.grain import Grain

POINT_BUDGET = 500
"""Most points of one series in one chart: more cost a browser much and an eye nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A choice of time range.

    Attributes:
        step_seconds: Distance of its points; where it is larger than the grain, several rows are
            merged.
    """

    key: str
    label: str
    length: timedelta
    grain: Grain
    step_seconds: int

    def start(self, now: datetime) -> datetime:
        """Return the range's first moment, on a boundary of its steps."""
        first = now - self.length
        return first - timedelta(seconds=first.timestamp() % self.step_seconds)


def _range(key: str, label: str, length: timedelta, grain: Grain) -> TimeRange:
    points = length.total_seconds() / grain.seconds
    rows_a_point = -(-points // POINT_BUDGET)
    return TimeRange(
        key=key,
        label=label,
        length=length,
        grain=grain,
        step_seconds=int(rows_a_point) * grain.seconds,
    )


RANGES: dict[str, TimeRange] = {
    choice.key: choice
    for choice in (
        _range("1h", "1 hour", timedelta(hours=1), Grain.MINUTE),
        _range("6h", "6 hours", timedelta(hours=6), Grain.MINUTE),
        _range("24h", "24 hours", timedelta(hours=24), Grain.MINUTE),
        _range("7d", "7 days", timedelta(days=7), Grain.HOUR),
        _range("90d", "90 days", timedelta(days=90), Grain.DAY),
    )
}
"""Every choice, shortest first."""

DEFAULT_RANGE = "1h"
