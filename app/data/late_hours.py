"""How long groups missed their objective, for the page Week."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import polars as pl
import streamlit as st

from alerting.inputs.facts import slowest_first
from app.data import present
from app.data.context import View
from lake.schemas.current import GROUP_STATUS
from lake.schemas.grain import Grain
from lake.schemas.tables import CLUSTER_HISTORY, GROUP_HISTORY

_HISTORY_DELAY = timedelta(days=1)
"""A history that lags by more tells of itself on every page."""
_HOUR = timedelta(seconds=Grain.HOUR.seconds)
_IS_MEASURED = pl.col("generated").fill_null(value=False).not_()


class LateHours(NamedTuple):
    """For how long groups missed their objective."""

    rows: pl.DataFrame  # see ``by_group``
    until: datetime | None  # the end of the last minute that is counted; None: not known
    first: datetime | None = None  # the first moment that was measured; None: none is in history


def over_objective(view: View, start: datetime, end: datetime) -> LateHours:
    """Return for how long each group missed its objective.

    Raises:
        LakeError: The table cannot be read.
    """
    first = start.replace(minute=0, second=0, microsecond=0)
    scaling = view.settings.scaling
    return _over_objective(
        view.cache_key, view.cluster, scaling.model_dump_json(), first, end, view
    )


def over_now(view: View) -> pl.DataFrame:
    """Return the groups that miss their objective at present, those furthest behind first.

    Returns:
        As ``by_group``: the worst time lag is that of now, and for how long it was missed is not
        known.

    Raises:
        LakeError: The table cannot be read.
    """
    objective = view.settings.scaling.objective_seconds
    known = slowest_first(present.rows(view, GROUP_STATUS)).filter(
        pl.col("time_lag_seconds").is_not_null()
    )
    wanted = pl.Series("objective_seconds", map(objective, known["group"]), dtype=pl.Float64)
    return (
        known.with_columns(wanted)
        .filter(pl.col("time_lag_seconds") > pl.col("objective_seconds"))
        .select(
            "group",
            "objective_seconds",
            pl.lit(None, pl.Float64).alias("over_seconds"),
            pl.lit(0, pl.Int64).alias("whole_hours"),
            pl.col("time_lag_seconds").alias("worst_seconds"),
            pl.col("evaluated_at").alias("worst_at"),
            pl.lit(value=False).alias("is_generated"),
        )
    )


# Keyed by the first hour: the end moves on with each drawing. A week of many groups is large: what
# is kept is what it comes to.
@st.cache_data(ttl=300, max_entries=8, show_spinner=False)
def _over_objective(
    uri: str, cluster: str, scaling: str, start: datetime, _end: datetime, _view: View
) -> LateHours:
    settings = _view.settings.scaling
    wanted = [settings.time_lag_seconds, *(one.time_lag_seconds for one in settings.objectives)]
    # An hour is written when it is over, and kept longer than its minutes.
    hours, minutes = (
        _view.lake.read(
            GROUP_HISTORY,
            pl.col("grain_seconds") == grain.seconds,
            pl.col("time_lag_seconds_max") > min(wanted),
            since=start,
            until=_end,
            cluster=cluster,
            columns=[
                *("group", "grain_seconds", "window_start"),
                *("time_lag_seconds_max", "generated"),
            ],
        )
        for grain in (Grain.HOUR, Grain.MINUTE)
    )

    def written(grain: Grain, since: datetime, until: datetime) -> pl.DataFrame:
        return _view.lake.read(
            CLUSTER_HISTORY,
            pl.col("grain_seconds") == grain.seconds,
            since=since,
            until=until,
            cluster=cluster,
            columns=["grain_seconds", "window_start", "generated"],
        )

    # Of groups that are in time nothing was read: the cluster's rows tell how far history goes.
    newest: Any = written(Grain.MINUTE, _end - _HISTORY_DELAY, _end)["window_start"].max()
    last_late: Any = minutes["window_start"].max()
    if newest is not None and last_late is not None:
        newest = max(newest, last_late)  # rows of groups are written first
    of_cluster = written(Grain.HOUR, start, _end)
    first_minutes = written(Grain.MINUTE, *first_minute_between(of_cluster, start, _end))
    return LateHours(
        by_group(pl.concat([hours, minutes]), settings.objective_seconds),
        None if newest is None else newest + timedelta(seconds=Grain.MINUTE.seconds),
        first_measured(pl.concat([of_cluster, first_minutes])),
    )


def first_minute_between(
    hours: pl.DataFrame, start: datetime, end: datetime
) -> tuple[datetime, datetime]:
    """Return between when the first minute lies that was measured, if any was.

    Args:
        hours: Of a history by the hour: window_start and generated.
        start: The first hour that was asked for.
        end: Until when.
    """
    first = hours.filter(_IS_MEASURED)["window_start"].min()
    if isinstance(first, datetime):
        # An hour that is generated in part counts as generated: measured minutes may end it.
        return max(start, first - _HOUR), first + _HOUR
    last = hours["window_start"].max()
    return last if isinstance(last, datetime) else start, end


def first_measured(rows: pl.DataFrame) -> datetime | None:
    """Return the first moment that was measured; None where none was.

    Args:
        rows: Of a history by the hour and the minute: grain_seconds, window_start and generated.
    """
    times = rows.filter(_IS_MEASURED).group_by("grain_seconds")
    first = dict(times.agg(pl.col("window_start").min()).iter_rows())
    hour, minute = (first.get(grain.seconds) for grain in (Grain.HOUR, Grain.MINUTE))
    # An hour is whole by its name alone: its first minute is nearer to the truth, if it is kept.
    if hour is None or (minute is not None and minute - hour < _HOUR):
        hour = minute
    return hour if isinstance(hour, datetime) else None


def by_group(rows: pl.DataFrame, objective: Callable[[str], float]) -> pl.DataFrame:
    """Return for how long each group missed its objective, the longest first.

    A minute or an hour counts where it was missed at some moment; an hour only where none of its
    minutes is known to count.

    Args:
        rows: Rows of ``group_history`` by the hour and the minute: group, grain_seconds,
            window_start, time_lag_seconds_max and generated.
        objective: The highest wanted time lag of a group, in seconds.

    Returns:
        ``group``, ``objective_seconds``; ``over_seconds``, for how long it was missed, and
        ``whole_hours``, how many hours of that; ``worst_seconds`` and ``worst_at``;
        ``is_generated``, whether generated history is in it.
    """
    names = rows["group"].unique()
    wanted = pl.DataFrame(
        {"group": names, "objective_seconds": pl.Series(map(objective, names), dtype=pl.Float64)}
    )
    # A week has a million rows and more: they are not joined where all groups have one objective.
    if wanted["objective_seconds"].n_unique() == 1:
        known = rows.with_columns(pl.lit(wanted["objective_seconds"][0]).alias("objective_seconds"))
    else:
        known = rows.join(wanted, on="group")
    late = known.filter(pl.col("time_lag_seconds_max") > pl.col("objective_seconds"))
    is_minute = pl.col("grain_seconds") == Grain.MINUTE.seconds
    minutes, hours = late.filter(is_minute), late.filter(~is_minute)
    # Of a week, the hours are many and those with minutes are few: only these are compared.
    counted = minutes.select("group", pl.col("window_start").dt.truncate("1h")).unique()
    may_count = pl.col("window_start").is_in(counted["window_start"].unique().implode())
    without_minutes = hours.filter(may_count).join(counted, on=counted.columns, how="anti")
    return (
        pl.concat([hours.filter(~may_count), without_minutes, minutes])
        .group_by("group")
        .agg(
            pl.col("objective_seconds").first(),
            pl.col("grain_seconds").sum().cast(pl.Float64).alias("over_seconds"),
            (~is_minute).sum().cast(pl.Int64).alias("whole_hours"),
            pl.col("time_lag_seconds_max").max().alias("worst_seconds"),
            pl.col("window_start").get(pl.col("time_lag_seconds_max").arg_max()).alias("worst_at"),
            pl.col("generated").fill_null(value=False).any().alias("is_generated"),
        )
        .sort("over_seconds", "worst_seconds", "group", descending=[True, True, False])
    )
