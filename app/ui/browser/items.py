"""A list of what needs somebody: a row each, with real links and folded detail.

On a phone each row is a card. A click on a link stays in the session, ctrl-click opens a new
tab; elsewhere on a row it opens what is folded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from app.data.context import View
from app.style.format import unbroken
from app.style.theme import BadgeStyle
from app.ui import routes
from config.visible import visible

_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "headroom.items",
    html='<div class="frame"><ul class="items"></ul></div>',
    css=(_FOLDER / "items.css").read_text(),
    js=(_FOLDER / "link.js").read_text() + (_FOLDER / "items.js").read_text(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a link leads."""

    label: str
    page: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One row.

    Attributes:
        id: Tells rows apart; what is unfolded stays so while it is the same.
        badge: The status; None: such rows have none.
        when: Since when, or from when to when.
        note: What else is to be known of it, in a few words, such as who looks after it.
        until: How long until it hurts: a deadline, and nothing else.
        is_far: Whether that is so far away that it weighs less.
        link: Where the name leads; its label is ``what``.
        links: Further links, in a column of their own.
        acts: Links to what somebody may do about it or look at, shown when the row is opened.
        more: Lines that are shown when the row is opened; ``more_label`` names them beside the
            name.
        is_chosen: Whether the page shows more of this row.
        is_looked_after: Whether somebody looks after it: it weighs less.
    """

    id: str
    badge: BadgeStyle | None
    what: str
    when: str = ""
    why: str = ""
    note: str = ""
    until: str = ""
    is_far: bool = False
    step: str = ""
    link: Target | None = None
    links: Sequence[Target] = ()
    acts: Sequence[Target] = ()
    more_label: str = ""
    more: Sequence[str] = ()
    is_chosen: bool = False
    is_looked_after: bool = False


def draw(
    items: Sequence[Item],
    *,
    view: View,
    key: str,
    alt: str,
    heads: Sequence[str] = (),
    is_why_apart: bool = False,
    is_dense: bool = False,
    folded: Sequence[Item] = (),
    fold: str = "",
) -> None:
    """Draw rows; a click on a link leaves for its page.

    Args:
        items: The rows, in their order.
        view: The frame of the page.
        key: The list's name on the page.
        alt: What it lists, for those who do not see it.
        heads: What the columns are of rows that are lines which can be opened, where the window is
            wide enough: what is so, the step, and until and since when; where no row has a step
            there is no such column. That of links has no words but where ``why`` is apart, where
            there are four: what is so, why, links, and until and since when.
        is_why_apart: Whether ``why`` has the column of the step, where the window is wide enough,
            and links are further advice.
        is_dense: Whether a row is one line until it is opened, where the window is wide enough.
        folded: Further rows, which are seen once the viewer unfolds them.
        fold: The words that name these.
    """
    rows = [_as_data(item, view) for item in (*items, *folded)]
    seen = {"seen": len(items), "fold": fold if folded else ""}
    named = list(heads)
    if is_why_apart:
        named[2] = named[2] if any(item.links for item in (*items, *folded)) else ""
    elif not any(item.step for item in (*items, *folded)):
        del named[1:2]
    columns = {"lines": bool(heads), "heads": named, "apart": is_why_apart, "dense": is_dense}
    _component(key=key, data={"alt": alt, "items": rows, **columns, **seen})


def _as_data(item: Item, view: View) -> dict[str, Any]:
    return {
        "id": item.id,
        "badge": item.badge and {"label": item.badge.label, "colour": item.badge.colour},
        "what": item.what,
        "when": item.when,
        "why": item.why,
        "note": item.note,
        "until": unbroken(item.until),
        "is_far": item.is_far,
        "step": item.step,
        "link": None if item.link is None else as_link(item.link, view),
        "links": [as_link(one, view) for one in item.links],
        "acts": [as_link(one, view) for one in item.acts],
        "more_label": item.more_label,
        "more": list(item.more),
        "is_chosen": item.is_chosen,
        "is_looked_after": item.is_looked_after,
    }


def as_link(target: Target, view: View) -> dict[str, str]:
    """Return a link as the scripts in the browser take it."""
    return {
        "label": visible(target.label),
        "href": routes.href(target.page, view, target.parameters),
    }
