"""Partitions over time, and quantities side by side."""

from __future__ import annotations

from datetime import datetime, timedelta

import plotly.graph_objects as go
import polars as pl

from app.style.charts.base import Axis, plot, put_time_axis
from app.style.charts.lines import time_unit
from app.style.charts.marks import put_lines
from app.style.format import duration, exact
from app.style.theme import Palette


def heat_unit(values: pl.Series, neutral: float) -> str:
    """Return the unit in which the scale above a heatmap of seconds is written."""
    return time_unit(max(neutral, _peak(values)))[1]


def heatmap(
    frame: pl.DataFrame,
    *,
    value: str,
    axis: Axis,
    palette: Palette,
    step_seconds: float,
    unit: str | None = None,
    neutral: float,
    height: int | None = None,
) -> go.Figure:
    """Draw one row a partition over time; what is unknown or missing stays empty.

    Args:
        frame: Rows with ``time``, ``label`` (the partition as the page names it), ``order`` (its
            place from the top) and the value.
        value: The value.
        axis: The page's time axis.
        palette: Colours; the scale begins neutral.
        step_seconds: Distance of two points where none is missing.
        unit: What the value counts, for the hover; None stands for seconds.
        neutral: The scale ends here at the least: what is far below is drawn in neutral colours.
        height: Of the plot, in pixels; by default it follows the number of partitions.
    """
    labels = frame.select("label", "order").unique().sort("order")["label"].to_list()
    made = plot(
        palette,
        height=height or min(450, max(84, 18 * len(labels))),
        legend=False,
        legend_lines=1,  # the scale is as high as one
    )
    first, last = frame["time"].min(), frame["time"].max()
    if isinstance(first, datetime) and isinstance(last, datetime):
        places = round((last - first).total_seconds() / step_seconds) + 1
        # A cell goes on for a step from its time: where cells begin, and where the last one ends.
        step = timedelta(seconds=step_seconds)
        edges = [first + step * place for place in range(places + 1)]
        if edges[-2] < axis.end < edges[-1]:
            edges[-1] = axis.end
        passed = (pl.col("time") - pl.lit(first)).dt.total_microseconds() / 1e6
        # Polls do not fall exactly on the grid: each takes the nearest place.
        placed = (
            frame.with_columns((passed / step_seconds).round().cast(pl.Int64).alias("place"))
            .group_by("label", "place")
            .agg(pl.col(value).last())
        )
        rows: list[list[float | None]] = []
        for label in labels:
            one = dict(placed.filter(pl.col("label") == label).select("place", value).iter_rows())
            rows.append([one.get(place) for place in range(places)])
        top = max(neutral, _peak(frame[value]))
        scale = time_unit(top)[0] if unit is None else 1.0
        made.traces.append(
            dict(
                type="heatmap",
                x=[axis.local(moment) for moment in edges],
                y=labels,
                z=[[None if cell is None else cell / scale for cell in row] for row in rows],
                customdata=[
                    [duration(cell) if unit is None else f"{exact(cell)} {unit}" for cell in row]
                    for row in rows
                ],
                colorscale=[list(stop) for stop in palette.heat],
                zmin=0,
                zmax=top / scale,
                hoverongaps=False,
                xgap=0,
                ygap=1,
                # Above: the time axis is as long as those of the charts beside it.
                colorbar={
                    "orientation": "h",
                    **{"x": 0, "xanchor": "left"},
                    # Within the margin: Plotly would take further room for it from the rows.
                    **{"y": 1, "yref": "container", "yanchor": "top"},
                    **{"thickness": 8, "xpad": 0, "ypad": 2},
                    "outlinewidth": 0,
                    "tickfont": {"size": 10, "color": palette.quiet},
                    "nticks": 4,
                    "tickformat": "~s",
                    "len": 0.5,
                },
                hovertemplate=f"%{{y}}: %{{customdata}}<br>%{{x|{_clock(step)}}}<extra></extra>",
            )
        )
    put_time_axis(made, axis)
    put_lines(made, axis, palette)
    for shape in made.shapes:
        shape["layer"] = "above"  # the cells would cover it
    made.layout["hovermode"] = "closest"
    made.y = {
        **{"type": "category", "autorange": "reversed", "showgrid": False, "fixedrange": True},
        **{"tickmode": "array", "tickvals": _downsampled(labels), "automargin": True},
        "tickfont": {"size": 11, "color": palette.quiet},
    }
    return made.done()


def _clock(step: timedelta) -> str:
    """Return how the middle of a cell is written: no finer than the cell is."""
    if step >= timedelta(hours=1):
        return "%-d %b" if step >= timedelta(days=1) else "%-d %b %H:00"
    return "%H:%M" if step >= timedelta(minutes=1) else "%H:%M:%S"


def _peak(values: pl.Series) -> float:
    return float(max(values.drop_nulls().to_list(), default=0.0))


def _downsampled(labels: list[str], most: int = 24) -> list[str]:
    """Keep every n-th label, so that they do not lie on each other."""
    return labels[:: -(-len(labels) // most) or 1]


def bars(
    frame: pl.DataFrame,
    *,
    label: str,
    value: str,
    palette: Palette,
    unit: str,
    even: float | None = None,
    marked: str | None = None,
    height: int = 150,
) -> go.Figure:
    """Draw one bar a row, with the height that an even share would have.

    ``unit`` is what values count, for the hover. The bars begin as high as the plot beside them,
    which has a legend.
    """
    made = plot(palette, height=height, legend=False, legend_lines=1)
    colours: str | list[str] = palette.first
    if marked is not None:
        colours = [palette.watch if hot else palette.first for hot in frame[marked].to_list()]
    made.traces.append(
        dict(
            type="bar",
            x=[str(name) for name in frame[label].to_list()],
            y=frame[value].to_list(),
            marker={"color": colours, "line": {"width": 0}},
            hovertemplate=f"%{{x}}: %{{y:,.4~r}} {unit}<extra></extra>",
        )
    )
    if even is not None:
        made.shapes.append(
            {
                **{"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": even, "y1": even},
                "line": {"color": palette.quiet, "width": 1, "dash": "dot"},
            }
        )
    made.layout.update(hovermode="closest", bargap=0.25, barcornerradius=2)
    names = [str(name) for name in frame[label].to_list()]
    made.x.update(type="category", tickmode="array", tickvals=_downsampled(names))
    return made.done()


def stacked_bars(
    frame: pl.DataFrame,
    *,
    label: str,
    parts: dict[str, str],
    colours: list[str],
    palette: Palette,
    height: int = 150,
) -> go.Figure:
    """Draw bars of several parts on each other."""
    made = plot(palette, height=height)
    names = [str(name) for name in frame[label].to_list()]
    for (column, name), colour in zip(parts.items(), colours, strict=True):
        made.traces.append(
            dict(
                type="bar",
                x=names,
                y=frame[column].to_list(),
                name=name,
                marker={"color": colour, "line": {"width": 0}},
                hovertemplate="%{y:,.0f}",
            )
        )
    made.layout.update(barmode="stack", bargap=0.4)
    made.x.update(type="category", tickmode="array", tickvals=_downsampled(names))
    return made.done()
