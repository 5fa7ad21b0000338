"""The hours in which groups were late, for the report of a week."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import streamlit as st

from app.data.context import View
from lake.schemas.grain import Grain
from lake.schemas.tables import GROUP_HISTORY


def late_hours(view: View, start: datetime, end: datetime) -> pl.DataFrame:
    """Return the hours between two moments in which a group may have missed its objective.

    Returns:
        Of ``group_history``: group, window_start, time_lag_seconds_max and generated, where the
        time lag was above the lowest objective.

    Raises:
        LakeError: The table cannot be read.
    """
    first = start.replace(minute=0, second=0, microsecond=0)
    return _late_hours(view.cache_key, view.cluster, first, end, view)


# Keyed by the first hour: the end moves on with each drawing.
@st.cache_data(ttl=300, max_entries=8, show_spinner=False)
def _late_hours(
    uri: str, cluster: str, start: datetime, _end: datetime, _view: View
) -> pl.DataFrame:
    scaling = _view.settings.scaling
    wanted = [scaling.time_lag_seconds, *(one.time_lag_seconds for one in scaling.objectives)]
    return _view.lake.read(
        GROUP_HISTORY,
        pl.col("grain_seconds") == Grain.HOUR.seconds,
        pl.col("time_lag_seconds_max") > min(wanted),
        since=start,
        until=_end,
        cluster=cluster,
        columns=["group", "window_start", "time_lag_seconds_max", "generated"],
    )
