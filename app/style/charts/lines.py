"""Lines over time: lag, delays, rates, counts of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zlib import crc32

import plotly.graph_objects as go
import polars as pl

from app.style.charts.base import Axis, Plot, plain, plot, put_time_axis, top_and_others, with_gaps
from app.style.charts.marks import put_marks
from app.style.format import duration, short
from app.style.theme import Palette


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One column drawn as a line."""

    column: str
    name: str
    colour: str | None = None  # its colour; None takes the next of the palette
    steps: bool = False
    dash: str = "solid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """What is usual, drawn behind the lines: ``time``, ``low`` and ``high``."""

    frame: pl.DataFrame
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghost:
    """What was at another time, drawn behind the lines: ``time`` and ``value``."""

    frame: pl.DataFrame
    name: str
    step_seconds: float


_LEGEND_LINE = 19
_LEVEL_SEEN_RATIO = 0.2
_BAND_SEEN_RATIO = 2.0
"""What is usual is drawn up to so many times the highest of what was, or of its own lower edge."""

_TIME_UNITS = ((86400.0 * 2, 86400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))


def time_unit(longest: float | None) -> tuple[float, str]:
    """Return the unit in which durations up to ``longest`` seconds are drawn: seconds, its name."""
    for beyond, unit, name in _TIME_UNITS:
        if longest is not None and longest >= beyond:
            return unit, name
    return 1.0, "seconds"


def series_chart(
    frame: pl.DataFrame,
    *,
    by: str,
    value: str,
    axis: Axis,
    palette: Palette,
    step_seconds: float,
    y_title: str,
    limit: int = 10,
    legend_columns: int = 3,
    log: bool = False,
    height: int = 300,
) -> go.Figure:
    """Draw one line a series: those with the highest peaks, and the sum of the others.

    Args:
        frame: Rows with ``time``, ``by`` and ``value``; null is drawn as a gap.
        by: Column that tells series apart.
        value: The value.
        axis: The page's time axis.
        palette: Colours.
        step_seconds: Distance of two points where none is missing.
        y_title: What the value is, with its unit.
        limit: Series drawn one by one.
        legend_columns: Names that one line of the legend holds.
        log: Whether y is logarithmic.
        height: In pixels.
    """
    rows, names = top_and_others(frame, by=by, value=value, limit=limit)
    # A legend of several lines must not take its height from the plot.
    height += _LEGEND_LINE * max(0, -(-len(names) // legend_columns) - 1)
    made = plot(palette, height=height, y_title=y_title, log=log)
    rows = with_gaps(rows, step_seconds=step_seconds, values=(value,), by=by)
    colours = colours_of(names[:limit], palette)
    for position, name in enumerate(names):
        one = rows.filter(pl.col(by) == name)
        is_rest = position == limit
        colour = palette.others if is_rest else colours[name]
        _add_line(
            made,
            axis.local_times(one["time"]),
            one[value].to_list(),
            name=name,
            colour=colour,
            dash="dot" if is_rest else "solid",
        )
    _fit_ticks(made)
    put_time_axis(made, axis)
    put_marks(made, axis, palette)
    return made.done()


def colours_of(names: Sequence[str], palette: Palette) -> dict[str, str]:
    """Give each name the colour that it always has; of two that share one, the later moves on."""
    free = list(palette.series)
    found = {}
    for name in sorted(names):
        wished = palette.series[crc32(name.encode()) % len(palette.series)]
        found[name] = wished if wished in free or not free else free[0]
        if found[name] in free:
            free.remove(found[name])
    return found


def columns_chart(
    frame: pl.DataFrame,
    lines: Sequence[Line],
    *,
    axis: Axis,
    palette: Palette,
    step_seconds: float,
    y_title: str = "",
    log: bool = False,
    height: int = 300,
    band: Band | None = None,
    ghost: Ghost | None = None,
    level: tuple[str, float] | None = None,
) -> go.Figure:
    """Draw one line a column of the same rows; see ``series_chart`` for the arguments.

    Without a ``y_title`` the values are durations in seconds, drawn in the unit that suits them.
    A level is drawn where a line comes near it, and a band as far as that: a high one would press
    all lines to the ground.
    """
    unit, is_time = 1.0, not y_title
    if is_time:
        longest = max((_peak(frame, line.column) for line in lines), default=0.0)
        unit, y_title = time_unit(longest)
    peak = max((_peak(frame, line.column) for line in lines), default=0.0)
    if level is not None and peak < _LEVEL_SEEN_RATIO * level[1]:
        level = None
    several = len(lines) > 1 or band is not None or ghost is not None or level is not None
    made = plot(palette, height=height, y_title=y_title, legend=several, log=log)
    if band is not None and not band.frame.is_empty():
        _add_band(made, band, axis, palette)
        if not log:
            seen = max(peak, _peak(ghost.frame, "value") if ghost is not None else 0.0)
            _cap(made, band, max(seen, _peak(band.frame, "low")))
    if ghost is not None and not ghost.frame.is_empty():
        before = with_gaps(ghost.frame, step_seconds=ghost.step_seconds, values=["value"])
        values = before["value"].to_list()
        _add_line(
            made,
            axis.local_times(before["time"]),
            [None if value is None else value / unit for value in values],
            words=[duration(value) for value in values] if is_time else None,
            name=ghost.name,
            colour=palette.others,
            dash="dot",
        )
    if level is not None:
        _add_line(
            made,
            [axis.local(axis.start), axis.local(axis.end)],
            [level[1] / unit] * 2,
            words=[duration(level[1])] * 2 if is_time else None,
            name=level[0],
            colour=palette.quiet,
            dash="dash",
        )
    rows = with_gaps(frame, step_seconds=step_seconds, values=[line.column for line in lines])
    times = axis.local_times(rows["time"])
    for position, line in enumerate(lines):
        _add_line(
            made,
            times,
            [None if value is None else value / unit for value in rows[line.column].to_list()]
            if is_time
            else rows[line.column].to_list(),
            words=[duration(value) for value in rows[line.column].to_list()] if is_time else None,
            name=line.name,
            colour=line.colour or palette.series[position % len(palette.series)],
            dash=line.dash,
            steps=line.steps,
        )
    _fit_ticks(made)
    put_time_axis(made, axis)
    put_marks(made, axis, palette)
    return made.done()


def _add_band(made: Plot, band: Band, axis: Axis, palette: Palette) -> None:
    times = axis.local_times(band.frame["time"])
    made.traces.append(
        {
            "type": "scatter",
            "x": [*times, *reversed(times)],
            "y": [*band.frame["high"].to_list(), *reversed(band.frame["low"].to_list())],
            "fill": "toself",
            "fillcolor": palette.others,
            "opacity": 0.25,
            "line": {"width": 0},
            "mode": "lines",
            "name": band.name,
            "hoverinfo": "skip",
        }
    )


def _cap(made: Plot, band: Band, seen: float) -> None:
    """Let the axis end with what is to be seen where a band is far higher, and say how high."""
    high = _peak(band.frame, "high")
    if high > _BAND_SEEN_RATIO * seen > 0:
        made.y["autorangeoptions"] = {"clipmax": _BAND_SEEN_RATIO * seen}
        made.traces[-1]["name"] = f"{band.name}, up to {short(high)}"


def _add_line(
    made: Plot,
    times: list[datetime],
    values: list[float | None],
    *,
    name: str,
    colour: str,
    dash: str = "solid",
    steps: bool = False,
    words: list[str] | None = None,
) -> None:
    known = sum(value is not None for value in values)
    made.traces.append(
        {
            "type": "scatter",
            "x": times,
            "y": values,
            "name": plain(name),
            # A line needs two neighbours; a lonely point would not be seen without its marker.
            "mode": "lines"
            if (known > 3 or dash == "dash") and not _has_lonely(values)
            else "lines+markers",
            "marker": {"size": 4, "color": colour},
            "line": {
                "color": colour,
                "width": 1.8,
                "dash": dash,
                "shape": "hv" if steps else "linear",
            },
            "connectgaps": False,
            "customdata": words,
            "hovertemplate": "%{customdata}"
            if words is not None
            else "%{y:,.3~r}"
            if _is_fraction(values)
            else "%{y:,.0f}",
        }
    )


def _fit_ticks(made: Plot) -> None:
    """Write small figures as they are: SI prefixes would make thousandths of them."""
    cap = made.y.get("autorangeoptions", {}).get("clipmax", float("inf"))
    heights = [abs(y) for trace in made.traces for y in trace["y"] if y is not None]
    drawn = [y for y in heights if y <= cap]
    peak = max(drawn, default=0.0)
    if peak < 10:
        made.y["tickformat"] = "~g"
    if peak < 5 and made.y["type"] != "log" and all(float(y).is_integer() for y in drawn):
        made.y.update(dtick=1, range=[0, max(1.0, peak) * 1.05])


def _peak(frame: pl.DataFrame, column: str) -> float:
    values = frame[column].drop_nulls().to_list()
    return float(max(values, default=0.0))


def _has_lonely(values: list[float | None]) -> bool:
    """Return whether a known value stands between two unknown ones."""
    padded = [None, *values, None]
    return any(
        padded[at] is not None and padded[at - 1] is None and padded[at + 1] is None
        for at in range(1, len(padded) - 1)
    )


def _is_fraction(values: list[float | None]) -> bool:
    known = [value for value in values if value is not None]
    return any(value != int(value) for value in known)
