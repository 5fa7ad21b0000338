"""The choice of the cluster; as that of the time range, an entry of the history of the browser."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.data.context import View
from app.style.format import escape

CLUSTER = "cluster"
_UNKNOWN = "_unknown_cluster"


def draw(clusters: Sequence[str]) -> str:
    """Draw the choice of a cluster, and return the one that is chosen; it stands in the address.

    Args:
        clusters: Those that the viewer sees, of which the first is shown where none is chosen.
    """
    asked, kept = st.query_params.get(CLUSTER), st.session_state
    if asked in clusters and asked != kept.get(CLUSTER):
        kept[CLUSTER] = asked
    if kept.get(CLUSTER) not in clusters:
        kept[CLUSTER] = clusters[0]
    if asked is not None and asked not in clusters:
        kept[_UNKNOWN] = asked, kept[CLUSTER]
    return st.selectbox("Cluster", clusters, key=CLUSTER, on_change=_chosen)


def _chosen() -> None:
    st.query_params[CLUSTER] = st.session_state[CLUSTER]


def note_unknown(view: View) -> None:
    """Say that the address asks for a cluster that is not known, until the viewer chooses one."""
    asked, shown = st.session_state.get(_UNKNOWN, (None, None))
    if asked is None:
        return
    if view.cluster != shown:
        del st.session_state[_UNKNOWN]
        return
    st.warning(
        f"**The cluster {escape(asked)} is not known here.** It was removed from the configuration "
        f"or renamed, or is not open to you. This is **{escape(view.cluster)}**.",
        icon=":material/lan:",
    )
