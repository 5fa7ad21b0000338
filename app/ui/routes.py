"""All pages: one place for their addresses, so that links and the menu agree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from app.data.context import View, current
from app.ui import range_choice

_VIEWS = Path(__file__).resolve().parents[1] / "views"


def address(page: str) -> str:
    """Return a page's path in the address."""
    return "" if page == OVERVIEW else page.replace("_", "-")


def _page(
    name: str, title: str, icon: str, help_text: str, *, hidden: bool = False, default: bool = False
) -> st.Page:
    return st.Page(
        _VIEWS / name / "page.py",
        title=title,
        icon=f":material/{icon}:",
        url_path="" if default else address(name),
        default=default,
        visibility="hidden" if hidden else "visible",
        help=help_text,
    )


OVERVIEW = "overview"
GROUPS = "groups"
GROUP = "group"
TOPICS = "topics"
TOPIC = "topic"
BROKERS = "brokers"
DEAD_LETTERS = "dead_letters"
QUEUES = "queues"
CONNECT = "connect"
SCALING = "scaling"
HEALTH = "health"
WEEK = "week"
ALERTS = "alerts"
SILENCES = "silences"
INCIDENT = "incident"
RULES = "rules"


def all_pages(*, with_queues: bool = True) -> dict[str, list[st.Page]]:
    """Return the pages under the headings of the menu; details have an address and no entry.

    Args:
        with_queues: Whether a RabbitMQ is configured; else the menu leaves its page out.
    """
    return {
        "Watch": [
            _page(
                OVERVIEW,
                "Overview",
                "monitor_heart",
                "Is anything wrong, and what first?",
                default=True,
            ),
            _page(GROUPS, "Consumer groups", "groups", "Who is late?"),
            _page(GROUP, "Consumer group", "groups", "Why is it late, and what next?", hidden=True),
            _page(TOPICS, "Topics", "topic", "Where does the traffic go?"),
            _page(
                TOPIC, "Topic", "topic", "What does this topic carry, and who reads?", hidden=True
            ),
            _page(BROKERS, "Brokers and replication", "dns", "Is data safe?"),
            _page(
                DEAD_LETTERS,
                "Dead letters",
                "mark_email_unread",
                "What fails, why, and who will look?",
            ),
            _page(CONNECT, "Kafka Connect", "cable", "Do the pipes run?"),
            _page(
                QUEUES,
                "Queues",
                "inbox",
                "What waits in RabbitMQ, and where do its dead letters go?",
                hidden=not with_queues,
            ),
        ],
        "Alerts": [
            _page(ALERTS, "Alerts", "notifications", "What fires, what did, what follows?"),
            _page(INCIDENT, "Incident", "history", "What began when, and why?", hidden=True),
            _page(
                SILENCES,
                "Silences",
                "notifications_paused",
                "Who is not notified of what, and who said so?",
            ),
            _page(RULES, "Rules", "rule", "What is an alert, and what would a rule have done?"),
        ],
        "Scaling and health": [
            _page(SCALING, "Scaling", "tune", "What should I change, and what if I do not?"),
            _page(WEEK, "Week", "calendar_view_week", "How was the week?"),
            _page(HEALTH, "Monitoring health", "fact_check", "Can I believe these pages?"),
        ],
    }


_PRESENT = frozenset({OVERVIEW, GROUPS, GROUP, TOPICS, TOPIC, BROKERS})


def shows_the_present(page: st.Page) -> bool:
    """Return whether a page shows what the newest evaluation found."""
    return page.url_path.replace("-", "_") in _PRESENT | {""}


def names_its_tab(page: st.Page) -> bool:
    """Return whether a page gives the tab its title itself: it is about one thing."""
    return page.url_path in (GROUP, TOPIC, INCIDENT)


def has_own_time(page: st.Page) -> bool:
    """Return whether a page is of a time of its own, whatever range is chosen."""
    return page.url_path in (WEEK, INCIDENT)


def path(name: str) -> str:
    """Return a page's script, as ``st.switch_page`` and ``st.page_link`` take it."""
    return str(_VIEWS / name / "page.py")


def within(page: str) -> None:
    """Mark the entry of the menu that a page without an entry belongs to."""
    ends = f"[href$='/{address(page)}'], [href*='/{address(page)}?']"
    st.html(
        f"<style>[data-testid='stSidebarNavLink']:is({ends}) "
        "{background: rgb(128 128 128 / 0.2); font-weight: 600}</style>"
    )


def link(
    page: str,
    label: str,
    parameters: Mapping[str, str] | None = None,
    *,
    icon: str = "",
    help_text: str | None = None,
) -> None:
    """Draw a link to a page, with the chosen cluster and range."""
    st.page_link(
        path(page),
        label=label,
        icon=icon,
        help=help_text,
        query_params={**current().address, **(parameters or {})},
    )


def href(page: str, view: View, parameters: Mapping[str, str]) -> str:
    """Return a link to a page with the chosen cluster and range, for the scripts in the browser."""
    paused = {range_choice.PAUSED: "true"} if range_choice.is_paused() else {}
    return f"./{address(page)}?{urlencode({**view.address, **paused, **parameters})}"
