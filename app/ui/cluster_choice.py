"""The choice of the cluster; as that of the time range, an entry of the history of the browser."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.data.context import View
from app.style.format import escape

CLUSTER = "cluster"


def draw(clusters: Sequence[str]) -> str:
    """Draw the choice of a cluster, and return the one that is chosen; it stands in the address.

    Args:
        clusters: Those that the viewer sees, of which the first is shown where none is chosen.
    """
    named, kept = st.query_params.get(CLUSTER), st.session_state
    last = kept.get(CLUSTER)
    # Set in each run, so that the browser is told in each; see range_choice.
    kept[CLUSTER] = next((one for one in (named, last) if one in clusters), clusters[0])
    return st.selectbox("Cluster", clusters, key=CLUSTER, on_change=_chosen)


def _chosen() -> None:
    if st.session_state[CLUSTER] is not None:
        st.query_params[CLUSTER] = st.session_state[CLUSTER]


def asked(view: View) -> str:
    """Return the cluster that the address names, known or not; else the one that is shown."""
    return st.query_params.get(CLUSTER, view.cluster)


def note_unknown(view: View) -> None:
    """Say that the address names a cluster that is not known, as long as it does."""
    name = asked(view)
    if name == view.cluster:
        return
    st.warning(
        f"**The cluster {escape(name)} is not known here.** It was removed from the configuration "
        f"or renamed, or is not open to you. This is **{escape(view.cluster)}**.",
        icon=":material/lan:",
    )
