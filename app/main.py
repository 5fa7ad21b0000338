"""The dashboard's frame: menu, choice of cluster and time range, refresh, age of the data."""

from __future__ import annotations

import sys
import time
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parent.parent)
if _ROOT not in sys.path:  # Streamlit puts this file's folder there, not the project's
    sys.path.insert(0, _ROOT)

import streamlit as st  # noqa: E402 (the path comes first, here and below)

from app.data import present, queries  # noqa: E402
from app.data.context import open_view, seen_clusters  # noqa: E402
from app.data.time_range import DEFAULT_RANGE, RANGES  # noqa: E402
from app.style.format import duration  # noqa: E402
from app.ui import components, empty_states, login, routes, status_bar  # noqa: E402
from config.errors import ConfigError  # noqa: E402
from config.load import load_from_environment  # noqa: E402

_DRAWN_AT = "_drawn_at"


def _keep_fresh(seconds: float) -> None:
    """Draw the whole page again when its time has come; the timer itself draws nothing."""
    if time.monotonic() - st.session_state[_DRAWN_AT] >= seconds * 0.9:
        # Streamlit takes up what the viewer did meanwhile where something is drawn; st.rerun()
        # alone would go back to this page and lose a click on the menu.
        st.empty()
        st.rerun()


st.set_page_config(
    page_title="Headroom",
    page_icon=Path(__file__).with_name("icon.svg"),
    layout="wide",
    initial_sidebar_state=280,
)
st.session_state[_DRAWN_AT] = time.monotonic()
try:
    settings = load_from_environment()
except ConfigError as error:
    empty_states.misconfigured(error)
    st.stop()

viewer = login.viewer(settings.app)
page = st.navigation(routes.all_pages(with_queues=bool(settings.rabbitmq)), expanded=True)
st.set_page_config(page_title=f"{page.title} · Headroom")
clusters = seen_clusters(settings, viewer)
if not clusters:
    empty_states.no_cluster()
    st.stop()
empty_states.note_unknown_cluster(clusters)
with st.sidebar:
    st.selectbox("Cluster", clusters, key="cluster", bind="query-params")
    # The address holds what the choice shows, so the choice shows the ranges' short names.
    st.segmented_control(
        "Time range",
        list(RANGES),
        default=DEFAULT_RANGE,
        required=True,
        key="range",
        bind="query-params",
        width="stretch",
        wrap=False,
    )
    if st.button("Refresh now", icon=":material/refresh:", type="tertiary"):
        st.cache_data.clear()
    login.draw(viewer)
    st.caption(f"Reads the lake every {duration(settings.app.refresh_seconds)}.")

# Before the page: one that ends early is drawn again like any other.
st.fragment(_keep_fresh, run_every=settings.app.refresh_seconds)(settings.app.refresh_seconds)
# Streamlit dims what it draws again; on a page that is always drawn again that is a flicker.
st.html("<style>[data-stale='true'] {opacity: 1 !important; transition: none !important}</style>")
components.begin_page()
view = open_view(
    settings,
    viewer,
    queries.open_lake(settings.lake, viewer),
    st.session_state["cluster"],
    st.session_state["range"],
)
newest_poll = status_bar.draw(view)
if newest_poll is not None and newest_poll.at is None:
    empty_states.no_samples(view)
elif routes.shows_the_present(page) and not present.is_known(view):
    empty_states.not_evaluated(view)
else:
    with components.guarded():
        st.set_page_config(page_title=f"{status_bar.needs(view)}{page.title} · Headroom")
    page.run()
