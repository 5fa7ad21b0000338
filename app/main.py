"""The dashboard's frame: menu, choice of cluster and time range, refresh, age of the data."""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parent.parent)
if _ROOT not in sys.path:  # Streamlit puts this file's folder there, not the project's
    sys.path.insert(0, _ROOT)

import streamlit as st  # noqa: E402 (the path comes first, here and below)

from app.data import configuration, context, present, queries  # noqa: E402
from app.style.format import duration  # noqa: E402
from app.ui import cluster_choice, components, range_choice, refresh, routes  # noqa: E402
from app.ui.browser import zoom  # noqa: E402
from app.ui.frame import empty_states, login, status_bar  # noqa: E402
from config.errors import ConfigError  # noqa: E402

_TITLED = "_titled"

st.set_page_config(
    # Later the tab keeps its title until the page gives it another one.
    page_title=None if _TITLED in st.session_state else "Headroom",
    page_icon=Path(__file__).with_name("icon.svg"),
    layout="wide",
    initial_sidebar_state=264,
)
try:
    settings = configuration.settings()
except ConfigError as error:
    empty_states.misconfigured(error)
    st.stop()

viewer = login.viewer(settings.app)
pages = routes.all_pages(with_queues=bool(settings.rabbitmq))
page = st.navigation(pages, expanded=True)
clusters = context.seen_clusters(settings, viewer)
if not clusters:
    empty_states.no_cluster()
    st.stop()
with st.sidebar:
    cluster = cluster_choice.draw(clusters)
    now, zone = context.utc_now(), context.viewer_zone()
    has_range = not routes.has_own_time(page)
    minute_days = settings.lake.retention.minute_days
    chosen = range_choice.draw(now, zone, minute_days, is_offered=has_range)
    if st.button("Refresh now", icon=":material/refresh:", type="tertiary"):
        st.cache_data.clear()
        queries.forget()
    login.draw(viewer)
    every = None if range_choice.is_paused() else settings.app.refresh_seconds
    st.caption("Paused." if every is None else f"Looks for news every {duration(every)}.")

# Streamlit dims what it draws again; on a page that is always drawn again that is a flicker. Its
# captions are too pale to read for many: 4.5 to 1 is what WCAG 2.2 (1.4.3) asks for.
st.html(
    "<style>[data-stale='true'] {opacity: 1 !important; transition: none !important} "
    "[data-testid='stCaptionContainer'] {opacity: 0.9 !important} "
    # A title belongs to what is below it, and charts to the first screen.
    "[data-testid='stMain'] [data-testid='stHeading'] h1 {padding: 0.25rem 0 0.5rem} "
    "[data-testid='stHeading'] h2 {padding-top: 0.5rem} "
    # What is said below a table is close to it, and the link to its file small.
    "[data-testid='stDownloadButton'] [data-testid='stBaseButton-tertiary'] "
    "{min-height: 1.5rem; padding-top: 0; padding-bottom: 0; font-size: 0.875rem} "
    # A finger does not hover: icons for it would lie over headings for good. The arrows that open
    # the menu say what else is there.
    "@media (hover: none) {[data-testid='stElementToolbar'] {display: none}} "
    # What ends a page needs little below it.
    "[data-testid='stMain'] [data-testid='stMainBlockContainer'] {padding-bottom: 2.5rem} "
    # The choice of the time range needs no wider menu.
    "[data-testid='stSidebar'] [data-testid='stButtonGroup'] button "
    "{padding-left: 0.4rem; padding-right: 0.4rem} "
    # Tables and charts need the room that the margins of a text take.
    "@media (min-width: 641px) {[data-testid='stMain'] [data-testid='stMainBlockContainer'] "
    "{padding-left: 2.5rem; padding-right: 2.5rem}} "
    "@media (max-width: 640px) {[data-testid='stExpandSidebarButton']::after "
    "{content: 'Menu, cluster, time'; font-size: 0.9rem; white-space: nowrap} "
    "[data-testid='stMain'] [data-testid='stMainBlockContainer'] {padding-top: 3rem}}</style>"
)
components.begin_page()
view = context.open_view(
    settings,
    viewer,
    queries.open_lake(settings.lake, viewer),
    cluster,
    chosen,
    now,
    has_range=has_range,
)
present.hold(view)
# Both before the page: one that ends early is drawn again like any other. What they draw has no
# height, and without a gap a refresh moves nothing.
with st.container(gap=None):
    refresh.keep_fresh(view, every)
    zoom.draw(view, page.url_path, offers_range=has_range)
# A page about one thing names it in its title; until that is read, its kind stands there.
if not routes.names_its_tab(page) or st.session_state.get(_TITLED) != page.url_path:
    components.tab_title(view, page.title)
st.session_state[_TITLED] = page.url_path
newest_poll = status_bar.draw(view, pages, shows_range=has_range)
if newest_poll is not None and newest_poll.at is None:
    empty_states.no_samples(view)
elif routes.shows_the_present(page) and not present.is_known(view):
    empty_states.not_evaluated(view)
else:
    page.run()
