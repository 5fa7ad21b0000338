"""Events as marks in a strip above the plot, which tell on hover what happened.

Where somebody zooms, the browser places them anew for what is seen, by the same rule: see
``app/ui/browser/marks.js``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from textwrap import wrap
from typing import Any

from app.style.charts.base import Axis, ChartEvent, Plot, plain
from app.style.columns import text_pixels
from app.style.theme import Palette
from config.visible import visible

MARK = "mark"
"""Names the annotations and shapes that are marks, for the browser."""
_SIGN = "▼"
_SIGN_PIXELS = 12
"""Of a mark's sign and what parts it from the next."""
_FONT_PIXELS = 11
_GAP_PIXELS = 6
STRIP_PIXELS = 18
"""The height of the strip, of each row of it."""
_MOST_ROWS = 2
_MOST_OF_PLOT = 0.4
_LABEL_LENGTH = 40
"""A longer text is told on hover alone: cut, it would lack what it says."""
_NEAR_PIXELS = 60
"""Marks without words that are nearer to each other are one, and say how many they are."""
_NAMED_FIRST = ("own", "act", "fired", "main", "quiet")
"""What happened to a broker before what fired for it, as it explains that; on the page of one
thing what that itself did comes first."""
_WORTH_A_ROW = _NAMED_FIRST.index("fired")
"""The last of them for whose words there is a second row."""
_QUIET = _NAMED_FIRST.index("quiet")
_RED = ("act", "fired")
_IS = re.compile(r"(^| )is ")
"""``broker 2 missing`` says what ``broker 2 is missing`` does."""
_HOVER_LENGTH, _HOVER_PIECES = 110, 3
"""Of a line, and how many an event has at most."""
_HOVER_LINES = 8
_SEEN_THROUGH = 0.6
"""Of the line from a mark to the axis, which lies below the curves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What happened at about one time.

    Attributes:
        events: In order of time.
        first: Whose time the mark stands at, and whose words beside it.
        lines: Those whose times have a line: the first, and what its words stand over.
        text: The words beside the sign, where there is room for them.
        is_left: Whether they stand to the left of it.
        span: From where to where it reaches, in pixels from the axis' start.
        row: In which row it stands; 0 is the lowest.
    """

    events: Sequence[ChartEvent]
    first: ChartEvent
    lines: Sequence[ChartEvent]
    span: tuple[float, float]
    text: str = ""
    is_left: bool = False
    row: int = 0


def marks(axis: Axis, *, most_rows: int = _MOST_ROWS) -> list[Mark]:
    """Return the marks of the axis' events, row by row.

    What is of the page's thing itself, or bad, and has no words in one row, has them in a second
    one above it, where there is room.

    Args:
        axis: The axis.
        most_rows: One: there is no second row.
    """
    shown = [event for event in axis.events if axis.start <= event.at <= axis.end]
    lowest = _in_a_row(shown, axis)
    named = [mark.first for mark in lowest if _is_named(mark)]
    left = [event for event in shown if _rank(event) <= _WORTH_A_ROW and event not in named]
    above = _in_a_row(left, axis) if most_rows > 1 else []
    if not any(map(_is_named, above)):
        return lowest
    lowest = _in_a_row([event for event in shown if event not in left], axis)
    return [*lowest, *(replace(mark, row=1) for mark in above)]


def _is_named(mark: Mark) -> bool:
    return bool(mark.text) and mark.text == _word(mark.first)


def _in_a_row(events: Sequence[ChartEvent], axis: Axis) -> list[Mark]:
    """Return marks of events in order of time: none covers another or the edge.

    Those whose signs would cover each other are one, and so are those near each other that have no
    room for words. What is worst has words first, of these the newest, over the signs of what is
    less, then all that have room for theirs. Words are whole or not there. They stand to the left
    where they can: there they fit already when the newest mark has no room to its right, and move
    on with it.
    """
    found: list[Mark] = []
    for event in sorted(events, key=lambda one: one.at):
        found.append(_mark([event], axis))
        while len(found) > 1 and found[-2].span[1] > found[-1].span[0]:
            last, before = found.pop(), found.pop()
            found.append(_mark([*before.events, *last.events], axis))
    return _named(_joined(_named(found, axis), axis), axis)


def _named(found: list[Mark], axis: Axis) -> list[Mark]:
    """Return marks with words where there is room for them."""
    for mark in sorted(reversed(found), key=lambda one: _rank(one.first)):
        if mark in found and not mark.text:  # the words of another may stand over it
            found = _with_words(found, mark, axis)
    return found


def _joined(found: Sequence[Mark], axis: Axis) -> list[Mark]:
    """Return marks of which those without words are one with such a one near them."""
    joined: list[Mark] = []
    for mark in found:
        before = joined[-1] if joined else None
        if (
            before is not None
            and not (before.text or mark.text)
            and mark.span[0] - before.span[1] < _NEAR_PIXELS
        ):
            both = _mark([*before.events, *mark.events], axis)
            joined[-1] = replace(both, lines=[*before.lines, *mark.lines])
        else:
            joined.append(mark)
    return joined


def _mark(events: Sequence[ChartEvent], axis: Axis) -> Mark:
    first = min(events, key=_rank)
    at = (first.at - axis.start) / (axis.end - axis.start) * axis.pixels
    start = min(max(0.0, at - _SIGN_PIXELS / 2), axis.pixels - _SIGN_PIXELS)
    return Mark(events=events, first=first, lines=[first], span=(start, start + _SIGN_PIXELS))


def _with_words(found: list[Mark], mark: Mark, axis: Axis) -> list[Mark]:
    """Return marks of which one has its words where these have room, over as few as can be."""
    for text in _texts(mark):
        free = []
        for words in _beside(mark, text):
            below = [one for one in found if one is not mark and _overlap(one.span, words.span)]
            is_inside = words.span[0] >= 0 and words.span[1] <= axis.pixels
            if is_inside and all(_rank(one.first) > _rank(mark.first) for one in below):
                free.append((words, below))
        if free:
            words, below = min(free, key=lambda one: len(one[1]))
            whole = _over(words, below)
            return [whole if one is mark else one for one in found if one not in below]
    return found


def _texts(mark: Mark) -> Sequence[str]:
    """Return what a mark may be called, the longest first: all of it is told on hover."""
    text = _word(mark.first)
    of_all = (f"{len(mark.events)} changes",) if len(mark.events) > 1 else ()
    texts = of_all if of_all and _rank(mark.first) == _QUIET else (text, *of_all)
    return [one for one in texts if len(one) <= _LABEL_LENGTH]


def _word(event: ChartEvent) -> str:
    return _IS.sub(" ", event.text.removeprefix("Alert: "), count=1).strip()


def _beside(mark: Mark, text: str) -> tuple[Mark, Mark]:
    """Return a mark with its words to the left of its sign, and to the right."""
    pixels = _GAP_PIXELS + text_pixels(text, font=_FONT_PIXELS)
    start, end = mark.span
    return (
        replace(mark, text=text, span=(start - pixels, end), is_left=True),
        replace(mark, text=text, span=(start, end + pixels)),
    )


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _over(mark: Mark, below: Sequence[Mark]) -> Mark:
    """Return a mark that tells of those below its words, too."""
    events = [event for one in (mark, *below) for event in one.events]
    lines = [event for one in (mark, *below) for event in one.lines]
    return replace(mark, events=sorted(events, key=lambda one: one.at), lines=lines)


def put_marks(made: Plot, axis: Axis, palette: Palette, *, most_rows: int = _MOST_ROWS) -> None:
    """Draw the axis' events in a strip of their own, above what is drawn over time.

    Args:
        made: The figure.
        axis: Its time axis.
        palette: The colours.
        most_rows: See ``marks``.
    """
    found = marks(axis, most_rows=most_rows)
    if not found:
        return
    rows = 1 + max(mark.row for mark in found)
    top = 1 - min(rows * STRIP_PIXELS / made.height, _MOST_OF_PLOT)
    made.y["domain"] = [0, top]
    for shape in made.shapes:
        if shape.get("yref") == "paper":  # no line of another strikes words through
            shape["y1"] = min(shape["y1"], top)
    put_lines(made, axis, palette, top=top)
    note = {
        **{"name": MARK, "y": 1, "yref": "paper", "yanchor": "top"},
        **{"showarrow": False, "borderpad": 0, "bgcolor": palette.ground},
    }
    for mark in found:
        near_edge = _from_edge(mark, axis)
        made.notes.append(
            {
                **note,
                "x": axis.local(mark.first.at),
                "text": " ".join(filter(None, _words(mark))),
                "hovertext": _hover(mark.events, axis),
                "xanchor": "right" if mark.is_left else "left",
                "xshift": near_edge if mark.is_left else -near_edge,
                "yshift": -STRIP_PIXELS * (rows - 1 - mark.row),
                "font": {"size": _FONT_PIXELS, "color": _colour(mark.first, palette)},
            }
        )
    every = sorted((event for mark in found for event in mark.events), key=lambda one: one.at)
    made.layout["meta"] = {
        **made.layout.get("meta", {}),
        "marks": {
            "events": [_sent(event, axis, palette) for event in every],
            "rows": rows,
            "note": {**note, "font": {"size": _FONT_PIXELS}},
            "line": _line(top),
        },
    }


def _sent(event: ChartEvent, axis: Axis, palette: Palette) -> dict[str, Any]:
    """Return what the browser needs of an event to place its mark where somebody zooms."""
    word = _word(event)
    return {
        "x": axis.local(event.at).isoformat(),
        "word": visible(word) if len(word) <= _LABEL_LENGTH else "",
        "hover": _told(event, axis),
        "rank": _rank(event),
        "colour": _colour(event, palette),
    }


def _words(mark: Mark) -> tuple[str, str]:
    text = plain(mark.text)
    return (text, _SIGN) if mark.is_left else (_SIGN, text)


def _from_edge(mark: Mark, axis: Axis) -> float:
    """Return how far a sign reaches beyond its time: half of it, less at the ends of the axis."""
    at = (mark.first.at - axis.start) / (axis.end - axis.start) * axis.pixels
    return mark.span[1] - at if mark.is_left else at - mark.span[0]


def put_lines(made: Plot, axis: Axis, palette: Palette, *, top: float = 1.0) -> None:
    """Draw a thin line at each mark, below the curves.

    Args:
        made: The figure.
        axis: Its time axis.
        palette: The colours.
        top: Where they end, as a part of the figure's height.
    """
    for event in (one for mark in marks(axis) for one in mark.lines):
        at = axis.local(event.at)
        made.shapes.append(
            {
                **_line(top),
                **{"x0": at, "x1": at},
                "line": {"color": _colour(event, palette), "width": 1, "dash": "dot"},
            }
        )


def _line(top: float) -> dict[str, Any]:
    """Return what all lines of marks have in common."""
    return {
        **{"name": MARK, "type": "line", "y0": 0, "y1": top, "yref": "paper"},
        "line": {"width": 1, "dash": "dot"},
        **{"opacity": _SEEN_THROUGH, "layer": "below"},
    }


def _rank(event: ChartEvent) -> int:
    return _NAMED_FIRST.index("own" if event.is_own else event.kind)


def _colour(event: ChartEvent, palette: Palette) -> str:
    return palette.act if event.kind in _RED else palette.quiet


def _hover(together: Sequence[ChartEvent], axis: Axis) -> str:
    lines = [_told(event, axis) for event in together[:_HOVER_LINES]]
    more = len(together) - _HOVER_LINES
    return "<br>".join([*lines, *([f"and {more} more"] if more > 0 else [])])


def _told(event: ChartEvent, axis: Axis) -> str:
    clock = "%H:%M:%S" if axis.end - axis.start <= timedelta(days=1) else "%-d %b %H:%M"
    return f"{axis.local(event.at):{clock}} {_wrapped(event)}"


def _wrapped(event: ChartEvent) -> str:
    text = f"{event.text}: {event.detail}" if event.detail else event.text
    pieces = wrap(text, _HOVER_LENGTH, max_lines=_HOVER_PIECES, placeholder=" …")
    return "<br>".join(map(plain, pieces))
