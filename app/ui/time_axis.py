"""The time axis that all figures of a page share."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from app.data import late_history
from app.data.context import View
from app.data.history import TIME, History
from app.data.time_range import SHORTEST
from app.style.charts.base import Axis, ChartEvent
from app.style.format import clock, clock_after, duration

_MUCH = 0.1
"""A part of a range of which it is worth saying that nothing is known."""
_LATE_STEPS = 1.5

_PAGE_PIXELS = 680
"""Of the width of a page in a window of 1024 pixels: the server does not know the window's."""
_BESIDE_PIXELS = 65
"""Of the width of a figure that are not the axis', and of what parts it from the next."""


def page_axis(
    view: View, history: History, events: tuple[ChartEvent, ...] = (), *, part: float = 1.0
) -> Axis:
    """Return the axis of a page's history, with its events and with what was generated of it.

    Args:
        view: The frame of the page.
        history: What the page draws.
        events: Marks for every figure.
        part: How much of the page's width the narrowest figure has, but for phones.
    """
    axis = axis_from(view, history.first, step_seconds=history.step_seconds, part=part)
    return replace(
        axis,
        events=events,
        generated_until=history.generated_until,
        end=max(axis.end, history.newest or axis.end),
    )


def _with_length(axis: Axis, view: View, part: float = 1.0) -> Axis:
    """Return an axis with its length on the screen: that of a phone, where it has no other."""
    pixels = int(_PAGE_PIXELS * part) - _BESIDE_PIXELS
    return axis if view.is_phone else replace(axis, pixels=pixels)


def note_of(view: View, history: History) -> str | None:
    """Say where values come from that are not of the history tables, or were not measured.

    From when on there are any, the axis shows.
    """
    said = None
    if history.gap is not None:
        begin = clock(history.gap[0], view.zone, now=view.now)
        end = clock_after(history.gap[1], history.gap[0], view.zone, now=view.now)
        said = f"Nothing is drawn from {begin} to {end}: history is late."
    if history.generated_until is not None and history.generated_until > view.start:
        until = clock(history.generated_until, view.zone, now=view.now)
        what = f"Shaded, up to {until}: generated for seasons and comparisons, not measured."
        return f"{what} {said}" if said else what
    return history.note or said or end_of(view, history)


def end_of(view: View, history: History, column: str = TIME) -> str | None:
    """Say where a chart ends that lags behind the figures beside it; None where it does not.

    Args:
        view: The frame of the page.
        history: What the chart draws.
        column: The value that it draws of it: means are known later than what is the highest.
    """
    if view.range.end is not None:
        return None
    last = history.frame.drop_nulls(column)[TIME].max()
    is_late = late_history.late_by(view) is not None
    return drawn_up_to(last, history.step_seconds, zone=view.zone, now=view.now, is_late=is_late)


def drawn_up_to(
    last: object, step_seconds: float, *, zone: tzinfo, now: datetime, is_late: bool
) -> str | None:
    """Say where lines end that lag behind the figures beside them; None where they do not.

    Args:
        last: The last moment with a value, which stands for a step.
        step_seconds: How long that is.
        zone: The viewer's.
        now: The present.
        is_late: Whether history is later than usual.
    """
    if not isinstance(last, datetime):
        return None
    end = last + timedelta(seconds=step_seconds)
    if now - end <= timedelta(seconds=max(_LATE_STEPS * step_seconds, 60.0)):
        return None
    at = clock(end, zone, now=now)
    why = "history is late" if is_late else "the newest minute that is complete"
    return f"Drawn up to {at}: {why}."


def how_much(
    first: datetime | None, start: datetime, until: datetime, *, zone: tzinfo, now: datetime
) -> str | None:
    """Say how much of a range is known; None where that is nearly all, or nothing."""
    whole = until - start
    if first is None or not whole * _MUCH < first - start < whole:
        return None
    known, of = (duration(length.total_seconds()) for length in (until - first, whole))
    return f"Known is {known} of {of}: from {clock(first, zone, now=now)} on."


def axis_from(
    view: View, first: datetime | None, *, step_seconds: float = 60, part: float = 1.0
) -> Axis:
    """Return the axis of the chosen range, begun later where there is nothing to show before.

    Args:
        view: The frame of the page.
        first: The first moment of what the page draws.
        step_seconds: The steps of it: the axis moves on by whole ones, at most by minutes, so
            that a figure whose points stay the same stays the same itself.
        part: How much of the page's width the narrowest figure has, but for phones.
    """
    step = min(step_seconds, 60.0)
    if view.range.end is not None:
        start, end = view.range.end - view.range.length, view.range.end
        return _with_length(axis_between(view, start, end), view, part)
    end = view.now - timedelta(seconds=view.now.timestamp() % step)
    start = view.start
    if first is not None and first > start:
        start = max(start, min(first, end - SHORTEST))
    return _with_length(Axis(start=start, end=end, zone=view.zone), view, part)


def axis_between(
    view: View, start: datetime, end: datetime, events: tuple[ChartEvent, ...] = ()
) -> Axis:
    """Return an axis from one moment to another, however short the time between them is."""
    axis = Axis(start=start, end=max(end, start + SHORTEST), zone=view.zone, events=events)
    return _with_length(axis, view)
