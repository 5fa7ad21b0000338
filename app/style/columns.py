"""How the numbers of a column are written: in one style, so that they compare by eye."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from typing import Literal

from app.style.format import (
    IN_MILLISECONDS,
    THIN,
    UNKNOWN,
    brief_time_left,
    exact,
    from_seconds_on,
    milliseconds,
    share,
    significant,
    size,
)

Kind = Literal[
    "text",
    "count",
    "rate",
    "change",
    "duration",
    "left",
    "size",
    "share",
    "time",
    "status",
    "trend",
]
"""``left`` is the time until a deadline, in the steps of all deadlines."""

Writer = Callable[[float | None], str]

_RATES = ((1.0, 1.0, "/s"), (1 / 60, 60.0, "/min"), (0.0, 3600.0, "/h"))
"""Where the highest rate is so many a second: times what, in which unit."""
_MILLION = 1e6

UNITS: Mapping[str, str] = {
    "rate": "per second",
    "change": "per second",
    "duration": "seconds",
    "left": "seconds",
    "size": "bytes",
    "share": "ratio",
    "time": "UTC",
}
"""What a file counts the values of a kind of column in."""

ROW_PIXELS = 31
"""The height of a row of one line."""
_WRAPPED_PIXELS = 58
"""Of a row of three lines: Streamlit wraps texts above four rem."""
_FEW_ROWS, _WRAPPED_ROWS = 8, 15

_LETTER_PIXELS, _CELL_PIXELS = 6, 16
"""Of a letter and of what surrounds a cell's text, about."""
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
}
_OF_ALL: Mapping[str, Callable[[Iterable[float]], Writer]] = {
    "rate": rates,
    "change": changes,
    "duration": durations,
}


def writer(kind: str, values: Iterable[float]) -> Writer | None:
    """Return how the values of a kind of column are written; None where they are no numbers.

    Args:
        kind: The kind of a column of ``app.ui.tables``.
        values: All its values that are known.
    """
    if kind in _OF_ALL:
        return _OF_ALL[kind](one for one in values if isfinite(one))
    return _OF_EACH.get(kind)


def is_cut(texts: Iterable[str], width: int | str | None) -> bool:
    """Return whether a text of several words has no room in a line of its column.

    Args:
        texts: The texts of the column.
        width: Its width, in pixels or by name; None: it is as wide as its texts.
    """
    pixels = _NAMED_WIDTHS.get(width) if isinstance(width, str) else width
    if pixels is None:
        return False
    letters = (pixels - _CELL_PIXELS) // _LETTER_PIXELS
    return any(" " in text and len(text) > letters for text in texts)


def row_pixels(columns: Iterable[tuple[Iterable[str], int | str | None]], rows: int) -> int:
    """Return the height of each row of a table: of three lines where one would cut most rows.

    A table of few rows has room for all that it says.

    Args:
        columns: The texts of each column, and its width.
        rows: How many rows there are.
    """
    cut = [False] * rows
    for texts, width in columns:
        cut = [was or is_cut([text], width) for was, text in zip(cut, texts, strict=True)]
    wraps = any(cut) if rows <= _FEW_ROWS else rows <= _WRAPPED_ROWS and sum(cut) > rows / 2
    return _WRAPPED_PIXELS if wraps else ROW_PIXELS


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
    longest = max((len(text) for text in texts if text), default=0)
    return min(max(least, longest * _LETTER_PIXELS + _CELL_PIXELS), most)


def room_left(widths: Iterable[int | str | None]) -> int:
    """Return the pixels that columns leave to others in a window of 1,440 pixels."""
    return _ROOM - sum(width for width in widths if isinstance(width, int))
