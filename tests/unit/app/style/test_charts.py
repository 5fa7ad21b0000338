from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import plotly.graph_objects as go
import polars as pl
import pytest

from app.style.charts.advice import forecast_chart
from app.style.charts.base import (
    Axis,
    ChartEvent,
    plot,
    plot_height,
    put_time_axis,
    with_gaps,
)
from app.style.charts.heatmaps import heatmap
from app.style.charts.lines import (
    Band,
    Ghost,
    Line,
    columns_chart,
    duration_unit,
    series_chart,
    time_unit,
)
from app.style.charts.words import in_words
from app.style.theme import DARK, LIGHT

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
AXIS = Axis(start=START, end=START + timedelta(hours=1), zone=UTC)


def frame(**series: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"time": START + timedelta(minutes=minute), "group": name, "lag": value}
            for name, values in series.items()
            for minute, value in enumerate(values)
        ],
        schema={"time": pl.Datetime("us", "UTC"), "group": pl.String, "lag": pl.Float64},
    )


def chart(rows: pl.DataFrame, **options: object):  # type: ignore[no-untyped-def]
    return series_chart(
        rows,
        by="group",
        value="lag",
        axis=AXIS,
        palette=LIGHT,
        step_seconds=60,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(("pixels", "lines"), [(600, 1), (300, 2), (90, 6)])
def test_further_lines_of_a_legend_take_no_height_from_the_plot(pixels: int, lines: int) -> None:
    names = [f"g{number}" for number in range(5)]
    made = columns_chart(
        frame(a=[1.0, 2.0]).with_columns(pl.col("lag").alias(name) for name in names),
        [Line(column=name, name=name) for name in names],
        axis=replace(AXIS, pixels=pixels),
        palette=LIGHT,
        step_seconds=60,
        levels=[("objective", 2.0)],
        height=180,
    )
    assert made.layout.height == 180 + 12 + 19 * lines + 22
    assert plot_height(made) >= 180


def test_plots_beside_each_other_begin_and_end_at_one_height() -> None:
    rows = frame(**{f"group-{number}": [1.0, 2.0] for number in range(6)})
    many = chart(rows, legend_lines=2, height=150)
    one = columns_chart(
        frame(a=[1.0, 2.0]).with_columns(also=pl.col("lag")),
        [Line(column="lag", name="lag" * 8), Line(column="also", name="also" * 8)],
        axis=AXIS,
        palette=LIGHT,
        step_seconds=60,
        legend_lines=2,
        height=plot_height(many),
    )
    assert many.layout.margin == one.layout.margin
    assert many.layout.height == one.layout.height
    assert (many.layout.legend.yref, many.layout.legend.yanchor) == ("container", "top")


def test_no_figure_names_its_axis_sideways_and_all_time_axes_begin_at_one_place() -> None:
    rows = frame(a=[1.0, 90_000.0])
    line = [Line(column="lag", name="lag")]
    of_time = columns_chart(
        rows, line, axis=AXIS, palette=LIGHT, step_seconds=60, durations=True, log=True
    )
    for made in (chart(rows), of_time):
        assert made.layout.yaxis.title.text is None
        assert made.layout.margin.l == 38


def test_days_stand_below_the_hours_only_where_there_are_several() -> None:
    def form(hours: int) -> str:
        axis = replace(AXIS, end=START + timedelta(hours=hours))
        made = series_chart(
            frame(a=[1.0]), by="group", value="lag", axis=axis, palette=LIGHT, step_seconds=60
        )
        return made.layout.xaxis.tickformatstops[1].value

    assert form(6) == "%H:%M"
    assert form(24) == "%H:%M\n%-d %b"


def test_the_value_of_a_step_stands_where_it_ends_not_before_what_it_follows_from() -> None:
    rows = frame(a=[0.0, 5.0, 5.0]).with_columns(also=pl.col("lag"))
    axis = replace(AXIS, end=START + timedelta(minutes=2, seconds=30))
    ends = [axis.local(START + timedelta(minutes=one)) for one in (1, 2)]
    # The last step goes on: it is drawn up to now.
    expected = [*ends, axis.local(axis.end)]
    lines = [Line(column="lag", name="lag"), Line(column="also", name="also", steps=True)]
    of_columns = columns_chart(rows, lines, axis=axis, palette=LIGHT, step_seconds=60)
    of_series = series_chart(
        rows,
        by="group",
        value="lag",
        axis=axis,
        palette=LIGHT,
        step_seconds=60,
    )
    of_lines, of_steps = of_columns.data
    for trace in (of_lines, *of_series.data):
        assert list(trace.x) == expected
    assert list(dict.fromkeys(of_steps.x)) == expected
    polls = columns_chart(rows, lines, axis=axis, palette=LIGHT, step_seconds=60, of_moments=True)
    assert list(polls.data[0].x) == axis.local_times(rows["time"]), "a moment stands for itself"


def test_the_mean_of_an_hour_stands_where_the_hour_ends_also_in_a_forecast() -> None:
    now = START + timedelta(hours=2, minutes=10)
    hours = [START + timedelta(hours=one) for one in range(5)]
    past = pl.DataFrame({"time": hours[:3], "value": [1.0, 2.0, 3.0]})
    expected = pl.DataFrame(
        {"window_start": hours[3:], "median": [2.0] * 2, "low_90": [1.0] * 2, "high_90": [3.0] * 2}
    )
    axis = Axis(start=START, end=now, zone=UTC)
    band, median, arrived = forecast_chart(expected, axis=axis, palette=LIGHT, past=past).data
    ends = [one.replace(tzinfo=None) + timedelta(hours=1) for one in hours]
    assert list(arrived.x) == [*ends[:2], now.replace(tzinfo=None)], "this hour goes on"
    assert list(median.x) == ends[3:]
    assert list(band.x) == [*ends[3:], *reversed(ends[3:])]


def test_an_hour_without_history_is_a_gap_of_bands_and_lines() -> None:
    hours = [START + timedelta(hours=one) for one in (0, 1, 3)]
    values = {"low": [1.0] * 3, "high": [3.0] * 3, "median": [2.0] * 3}
    forecast = pl.DataFrame({"window_start": hours, **values}).rename(
        {"low": "low_90", "high": "high_90"}
    )
    past = pl.DataFrame({"time": hours, "value": [1.0] * 3})
    axis = Axis(start=START, end=START + timedelta(hours=9), zone=UTC)
    band, median, arrived = forecast_chart(forecast, axis=axis, palette=LIGHT, past=past).data
    assert list(band.y) == [3.0, 3.0, 1.0, 1.0, None, 3.0, 1.0]
    assert list(median.y) == [2.0, 2.0, None, 2.0]
    assert list(arrived.y) == [1.0, 1.0, None, 1.0]
    usual = pl.DataFrame(
        {"time": [*hours, hours[-1]], "low": [1.0, None, None, 1.0], "high": [2.0, None, None, 2.0]}
    )
    made = columns_chart(
        frame(a=[1.0, 2.0]),
        [Line(column="lag", name="lag")],
        axis=axis,
        palette=LIGHT,
        step_seconds=60,
        band=Band(frame=usual, name="usual"),
    )
    assert list(made.data[0].y) == [2.0, 1.0, None, 2.0, 1.0]


def test_a_line_of_another_time_stands_as_the_one_beside_it() -> None:
    rows = frame(a=[1.0, 2.0])
    ghost = Ghost(
        frame=rows.select("time", value=pl.col("lag")), name="yesterday", step_seconds=60.0
    )
    made = columns_chart(
        rows,
        [Line(column="lag", name="lag")],
        axis=AXIS,
        palette=LIGHT,
        step_seconds=60,
        ghost=ghost,
    )
    before, now = made.data
    assert list(before.x) == list(now.x)


def test_marks_stand_in_a_strip_above_all_lines_and_change_no_height() -> None:
    marks = tuple(ChartEvent(at=START + timedelta(minutes=at), text="e" * 20) for at in (5, 8, 50))

    def drawn(*events: ChartEvent) -> go.Figure:
        return columns_chart(
            frame(a=[30.0, 70.0, 40.0]),
            [Line(column="lag", name="lag")],
            axis=replace(AXIS, events=events, pixels=300),
            palette=LIGHT,
            step_seconds=60,
            height=240,
        )

    bare, marked = drawn(), drawn(*marks)
    assert bare.layout.yaxis.domain is None
    top = marked.layout.yaxis.domain[1]
    assert (1 - top) * 240 == pytest.approx(18)
    assert {one.y1 for one in marked.layout.shapes} == {top}, "no line reaches into the strip"
    assert {(one.y, one.yref, one.yanchor) for one in marked.layout.annotations} == {
        (1, "paper", "top")
    }
    assert marked.layout.height == bare.layout.height


def test_names_of_a_legend_have_their_own_widths_and_are_whole_on_hover() -> None:
    long = "connect-parcel_archive-of-the-west"
    made = series_chart(
        frame(**{long: [2.0, 3.0], "short": [1.0, 1.0]}),
        by="group",
        value="lag",
        axis=replace(AXIS, pixels=400),
        palette=DARK,
        step_seconds=60,
        height=240,
    )
    cut, short = made.data
    assert cut.name == "connect-parc…of-the-west"
    assert (cut.meta, cut.hovertemplate) == (long, "%{y:,.0f}<extra>%{meta}</extra>")
    assert (short.name, short.hovertemplate) == ("short", "%{y:,.0f}")
    assert [cut.legendgroup, short.legendgroup] == [cut.name, "short"], "not that of the longest"
    assert made.layout.legend.tracegroupgap == 0
    assert plot_height(made) == 240
    assert in_words(made).startswith(f"{long}: ")


def test_holes_are_left_open() -> None:
    rows = frame(a=[1.0, 2.0, 3.0, 4.0]).filter(pl.col("lag") != 3.0)
    found = with_gaps(rows, step_seconds=60, values=["lag"], by="group")
    assert found["lag"].to_list() == [1.0, 2.0, None, 4.0]
    drawn = chart(rows).data[0]
    assert list(drawn.y) == [1.0, 2.0, None, 4.0]
    assert drawn.connectgaps is False


def test_a_point_between_two_holes_is_seen() -> None:
    assert chart(frame(a=[1.0, None, 3.0, None, 5.0])).data[0].mode == "lines+markers"
    assert chart(frame(a=[1.0, 2.0, 3.0, 4.0, 5.0])).data[0].mode == "lines"


def test_lag_begins_at_zero_and_may_be_logarithmic() -> None:
    assert chart(frame(a=[5.0, 9.0])).layout.yaxis.rangemode == "tozero"
    assert chart(frame(a=[5.0, 9.0]), log=True).layout.yaxis.type == "log"


def test_an_empty_frame_is_an_empty_figure_with_the_axis_of_the_page() -> None:
    made = chart(frame())
    assert len(made.data) == 0
    assert made.layout.xaxis.range == (datetime(2026, 11, 20, 8), datetime(2026, 11, 20, 9))


def test_times_are_drawn_in_the_viewers_zone_and_name_their_offset() -> None:
    axis = Axis(start=START, end=START + timedelta(hours=1), zone=ZoneInfo("Europe/Berlin"))
    assert axis.local(START) == datetime(2026, 11, 20, 9)
    assert axis.offset == "UTC+1"
    assert Axis(start=START, end=START, zone=ZoneInfo("Asia/Kolkata")).offset == "UTC+5:30"
    assert Axis(start=START, end=START, zone=UTC).offset == "UTC"


def test_names_of_series_are_no_markup() -> None:
    made = series_chart(
        frame(**{"<a href='//x'>&": [1.0]}),
        by="group",
        value="lag",
        axis=AXIS,
        palette=DARK,
        step_seconds=60,
    )
    assert made.data[0].name == "&lt;a href='//x'&gt;&amp;"


@pytest.mark.parametrize(
    ("seconds", "unit"),
    [
        pytest.param(None, "seconds", id="unknown"),
        pytest.param(90.0, "seconds", id="seconds"),
        pytest.param(600.0, "minutes", id="minutes"),
        pytest.param(4 * 3600.0, "hours", id="hours"),
        pytest.param(5 * 86400.0, "days", id="days"),
    ],
)
def test_durations_are_drawn_in_a_unit_that_suits(seconds: float | None, unit: str) -> None:
    assert time_unit(seconds)[1] == unit


def test_durations_are_scaled_and_written_in_words_on_hover() -> None:
    made = columns_chart(
        frame(a=[0.0, 300.0]).drop("group"),
        [Line(column="lag", name="time lag")],
        axis=AXIS,
        palette=LIGHT,
        step_seconds=60,
        durations=True,
    )
    assert list(made.data[0].y) == [0.0, 5.0]
    assert list(made.data[0].customdata) == ["0 s", "5 min"]
    assert duration_unit(frame(a=[0.0, 300.0]), ["lag"]) == (60.0, "minutes")


def test_a_line_of_steps_rises_where_the_higher_is_known_and_falls_where_it_was_last_so() -> None:
    made = columns_chart(
        frame(a=[0.0, 70.0, 70.0, 0.0]).drop("group"),
        [Line(column="lag", name="at risk", steps=True)],
        axis=AXIS,
        palette=LIGHT,
        step_seconds=60,
    )
    minutes = [round((at - made.data[0].x[0]).total_seconds() / 60) for at in made.data[0].x]
    assert list(zip(minutes, made.data[0].y, strict=True)) == [
        *((0, 0.0), (1, 0.0), (1, 70.0)),
        *((2, 70.0), (2, 0.0), (3, 0.0)),
    ]


def test_what_was_generated_has_another_ground_as_far_as_it_is_shown() -> None:
    def grounds(until: datetime | None) -> list[tuple[datetime, datetime]]:
        axis = Axis(start=START, end=START + timedelta(hours=1), zone=UTC, generated_until=until)
        drawn = plot(LIGHT, height=200)
        put_time_axis(drawn, axis)
        return [(one["x0"], one["x1"]) for one in drawn.shapes]

    first = START.replace(tzinfo=None)
    end = first + timedelta(minutes=20)
    assert grounds(None) == grounds(START) == []
    assert grounds(START + timedelta(minutes=20)) == [(first, end), (end, end)], "its end is marked"
    assert grounds(START + timedelta(days=1)) == [(first, first + timedelta(hours=1))]


def test_the_ground_of_what_was_generated_is_seen_on_every_kind_of_chart() -> None:
    axis = Axis(
        start=START,
        end=START + timedelta(hours=1),
        zone=UTC,
        generated_until=START + timedelta(minutes=20),
    )
    expected = pl.DataFrame(
        {
            "window_start": [START + timedelta(hours=1)],
            "median": [2.0],
            "low_90": [1.0],
            "high_90": [3.0],
        }
    )
    ground, _ = forecast_chart(expected, axis=axis, palette=LIGHT).layout.shapes
    assert ground.x1 == axis.local(START + timedelta(minutes=20))
    cells = pl.DataFrame({"time": [START], "label": ["0"], "order": [0], "late": [1.0]})
    ground, _ = heatmap(
        cells, value="late", axis=axis, palette=LIGHT, step_seconds=60, neutral=60.0
    ).layout.shapes
    assert ground.layer == "above"


def test_each_level_that_a_line_comes_near_is_drawn_and_named() -> None:
    def names(late: float) -> list[tuple[str, str]]:
        drawn = columns_chart(
            frame(a=[late, late]),
            [Line(column="lag", name="time lag")],
            axis=AXIS,
            palette=LIGHT,
            step_seconds=60,
            durations=True,
            levels=[("objective 5 min", 300.0), ("retention 1 min", 60.0)],
        )
        return [(trace.name, trace.line.dash) for trace in drawn.data[:-1]]

    objective, retention = ("objective 5 min", "dash"), ("retention 1 min", "dashdot")
    assert names(100.0) == [objective, retention]
    assert names(50.0) == names(20.0) == [retention]
    assert names(5.0) == []
