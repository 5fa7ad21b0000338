"""The time ranges that a page can show, and the grain that each is read at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lake.schemas.grain import Grain

POINT_BUDGET = 500
"""Most points of one series in one chart: more cost a browser much and an eye nothing."""

SHORTEST = timedelta(minutes=2)
"""A shorter range is widened to this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A choice of time range.

    Attributes:
        step_seconds: Distance of its points; where it is larger than the grain, several rows are
            merged.
        end: Its last moment; None: it ends now, and moves on.
    """

    key: str
    label: str
    length: timedelta
    grain: Grain
    step_seconds: int
    end: datetime | None = None

    def until(self, now: datetime) -> datetime:
        """Return the range's last moment."""
        return self.end or now

    def start(self, now: datetime) -> datetime:
        """Return the range's first moment, on a boundary of its steps."""
        first = self.until(now) - self.length
        return first - timedelta(seconds=first.timestamp() % self.step_seconds)


def _range(
    key: str, label: str, length: timedelta, grain: Grain, end: datetime | None = None
) -> TimeRange:
    points = length.total_seconds() / grain.seconds
    rows_a_point = max(1.0, -(-points // POINT_BUDGET))
    return TimeRange(
        key=key,
        label=label,
        length=length,
        grain=grain,
        step_seconds=int(rows_a_point) * grain.seconds,
        end=end,
    )


RANGES: dict[str, TimeRange] = {
    choice.key: choice
    for choice in (
        _range("1h", "hour", timedelta(hours=1), Grain.MINUTE),
        _range("6h", "6 hours", timedelta(hours=6), Grain.MINUTE),
        _range("24h", "24 hours", timedelta(hours=24), Grain.MINUTE),
        _range("7d", "7 days", timedelta(days=7), Grain.HOUR),
        _range("90d", "90 days", timedelta(days=90), Grain.DAY),
    )
}
"""Every choice that ends now, shortest first."""

DEFAULT_RANGE = "1h"

LAST_DAY = _range("24h by the hour", "24 hours", timedelta(hours=24), Grain.HOUR)
"""What forecasts go on from."""

_FORM = "%Y-%m-%dT%H:%M:%SZ"
_FIRST_YEAR, _LAST_YEAR = 1970, 9000
"""Pages look some weeks before and behind a range, which must be times as well."""


def between(start: datetime, end: datetime, now: datetime, minute_days: int | None) -> TimeRange:
    """Return a range from one moment to another.

    Args:
        start: Its first moment.
        end: Its last moment.
        now: The present.
        minute_days: How long history by the minute is kept; None: for ever.
    """
    length = max(end - start, SHORTEST)
    has_minutes = minute_days is None or now - start < timedelta(days=minute_days)
    if length <= timedelta(days=2) and has_minutes:
        grain = Grain.MINUTE
    else:
        grain = Grain.HOUR if length <= timedelta(days=20) else Grain.DAY
    return _range(interval_text(start, end), "", length, grain, end=start + length)


def interval_text(start: datetime, end: datetime) -> str:
    """Write a range as it stands in the address: an ISO 8601 interval in UTC."""
    return f"{start.astimezone(UTC):{_FORM}}/{end.astimezone(UTC):{_FORM}}"


def read_interval(text: str) -> tuple[datetime, datetime]:
    """Return the first and the last moment of an ISO 8601 interval; without a zone it is UTC.

    Raises:
        ValueError: It is none; says in one line what is expected.
    """
    first, slash, last = text.strip().partition("/")
    try:
        if not slash:
            raise ValueError(text)
        start, end = (_moment(one) for one in (first, last))
    except ValueError:
        raise ValueError(
            "the range must be two times, as 2026-01-31T13:00Z/2026-01-31T14:30Z"
        ) from None
    if start >= end:
        raise ValueError("the range must begin before it ends")
    return start, end


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.strip())
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
