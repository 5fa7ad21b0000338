"""How old the newest poll is, ticking, and whether the page is still connected and read again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import streamlit as st

from app.data.context import View
from app.ui import range_choice, refresh

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "headroom.live",
    html='<span class="live" role="status"></span>',
    css=(_FOLDER / "live.css").read_text(),
    js=(_FOLDER / "live.js").read_text(),
)


def draw(view: View, polled_at: datetime | None) -> None:
    """Draw the age of the newest poll; it ticks by itself.

    Args:
        view: The frame of the page.
        polled_at: When the newest poll began; None: there was none.
    """
    _component(
        key="live",
        data={
            "polled_at": None if polled_at is None else polled_at.timestamp(),
            "now": view.now.timestamp(),
            "interval": view.interval_seconds,
            "longest": refresh.longest(view.settings.app.refresh_seconds),
            "paused": range_choice.is_paused(),
        },
        width="content",
    )
