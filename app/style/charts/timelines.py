"""Alerts as bars over time."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from app.style.charts.base import Axis, plain, plot, put_time_axis
from app.style.charts.marks import put_marks
from app.style.theme import Palette

_ROW_PIXELS = 24
_SHOWN = 20


def shown_of(alerts: pl.DataFrame) -> str | None:
    """Say how many rows of the timeline are drawn; None where all are."""
    total = len(_names(alerts))
    return f"{_SHOWN} of {total} rows: the first ones" if total > _SHOWN else None


def _names(alerts: pl.DataFrame) -> list[str]:
    return alerts["what"].unique(maintain_order=True).to_list()


def timeline_chart(alerts: pl.DataFrame, *, axis: Axis, palette: Palette) -> go.Figure:
    """Draw when each thing fired: rows of ``what``, ``severity``, ``from`` and ``to``."""
    names = _names(alerts)[:_SHOWN]
    made = plot(palette, height=60 + _ROW_PIXELS * max(2, len(names)), y_title="", legend=True)
    colours = {
        "critical": ("act now", palette.act),
        "warning": ("watch", palette.watch),
        "info": ("note", palette.series[0]),
    }
    for severity, (word, colour) in colours.items():
        rows = alerts.filter((pl.col("severity") == severity) & pl.col("what").is_in(names))
        if rows.is_empty():
            continue
        starts = [max(moment, axis.start) for moment in rows["from"].to_list()]
        ends = [min(moment, axis.end) for moment in rows["to"].to_list()]
        made.traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": word,
                "y": [plain(what) for what in rows["what"]],
                "base": [axis.local(start) for start in starts],
                # Plotly takes a bar's length on a time axis in milliseconds.
                "x": [
                    max(0.0, (end - start).total_seconds() * 1000)
                    for start, end in zip(starts, ends, strict=True)
                ],
                # The line shows a bar that is too short to be seen.
                "marker": {"color": colour, "line": {"color": colour, "width": 1.5}},
                "hovertemplate": "%{y}<br>%{base|%H:%M:%S}<extra></extra>",
            }
        )
    put_time_axis(made, axis)
    put_marks(made, axis, palette)
    made.layout.update(barmode="overlay", bargap=0.35, hovermode="closest")
    made.y.update(
        type="category",
        categoryorder="array",
        categoryarray=[plain(name) for name in reversed(names)],
        tickformat=None,
        automargin=True,
        nticks=None,
        dtick=1,
        showgrid=False,
    )
    return made.done()
