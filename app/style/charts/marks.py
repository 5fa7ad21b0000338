"""Events as thin vertical marks: those that lie near each other are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from unicodedata import east_asian_width

from app.style.charts.base import Axis, ChartEvent, Plot, plain
from app.style.format import count
from app.style.theme import Palette

_NEAR = 120
"""Events nearer than this part of the axis are one mark: about five pixels."""
_LETTER_PIXELS = 5.6
"""Of the letters of a label, which are 11 pixels high: names are narrower, but for capitals."""
_GAP_PIXELS = 8
ROW_PIXELS = 17
"""From one row of labels to the next."""
_LABEL_LENGTH = 22
_NAMED_FIRST = ("act", "main", "quiet")
_HOVER_LENGTH = 110
_HOVER_LINES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is written at a mark, for those beside it too that it would cover.

    Attributes:
        first: Whose mark it stands at.
        is_left: Whether it stands to the left of that.
        span: From where to where, in pixels from the axis' start.
        row: The row that it stands in, the upper one first.
    """

    events: Sequence[ChartEvent]
    first: ChartEvent
    text: str
    is_left: bool
    span: tuple[float, float]
    row: int = 0


def clusters(events: Sequence[ChartEvent], near: timedelta) -> list[list[ChartEvent]]:
    """Return events in order of time, those that lie near the first of them together."""
    found: list[list[ChartEvent]] = []
    for event in sorted(events, key=lambda one: one.at):
        if found and event.at - found[-1][0].at <= near:
            found[-1].append(event)
        else:
            found.append([event])
    return found


def labels(marks: Iterable[Sequence[ChartEvent]], axis: Axis, rows: int = 1) -> list[Label]:
    """Return the labels of marks: none covers another or the end of the axis.

    A mark has a label of its own where one of the rows has room, else the label before counts it.

    Args:
        marks: The events of each mark, in order of time.
        axis: The axis, with its length on the screen.
        rows: So many rows of labels lie below each other.
    """
    found: list[Label] = []
    for together in marks:
        events = list(together)
        while (label := _with_room(_label(events, axis), found, rows)) is None:
            events = [*found.pop().events, *events]
        found.append(label)
    for place, label in enumerate(found):
        found[place] = _in_words(label, [*found[:place], *found[place + 1 :]], axis)
    return found


def _in_words(label: Label, others: Sequence[Label], axis: Axis) -> Label:
    """Return a label that says what it counts, as far as there is room for words."""
    more = len(label.events) - 1
    if not more:
        return label
    start, end = label.span
    beside = [one.span for one in others if one.row == label.row]
    room = (
        start - max((last for _, last in beside if last <= start), default=0.0)
        if label.is_left
        else min((first for first, _ in beside if first >= end), default=axis.pixels) - end
    )
    for words in (f" and {count(more, 'more change')}", f" and {more} more"):
        wider = _letter(label.first.text) * (len(words) - len(_counted(more)))
        if wider <= room:
            text = f"{label.text.removesuffix(_counted(more))}{words}"
            span = (start - wider, end) if label.is_left else (start, end + wider)
            return replace(label, text=text, span=span)
    return label


def _counted(more: int) -> str:
    return f" +{more}" if more else ""


def _letter(text: str) -> float:
    is_wide = any(east_asian_width(one) in "WF" for one in text)
    return _LETTER_PIXELS * (2 if is_wide else 1)


def _with_room(label: Label, found: Sequence[Label], rows: int) -> Label | None:
    """Return a label in the first row where it covers none; None: it would in each."""
    for row in range(rows):
        ends = [one.span[1] for one in found if one.row == row]
        if not ends or label.span[0] >= ends[-1]:
            return replace(label, row=row)
    return None


def put_marks(made: Plot, axis: Axis, palette: Palette, *, rows: int = 1) -> int:
    """Draw the axis' events; a label tells on hover what it stands for.

    Args:
        made: The figure.
        axis: Its time axis.
        palette: The colours.
        rows: Most rows of labels; none: marks are not labelled.

    Returns:
        How many rows of labels there are.
    """
    length = axis.end - axis.start
    shown = [event for event in axis.events if axis.start <= event.at <= axis.end]
    marks = clusters(shown, length / _NEAR)
    for first in map(_first, marks):
        at = axis.local(first.at)
        made.shapes.append(
            {
                "type": "line",
                **{"x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper"},
                "line": {"color": _colour(first, palette), "width": 1, "dash": "dot"},
                "layer": "below",
            }
        )
    found = labels(marks, axis, rows) if rows else []
    for label in found:
        made.notes.append(
            {
                **{"x": axis.local(label.first.at), "y": 1, "yref": "paper"},
                **{"showarrow": False, "yanchor": "top", "yshift": -ROW_PIXELS * label.row},
                "text": plain(label.text),
                "hovertext": _hover(label.events, axis, length),
                "xanchor": "right" if label.is_left else "left",
                "xshift": -3 if label.is_left else 3,
                "font": {"size": 11, "color": _colour(label.first, palette)},
                "bgcolor": palette.ground,
            }
        )
    return max((label.row + 1 for label in found), default=0)


def _label(events: Sequence[ChartEvent], axis: Axis) -> Label:
    """Return one label: to the right of its mark, and to the left where it would be cut there."""
    first = _first(events)
    others, letter = _counted(len(events) - 1), _letter(first.text)
    at = (first.at - axis.start) / (axis.end - axis.start) * axis.pixels
    wanted = _GAP_PIXELS + letter * len(_cut(first.text, _LABEL_LENGTH) + others)
    is_left = axis.pixels - at < min(wanted, at)
    fits = int(((at if is_left else axis.pixels - at) - _GAP_PIXELS) / letter) - len(others)
    text = _cut(first.text, min(_LABEL_LENGTH, fits)) + others
    width = _GAP_PIXELS + letter * len(text)
    span = (at - width, at) if is_left else (at, at + width)
    return Label(events=events, first=first, text=text, is_left=is_left, span=span)


def _first(events: Sequence[ChartEvent]) -> ChartEvent:
    return min(events, key=lambda one: _NAMED_FIRST.index(one.kind))


def _colour(event: ChartEvent, palette: Palette) -> str:
    return palette.act if event.kind == "act" else palette.quiet


def _hover(together: Sequence[ChartEvent], axis: Axis, length: timedelta) -> str:
    clock = "%H:%M:%S" if length <= timedelta(days=1) else "%-d %b %H:%M"
    lines = [
        f"{axis.local(event.at):{clock}} "
        + plain(
            _cut(f"{event.text}: {event.detail}" if event.detail else event.text, _HOVER_LENGTH)
        )
        for event in together[:_HOVER_LINES]
    ]
    more = len(together) - _HOVER_LINES
    return "<br>".join([*lines, *([f"and {more} more"] if more > 0 else [])])


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
