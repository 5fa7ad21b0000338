"""Columns of tables: how their numbers are written, in one style, so that they compare by eye."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import partial
from math import ceil, isfinite
from typing import Literal
from unicodedata import east_asian_width

import polars as pl

from app.style.format import (
    IN_MILLISECONDS,
    THIN,
    UNKNOWN,
    brief_time_left,
    exact,
    from_seconds_on,
    milliseconds,
    per_minute,
    share,
    significant,
    size,
)
from app.style.theme import BadgeStyle

Kind = Literal[
    "text",
    "count",
    "rate",
    "minute_rate",
    "change",
    "duration",
    "left",
    "size",
    "share",
    "time",
    "status",
    "trend",
]

NEVER = float("inf")
"""A duration without an end: that of a backlog which grows, at the present rates."""

NONE = -1.0
"""A number that does not apply: there is no backlog to drain."""

NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A time that there is not, where that has a word of its own: what still goes on."""

DASH = "–"  # noqa: RUF001 (a dash, read by people)
"""What stands where there is nothing to write."""


# Label and kind stand by position: they are of different types, and each page lists dozens.
@dataclass(frozen=True, slots=True)
class Column:
    """How a column of a frame is shown.

    Attributes:
        kind: How its values are written; all but text and status are sorted as numbers.
        width: In pixels; None lets the table decide.
        never: What is written for ``NEVER``; a dash stands for ``NONE``.
        zero: What is written for 0 where that is a word.
        opens: Page and parameter that a click on the cell leads to.
        pinned: Only with ``opens``: Streamlit writes other pinned cells in grey.
        names: It is the title of a card where the first column is not.
        to_seconds: Times are written to the second.
        at_least: A column of the frame: where it is true, a time is then or before.
    """

    label: str
    kind: Kind = "text"
    _: KW_ONLY
    help: str | None = None
    width: int | Literal["small", "medium", "large"] | None = None
    badge_styles: Sequence[BadgeStyle] = ()
    never: str = "never"
    zero: str | None = None
    unknown: str = UNKNOWN
    opens: tuple[str, str] | None = None
    pinned: bool = False
    names: bool = False
    to_seconds: bool = False
    at_least: str | None = None


"""``left`` is the time until a deadline, in the steps of all deadlines.

``minute_rate`` is of what is rare, such as dead letters: one unit on all pages.
"""

Writer = Callable[[float | None], str]

_SMALL = 0.1
_RATES = ((1.0, 1.0, "/s"), (1 / 60, 60.0, "/min"), (0.0, 3600.0, "/h"))
"""Where the highest rate is so many a second: times what, in which unit."""
_MILLION = 1e6

UNITS: Mapping[str, str] = {
    "rate": "per second",
    "minute_rate": "per second",
    "change": "per second",
    "duration": "seconds",
    "left": "seconds",
    "size": "bytes",
    "share": "ratio",
    "time": "UTC",
}
"""What a file counts the values of a kind of column in."""

_SECONDS_DECIMALS, _FILE_DIGITS = 3, 4
"""Of durations in a file, and of what else is no count: whole numbers keep all of theirs."""

ROW_PIXELS = 31
"""The height of a row of one line."""

_CELL_PIXELS = 16
"""Of what surrounds a cell's text."""
_FONT_PIXELS = 12.25
_BLANK_PIXELS, _NARROW_PIXELS, _LETTER_PIXELS, _WIDE_PIXELS = 2.6, 4.0, 6.3, 9.5
"""Of the letters of a cell: rather too much, since what lacks a pixel is cut."""
_NARROW, _WIDE = frozenset(".,:;'!|()[]ijlftrI-/\u2009\u202f"), frozenset("mwMW%@")
_BUTTON_EDGE = "\u2002"
"""As wide as what a button leaves free beside its words."""
_MORE = "…"
_NAME_LETTERS, _IN_NAMES = 6, frozenset(".-_")
_WORD_LETTER_PIXELS = 7
"""Of a letter with some to spare: what lacks a pixel breaks."""
_NAMED_WIDTHS: Mapping[str, int] = {"small": 75, "medium": 200, "large": 400}
"""Streamlit's."""
_ROOM = 1104
"""Pixels that a table has beside the open menu in a window of 1,440 pixels."""


def rates(per_second: Iterable[float]) -> Writer:
    """Return how rates are written: all in the unit that suits the highest, in full.

    From a million a second on, all are in thousands.
    """
    highest = max(map(abs, per_second), default=0.0) or 1.0
    factor, unit = next((factor, unit) for least, factor, unit in _RATES if highest >= least)
    if highest >= _MILLION:
        factor, unit = 1e-3, f"{THIN}k/s"
    return partial(_rate, factor=factor, unit=unit)


def _rate(per_second: float | None, *, factor: float, unit: str) -> str:
    if per_second is None or not isfinite(per_second):
        return UNKNOWN
    value = per_second * factor
    return f"{exact(value) if abs(value) >= 100 else significant(value)}{unit}"


def changes(per_second: Iterable[float]) -> Writer:
    """Return how differences of rates are written: as ``rates``, with their signs."""
    write = rates(per_second)
    return lambda one: f"+{write(one)}" if one is not None and one > 0 else write(one)


def durations(seconds: Iterable[float]) -> Writer:
    """Return how durations are written: all in milliseconds, or none."""
    highest = max(map(abs, seconds), default=0.0)
    return milliseconds if 0 < highest < IN_MILLISECONDS else from_seconds_on


_OF_EACH: Mapping[str, Writer] = {
    "count": exact,
    "size": size,
    "share": share,
    "left": brief_time_left,
    "minute_rate": per_minute,
}
_OF_ALL: Mapping[str, Callable[[Iterable[float]], Writer]] = {
    "rate": rates,
    "change": changes,
    "duration": durations,
}
_PER_SECOND = frozenset({"rate", "change"})


def writers(columns: Iterable[tuple[str, Kind, Iterable[float]]]) -> dict[str, Writer | None]:
    """Return how the columns of a table are written; None where they are no numbers.

    Its rates are compared with each other: all of them have one unit. Only a column of small
    ones has its own, as when a queue grows by 6 messages a minute.

    Args:
        columns: The name, the kind, and all values that are known, of each column.
    """
    known = {
        name: (kind, [one for one in values if isfinite(one)] if kind in _OF_ALL else [])
        for name, kind, values in columns
    }
    rates = [one for kind, values in known.values() if kind in _PER_SECOND for one in values]
    is_a_second = max(map(abs, rates), default=0.0) >= 1
    return {
        name: _OF_ALL[kind](
            values if kind not in _PER_SECOND or (is_a_second and _are_small(values)) else rates
        )
        if kind in _OF_ALL
        else _OF_EACH.get(kind)
        for name, (kind, values) in known.items()
    }


def _are_small(per_second: Iterable[float]) -> bool:
    """Return whether rates are better read a minute: all below 1/s, and one below 0.1/s."""
    found = [abs(one) for one in per_second if one]
    return bool(found) and min(found) < _SMALL and max(found) < 1


def rounded(value: pl.Expr, kind: Kind) -> pl.Expr:
    """Return numbers for a file: as exact as they mean something, and never less than on a page."""
    if kind in ("duration", "left"):
        return value.round(_SECONDS_DECIMALS)
    is_whole = value.abs() >= 10 ** (_FILE_DIGITS - 1)
    return pl.when(is_whole).then(value.round()).otherwise(value.round_sig_figs(_FILE_DIGITS))


def text_pixels(text: str, *, font: float = _FONT_PIXELS) -> float:
    """Return how wide a text is, about.

    Args:
        text: The text.
        font: The height of its letters: those of a cell, where nothing else is given.
    """
    return sum(map(_letter_pixels, text)) * font / _FONT_PIXELS


def _letter_pixels(letter: str) -> float:
    if letter == " ":
        return _BLANK_PIXELS
    if letter in _NARROW:
        return _NARROW_PIXELS
    if east_asian_width(letter) in "WF":
        return _FONT_PIXELS
    return _WIDE_PIXELS if letter in _WIDE else _LETTER_PIXELS


def above_links(head: str) -> str:
    """Return a column's head that begins where the links below it do: each is within a button."""
    return f"{_BUTTON_EDGE}{head}"


def fitted(text: str, width: int | str | None) -> str:
    """Return what of a text has room in its column, with "…" for the rest: a grid says of none.

    It ends behind a word, and within one where that alone has no room, or is the name of something.

    Args:
        text: The text.
        width: The width of its column, in pixels or by name; None: it is as wide as its texts.
    """
    pixels = _NAMED_WIDTHS.get(width) if isinstance(width, str) else width
    if pixels is None:
        return text
    room = float(pixels - _CELL_PIXELS)
    if _line_end(text, room) == len(text):
        return text
    end = _line_end(text, room - text_pixels(f" {_MORE}"))
    # Behind a number "…" would stand for further digits.
    return text[:end].rstrip(" ,;:.(") + (f" {_MORE}" if text[end : end + 1] == " " else _MORE)


def _line_end(text: str, room: float) -> int:
    """Return where a line of a text ends: at a blank, or within a word that is longer."""
    for at, letter in enumerate(text):
        room -= _letter_pixels(letter)
        if room < 0:
            blank = text.rfind(" ", 0, at + 1)
            return blank if blank > 0 and not _is_told(text[blank + 1 :], at - blank - 1) else at
    return len(text)


def _is_told(rest: str, seen: int) -> bool:
    """Return whether the first letters of a word are worth more than an empty place: a name's."""
    word = rest.partition(" ")[0]
    return seen >= _NAME_LETTERS and not _IN_NAMES.isdisjoint(word.rstrip(".,;:"))


def word_width(texts: Iterable[str | None], *, least: int, most: int = 200) -> int:
    """Return the pixels that a column needs to break none of its words: a name has no blanks.

    Args:
        texts: The texts of the column.
        least: What it has where they are short.
        most: What it has at most.
    """
    longest = max((len(word) for text in texts if text for word in text.split()), default=0)
    return min(max(least, longest * _WORD_LETTER_PIXELS + _CELL_PIXELS), most)


def line_width(texts: Iterable[str | None], *, least: int, most: int) -> int:
    """Return the pixels that a column needs to have each of its texts on one line.

    Args:
        texts: The texts of the column.
        least: What it has where they are short.
        most: What it has at most.
    """
    longest = max((ceil(text_pixels(text)) for text in texts if text), default=0)
    return min(max(least, longest + _CELL_PIXELS), most)


def room_left(widths: Iterable[int | str | None]) -> int:
    """Return the pixels that columns leave to others in a window of 1,440 pixels."""
    return _ROOM - sum(width for width in widths if isinstance(width, int))
