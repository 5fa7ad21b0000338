"""Figures behind advice: load against capacity, the forecast, the skew, a what-if."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import plotly.graph_objects as go
import polars as pl

from app.style.charts.base import Axis, Plot, outline, plot, put_ground, put_time_ticks, with_gaps
from app.style.theme import Palette

HEIGHT = 150
"""Of each figure of advice: they stand beside each other."""

_HOUR = timedelta(hours=1)
_FURTHER_LINE = 16
"""Of words below the plot, beside those of ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What the busiest consumer gets with a number of consumers."""

    consumers: int
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What one consumer can process, messages per second; None is unknown."""

    low: float | None  # lower end of the 90 % interval
    high: float | None  # its upper end
    per_second: float | None


def load_chart(
    loads: Sequence[Load],
    limit: Limit,
    *,
    current: int,
    proposed: int | None,
    palette: Palette,
) -> go.Figure:
    """Draw the busiest consumer's load at each useful number against what one can process."""
    made = plot(palette, height=HEIGHT, legend=False, legend_lines=1)
    colours = [
        palette.first
        if one.consumers == proposed
        else palette.watch
        if one.consumers == current
        else palette.others
        for one in loads
    ]
    made.traces.append(
        {
            "type": "bar",
            "x": [
                f"{one.consumers}<br>advised"
                if one.consumers == proposed
                else f"{one.consumers}<br>now"
                if one.consumers == current
                else str(one.consumers)
                for one in loads
            ],
            "y": [one.per_second for one in loads],
            "marker": {"color": colours},
            "hovertemplate": "%{y:,.3~r}/s<extra></extra>",
        }
    )
    _name_x(made, "consumers", palette, lines=2)
    made.x["type"] = "category"
    made.layout["hovermode"] = "closest"
    if limit.low is not None and limit.high is not None:
        made.shapes.append(
            {
                "type": "rect",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": limit.low,
                "y1": limit.high,
                "line": {"width": 0},
                "fillcolor": palette.second,
                "opacity": 0.25,
                "layer": "below",
            }
        )
    if limit.per_second is not None:
        _level(made, limit.per_second, "one can process", palette)
    return made.done()


def forecast_chart(
    rows: pl.DataFrame,
    *,
    axis: Axis,
    palette: Palette,
    capacities: Sequence[tuple[str, float]] = (),
    past: pl.DataFrame | None = None,
) -> go.Figure:
    """Draw what is expected to arrive with its 90 % band, against what the group can process.

    Rows are those of ``forecasts`` by time; capacities are levels to draw, in messages per second.
    The past has ``time`` and ``value``: what arrived. Both are means of hours, which stand where
    these end, as in ``app.style.charts.lines``.
    """
    made = plot(palette, height=HEIGHT)
    put_time_ticks(made, axis, dates=True)
    put_ground(made, axis)
    drawn = ("low_90", "median", "high_90")
    hours = with_gaps(
        rows.select((pl.col("window_start") + _HOUR).alias("time"), *drawn),
        step_seconds=_HOUR.total_seconds(),
        values=drawn,
    )
    times = axis.local_times(hours["time"])
    x, y = outline(times, hours["low_90"].to_list(), hours["high_90"].to_list())
    band = palette.first
    made.traces += [
        {
            **{"type": "scatter", "x": x, "y": y},
            "fill": "toself",
            "fillcolor": band,
            "opacity": 0.2,
            "line": {"width": 0},
            "mode": "lines",
            "name": "90 % of what comes",
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "x": times,
            "y": hours["median"].to_list(),
            "mode": "lines",
            "name": "expected",
            "line": {"color": band, "width": 1.8},
            "hovertemplate": "%{y:,.3~r}/s",
        },
    ]
    if past is not None and not past.is_empty():
        past = with_gaps(past, step_seconds=_HOUR.total_seconds(), values=("value",))
        made.traces.append(
            {
                "type": "scatter",
                "x": axis.local_ends(past["time"], _HOUR.total_seconds()),
                "y": past["value"].to_list(),
                "mode": "lines",
                "name": "arrived",
                "line": {"color": palette.second, "width": 1.8},
                "hovertemplate": "%{y:,.3~r}/s",
            }
        )
    for name, level in capacities:
        _level(made, level, name, palette)
    return made.done()


def skew_chart(
    rates: Sequence[tuple[str, float | None]],
    hot: Collection[str],
    limit: float | None,
    *,
    palette: Palette,
) -> go.Figure:
    """Draw what each partition gets, the hot ones marked."""
    made = plot(palette, height=HEIGHT, legend=False, legend_lines=1)
    made.traces.append(
        {
            "type": "bar",
            "x": [name for name, _ in rates],
            "y": [rate for _, rate in rates],
            "marker": {
                "color": [palette.watch if name in hot else palette.first for name, _ in rates]
            },
            "hovertemplate": "%{x}: %{y:,.3~r}/s<extra></extra>",
        }
    )
    made.layout["hovermode"] = "closest"
    made.x.update(type="category", nticks=12)
    if limit is not None:
        _level(made, limit, "one consumer's least capacity", palette)
    return made.done()


def what_if_chart(
    times: Sequence[datetime],
    now: Sequence[float],
    changed: Sequence[float],
    *,
    axis: Axis,
    palette: Palette,
    measured: tuple[Sequence[datetime], Sequence[float | None]] = ((), ()),
    objective: float | None = None,
) -> go.Figure:
    """Draw a simulated value as it is, and with the change, beside what was measured.

    Times are those of the viewer's clock, as ``Axis.local`` has them.
    """
    made = plot(palette, height=HEIGHT)
    put_time_ticks(made, axis, dates=axis.local(axis.start).date() != axis.local(axis.end).date())
    for name, at, values, colour, dash in (
        ("measured", measured[0], measured[1], palette.text, "solid"),
        ("as it is", times, now, palette.others, "dot"),
        ("with the change", times, changed, palette.first, "solid"),
    ):
        if not at:
            continue
        made.traces.append(
            {
                "type": "scatter",
                "x": list(at),
                "y": list(values),
                "mode": "lines",
                "name": name,
                "line": {"color": colour, "width": 1.8, "dash": dash},
                "hovertemplate": "%{y:,.3~r}",
            }
        )
    if objective is not None:
        _level(made, objective, "objective", palette)
    return made.done()


def _name_x(made: Plot, name: str, palette: Palette, *, lines: int) -> None:
    """Name the x axis, in one of so many lines that it has more than ticks of times have."""
    made.layout["margin"]["b"] += _FURTHER_LINE * lines
    font = {"size": 11, "color": palette.quiet}
    made.x.update(title={"text": name, "font": font}, automargin=False)


def _level(made: Plot, value: float, name: str, palette: Palette) -> None:
    """Draw a level across the figure with its name."""
    made.shapes.append(
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": value,
            "y1": value,
            "line": {"color": palette.quiet, "width": 1, "dash": "dash"},
        }
    )
    made.notes.append(
        {
            "xref": "paper",
            "x": 1,
            "xanchor": "right",
            "y": value,
            "yanchor": "bottom",
            "text": name,
            "showarrow": False,
            "font": {"size": 11, "color": palette.quiet},
            "bgcolor": palette.ground,
        }
    )
