"""A zoom on one chart moves all of the page, and can become the time range; so does the pointer.

Another theme gives the charts other colours at once. Streamlit tells of none of these; the script
listens in the viewer's browser.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from pathlib import Path

import streamlit as st

from app.data.context import View
from app.ui import cluster_choice, range_choice

_FOLDER = Path(__file__).parent
_KEY = "zoom"
_component = st.components.v2.component(
    "headroom.zoom",
    html='<button type="button" title="A double click on a chart ends the zoom." hidden></button>',
    css=(_FOLDER / "zoom.css").read_text(),
    js="\n".join((_FOLDER / name).read_text() for name in ("marks.js", "zoom.js")),
)


def draw(view: View, page: str, *, offers_range: bool) -> None:
    """Listen to the charts of a page; where somebody zooms, the time can be offered as range."""
    zone, asked = view.zone, st.session_state.get(range_choice.BETWEEN)
    # What cannot be read, or is not known, stays in the address: the page goes on saying so.
    unread = {range_choice.BETWEEN: asked} if asked else {}
    address = {**unread, **view.address, cluster_choice.CLUSTER: cluster_choice.asked(view)}

    def chosen() -> None:
        found = moments(getattr(st.session_state[_KEY], "range", None), zone)
        if found is not None:
            range_choice.show(*found)

    _component(
        key=_KEY,
        data={
            "label": "Show" if offers_range else None,
            "page": f"{page} {view.range.key}",
            "address": address,
            "drawn": view.now.timestamp(),
            "theme": st.context.theme.type,
        },
        on_range_change=chosen,
        on_theme_change=lambda: None,
    )


def moments(texts: object, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """Return a zoom's first and last moment, which Plotly writes by the viewer's clock.

    None where it is none: what a browser sends is checked.
    """
    if not isinstance(texts, list) or len(texts) != 2:
        return None
    try:
        first, last = (datetime.fromisoformat(str(one)).replace(tzinfo=zone) for one in texts)
    except ValueError:
        return None
    return (first, last) if first < last else None
