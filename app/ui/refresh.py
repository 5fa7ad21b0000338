"""When a page is drawn again: after each evaluation, and in time for what a clock changes."""

from __future__ import annotations

import time

import streamlit as st

from app.data import context, present
from app.data.context import View

LONGEST_SECONDS = 15.0
"""A page is drawn again after this at the latest: ages go on, and others acknowledge alerts."""

_EARLY = 0.9
"""A timer in a browser may come a little early."""
_DRAWN = "_drawn"


def keep_fresh(view: View, seconds: float | None) -> None:
    """Look from time to time whether the page has to be drawn again.

    Args:
        view: The frame of the page, which is about to be drawn.
        seconds: How often; None: never.
    """
    # Before the page reads anything: what changes meanwhile is seen the next time.
    st.session_state[_DRAWN] = time.monotonic(), present.stamp(view)
    st.fragment(_look, run_every=seconds)(seconds)


def soon() -> None:
    """Have the page drawn again at the next look: it waits for what is being worked out."""
    at, _ = st.session_state[_DRAWN]
    st.session_state[_DRAWN] = at, None


def longest(seconds: float) -> float:
    """Return how long a page stands at most when it is looked at so often."""
    return max(seconds, LONGEST_SECONDS) + seconds


def is_due(ago: float, seconds: float, *, has_changed: bool) -> bool:
    """Return whether a page has to be drawn again.

    Args:
        ago: How long ago it was drawn, in seconds.
        seconds: How often it may be.
        has_changed: Whether the cluster was evaluated since.
    """
    return ago >= _EARLY * (seconds if has_changed else max(seconds, LONGEST_SECONDS))


def _look(seconds: float | None) -> None:
    """Draw the whole page again when that is due; this itself draws nothing."""
    at, stamp = st.session_state[_DRAWN]
    ago = time.monotonic() - at
    if seconds is None or not is_due(ago, seconds, has_changed=True):
        return
    view = context.current().anew()
    if is_due(ago, seconds, has_changed=present.stamp(view) != stamp):
        # Streamlit takes up what the viewer did meanwhile where something is drawn; st.rerun()
        # alone would go back to this page and lose a click on the menu.
        st.empty()
        st.rerun()
