"""The alerts of a time, read once an evaluation for all parts of a page that tell of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from alerting.rules.lifecycle import Alert
from app.data import alert_store, present
from app.data.context import View
from app.data.time_range import TimeRange


def overlapping(view: View, over: TimeRange) -> Sequence[Alert] | None:
    """Return the alerts of the cluster and of the sources beside it, pending ones too.

    Args:
        view: The frame of the page.
        over: The time that they overlap with.

    Returns:
        The alerts; None where no service keeps any.

    Raises:
        AlertingError: The alert store cannot be read.
    """
    clusters = (view.cluster, *view.sources_beside)
    kept = _overlapping(view.cache_key, clusters, over, present.stamp(view), view)
    since = over.start(view.now).timestamp()
    # A range that ends now has moved on since.
    return kept and [one for one in kept if one.resolved_at is None or one.resolved_at >= since]


# Alerts begin and end with an evaluation.
@st.cache_resource(max_entries=64, show_spinner=False)
def _overlapping(
    key: str, clusters: tuple[str, ...], over: TimeRange, stamp: float, _view: View
) -> Sequence[Alert] | None:
    store = alert_store.open_store(_view)
    if store is None:
        return None
    start, until = (one.timestamp() for one in (over.start(_view.now), over.until(_view.now)))
    return store.around(start, until, clusters)
