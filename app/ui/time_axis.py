"""The time axis that all figures of a page share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from alerting.errors import AlertingError
from alerting.rules.model import AlertSeverity
from app.data import alert_store, history_queries
from app.data.context import View
from app.data.time_range import SHORTEST
from app.style.charts.base import Axis, ChartEvent
from app.ui import components
from app.ui.broker_events import broker_events


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


def alert_marks(view: View, kind: str, name: str) -> tuple[ChartEvent, ...]:
    """Return when alerts of a group or a topic began; none where the store cannot be read."""
    try:
        store = alert_store.open_store(view)
        found = (
            store.history(view.start.timestamp(), view.cluster, until=view.until.timestamp())
            if store
            else []
        )
    except AlertingError:
        return ()  # the page Alerts says so
    return tuple(
        ChartEvent(
            at=datetime.fromtimestamp(one.began_at, UTC),
            text=one.what.removeprefix(name).strip(),
            kind="act" if one.severity is AlertSeverity.CRITICAL else "quiet",
        )
        for one in found
        if one.labels.get(kind) == name
    )


def broker_marks(view: View) -> tuple[ChartEvent, ...]:
    """Return when brokers went and came back; no marks where that cannot be read."""
    with components.guarded():
        return broker_events(history_queries.cluster_history(view).frame)
    return ()
