"""Events as marks in a strip above the plot, which tell on hover what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from app.style.charts.base import Axis, ChartEvent, Plot, plain
from app.style.columns import text_pixels
from app.style.theme import Palette

_SIGN = "▼"
_SIGN_PIXELS = 12
"""Of a mark's sign and what parts it from the next."""
_FONT_PIXELS = 11
_GAP_PIXELS = 6
STRIP_PIXELS = 18
"""The height of the strip."""
_MOST_OF_PLOT = 0.4
_LABEL_LENGTH = 26
_NAMED_FIRST = ("act", "main", "quiet")
_HOVER_LENGTH = 110
_HOVER_LINES = 8
_SEEN_THROUGH = 0.6
"""Of the line from a mark to the axis, which lies below the curves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What happened at about one time.

    Attributes:
        events: In order of time.
        first: Whose time the mark stands at, and whose words beside it.
        text: The words beside the sign, where there is room for them.
        is_left: Whether they stand to the left of it.
        span: From where to where it reaches, in pixels from the axis' start.
    """

    events: Sequence[ChartEvent]
    first: ChartEvent
    span: tuple[float, float]
    text: str = ""
    is_left: bool = False


def marks(axis: Axis) -> list[Mark]:
    """Return the marks of the axis' events in order of time: none covers another or the edge.

    Those whose signs would cover each other are one. What is worst has words first, then all that
    have room for theirs.
    """
    shown = [event for event in axis.events if axis.start <= event.at <= axis.end]
    found: list[Mark] = []
    for event in sorted(shown, key=lambda one: one.at):
        found.append(_mark([event], axis))
        while len(found) > 1 and found[-2].span[1] > found[-1].span[0]:
            last, before = found.pop(), found.pop()
            found.append(_mark([*before.events, *last.events], axis))
    for place in sorted(range(len(found)), key=lambda at: _rank(found[at].first)):
        start = found[place - 1].span[1] if place else 0.0
        end = found[place + 1].span[0] if place + 1 < len(found) else float(axis.pixels)
        found[place] = _in_words(found[place], start, end)
    return found


def _mark(events: Sequence[ChartEvent], axis: Axis) -> Mark:
    first = min(events, key=_rank)
    at = (first.at - axis.start) / (axis.end - axis.start) * axis.pixels
    start = min(max(0.0, at - _SIGN_PIXELS / 2), axis.pixels - _SIGN_PIXELS)
    return Mark(events=events, first=first, span=(start, start + _SIGN_PIXELS))


def _in_words(mark: Mark, start: float, end: float) -> Mark:
    """Return a mark with its words, to the right of its sign or the left, where they have room.

    They are of what is worst of it, in few letters: all of it is told on hover.
    """
    text = _cut(_briefly(mark.first.text), _LABEL_LENGTH)
    pixels = _GAP_PIXELS + text_pixels(text, font=_FONT_PIXELS)
    if mark.span[1] + pixels <= end:
        return replace(mark, text=text, span=(mark.span[0], mark.span[1] + pixels))
    if mark.span[0] - pixels >= start:
        span = (mark.span[0] - pixels, mark.span[1])
        return replace(mark, text=text, is_left=True, span=span)
    return mark


def _briefly(text: str) -> str:
    """Return ``broker 2 missing`` for ``broker 2 is missing``."""
    return text.removeprefix("Alert: ").replace(" is ", " ", 1)


def put_marks(made: Plot, axis: Axis, palette: Palette) -> None:
    """Draw the axis' events in a strip of their own, above what is drawn over time."""
    found = marks(axis)
    if not found:
        return
    top = 1 - min(STRIP_PIXELS / made.height, _MOST_OF_PLOT)
    made.y["domain"] = [0, top]
    put_lines(made, axis, palette, top=top)
    for mark in found:
        near_edge = _from_edge(mark, axis)
        made.notes.append(
            {
                **{"x": axis.local(mark.first.at), "y": 1, "yref": "paper"},
                **{"showarrow": False, "yanchor": "top", "borderpad": 0},
                "text": " ".join(filter(None, _words(mark))),
                "hovertext": _hover(mark.events, axis),
                "xanchor": "right" if mark.is_left else "left",
                "xshift": near_edge if mark.is_left else -near_edge,
                "font": {"size": _FONT_PIXELS, "color": _colour(mark.first, palette)},
            }
        )


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
    for mark in marks(axis):
        at = axis.local(mark.first.at)
        made.shapes.append(
            {
                "type": "line",
                **{"x0": at, "x1": at, "y0": 0, "y1": top, "yref": "paper"},
                "line": {"color": _colour(mark.first, palette), "width": 1, "dash": "dot"},
                **{"opacity": _SEEN_THROUGH, "layer": "below"},
            }
        )


def _rank(event: ChartEvent) -> int:
    return _NAMED_FIRST.index(event.kind)


def _colour(event: ChartEvent, palette: Palette) -> str:
    return palette.act if event.kind == "act" else palette.quiet


def _hover(together: Sequence[ChartEvent], axis: Axis) -> str:
    clock = "%H:%M:%S" if axis.end - axis.start <= timedelta(days=1) else "%-d %b %H:%M"
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
