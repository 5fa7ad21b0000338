"""The forms by which operators acknowledge alerts and silence them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from alerting.errors import AlertingError
from alerting.rules.lifecycle import Alert
from alerting.rules.matchers import Acknowledgement, accept, parse_matcher
from app.data import alert_actions
from app.data.context import View
from app.style.format import clock, count, escape, thin
from app.ui import components
from app.ui.alert_list import moment
from app.ui.symptoms import each_once
from config.visible import visible

DURATIONS = {
    "30 minutes": timedelta(minutes=30),
    "1 hour": timedelta(hours=1),
    "2 hours": timedelta(hours=2),
    "8 hours": timedelta(hours=8),
    "1 day": timedelta(days=1),
    "1 week": timedelta(days=7),
}


FORM = "do"
"""The parameter of an incident's address that opens one of its forms."""
ACKNOWLEDGE, SILENCE = "acknowledge", "silence"
_ACKNOWLEDGE, _SILENCE = "acknowledge-is-open", "silence-is-open"
_OPENED_BY = {ACKNOWLEDGE: _ACKNOWLEDGE, SILENCE: _SILENCE}
_ACKNOWLEDGED = "acknowledged-is-open"
_SENT = "acknowledgement-is-sent"
_NAME = "name-that-was-said"
_NAMED = 8
"""So many of what a silence would cover are named."""
_LISTED = 24
"""So many where all that fires is listed beside the form."""


def popovers(
    view: View,
    cause: Alert,
    unheeded: Sequence[Alert],
    heeded: Sequence[tuple[Alert, Acknowledgement]],
    firing: Sequence[Alert],
) -> None:
    """Draw the buttons that open the forms on an incident.

    Args:
        view: The frame of the page.
        cause: Its cause, or once that is over, what goes on of it.
        unheeded: Which of its alerts nobody has acknowledged.
        heeded: Which somebody has, and who.
        firing: What fires: its labels are there to choose from for a silence.
    """
    # Once: whoever closes the form would have it open again with the next refresh.
    if (opens := _OPENED_BY.get(st.query_params.pop(FORM, ""))) is not None:
        st.session_state[opens] = True
    if st.session_state.pop(_SENT, False):
        st.session_state[_ACKNOWLEDGE] = st.session_state[_ACKNOWLEDGED] = False
    if unheeded:
        with st.popover(
            "Acknowledge",
            icon=":material/person_check:",
            key=_ACKNOWLEDGE,
            on_change="rerun",  # else the script could not close it
        ):
            acknowledge(view, unheeded)
    if heeded:
        with st.popover(
            "Acknowledged", icon=":material/check:", key=_ACKNOWLEDGED, on_change="rerun"
        ):
            for alert, one in heeded:
                take_back(view, alert, one, is_named=len(heeded) > 1)
    with st.popover(
        "Silence", icon=":material/notifications_paused:", key=_SILENCE, on_change="rerun"
    ):
        silence(view, firing, matchers_of(cause))


def acknowledge(view: View, alerts: Sequence[Alert]) -> None:
    """Draw the form that says who looks after an alert; of several one is chosen."""
    with st.form("acknowledge", border=False, clear_on_submit=True):
        chosen: Alert | None = alerts[0]
        if len(alerts) > 1:
            chosen = st.selectbox(
                "Alert",
                alerts,
                format_func=lambda alert: visible(f"{alert.what} ({alert.rule})"),
                # What is chosen stays so when others come and go.
                key="alert-to-acknowledge",
            )
        with st.container(horizontal=True, gap="small"):
            said = components.author(view, "Who looks after it")
            comment = st.text_input("Comment")
        if st.form_submit_button("Acknowledge", type="primary") and chosen is not None:
            try:
                alert_actions.acknowledge(view, chosen, said=said, comment=comment)
                st.session_state[_NAME] = said
                st.session_state[_SENT] = True
                st.rerun()
            except (ValueError, AlertingError) as error:
                st.error(escape(str(error)))


def take_back(view: View, alert: Alert, one: Acknowledgement, *, is_named: bool) -> None:
    """Draw who looks after an alert, since when and why, and the button that takes it back.

    Args:
        view: The frame of the page.
        alert: The alert.
        one: Who looks after it.
        is_named: Whether to name the alert: others are there, too.
    """
    # Its own form a time: a click on what is replaced meanwhile takes nothing else back.
    with st.form(f"take-back-{alert.id}-{one.at}", border=False):
        st.markdown(escape(who_since(alert if is_named else None, one, view)))
        said = components.author(view, "Who takes it back", st.session_state.get(_NAME, ""))
        st.caption("It counts again as what needs somebody, and is repeated.")
        if st.form_submit_button("Take back", type="primary"):
            try:
                alert_actions.take_back(view, alert, one, said=said)
                st.session_state[_SENT] = True
                st.rerun()
            except (ValueError, AlertingError) as error:
                st.error(escape(str(error)))


def who_since(alert: Alert | None, one: Acknowledgement, view: View) -> str:
    """Say who looks after an alert, since when, and what they said: ``ana … since 18:43: disk``.

    Args:
        alert: The alert; None: it is clear which.
        one: Who.
        view: The frame of the page.
    """
    what = "it" if alert is None else f"“{thin(alert.what)}”"
    since = clock(moment(one.at), view.zone, now=view.now)
    return f"{one.author} looks after {what} since {since}" + (
        f": {one.comment}" if one.comment else "."
    )


def what_fires(firing: Sequence[Alert]) -> list[str]:
    """Let the viewer choose an alert that fires; return the matchers of a silence of it."""
    if not firing:
        return []
    chosen: Alert | None = st.selectbox(
        "What fires now",
        firing,
        index=None,
        format_func=lambda alert: visible(alert.what),
        key="silence-preset",
        placeholder="choose one, or write matchers",
    )
    return matchers_of(chosen) if chosen is not None else []


def silence(
    view: View,
    firing: Sequence[Alert],
    proposed: Sequence[str] = (),
    *,
    preview: DeltaGenerator | None = None,
) -> None:
    """Draw the form of a new silence, and which alerts it would silence now.

    Args:
        view: The frame of the page.
        firing: What fires: its labels are there to choose from.
        proposed: Its matchers, until the viewer chooses others.
        preview: Where to say what it would silence; None: between its fields.
    """
    named = {matcher for alert in firing for matcher in matchers_of(alert)}
    # Outside of the form, whose fields are read when it is sent off.
    matchers = st.multiselect(
        "Matchers: all must match",
        sorted({*proposed, *named}),
        default=list(proposed),
        key=f"silence-matchers {' '.join(proposed)}",
        format_func=visible,
        accept_new_options=True,
        filter_mode="contains",
        placeholder="such as group=~payments-.* or topic=orders",
        help="label=value, label!=value, label=~expression, label!~expression. Labels: rule, "
        "severity, cluster, group, topic, broker, name, connector, queue …",
    )
    with preview or st.container(gap="xxsmall"):
        said, names = silenced_by(matchers, firing)
        st.markdown(escape(said) if not names else f"**{escape(said)}**")
        every = what_it_silences(names, firing) if preview else [escape(thin(one)) for one in names]
        most = _LISTED if preview else _NAMED
        lines = [*every[:most], *([f"{len(every) - most} more"] if every[most:] else [])]
        if lines:
            st.markdown("\n".join(f"- {line}" for line in lines))
    with st.form("silence", border=False, clear_on_submit=False):
        with st.container(horizontal=True, gap="small"):
            length = st.selectbox("For", list(DURATIONS), index=2, width=130)
            said = components.author(view, "Who")
            comment = st.text_input("Why")
        if st.form_submit_button("Silence", type="primary"):
            try:
                number = alert_actions.silence(
                    view,
                    matchers,
                    seconds=DURATIONS[length].total_seconds(),
                    said=said,
                    comment=comment,
                )
                st.success(f"Silence {number} is made.")
            except (ValueError, AlertingError) as error:
                st.error(escape(str(error)))


def what_it_silences(names: Sequence[str], firing: Sequence[Alert]) -> list[str]:
    """Return a line for each thing that fires, first those that a silence would silence, marked.

    Args:
        names: What ``silenced_by`` found.
        firing: What fires.
    """
    others = Counter(one.what for one in each_once(firing))
    others.subtract(names)
    marked = [f"**{escape(thin(name))}** :gray-badge[silenced]" for name in names]
    return [*marked, *(escape(thin(name)) for name in others.elements())]


def silenced_by(matchers: Sequence[str], firing: Sequence[Alert]) -> tuple[str, list[str]]:
    """Say how many of the alerts that fire matchers would silence, or what is wrong with them.

    Returns:
        The sentence, and what these alerts are about.
    """
    if not matchers:
        return "Without a matcher nothing is silenced.", []
    try:
        parsed = [parse_matcher(text) for text in matchers]
    except ValueError as error:
        return str(error), []
    found = [alert.what for alert in each_once(one for one in firing if accept(parsed, one))]
    return f"Silences {len(found)} of {number_firing(firing)} now", found


def number_firing(firing: Sequence[Alert]) -> str:
    """Return how many alerts fire, as the page Alerts counts them: ``2 alerts that fire``."""
    return count(len(each_once(firing)), "alert that fires", "alerts that fire")


def matchers_of(alert: Alert) -> list[str]:
    """Return the matchers of a silence of one alert: its rule, and what it is about."""
    return [f'{label}="{value}"' for label, value in {"rule": alert.rule, **alert.labels}.items()]
