"""Lines over time: lag, delays, rates, counts of partitions.

Where a value stands, in every chart: that of a step, be it the highest, the last or the mean of it,
stands where the step ends. It was not known before, and no line moves ahead of the mark of what
moved it. What is of a moment and not of a step, such as a poll, stands at its moment. A cell of a
heatmap fills its step, and a bar is of its own begin and end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf

import plotly.graph_objects as go
import polars as pl

from app.style.charts.base import (
    Axis,
    Plot,
    outline,
    plain,
    plot,
    put_time_axis,
    top_and_others,
    with_gaps,
)
from app.style.charts.colours import looks_of
from app.style.charts.legend import put_legend
from app.style.charts.marks import put_marks
from app.style.format import duration, short
from app.style.theme import Palette


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One column drawn as a line."""

    column: str
    name: str
    colour: str | None = None  # its colour; None: it is of no name
    steps: bool = False
    dash: str = "solid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """What is usual, drawn behind the lines: ``time``, ``low`` and ``high``, null in gaps."""

    frame: pl.DataFrame
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghost:
    """What is drawn in grey: of another time, or of what has no line; ``time`` and ``value``."""

    frame: pl.DataFrame
    name: str
    step_seconds: float


_NAME_LETTERS = 24
"""Of a series in a legend, at most."""
LEVEL_DASHES = ("dash", "dashdot")
"""How the levels of a figure are drawn."""
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


def duration_unit(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[float, str]:
    """Return the unit in which columns of seconds are drawn together; see ``time_unit``."""
    return time_unit(_highest(frame, columns))


def series_chart(
    frame: pl.DataFrame,
    *,
    by: str,
    value: str,
    axis: Axis,
    palette: Palette,
    step_seconds: float,
    limit: int = 10,
    log: bool = False,
    height: int = 190,
    legend_lines: int = 0,
    of_moments: bool = False,
    own_colours: bool = True,
    rest: Ghost | None = None,
) -> go.Figure:
    """Draw one line a series: those with the highest peaks, and the sum of the others.

    Args:
        frame: Rows with ``time``, ``by`` and ``value``; null is drawn as a gap.
        by: Column that tells series apart.
        value: The value.
        axis: The page's time axis.
        palette: Colours.
        step_seconds: Distance of two points where none is missing.
        limit: Series drawn one by one.
        log: Whether y is logarithmic.
        height: Of the plot, in pixels.
        legend_lines: See ``base.plot``.
        of_moments: Whether rows are of moments, such as polls, and not of steps from their time on:
            see above for where each stands.
        own_colours: Whether a name has its own colour, as on other pages; else one that looks like
            no other of the chart.
        rest: The sum of series of which there are no rows.
    """
    rows, names = top_and_others(frame, by=by, value=value, limit=limit)
    made = plot(palette, height=height, legend_lines=legend_lines, log=log)
    rows = with_gaps(rows, step_seconds=step_seconds, values=(value,), by=by)
    looks = looks_of(names[:limit], palette, are_own=own_colours)
    for position, name in enumerate(names):
        one = rows.filter(pl.col(by) == name)
        is_rest = position == limit
        _add_line(
            made,
            axis.local_ends(one["time"], 0 if of_moments else step_seconds),
            one[value].to_list(),
            name=name,
            letters=None if is_rest else _NAME_LETTERS,
            colour=palette.others if is_rest else looks[name].colour,
            dash="dot" if is_rest else looks[name].dash,
        )
    if rest is not None and not rest.frame.is_empty():
        _add_ghost(made, rest, axis, palette)
    put_time_axis(made, axis)
    put_marks(made, axis, palette)
    _fit(made)
    put_legend(made, axis)
    return made.done()


def columns_chart(
    frame: pl.DataFrame,
    lines: Sequence[Line],
    *,
    axis: Axis,
    palette: Palette,
    step_seconds: float,
    durations: bool = False,
    log: bool = False,
    height: int = 190,
    legend_lines: int = 0,
    band: Band | None = None,
    ghost: Ghost | None = None,
    levels: Sequence[tuple[str, float]] = (),
    of_moments: bool = False,
) -> go.Figure:
    """Draw one line a column of the same rows; see ``series_chart`` for the arguments.

    Values that are ``durations`` are seconds, drawn in ``duration_unit``.
    Levels are names and values, at most as many as ``LEVEL_DASHES``. One is drawn where a line
    comes near it, and a band as far as that: a high one would press all lines to the ground.
    """
    columns = [line.column for line in lines]
    unit = duration_unit(frame, columns)[0] if durations else 1.0
    peak = _highest(frame, columns)
    seen_levels = [
        (dash, *one)
        for dash, one in zip(LEVEL_DASHES, levels, strict=False)
        if peak >= _LEVEL_SEEN_RATIO * one[1]
    ]
    named = len(lines) + len(seen_levels) + sum(one is not None for one in (band, ghost))
    made = plot(palette, height=height, legend=named > 1, legend_lines=legend_lines, log=log)
    if band is not None and not band.frame.is_empty():
        _add_band(made, band, axis, palette)
        if not log:
            seen = max(peak, _peak(ghost.frame, "value") if ghost is not None else 0.0)
            _cap(made, band, max(seen, _peak(band.frame, "low")))
    if ghost is not None and not ghost.frame.is_empty():
        _add_ghost(made, ghost, axis, palette, unit=unit, durations=durations)
    for dash, level_name, level in seen_levels:
        _add_line(
            made,
            [axis.local(axis.start), axis.local(axis.end)],
            [level / unit] * 2,
            words=[duration(level)] * 2 if durations else None,
            name=level_name,
            colour=palette.quiet,
            dash=dash,
        )
    rows = with_gaps(frame, step_seconds=step_seconds, values=columns)
    plain_colours = (palette.first, palette.second)
    times = axis.local_ends(rows["time"], 0 if of_moments else step_seconds)
    for position, line in enumerate(lines):
        _add_line(
            made,
            times,
            [None if value is None else value / unit for value in rows[line.column].to_list()]
            if durations
            else rows[line.column].to_list(),
            words=[duration(value) for value in rows[line.column].to_list()] if durations else None,
            name=line.name,
            colour=line.colour or plain_colours[position % len(plain_colours)],
            dash=line.dash,
            steps=line.steps,
        )
    put_time_axis(made, axis)
    put_marks(made, axis, palette)
    _fit(made)
    put_legend(made, axis)
    return made.done()


def _add_ghost(
    made: Plot,
    ghost: Ghost,
    axis: Axis,
    palette: Palette,
    *,
    unit: float = 1.0,
    durations: bool = False,
) -> None:
    rows = with_gaps(ghost.frame, step_seconds=ghost.step_seconds, values=["value"])
    values = rows["value"].to_list()
    _add_line(
        made,
        axis.local_ends(rows["time"], ghost.step_seconds),
        [None if value is None else value / unit for value in values],
        words=[duration(value) for value in values] if durations else None,
        name=ghost.name,
        colour=palette.others,
        dash="dot",
    )


def _add_band(made: Plot, band: Band, axis: Axis, palette: Palette) -> None:
    rows = band.frame
    x, y = outline(axis.local_times(rows["time"]), rows["low"].to_list(), rows["high"].to_list())
    made.traces.append(
        {
            **{"type": "scatter", "x": x, "y": y},
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
    letters: int | None = None,
) -> None:
    """Add a line; its name has at most so many letters in the legend, and is whole on hover."""
    brief = name if letters is None else _without_middle(name, letters)
    known = sum(value is not None for value in values)
    if steps:
        times, values = _stepped(times, values)
    made.traces.append(
        {
            "type": "scatter",
            "x": times,
            "y": values,
            "name": plain(brief),
            **({} if brief == name else {"meta": plain(name)}),
            # A line needs two neighbours; a lonely point would not be seen without its marker.
            "mode": "lines"
            if (known > 3 or dash in LEVEL_DASHES) and not _has_lonely(values)
            else "lines+markers",
            "marker": {"size": 4, "color": colour},
            "line": {
                "color": colour,
                "width": 1.8,
                "dash": dash,
            },
            "connectgaps": False,
            "customdata": words,
            "hovertemplate": (
                "%{customdata}"
                if words is not None
                else "%{y:,.3~r}"
                if _is_fraction(values)
                else "%{y:,.0f}"
            )
            + ("" if brief == name else "<extra>%{meta}</extra>"),
        }
    )


def _stepped(
    times: Sequence[datetime], values: Sequence[float | None]
) -> tuple[list[datetime], list[float | None]]:
    """Return the corners of a line that keeps to a value until it is another.

    A value is the highest of the time since the one before, and stands at its end: what is higher
    was so by then, and what is lower has been so since the one before.
    """
    corners: list[tuple[datetime, float | None]] = []
    before: tuple[datetime, float | None] | None = None
    for at, value in zip(times, values, strict=True):
        if before is not None and value is not None and before[1] is not None:
            if value < before[1]:
                corners.append((before[0], value))
            elif value > before[1]:
                corners.append((at, before[1]))
        corners.append((at, value))
        before = at, value
    return [at for at, _ in corners], [value for _, value in corners]


def _without_middle(name: str, letters: int) -> str:
    """Return a name whose begin and end are left: names often differ in one of them."""
    if len(name) <= letters:
        return name
    end = (letters - 1) // 2
    return f"{name[: letters - 1 - end]}…{name[-end:]}"


def _fit(made: Plot) -> None:
    """Write small figures as they are: SI prefixes would make thousandths of them."""
    cap = made.y.get("autorangeoptions", {}).get("clipmax", inf)
    heights = [abs(y) for trace in made.traces for y in trace["y"] if y is not None]
    drawn = [y for y in heights if y <= cap]
    peak = max(drawn, default=0.0)
    if peak < 10:
        made.y["tickformat"] = "~g"
    is_log = made.y["type"] == "log"
    if peak < 5 and not is_log and all(float(y).is_integer() for y in drawn):
        made.y.update(dtick=1, range=[0, max(1.0, peak) * 1.05])


def _highest(frame: pl.DataFrame, columns: Sequence[str]) -> float:
    return max((_peak(frame, column) for column in columns), default=0.0)


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
