"""The time axis that all figures of a page share."""

from __future__ import annotations

from datetime import datetime, timedelta

from app.data.context import View
from app.data.time_range import SHORTEST
from app.style.charts.base import Axis, ChartEvent


def page_axis(
    view: View,
    first: datetime | None,
    events: tuple[ChartEvent, ...] = (),
    *,
    step_seconds: float = 60,
) -> Axis:
    """Return the axis of the chosen range, begun later where there is nothing to show before.

    Args:
        view: The frame of the page.
        first: The first moment of the page's history.
        events: Marks for every figure.
        step_seconds: The steps of the history: the axis moves on by whole ones, at most by
            minutes, so that a figure whose points stay the same stays the same itself.
    """
    step = min(step_seconds, 60.0)
    if view.range.end is not None:
        return axis_between(view, view.range.end - view.range.length, view.range.end, events)
    end = view.now - timedelta(seconds=view.now.timestamp() % step)
    start = view.start
    if first is not None and first > start:
        start = max(start, min(first, end - SHORTEST))
    return Axis(start=start, end=end, zone=view.zone, events=events)


def axis_between(
    view: View, start: datetime, end: datetime, events: tuple[ChartEvent, ...] = ()
) -> Axis:
    """Return an axis from one moment to another, however short the time between them is."""
    return Axis(start=start, end=max(end, start + SHORTEST), zone=view.zone, events=events)
