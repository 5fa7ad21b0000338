"""The forms by which operators acknowledge alerts and silence them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.lifecycle import Alert
from app.data import alert_actions
from app.data.context import View
from app.style.format import escape
from app.ui import components

DURATIONS = {
    "30 minutes": timedelta(minutes=30),
    "1 hour": timedelta(hours=1),
    "2 hours": timedelta(hours=2),
    "8 hours": timedelta(hours=8),
    "1 day": timedelta(days=1),
    "1 week": timedelta(days=7),
}


def acknowledge(view: View, alerts: Sequence[Alert]) -> None:
    """Draw the form that says who looks after an alert; of several one is chosen."""
    with st.form("acknowledge", border=False, clear_on_submit=True):
        chosen: Alert | None = alerts[0]
        if len(alerts) > 1:
            chosen = st.selectbox(
                "Alert", alerts, format_func=lambda alert: f"{alert.what} ({alert.id[:8]})"
            )
        said = components.author(view, "Who looks after it")
        comment = st.text_input("Comment")
        if st.form_submit_button("Acknowledge") and chosen is not None:
            try:
                alert_actions.acknowledge(view, chosen, said=said, comment=comment)
                st.rerun()
            except (ValueError, AlertingError) as error:
                st.error(escape(str(error)))


def silence(view: View, proposed: Sequence[str] = ()) -> None:
    """Draw the form of a new silence.

    Args:
        view: The frame of the page.
        proposed: Its matchers, until the viewer writes others.
    """
    with st.form("silence", border=not proposed, clear_on_submit=False):
        matchers = st.text_area(
            "Matchers, one a line: all must match",
            "\n".join(proposed),
            placeholder="rule=GroupStopped\ngroup=~payments-.*",
            help="label=value, label!=value, label=~expression, label!~expression. Labels: rule, "
            "severity, cluster, group, topic, broker, name, connector, queue …",
        )
        length = st.selectbox("For", list(DURATIONS), index=2)
        said = components.author(view, "Who")
        comment = st.text_input("Why")
        if st.form_submit_button("Silence"):
            try:
                number = alert_actions.silence(
                    view,
                    [line for line in matchers.splitlines() if line.strip()],
                    seconds=DURATIONS[length].total_seconds(),
                    said=said,
                    comment=comment,
                )
                st.success(f"Silence {number} is made.")
            except (ValueError, AlertingError) as error:
                st.error(escape(str(error)))


def matchers_of(alert: Alert) -> list[str]:
    """Return the matchers of a silence of one alert: its rule, and what it is about."""
    return [f'{label}="{value}"' for label, value in {"rule": alert.rule, **alert.labels}.items()]
