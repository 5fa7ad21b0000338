"""One box that finds everything, and the keys that lead about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import streamlit as st

from alerting.status.model import Status
from app.data import directory
from app.data.context import View
from app.style.format import exact
from app.ui import routes
from app.ui.group_badges import BADGE_STYLES

_FOLDER = Path(__file__).parent
_KEY = "search"
_LONGEST = 200
_component = st.components.v2.component(
    "headroom.search",
    html='<div class="search"><input type="search" role="combobox" aria-expanded="false" '
    'aria-controls="hits" aria-autocomplete="list" autocomplete="off" spellcheck="false">'
    '<div class="panel" hidden><ul id="hits" role="listbox"></ul><p class="quiet"></p></div></div>',
    css=(_FOLDER / "search.css").read_text(),
    js=(_FOLDER / "search.js").read_text(),
)

KEYS = {
    "g o": routes.OVERVIEW,
    "g g": routes.GROUPS,
    "g t": routes.TOPICS,
    "g b": routes.BROKERS,
    "g d": routes.DEAD_LETTERS,
    "g k": routes.CONNECT,
    "g q": routes.QUEUES,
    "g a": routes.ALERTS,
    "g i": routes.SILENCES,
    "g u": routes.RULES,
    "g s": routes.SCALING,
    "g w": routes.WEEK,
    "g h": routes.HEALTH,
}
"""Keys that lead to a page, pressed one after the other outside of any field; c and r alone are
Streamlit's."""


@st.fragment
def draw(view: View, pages: dict[str, list[st.Page]]) -> None:
    """Draw the box; what is typed into it draws nothing else anew.

    Args:
        view: The frame of the page.
        pages: Those of the menu.
    """
    asked = str(getattr(st.session_state.get(_KEY), "query", None) or "")[:_LONGEST]
    titles = {
        one.url_path.replace("-", "_") or routes.OVERVIEW: one.title
        for some in pages.values()
        for one in some
    }
    hits: list[dict[str, Any]] = []
    note = ""
    if asked.strip():
        hidden = (routes.GROUP, routes.TOPIC, routes.INCIDENT)
        of_pages = [
            ("page", title, "", page, "", "", False)
            for page, title in titles.items()
            if page not in hidden
        ]
        own = pl.DataFrame(of_pages, schema=directory.SCHEMA, orient="row")
        # What is typed is asked long after the page was drawn.
        known = pl.concat([own, directory.entries(view.anew())])
        matching = directory.found(known, asked)
        hits = [hit(row, view) for row in matching.head(directory.SHOWN).iter_rows(named=True)]
        if matching.is_empty():
            note = f"Nothing of {view.cluster} has a name with “{asked}”."
        elif matching.height > len(hits):
            note = f"{len(hits)} of {exact(matching.height)}: type more of the name"
    _component(
        key=_KEY,
        data={
            "asked": asked,
            "hits": hits,
            "note": note,
            "label": f"Search {view.cluster}",
            "keys": [
                {"keys": keys, "address": routes.address(page), "label": titles[page]}
                for keys, page in KEYS.items()
                if page in titles
            ],
        },
        on_query_change=lambda: None,
    )


def hit(row: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Return a row of the directory as the box lists it, with its address."""
    parameters = {row["parameter"]: row["value"]} if row["parameter"] else {}
    return {
        "kind": row["kind"],
        "name": row["name"],
        "about": state(row["kind"], row["about"]),
        "href": routes.href(row["page"], view, parameters),
    }


def state(kind: str, about: str) -> str:
    """Return what is said of a thing in the words of the pages, not in those of the tables."""
    if kind == "group" and about:
        return BADGE_STYLES[Status(about)].word
    return about.lower() if kind == "connector" else about
