"""What all figures share: margins, axes, gaps left open, marks for events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from html import escape
from itertools import groupby
from typing import Any, Literal

import plotly.graph_objects as go
import polars as pl

from app.style.format import THIN, utc_offset
from app.style.theme import Palette
from config.visible import visible

CONFIG: dict[str, Any] = {"displayModeBar": False, "responsive": True, "scrollZoom": False}
"""Plotly's settings for every figure of the pages."""

PAGE_AXIS = "page axis"
"""Marks the figures whose time axis is the page's; see ``app.ui.browser.zoom``."""

_GENERATED, _GENERATED_END = "rgba(128, 128, 128, 0.08)", "rgba(128, 128, 128, 0.5)"
"""The ground of what was generated and the line where it ends, light or dark."""

_LEFT = 38
"""Of what ticks say: the time axes of all figures lie below each other."""
_RIGHT = 14
"""Half of what a tick at the end says."""
_TOP, _BOTTOM = 8, 22
"""Half a line above the plot, and a line of ticks below it."""
_DATE_LINE = 15
_TICKS, _TICKS_OF_LOW, _LOW = 6, 4, 110
"""Ticks at the left at most, and of plots that are lower than so many pixels."""
LEGEND_LINE, _LEGEND_PAD = 19, 12

GAP_STEPS = 1.5
"""Points that lie further apart than this many steps are not joined by a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartEvent:
    """Something that happened, drawn as a thin vertical mark."""

    at: datetime
    text: str
    detail: str = ""  # said on hover
    # ``act`` and ``fired`` in red, others in grey; a label names them in this order.
    kind: Literal["act", "fired", "main", "quiet"] = "quiet"
    is_own: bool = False  # of the one thing that the page is about: named before all others


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The time axis that all figures of a page share."""

    start: datetime
    end: datetime
    zone: tzinfo
    events: tuple[ChartEvent, ...] = ()
    generated_until: datetime | None = None  # what lies before was generated, not measured
    # Its length on the screen, which the server does not know: that of a small phone.
    pixels: int = 220

    def local(self, moment: datetime) -> datetime:
        """Return the moment as the viewer's clock shows it, without a zone."""
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def local_times(self, times: pl.Series) -> list[datetime]:
        """Return moments as the viewer's clock shows them, without a zone."""
        return [self.local(moment) for moment in times.to_list()]

    def local_ends(self, begins: pl.Series, step_seconds: float) -> list[datetime]:
        """Return when steps that begin at these moments end: one that goes on ends now.

        See ``app.style.charts.lines`` for why their values stand there.
        """
        step = timedelta(seconds=step_seconds)
        return [self.local(min(at + step, max(at, self.end))) for at in begins.to_list()]

    @property
    def offset(self) -> str:
        """The viewer's offset from UTC at the axis' end, for example ``UTC+1``."""
        return utc_offset(self.zone, self.end)


@dataclass(slots=True, kw_only=True)
class Plot:
    """A figure in the making: plain values, validated once when it is done."""

    height: int  # of the plot itself, in pixels
    legend_lines: int  # for which there is room above it
    layout: dict[str, Any]  # Plotly's layout without what stands apart below
    x: dict[str, Any]
    y: dict[str, Any]
    traces: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    def done(self) -> go.Figure:
        """Return the figure, as high as its plot and what stands around it."""
        margin = self.layout["margin"]
        layout = {
            **self.layout,
            "height": self.height + margin["t"] + margin["b"],
            "xaxis": self.x,
            "yaxis": self.y,
            "shapes": self.shapes,
            "annotations": self.notes,
        }
        return go.Figure({"data": self.traces, "layout": layout})


def plot(
    palette: Palette,
    *,
    height: int,
    legend: bool = True,
    legend_lines: int = 0,
    log: bool = False,
) -> Plot:
    """Begin a figure with the pages' look: zero-based y, thin margins, no vertical grid.

    What y is and its unit stand in the heading above the figure.

    Args:
        palette: The colours.
        height: Of the plot itself, in pixels: what stands around it is added.
        legend: Whether names stand above the plot.
        legend_lines: Lines above the plot that are left free at the least, for plots beside each
            other that begin at one height.
        log: Whether y is logarithmic.
    """
    ticks = {"size": 11, "color": palette.quiet}
    lines = max(legend_lines, 1 if legend else 0)
    top = LEGEND_LINE * lines + _LEGEND_PAD if lines else _TOP
    return Plot(
        height=height,
        legend_lines=lines,
        layout={
            "margin": {"l": _LEFT, "r": _RIGHT, "t": top, "b": _BOTTOM},
            "font": {"color": palette.text, "size": 12, "family": '"Source Sans", sans-serif'},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "x unified",
            "hoverlabel": {"namelength": -1},
            # Thousands in thin spaces, as everywhere else on the pages.
            "separators": f".{THIN}",
            "showlegend": legend,
            "legend": {
                "orientation": "h",
                **{"x": 0, "xref": "paper", "xanchor": "left"},
                # Close to the heading, however many lines it has.
                **{"y": 1, "yref": "container", "yanchor": "top"},
                "font": {"size": 12, "color": palette.text},
                "itemclick": "toggleothers",
                "itemdoubleclick": "toggle",
            },
            # The same revision at each refresh: what the viewer has zoomed or hidden stays so.
            "uirevision": "kept",
        },
        x={
            "showgrid": False,
            "zeroline": False,
            "linecolor": palette.grid,
            "tickfont": ticks,
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": palette.grid,
            "automargin": True,
        },
        y={
            "type": "log" if log else "linear",
            "rangemode": "tozero",
            "gridcolor": palette.grid,
            "zeroline": False,
            "tickfont": ticks,
            "fixedrange": True,
            "tickformat": "~s",
            "nticks": _TICKS if height >= _LOW else _TICKS_OF_LOW,
            **({"dtick": 1} if log else {}),
        },
    )


def plot_height(made: go.Figure) -> int:
    """Return the height of a figure's plot, for the one beside it."""
    margin = made.layout.margin
    return int(made.layout.height - margin.t - margin.b)


def put_time_ticks(made: Plot, axis: Axis, *, dates: bool) -> None:
    """Make x an axis of times.

    Args:
        made: The figure.
        axis: Whose clock it has.
        dates: Whether days are written below the hours: within one day the page says which it is.
    """
    if dates:
        made.layout["margin"]["b"] += _DATE_LINE
    made.x.update(
        type="date",
        automargin=False,  # with the padding that Plotly adds, plots would be lower
        tickformatstops=[
            {"dtickrange": [None, 59_999], "value": "%H:%M:%S"},
            {"dtickrange": [60_000, 86_400_000], "value": "%H:%M\n%-d %b" if dates else "%H:%M"},
            {"dtickrange": [86_400_000, None], "value": "%-d %b"},
        ],
        nticks=7,
        tickangle=0,
        hoverformat=f"%-d %b %H:%M:%S ({axis.offset})",
    )


def put_time_axis(made: Plot, axis: Axis) -> None:
    """Give the figure the page's time axis."""
    ends = [axis.local(axis.start), axis.local(axis.end)]
    put_time_ticks(made, axis, dates=ends[0].date() != ends[1].date())
    if any(len(trace["x"]) for trace in made.traces):
        # Not ``range``: a new one would undo what the viewer has zoomed, whatever uirevision says.
        made.x.update(
            autorange=True,
            autorangeoptions={"include": ends, "clipmin": ends[0], "clipmax": ends[1]},
        )
    else:
        made.x["range"] = ends
    made.layout["meta"] = {"axis": PAGE_AXIS}
    put_ground(made, axis)


def put_ground(made: Plot, axis: Axis) -> None:
    """Shade what was generated, palely, with a line where it ends."""
    if axis.generated_until is None or axis.generated_until <= axis.start:
        return
    end = axis.local(min(axis.generated_until, axis.end))
    whole = {"y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    made.shapes.append(
        {
            **{"type": "rect", "x0": axis.local(axis.start), "x1": end, **whole},
            **{"fillcolor": _GENERATED, "line": {"width": 0}},
        }
    )
    if axis.generated_until < axis.end:
        made.shapes.append(
            {
                **{"type": "line", "x0": end, "x1": end, **whole},
                "line": {"color": _GENERATED_END, "width": 1},
            }
        )


def plain(text: str) -> str:
    """Return a text of others as Plotly shows it as it is: it reads tags and links in texts."""
    return escape(visible(text), quote=False)


def with_gaps(
    frame: pl.DataFrame, *, step_seconds: float, values: Sequence[str], by: str | None = None
) -> pl.DataFrame:
    """Put an empty point wherever samples are missing, so that no line spans the hole.

    Args:
        frame: Rows with ``time`` and values.
        step_seconds: Distance of two points where none is missing.
        values: Columns that are empty in the added rows.
        by: Column that tells series apart.
    """
    keys = [by] if by else []
    ordered = frame.sort(*keys, "time")
    previous = pl.col("time").shift(1)
    if by:
        previous = previous.over(by)
    holes = ordered.filter(
        (pl.col("time") - previous).dt.total_milliseconds() > step_seconds * GAP_STEPS * 1000
    ).with_columns(
        (pl.col("time") - pl.duration(milliseconds=int(step_seconds * 500))).alias("time"),
        *(pl.lit(None).cast(frame.schema[name]).alias(name) for name in values),
    )
    return pl.concat([ordered, holes]).sort(*keys, "time")


def outline(
    times: Sequence[datetime], low: Sequence[float | None], high: Sequence[float | None]
) -> tuple[list[datetime | None], list[float | None]]:
    """Return the corners of a band, of each part of it that is known: they are filled apart."""
    corners: list[tuple[datetime | None, float | None]] = []
    points = zip(times, low, high, strict=True)
    for is_known, part in groupby(points, lambda one: None not in one[1:]):
        if is_known:
            known = list(part)
            corners += [(None, None)] if corners else []
            corners += [(at, highest) for at, _, highest in known]
            corners += [(at, lowest) for at, lowest, _ in reversed(known)]
    return [at for at, _ in corners], [value for _, value in corners]


def note_of_others(frame: pl.DataFrame, *, by: str, value: str, limit: int) -> str:
    """Say where the sum of others has a gap, or lacks some; nothing where it does not.

    Args:
        frame: Rows of ``top_and_others``.
        by: Column that tells series apart.
        value: The value.
        limit: Series drawn one by one.
    """
    named = peaks(frame, by=by, value=value)[:limit]
    is_partial, has_gap = _lacks(frame.filter(~pl.col(by).is_in(named)), value)
    parts = []
    if is_partial:
        parts.append("where some are unknown, the line is the sum of the others")
    if has_gap:
        parts.append("the line has a gap where none of them is known")
    return f"Others: {'; '.join(parts)}." if parts else ""


def _lacks(rest: pl.DataFrame, value: str) -> tuple[bool, bool]:
    """Return whether the sum of series lacks some at a time, and whether it lacks all at one."""
    unknown = rest.group_by("time").agg(pl.col(value).is_null().mean())[value]
    return bool(unknown.is_between(0, 1, closed="none").any()), bool((unknown == 1).any())


def peaks(frame: pl.DataFrame, *, by: str, value: str) -> list[str]:
    """Return the names of series, those with the highest peaks first."""
    found = frame.group_by(by).agg(pl.col(value).max().alias("peak"))
    return found.sort("peak", by, descending=[True, False], nulls_last=True)[by].to_list()


def top_and_others(
    frame: pl.DataFrame, *, by: str, value: str, limit: int = 10
) -> tuple[pl.DataFrame, list[str]]:
    """Keep the series with the highest peaks and add up the rest as ``others (n)``.

    Returns:
        Rows of ``time``, ``by`` and ``value``, and the series' names, highest first.
    """
    names = peaks(frame, by=by, value=value)
    kept = names[:limit]
    rows = frame.select("time", by, value)
    if len(names) <= limit:
        return rows, kept
    of_rest = rows.filter(~pl.col(by).is_in(kept))
    # A sum that lacks a value must not look complete.
    partly = ", some unknown at times" if _lacks(of_rest, value)[0] else ""
    rest = f"others ({len(names) - limit}{partly})"
    summed = (
        of_rest.group_by("time")
        .agg(pl.when(pl.col(value).count() > 0).then(pl.col(value).sum()).alias(value))
        .with_columns(pl.lit(rest).alias(by))
        .select("time", by, value)
        .cast({value: frame.schema[value]})
    )
    return pl.concat([rows.filter(pl.col(by).is_in(kept)), summed]), [*kept, rest]
