"""The dashboard's pages by their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

PAGES = (
    "overview",
    "groups",
    "group",
    "topics",
    "topic",
    "brokers",
    "dead-letters",
    "connect",
    "alerts",
    "silences",
    "rules",
    "scaling",
    "week",
    "health",
)
OF_THE_DEMO = {"group": "order-fulfilment", "topic": "orders.placed"}
"""What the pages about one thing show, where the demo runs."""


def path_of(page: str, names: Mapping[str, str]) -> str:
    """Return the address of a page; one about one thing shows the one that is named."""
    if page == "overview":
        return "/"
    return f"/{page}?{urlencode({page: names[page]})}" if page in names else f"/{page}"
