"""Alerts as bars over time."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import plotly.graph_objects as go
import polars as pl

from app.style.charts.base import Axis, plain, plot, put_time_axis
from app.style.charts.marks import STRIP_PIXELS, put_marks
from app.style.format import unbroken
from app.style.theme import URGENT, WATCH, Palette

_ROW_PIXELS = (22, 30, 50)
"""How high a row is, by how many lines its name takes."""
_NAME_FONT = 11
_NAME_PART = 0.42
_LEAST_NAME, _NAME_LINES, _NARROW_NAME_LINES = 104, 2, 3
"""Names have a part of the width and take so many lines; on a phone so many pixels and lines."""
_NAME_GAP = 8
"""From a name to where bars begin, in pixels."""
_BAR = {"width": 0.5, "offset": -0.25}
_SHOWN = 30
_FAINT = "38"
"""How much of a colour the ground of a pattern has, of ``ff``."""
_LEAST_PIXELS = 4
"""Of a bar: what lasted seconds would not be seen in a day."""
_LETTER_PIXELS = 5.0
MENDING = "mending"
"""The severity of a bar of what was mended, while its damage, such as a backlog, is worked off."""


def shown_of(alerts: pl.DataFrame) -> str | None:
    """Say how many rows of the timeline are drawn; None where all are."""
    total = len(_names(alerts))
    if total <= _SHOWN:
        return None
    return (
        f"Drawn are the first {_SHOWN} of {total} lines, each of a cause or its symptoms: the "
        "table below has all."
    )


def _name_pixels(axis: Axis) -> int:
    """Return how wide the names are that stand beside the bars."""
    return max(_LEAST_NAME, int(axis.pixels * _NAME_PART))


def beside_names(made: go.Figure, axis: Axis) -> go.Figure:
    """Return a chart that begins where the bars of a timeline do, to stand above or below it."""
    return made.update_layout(margin_l=_name_pixels(axis))


def _wrapped(name: str, pixels: int, lines: int) -> str:
    """Return a name in lines; one that needs more of them than there is room for is cut."""
    said = unbroken(name.lstrip())
    indent = "\u00a0" * (len(name) - len(said))
    parts = wrap(
        said,
        width=int(pixels / _LETTER_PIXELS),
        initial_indent=indent,
        subsequent_indent=indent,
        max_lines=lines,
        placeholder="…",
    )
    return "<br>".join(map(plain, parts))


def _names(alerts: pl.DataFrame) -> list[str]:
    return alerts["what"].unique(maintain_order=True).to_list()


def timeline_chart(alerts: pl.DataFrame, *, axis: Axis, palette: Palette) -> go.Figure:
    """Draw when each thing fired: its name at the left, its bars beside that.

    Args:
        alerts: Rows of ``what``, ``severity`` (or ``pending``, ``mending``), ``from`` and ``to``.
        axis: The time axis.
        palette: The colours.
    """
    names = _names(alerts)[:_SHOWN]
    room = _name_pixels(axis)
    lines = _NARROW_NAME_LINES if room == _LEAST_NAME else _NAME_LINES
    shown = {name: _wrapped(name, room - _NAME_GAP, lines) for name in names}
    row = _ROW_PIXELS[max((said.count("<br>") for said in shown.values()), default=0)]
    strip = STRIP_PIXELS if axis.events else 0
    made = plot(palette, height=row * max(2, len(names)) + strip)
    colours = {
        "critical": (URGENT.label, palette.act, ""),
        "warning": (WATCH.label, palette.watch, "/"),
        "info": ("i note", palette.first, "."),
        MENDING: ("↗ mending", palette.quiet, "\\"),
        "pending": ("○ pending", palette.quiet, "-"),
    }
    made.layout["margin"]["l"] = room
    drawn = _placed(alerts.filter(pl.col("what").is_in(names)), axis)
    # Later traces and bars lie above earlier ones: none that is short is hidden by a long one, nor
    # what fired, however briefly, by how briefly it was pending.
    for is_short, order in ((False, colours), (True, reversed(colours))):
        for severity in order:
            word, colour, pattern = colours[severity]
            rows = drawn.filter(pl.col("severity") == severity)
            is_first = not is_short or rows["is_short"].all()
            rows = rows.filter(pl.col("is_short") == is_short)
            if not rows.is_empty():
                made.traces.append(
                    _bars(rows, word, pattern, colour, palette, axis)
                    | {"legendgroup": severity, "showlegend": is_first}
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
    put_marks(made, axis, palette, most_rows=1)
    made.notes += [
        {
            **{"x": 0, "xref": "paper", "xanchor": "left", "xshift": -room},
            **{"y": plain(name), "yanchor": "middle", "align": "left"},
            **{"text": said, "showarrow": False, "borderpad": 0},
            "font": {"size": _NAME_FONT, "color": palette.text},
        }
        for name, said in shown.items()
    ]
    made.layout.update(barmode="overlay", hovermode="closest")
    made.y.update(
        type="category",
        categoryorder="array",
        categoryarray=[plain(name) for name in reversed(names)],
        showticklabels=False,
        tickformat=None,
        nticks=None,
        dtick=1,
        range=[-0.5, len(names) - 0.5],
        showgrid=False,
    )
    return made.done()


def _placed(alerts: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    """Return the bars as they are drawn, the longest first: ``start``, ``end``, ``is_short``.

    One that would be too narrow to be seen is wider than it lasted, to the left at the axis' end.
    """
    least = (axis.end - axis.start) * _LEAST_PIXELS / axis.pixels
    start = pl.col("from").clip(axis.start, axis.end)
    end = pl.col("to").clip(axis.start, axis.end)
    is_short = pl.col("end") - pl.col("start") < least
    latest = pl.lit(axis.end - least)
    return (
        alerts.with_columns(start.alias("start"), end.alias("end"))
        .with_columns(is_short.alias("is_short"))
        .sort(pl.col("end") - pl.col("start"), descending=True, maintain_order=True)
        .with_columns(
            pl.when("is_short").then(pl.min_horizontal("start", latest)).otherwise("start")
        )
        .with_columns(pl.max_horizontal("end", pl.col("start") + least).alias("end"))
    )


def _bars(
    rows: pl.DataFrame, word: str, pattern: str, colour: str, palette: Palette, axis: Axis
) -> dict[str, Any]:
    """Return the bars of one severity, all short ones or all others."""
    # A rim in the colour of the ground sets a short bar off from a long one below it.
    rim = palette.ground if rows["is_short"].all() else colour
    return {
        "type": "bar",
        "orientation": "h",
        "name": word,
        "y": [plain(what) for what in rows["what"]],
        "base": axis.local_times(rows["start"]),
        # Plotly takes a bar's length on a time axis in milliseconds.
        "x": (rows["end"] - rows["start"]).dt.total_milliseconds().to_list(),
        "customdata": [
            f"{axis.local(begin):%H:%M:%S} to {axis.local(end):%H:%M:%S}"
            for begin, end in rows.select("from", "to").iter_rows()
        ],
        "marker": {
            "color": colour,
            "line": {"color": rim, "width": 1},
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
        **_BAR,
        "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
    }
