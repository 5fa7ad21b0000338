"""Numbers, rates, durations and times as the pages write them.

Every function takes None for a value that is not known and answers ``UNKNOWN``: never zero, never
an empty cell.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from math import floor, isfinite, log10

from alerting.status import phrases
from config.visible import visible

UNKNOWN = "unknown"
"""What stands where a value is not known."""

THIN = "\u202f"
"""The thin space that groups thousands; no line breaks at it."""

_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
IN_MILLISECONDS = 0.1
"""Shorter durations, in seconds, are written in milliseconds."""


def significant(value: float, digits: int = 3) -> str:
    """Write ``value`` with at most ``digits`` significant figures, without an exponent."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact(value: float | None) -> str:
    """Write a count in full: ``46 200``."""
    if value is None or not isfinite(value):
        return UNKNOWN
    return f"{round(value):,}".replace(",", THIN)


def short(value: float | None) -> str:
    """Write a count with three significant figures: ``46.2 k``."""
    if value is None or not isfinite(value):
        return UNKNOWN
    for size, unit in _SI:
        # 999.6 thousand is a million once it is rounded to three figures.
        if abs(value) >= size * 0.9995:
            return f"{significant(value / size)}{THIN}{unit}"
    return significant(value)


def rate(per_second: float | None) -> str:
    """Write a rate in the unit that gives it a figure before the point: ``14/min``."""
    if per_second is None or not isfinite(per_second):
        return UNKNOWN
    if per_second == 0 or abs(per_second) >= 1:
        return f"{short(per_second)}/s"
    if abs(per_second) * _MINUTE >= 1:
        return f"{significant(per_second * _MINUTE)}/min"
    return f"{significant(per_second * _HOUR)}/h"


def per_minute(per_second: float | None) -> str:
    """Write a rate a minute, for what is rare: its unit stays as it comes and goes."""
    if per_second is None or not isfinite(per_second):
        return UNKNOWN
    return f"{short(per_second * _MINUTE)}/min"


def milliseconds(seconds: float | None) -> str:
    """Write a very short time: ``41 ms``."""
    if seconds is None or not isfinite(seconds):
        return UNKNOWN
    return f"{significant(seconds * 1000, 2)} ms"


def duration(seconds: float | None) -> str:
    """Write a length of time in words of two units at most: ``4 min 20 s``."""
    if seconds is not None and 0 < abs(seconds) < IN_MILLISECONDS:
        return milliseconds(seconds)
    return from_seconds_on(seconds)


def from_seconds_on(seconds: float | None) -> str:
    """Write a length of time as ``duration`` does, but never in milliseconds."""
    if seconds is None or not isfinite(seconds):
        return UNKNOWN
    if seconds < 0:
        return f"-{from_seconds_on(-seconds)}"
    if seconds < 10:
        return f"{significant(seconds, 2)} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    # Half a unit before the next one: what rounds up to 60 minutes is an hour.
    if whole < _HOUR - _MINUTE / 2:
        return _two(whole, _MINUTE, "min", 1, "s", until=10 * _MINUTE)
    if whole < 2 * _DAY - _HOUR / 2:
        return _two(max(whole, _HOUR), _HOUR, "h", _MINUTE, "min", until=10 * _HOUR)
    return _two(max(whole, 2 * _DAY), _DAY, "d", _HOUR, "h", until=10 * _DAY)


def _two(seconds: int, large: int, name: str, small: int, second: str, *, until: int) -> str:
    """Write two units; the smaller one only where it still says something."""
    if seconds >= until:
        return f"{round(seconds / large)} {name}"
    rest = (seconds % large) // small
    return f"{seconds // large} {name}" + (f" {rest} {second}" if rest else "")


_LENGTH_SETTING = re.compile(r"(?<=\.)(ms|seconds|minutes|hours)=(\d+)\b")
_UNIT_MILLISECONDS = {"ms": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000}
_PARTS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
_LEAST, _FOREVER = 1000, 100 * 365 * 86_400_000
"""Of fewer milliseconds people say so many, and more mean that there is no limit."""


def with_lengths(settings: str) -> str:
    """Write lengths of time in settings of Kafka as people do, and behind them as they were set.

    ``retention.ms=86460000`` becomes ``retention.ms=1 d 1 min (86460000)``.
    """

    def told(found: re.Match[str]) -> str:
        left = int(found[2]) * _UNIT_MILLISECONDS[found[1]]
        if not _LEAST <= left < _FOREVER:
            return found[0]
        parts = []
        for size, unit in _PARTS:
            number, left = divmod(left, size)
            parts += [f"{number} {unit}"] if number else []
        return f"{found[1]}={' '.join(parts)} ({found[2]})"

    return _LENGTH_SETTING.sub(told, settings)


def brief_time_left(seconds: float | None) -> str:
    """Write the time until a deadline, in the steps of ``phrases.time_left``: ``5 h 20 min``."""
    if seconds is None or not isfinite(seconds):
        return UNKNOWN
    return phrases.brief_time_left(seconds) if seconds > 0 else "now"


def age(seconds: float | None) -> str:
    """Write how old something is: ``12 s ago``."""
    if seconds is None:
        return UNKNOWN
    return f"{duration(max(0, round(seconds)))} ago"


def size(size_bytes: float | None) -> str:
    """Write a size in bytes with three significant figures: ``1.21 GiB``."""
    if size_bytes is None or not isfinite(size_bytes):
        return UNKNOWN
    for unit, name in _BINARY:
        if abs(size_bytes) >= unit:
            return f"{significant(size_bytes / unit)} {name}"
    return f"{significant(size_bytes)} B"


def share(ratio: float | None) -> str:
    """Write a ratio as a percentage: ``0.8 %``."""
    if ratio is None or not isfinite(ratio):
        return UNKNOWN
    return thin(phrases.share(ratio))


def clock(moment: datetime | None, zone: tzinfo, *, now: datetime, to_seconds: bool = False) -> str:
    """Write a time of day in the viewer's zone, with the date unless it is today's."""
    if moment is None:
        return UNKNOWN
    local = moment.astimezone(zone)
    time = f"{local:%H:%M:%S}" if to_seconds else f"{local:%H:%M}"
    if local.date() == now.astimezone(zone).date():
        return time
    if abs(now - moment) < timedelta(days=300):
        return f"{local.day} {local:%b} {time}"
    return f"{local:%Y-%m-%d} {time}"


def clock_after(
    moment: datetime | None,
    before: datetime | None,
    zone: tzinfo,
    *,
    now: datetime,
    to_seconds: bool = False,
) -> str:
    """Write a time as ``clock`` does, without its date where that of another was just said.

    Args:
        moment: The time.
        before: The one that stands before it in the same sentence.
        zone: The viewer's.
        now: The present.
        to_seconds: Whether seconds are written.
    """
    if moment is None or before is None:
        return clock(moment, zone, now=now, to_seconds=to_seconds)
    is_of_day = moment.astimezone(zone).date() == before.astimezone(zone).date()
    return clock(moment, zone, now=moment if is_of_day else now, to_seconds=to_seconds)


def brief_beginning(began: str, at_least: bool | None) -> str:
    """Write in a column since when something is so: ``≤ 18:43`` where that is then or before."""
    return f"≤ {began}" if at_least else began


BRIEFLY = "≤: then or before, for it was so when it was first watched."
"""What the sign of ``brief_beginning`` means."""


def utc_offset(zone: tzinfo, at: datetime) -> str:
    """Write how far a zone is from UTC at a moment: ``UTC+1``."""
    offset = at.astimezone(zone).utcoffset()
    minutes = round(offset.total_seconds() / _MINUTE) if offset else 0
    if minutes == 0:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    sign = "+" if minutes > 0 else "−"  # noqa: RUF001 (a minus sign, read by people)
    return f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "")


def zone_name(zone: tzinfo, at: datetime) -> str:
    """Write whose clock times are of: ``Berlin, UTC+1``."""
    city = getattr(zone, "key", "").rpartition("/")[2].replace("_", " ")
    offset = utc_offset(zone, at)
    return offset if city in ("", offset) else f"{city}, {offset}"


def utc(moment: datetime | None) -> str:
    """Write a moment in UTC, to the second."""
    if moment is None:
        return UNKNOWN
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def count(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun: ``1 group``, ``3 groups``."""
    return f"{exact(number)} {one if number == 1 else many or one + 's'}"


def listing(names: list[str], *, limit: int = 3) -> str:
    """Write names as a phrase: ``a, b and 4 more``."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


_SHOWN = 500
_SPECIAL = set("\\`*_{}[]()#+-!|<>$:~^")
_NOTHING = ":small[]"
"""Streamlit draws nothing for it, and what stands before and after it is no word together."""
# Markdown makes links of these, and Streamlit icons, once it has taken the backslashes away.
_WHOLE = re.compile(r"(?<=www)(?=\.)|(?<=:)(?=//|material/|streamlit:)|(?=@)", re.IGNORECASE)


def shortened(text: str) -> str:
    """Cut a text of more than 1,000 characters in the middle; the first and last 500 stay."""
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} … {text[-_SHOWN:]}"


def escape(text: str) -> str:
    """Take the meaning from all that Markdown would interpret: characters, line ends, addresses.

    A text of more than 1,000 characters is cut in the middle; the first and the last 500 stay.
    """
    text = shortened(text)
    line = " ".join(part.strip() for part in text.splitlines()) if "\n" in text else text
    return _NOTHING.join(
        "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in part)
        for part in _WHOLE.split(visible(line))
    )


_LENGTH_OF_TIME = re.compile(r"\d (?:ms|s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?")


def unbroken(text: str) -> str:
    """Keep each length of time in a text on one line, numbers with their units."""
    return _LENGTH_OF_TIME.sub(lambda found: found[0].replace(" ", "\u00a0"), text)


_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PERCENT = re.compile(r"(?<=\d) ?%")


def thin(sentence: str) -> str:
    """Write the thousands and percentages of a sentence that others wrote as the pages do."""
    return _PERCENT.sub(f"{THIN}%", _GROUPED.sub(THIN, sentence))
