"""What is usual at an hour of the week, what was before, and what has changed for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal

import polars as pl
import streamlit as st

from app.data import history_queries, queries
from app.data.context import View
from app.data.history import TIME, Measure
from app.style.charts.lines import Band, Ghost
from app.style.format import clock, rate, short
from app.ui import components
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.schemas.tables import CHANGES, GROUP_HISTORY, LAG_ANOMALIES, SEASONALITY

_NONE, _HOUR, _DAY = timedelta(), timedelta(hours=1), timedelta(days=1)
_WEEK = timedelta(days=7)
_RATES = {"arrival_per_second": "arriving", "consumption_per_second": "consumed"}
_HOURS_NAMED = 3
_FAR = 2.0
"""A value is far off what is usual beyond so many times of it, and below that part of it."""
_LAG_SECONDS, _LEAST_LAG = 10.0, 10.0
"""A lag of fewer messages, or of what arrives in less time, is never far above what is usual."""
_BEFORE = {"yesterday": timedelta(days=1), "last week": timedelta(days=7)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What a value is at an hour of the week, in its unit."""

    low: float  # 5 % quantile
    median: float
    high: float  # 95 % quantile
    is_generated: bool = False  # whether generated history is behind it

    @property
    def whose(self) -> str:
        """Say what the values are of: what was generated is not called usual."""
        return "generated history:" if self.is_generated else "usually"

    def holds(self, value: float) -> bool:
        """Return whether a value is as usual: in the band, or not far off its median."""
        is_near = self.median / _FAR < value < self.median * _FAR
        return self.low <= value <= self.high or is_near


def season(view: View, subject: str, name: str, metric: str) -> pl.DataFrame:
    """Return the rows of ``seasonality`` of a series; none where there is too little history."""
    with components.guarded():
        rows = queries.derived(view, SEASONALITY, subject=subject, name=name, metric=metric)
        return rows.filter(pl.col("hour_of_week").is_not_null(), pl.col("p05").is_not_null())
    return SEASONALITY.empty


def usual(rows: pl.DataFrame, at: datetime) -> Usual | None:
    """Return what is usual at a moment; None: not known.

    Args:
        rows: Rows of ``seasonality`` of one series.
        at: The moment, in UTC.
    """
    hour = at.weekday() * 24 + at.hour
    known = rows.filter(pl.col("hour_of_week") == hour)
    for low, median, high, generated in known.select("p05", "p50", "p95", "generated").iter_rows():
        return Usual(low=low, median=median, high=high, is_generated=bool(generated))
    return None


def delta(
    known: Usual | None, value: float | None, otherwise: str, part: str | None = None
) -> tuple[str, Literal["orange", "violet", "off"]]:
    """Return the clause below a rate: ``usually 43/s``, and its colour: amber where it is far off.

    Args:
        known: What is usual now; None: not known.
        value: The rate now, messages per second.
        otherwise: The clause where nothing is known to be usual.
        part: What it is the rate of, where that is not all: the clause is this.
    """
    if part:
        return part, "violet"
    if known is None or value is None:
        return otherwise, "off"
    return f"{known.whose} {rate(known.median)}", "off" if known.holds(value) else "orange"


def lag_delta(
    known: Usual | None, lag: float | None, arrival_per_second: float | None
) -> tuple[str, Literal["orange", "off"]]:
    """Return the clause below a lag, ``usually up to 458``: amber where it is far above that.

    Args:
        known: What the highest lag of an hour usually is now; None: not known.
        lag: The messages that wait now.
        arrival_per_second: How much arrives: what comes in seconds is little, whatever is usual.
    """
    if known is None:
        return "messages waiting", "off"
    little = max(_LEAST_LAG, _LAG_SECONDS * (arrival_per_second or 0.0))
    is_far = lag is not None and lag > _FAR * max(known.high, little)
    return f"{known.whose} up to {short(known.high)}", "orange" if is_far else "off"


def unusual(view: View, group: str) -> str | None:
    """Say in which hours of the last day a group's lag lay far above what is usual, worst first.

    Hours of generated history are left out: nobody measured them.
    """
    rows = LAG_ANOMALIES.empty
    with components.guarded():
        rows = queries.derived(view, LAG_ANOMALIES, group=group)
        past = history_queries.past_day(view, GROUP_HISTORY, "group", group)
        if past.generated_until is not None:
            rows = rows.filter(pl.col("window_start") >= past.generated_until)
    rows = rows.filter(pl.col("window_start") >= view.now - _DAY).sort("score", descending=True)
    found = [
        f"{clock(row['window_start'], view.zone, now=view.now)}: up to {short(row['lag_max'])}, "
        f"usually {short(row['usual'])}"
        for row in rows.head(_HOURS_NAMED).iter_rows(named=True)
    ]
    more = f"; {rows.height - len(found)} more" if rows.height > len(found) else ""
    return f"Unusual hours of the last day: {'; '.join(found)}{more}." if found else None


def draw_changes(view: View, subject: str, name: str) -> None:
    """Draw a line on what has changed for good within a week; nothing where nothing has."""
    rows = CHANGES.empty
    with components.guarded():
        rows = queries.derived(view, CHANGES, subject=subject, name=name)
    said = changed(rows, view.now, view.zone)
    if said:
        st.caption(said)


def changed(rows: pl.DataFrame, now: datetime, zone: tzinfo) -> str | None:
    """Say how the rates of a series have changed within a week, the newest first.

    Args:
        rows: Rows of ``changes`` of one series.
        now: The present.
        zone: The viewer's.
    """
    recent = rows.filter(pl.col("changed_at") >= now - _WEEK, pl.col("metric").is_in(list(_RATES)))
    found = [
        f"{_RATES[row['metric']]} {rate(row['before'])} before "
        f"{clock(row['changed_at'], zone, now=now)}, {rate(row['after'])} "
        + ("after it" if row["kind"] == "step" else f"of late{_times_as_much(row)}")
        + (" (generated history)" if row["generated"] else "")
        for row in recent.sort("changed_at", "metric", descending=[True, False]).iter_rows(
            named=True
        )
    ]
    return f"Changed within a week: {'; '.join(found)}" if found else None


def _times_as_much(row: Mapping[str, Any]) -> str:
    """Return the factor between the two rates that are shown; nothing where there was none."""
    return f", {row['after'] / row['before']:.2g} times as much" if row["before"] else ""


def band(rows: pl.DataFrame, view: View, *, least: float | None = None) -> Band | None:
    """Return the band of what is usual in the chosen range: a level an hour, or a point.

    One value of each hour is known: among points shorter than that it is a step.

    Null at an hour of which nothing is known. None where none is, and for ranges whose points are
    days.

    Args:
        rows: Rows of ``seasonality`` of one series.
        view: The frame of the page.
        least: Where the band begins for points shorter than an hour, of a series of the highest
            value of each hour: most minutes lie below it.
    """
    if rows.is_empty() or view.range.grain is Grain.DAY:
        return None
    is_hourly = view.range.grain is Grain.HOUR
    begin = None if is_hourly else least
    first = view.start.replace(minute=0, second=0, microsecond=0)
    hours = int((view.until - first) / _HOUR) + 1
    # An hour stands where that of the line beside it does, one more on either side so that no edge
    # lies bare; or it fills its hour among finer points.
    places, ends = (range(-1, hours + 1), (_HOUR,)) if is_hourly else (range(hours), (_NONE, _HOUR))
    found = [(first + place * _HOUR, usual(rows, first + place * _HOUR)) for place in places]
    frame = pl.DataFrame(
        [
            (at + end, *edges)
            for at, one in found
            for edges in [(one.low if begin is None else begin, one.high) if one else (None, None)]
            for end in ends
        ],
        schema={TIME: pl.Datetime("us", "UTC"), "low": pl.Float64(), "high": pl.Float64()},
        orient="row",
    )
    if not frame["high"].count():
        return None
    is_generated = bool(rows["generated"].fill_null(value=False).any())
    return Band(frame=frame, name=named("usual", is_generated=is_generated))


def named(name: str, *, is_generated: bool) -> str:
    """Return the name of what is compared with, which says where that was generated."""
    return f"{name} (generated history)" if is_generated else name


def choice() -> str | None:
    """Draw the choice of what to compare with; None: nothing."""
    return st.segmented_control(
        "Compare with",
        list(_BEFORE),
        key="compare",
        bind="query-params",
        label_visibility="collapsed",
        help="A dotted line: the same hours a day or a week before.",
    )


def ghost(
    view: View, before: str | None, table: Table, key: str, name: str, measure: Measure
) -> Ghost | None:
    """Return a value's course a day or a week before; None where nothing is to be compared."""
    if before not in _BEFORE:
        return None
    with components.guarded():
        rows, is_generated = history_queries.earlier(
            view, table, key, name, measure, _BEFORE[before]
        )
        return Ghost(
            frame=rows,
            name=named(before, is_generated=is_generated),
            step_seconds=view.range.step_seconds,
        )
    return None
