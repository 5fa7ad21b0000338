"""Alerts as bars over time."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go
import polars as pl

from app.style.charts.base import Axis, plain, plot, put_time_axis
from app.style.charts.marks import STRIP_PIXELS, put_marks
from app.style.theme import URGENT, WATCH, Palette

_ROW_PIXELS = 24
_SHOWN = 30
_FAINT = "38"
"""How much of a colour the ground of a pattern has, of ``ff``."""
_NARROW = 14
"""So many letters of a name on a phone: a third of the width."""
_PIXELS = 220
"""Of the axis, at the least."""


def shown_of(alerts: pl.DataFrame) -> str | None:
    """Say how many rows of the timeline are drawn; None where all are."""
    total = len(_names(alerts))
    if total <= _SHOWN:
        return None
    return (
        f"Drawn are the first {_SHOWN} of {total} lines, each of a cause or its symptoms: the "
        "table below has all."
    )


def _cut(name: str) -> str:
    return name if len(name) <= _NARROW else f"{name[: _NARROW - 1].rstrip()}…"


def _names(alerts: pl.DataFrame) -> list[str]:
    return alerts["what"].unique(maintain_order=True).to_list()


def timeline_chart(
    alerts: pl.DataFrame, *, axis: Axis, palette: Palette, is_narrow: bool = False
) -> go.Figure:
    """Draw when each thing fired.

    Args:
        alerts: Rows of ``what``, ``severity`` or ``pending``, ``from`` and ``to``.
        axis: The time axis.
        palette: The colours.
        is_narrow: Whether names are cut, so that the bars have most of the width.
    """
    names = _names(alerts)[:_SHOWN]
    strip = STRIP_PIXELS if axis.events else 0
    made = plot(palette, height=_ROW_PIXELS * max(2, len(names)) + strip)
    colours = {
        "critical": (URGENT.label, palette.act, ""),
        "warning": (WATCH.label, palette.watch, "/"),
        "info": ("i note", palette.first, "."),
        "pending": ("○ pending", palette.quiet, "-"),
    }
    for severity, (word, colour, pattern) in colours.items():
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
                "marker": {
                    "color": colour,
                    "line": {"color": colour, "width": 1},
                    # Not by colour alone. Only what is to be acted on is filled with it.
                    "pattern": {
                        "shape": pattern,
                        "fillmode": "replace",
                        "bgcolor": f"{colour}{_FAINT}",
                        "fgcolor": colour,
                        "size": 7,
                        "solidity": 0.15,
                    },
                },
                "hovertemplate": "%{y}<br>%{base|%H:%M:%S}<extra></extra>",
            }
        )
    # In some zones Plotly forgets the end that it is told to include, where there are bars alone.
    made.traces.append(
        {
            **{"type": "scatter", "mode": "markers", "hoverinfo": "skip", "showlegend": False},
            "x": [axis.local(axis.start), axis.local(axis.end)],
            "y": [plain(name) for name in names[:1]] * 2,
            "marker": {"opacity": 0},
        }
    )
    put_time_axis(made, axis)
    # Names take their part of the width.
    narrowest = replace(axis, pixels=min(axis.pixels, _PIXELS))
    put_marks(made, narrowest, palette)
    made.layout.update(barmode="overlay", bargap=0.35, hovermode="closest")
    made.y.update(
        type="category",
        categoryorder="array",
        categoryarray=[plain(name) for name in reversed(names)],
        tickmode="array",
        tickvals=[plain(name) for name in names],
        ticktext=[plain(_cut(name) if is_narrow else name) for name in names],
        tickformat=None,
        automargin=True,
        nticks=None,
        dtick=1,
        range=[-0.5, len(names) - 0.5],
        showgrid=False,
    )
    return made.done()
