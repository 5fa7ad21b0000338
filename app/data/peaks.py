"""Which groups had most messages waiting in the chosen range, whatever waits now."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app.data import present
from app.data.context import View
from app.data.history import WITHOUT_GENERATED
from app.data.time_range import TimeRange
from lake.schemas.current import GROUP_COURSE, GROUP_STATUS
from lake.schemas.grain import Grain
from lake.schemas.model import moment
from lake.schemas.tables import GROUP_HISTORY

_BY_MINUTE = timedelta(hours=2)
"""Of a longer range most is read by the hour: of 10,000 groups a day has 14 million minutes."""


def highest_lag(view: View, limit: int) -> list[str]:
    """Return the groups with the highest peaks of lag, the highest first.

    They are those of history. Where the range ends now, what the newest evaluations found counts,
    too; where history has nothing, that alone.

    Args:
        view: The frame of the page.
        limit: How many groups are named at most.

    Raises:
        LakeError: A table cannot be read.
    """
    found = _of_history(view.cache_key, view.cluster, view.range, view.start, limit, view)
    if found.is_empty() or view.until >= view.now - timedelta(minutes=1):
        waiting = pl.max_horizontal("lag", "known_lag").alias("peak")
        status = present.rows(view, GROUP_STATUS).select("group", waiting)
        course = present.rows(view, GROUP_COURSE).select("group", pl.col("lag").alias("peak"))
        found = highest(pl.concat([found, status, course], how="vertical_relaxed"), limit)
    return found["group"].to_list()


def highest(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Return each ``group`` once with its highest ``peak``, the highest first; unknown are last."""
    peaks = rows.group_by("group").agg(pl.col("peak").max())
    return peaks.sort("peak", "group", descending=[True, False], nulls_last=True).head(limit)


def read_at(chosen: TimeRange, start: datetime, until: datetime) -> pl.Expr:
    """Return which rows of a history tell the peaks of a range, at as coarse a grain as can be.

    Its first minutes are of an hour that began before it, and its last hours may not be there yet.
    """
    grain = pl.col("grain_seconds")
    if chosen.grain is not Grain.MINUTE or until - start <= _BY_MINUTE:
        return grain == chosen.grain.seconds
    hour, at = timedelta(hours=1), pl.col("window_start")
    first = start + timedelta(seconds=-start.timestamp() % hour.total_seconds())
    is_hour = (at >= moment(first)) & (at <= moment(until - hour))
    is_beside = (at < moment(first)) | (at >= moment(until - _BY_MINUTE))
    minutes, hours = Grain.MINUTE.seconds, Grain.HOUR.seconds
    return ((grain == hours) & is_hour) | ((grain == minutes) & is_beside)


# History by the minute has another row a minute.
@st.cache_resource(ttl=60, max_entries=64, show_spinner=False)
def _of_history(
    uri: str, cluster: str, chosen: TimeRange, start: datetime, limit: int, _view: View
) -> pl.DataFrame:
    frame = _view.lake.scan(GROUP_HISTORY, since=start, until=chosen.end, cluster=cluster)
    lag, is_generated = pl.col("lag_max"), pl.col("generated").fill_null(value=False)
    rows = frame.filter(read_at(chosen, start, _view.until), lag.is_not_null())
    peaks = rows.group_by("group").agg(
        lag.max().alias("peak"), lag.filter(~is_generated).max().alias("measured")
    )
    found = _view.lake.collect(GROUP_HISTORY, peaks)
    # As ``history.observed`` draws them.
    if chosen.length <= WITHOUT_GENERATED:
        measured = found.drop_nulls("measured")
        if not measured.is_empty() or chosen.end is None:
            found = measured.with_columns(peak=pl.col("measured"))
    return highest(found.select("group", "peak"), limit)
