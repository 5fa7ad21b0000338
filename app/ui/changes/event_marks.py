"""Events as marks of charts, and the viewer's choice of their kinds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Literal

import streamlit as st

from app.style.charts.base import ChartEvent
from app.ui.changes.events import Event, Sort

_LIST_PIXELS = 200
"""One kind a line, with a box to check: see ``components.css``."""
_MAIN = (Sort.BROKERS, Sort.ALERTS)
"""What marks name before the rest."""


def choose(events: Iterable[Event]) -> tuple[ChartEvent, ...]:
    """Draw the choice of kinds of marks, and return the events of those that are chosen."""
    with st.popover("Marks", icon=":material/flag:", type="tertiary", width="content"):
        chosen = st.pills(
            "What charts mark",
            [one.value for one in Sort],
            selection_mode="multi",
            default=[one.value for one in Sort],
            key="marks",
            bind="query-params",
            persist_state="session",
            width=_LIST_PIXELS,
        )
    return chart_events(one for one in events if one.sort.value in chosen)


def with_lines_first(events: Iterable[Event], drawn: Collection[str]) -> list[Event]:
    """Return events; those of what has a line of its own in the chart are named before others."""
    return [replace(one, is_own=one.is_own or one.name in drawn) for one in events]


def chart_events(events: Iterable[Event]) -> tuple[ChartEvent, ...]:
    """Return events as charts mark them."""
    return tuple(
        ChartEvent(
            at=one.at,
            text=one.what,
            detail=one.detail,
            kind=_kind(one),
            is_own=one.is_own,
        )
        for one in events
    )


def _kind(event: Event) -> Literal["act", "fired", "main", "quiet"]:
    if event.is_loss:
        return "fired" if event.sort is Sort.ALERTS else "act"
    return "main" if event.sort in _MAIN else "quiet"
