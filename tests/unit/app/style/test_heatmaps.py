"""Heatmaps, and bars without a time."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from app.style.charts.heatmaps import bars, heat_unit, heatmap
from app.style.theme import LIGHT
from tests.unit.app.style.test_charts import AXIS, START


def heat(values: list[float | None], neutral: float = 60.0):  # type: ignore[no-untyped-def]
    rows = pl.DataFrame(
        {
            "time": [START + timedelta(seconds=60 * at + 1) for at in range(len(values))],
            "label": ["0"] * len(values),
            "order": [0] * len(values),
            "late": values,
        },
        schema_overrides={"time": pl.Datetime("us", "UTC"), "late": pl.Float64},
    )
    return heatmap(
        rows.filter(pl.col("late") != -1),
        value="late",
        axis=AXIS,
        palette=LIGHT,
        step_seconds=60,
        neutral=neutral,
    )


def test_a_heatmap_leaves_the_unknown_and_the_missing_empty() -> None:
    cells = heat([1.0, None, -1.0, 4.0]).data[0].z[0]
    assert list(cells) == [1.0, None, None, 4.0]


def test_all_cells_of_a_heatmap_lie_on_the_axis_and_are_as_long_as_their_step() -> None:
    trace = heat([1.0, 4.0]).data[0]
    first = AXIS.local(START) + timedelta(seconds=1)
    assert list(trace.x) == [first + timedelta(minutes=one) for one in range(3)]
    assert "%H:%M}" in trace.hovertemplate
    last = heat([1.0] * 60).data[0].x[-2:]
    assert list(last) == [first + timedelta(minutes=59), AXIS.local(AXIS.end)]


def test_normal_noise_is_not_painted_red() -> None:
    assert heat([1.0, 4.0]).data[0].zmax == 60.0
    assert heat([1.0, 90.0]).data[0].zmax == 90.0


def test_the_scale_of_a_heatmap_takes_no_height_from_its_rows() -> None:
    assert heat([1.0]).data[0].colorbar.yref == "container"


def test_the_scale_of_a_heatmap_has_the_unit_that_stands_in_its_heading() -> None:
    late = pl.Series([1.0, None, 600.0])
    assert heat_unit(late, 60.0) == "minutes"
    assert heat([1.0, None, 600.0]).data[0].zmax == 10.0
    assert heat_unit(pl.Series([None], dtype=pl.Float64), 60.0) == "seconds"


def test_bars_mark_what_is_hot_and_show_an_even_share() -> None:
    made = bars(
        pl.DataFrame({"partition": [0, 1], "rate": [1.0, 9.0], "hot": [False, True]}),
        label="partition",
        value="rate",
        palette=LIGHT,
        unit="messages a second",
        even=5.0,
        marked="hot",
    )
    assert list(made.data[0].marker.color) == [LIGHT.first, LIGHT.watch]
    assert made.layout.shapes[0].y0 == 5.0
