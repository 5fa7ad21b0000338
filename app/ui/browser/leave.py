"""Leaves for another page from where there is no link to click: a row of a table."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "headroom.leave", js=Path(__file__).with_name("leave.js").read_text()
)


def leave(href: str) -> None:
    """Have the viewer's browser open a page; this one is drawn on until it asks for the other.

    Args:
        href: The page's address, of :func:`app.ui.routes.href`.
    """
    _component(key="leave", data={"href": href})
