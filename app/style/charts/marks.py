"""Events as thin vertical marks: those that lie near each other are one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from app.style.charts.base import Axis, ChartEvent, Plot, plain
from app.style.theme import Palette

_NEAR = 120
"""Events nearer than this part of the axis are one mark: about five pixels."""
_LABEL = 4
"""A label takes this part of the axis."""
_LABEL_LENGTH = 20
_HOVER_LENGTH = 110
_HOVER_LINES = 8
_SYMBOL = "▾"


def clusters(events: Sequence[ChartEvent], near: timedelta) -> list[list[ChartEvent]]:
    """Return events in order of time, those that lie near the first of them together."""
    found: list[list[ChartEvent]] = []
    for event in sorted(events, key=lambda one: one.at):
        if found and event.at - found[-1][0].at <= near:
            found[-1].append(event)
        else:
            found.append([event])
    return found


def put_marks(made: Plot, axis: Axis, palette: Palette, *, labels: bool = True) -> None:
    """Draw the axis' events; each mark tells on hover what it stands for."""
    length = axis.end - axis.start
    shown = [event for event in axis.events if axis.start <= event.at <= axis.end]
    label = length / _LABEL
    free_from = axis.start
    for together in clusters(shown, length / _NEAR):
        first = next((one for one in together if one.kind == "act"), together[0])
        colour = palette.act if first.kind == "act" else palette.quiet
        at = axis.local(together[0].at)
        made.shapes.append(
            {
                "type": "line",
                **{"x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper"},
                "line": {"color": colour, "width": 1, "dash": "dot"},
                "layer": "below",
            }
        )
        if not labels:
            continue
        # A label stands to the right of its mark, and to the left where it would be cut.
        is_late = together[0].at > axis.end - label
        begin = together[0].at - label if is_late else together[0].at
        has_room = begin >= free_from
        if has_room:
            free_from = begin + label
        made.notes.append(
            {
                **{"x": at, "y": 1, "yref": "paper", "showarrow": False, "yanchor": "top"},
                "text": _label(first, len(together) - 1) if has_room else _SYMBOL,
                "hovertext": _hover(together, axis, length),
                "xanchor": ("right" if is_late else "left") if has_room else "center",
                "xshift": (-3 if is_late else 3) if has_room else 0,
                "font": {"size": 11, "color": colour},
                "bgcolor": palette.ground,
            }
        )


def _label(event: ChartEvent, others: int) -> str:
    return plain(_cut(event.text, _LABEL_LENGTH)) + (f" +{others}" if others else "")


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
