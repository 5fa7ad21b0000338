"""A quiet paragraph with real links: a click stays in the session, ctrl-click opens a new tab."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app.data.context import View
from app.ui.browser import items
from app.ui.browser.items import Target
from config.visible import visible

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "headroom.prose",
    html="<p></p>",
    css=(_FOLDER / "prose.css").read_text(),
    js=(_FOLDER / "link.js").read_text() + (_FOLDER / "prose.js").read_text(),
)


def draw(parts: Sequence[str | Target], *, view: View, key: str) -> None:
    """Draw a paragraph.

    Args:
        parts: Its texts and links, in their order; blanks between them are the texts'.
        view: The frame of the page.
        key: Its name on the page.
    """
    said = [visible(part) if isinstance(part, str) else items.as_link(part, view) for part in parts]
    _component(key=key, data={"parts": said})
