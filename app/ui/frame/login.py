"""Who is logged in: asked before anything is read."""

from __future__ import annotations

import logging
import time

import streamlit as st

from app.data.viewer import Viewer, is_over, viewer_of
from app.style.format import escape
from config.app import AppSettings, AuthSettings

_log = logging.getLogger(__name__)


def viewer(settings: AppSettings) -> Viewer:
    """Return who looks at the page; where nobody may, draw why and end the run."""
    refused = settings.refusal(st.get_option("server.address"))
    if refused is not None:
        _log.error("%s", refused)
        _stop("Headroom does not serve other machines without a login", refused)
    if settings.auth is None:
        return Viewer()
    if not _is_handed_over(settings.auth):
        _stop(
            "Login is not set up",
            "app.auth is configured, and the dashboard was not started by "
            "python -m app --config FILE, which hands it to Streamlit.",
        )
    claims = st.user.to_dict()
    if not claims.get("is_logged_in"):
        _ask("Log in to see the dashboard.")
    if is_over(claims, settings.auth, time.time()):
        _ask("The session has ended.")
    found = viewer_of(claims, settings.auth)
    if not found.roles:
        st.title("You have no role here", anchor=False)
        st.markdown(
            f"{escape(found.name or 'The provider gave no name')}: the claim "
            f"**{escape(settings.auth.claim)}** names none of the configured roles. "
            "Ask who runs this dashboard."
        )
        _log_out()
        st.stop()
    return found


def draw(one: Viewer) -> None:
    """Draw who is logged in, with the way out."""
    if one.roles is None:
        return
    roles = ", ".join(role.name for role in one.roles)
    st.caption(f"{escape(one.name or '')} ({escape(roles)})")
    _log_out()


def _is_handed_over(auth: AuthSettings) -> bool:
    """Return whether Streamlit signs its cookies with our secret."""
    try:
        given = st.secrets["auth"]["cookie_secret"]
    except (KeyError, FileNotFoundError):
        return False
    return bool(given == auth.cookie_secret.get_secret_value())


def _ask(why: str) -> None:
    st.title("Headroom", anchor=False)
    st.markdown(why)
    st.button("Log in", on_click=st.login, type="primary")
    st.stop()


def _log_out() -> None:
    st.button("Log out", on_click=st.logout, type="tertiary", icon=":material/logout:")


def _stop(title: str, reason: str) -> None:
    st.title(title, anchor=False)
    st.error(escape(reason), icon=":material/lock:")
    st.stop()
