"""How late the history of a cluster is: one answer for the status bar, the charts and Health."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app.data import present
from app.data.context import View
from app.data.history import behind
from lake.errors import LakeError
from lake.schemas.current import CLUSTER_STATUS
from lake.schemas.grain import Grain
from lake.schemas.tables import CLUSTER_HISTORY

_LOOK_BACK = (timedelta(hours=1), timedelta(hours=26))


def late_by(view: View) -> timedelta | None:
    """Return how far history is behind the newest poll; None where that is usual, or not known."""
    minute = int(view.now.timestamp() // 60)
    try:
        polled_at = present.rows(view, CLUSTER_STATUS)["newest_poll_at"].max()
        newest = _newest_minute(view.cache_key, view.cluster, minute, view)
    except LakeError:
        return None  # what is drawn from it says so
    if newest is None or not isinstance(polled_at, datetime):
        return None
    return behind(newest, polled_at)


# History gains a minute a minute.
@st.cache_data(ttl=300, max_entries=64, show_spinner=False)
def _newest_minute(uri: str, cluster: str, minute: int, _view: View) -> datetime | None:
    for length in _LOOK_BACK:
        rows = _view.lake.read(
            CLUSTER_HISTORY,
            pl.col("grain_seconds") == Grain.MINUTE.seconds,
            since=_view.now - length,
            cluster=cluster,
            columns=["window_start"],
        )
        newest = rows["window_start"].max()
        if isinstance(newest, datetime):
            return newest
    return None
