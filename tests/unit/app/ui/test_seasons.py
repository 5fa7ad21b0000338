"""What is usual at an hour of the week, as the pages show it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from app.data.context import View
from app.data.history import GROUP
from app.data.time_range import RANGES
from app.style.charts.base import Axis
from app.style.charts.lines import Band, Ghost, Line, columns_chart
from app.style.format import clock
from app.style.theme import LIGHT
from app.ui.advice.forecast import holds
from app.ui.seasons import Usual, band, changed, delta, ghost, lag_delta, unusual, usual
from lake.schemas.tables import GROUP_HISTORY, LAG_ANOMALIES
from lake.storage.append import conform

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
WEEK = pl.DataFrame(
    [(hour, hour * 1.0, hour * 2.0, hour * 3.0) for hour in range(168)],
    schema=["hour_of_week", "p05", "p50", "p95"],
    orient="row",
).with_columns(generated=pl.lit(None, pl.Boolean))


@pytest.mark.parametrize("hours", [0, 1, 23, 24, 167])
def test_what_is_usual_is_that_of_the_hour_of_the_week(hours: int) -> None:
    found = usual(WEEK, MONDAY + timedelta(hours=hours, minutes=59))
    assert found == Usual(low=hours, median=2.0 * hours, high=3.0 * hours)


def test_an_hour_without_history_has_nothing_usual() -> None:
    assert usual(WEEK.filter(pl.col("hour_of_week") != 5), MONDAY + timedelta(hours=5)) is None


@pytest.mark.parametrize(
    ("range_name", "least", "low"),
    [
        pytest.param("6h", 0.0, 0.0, id="minutes lie below the highest of their hour"),
        pytest.param("7d", 0.0, None, id="hours have their highest, too"),
        pytest.param("6h", None, None, id="rates of minutes are as those of hours"),
    ],
)
def test_a_band_compares_like_with_like(
    view: View, range_name: str, least: float | None, low: float | None
) -> None:
    rows = WEEK.with_columns(generated=pl.lit(None, pl.Boolean))
    shown = replace(view, range=RANGES[range_name])
    found = band(rows, shown, least=least)
    assert found is not None
    at, first_low, first_high = found.frame.row(0)
    # Where lines are by the hour, the value of one stands at its end, and so does what is usual.
    begin = at - timedelta(hours=1 if range_name == "7d" else 0)
    assert begin == begin.replace(minute=0, second=0, microsecond=0)
    hour = float(begin.weekday() * 24 + begin.hour)
    assert (first_low, first_high) == (hour if low is None else low, 3 * hour)


@pytest.mark.parametrize("range_name", ["1h", "6h", "24h"])
def test_a_band_keeps_to_one_level_through_each_hour(view: View, range_name: str) -> None:
    rows = WEEK.with_columns(generated=pl.lit(None, pl.Boolean))
    shown = replace(view, range=RANGES[range_name])
    found = band(rows, shown)
    assert found is not None
    corners = list(found.frame.iter_rows())
    assert corners[0][0] <= shown.start < shown.until <= corners[-1][0]
    for (begin, *level), (end, *same) in zip(corners[::2], corners[1::2], strict=True):
        assert end - begin == timedelta(hours=1)
        hour = float(begin.weekday() * 24 + begin.hour)
        assert level == same == [hour, 3 * hour]
    assert [one[0] for one in corners[2::2]] == [one[0] for one in corners[1:-1:2]], "no gap"


def test_a_band_has_a_gap_at_an_hour_of_which_nothing_is_known(view: View) -> None:
    shown = replace(view, range=RANGES["6h"])
    missing = shown.now - timedelta(hours=3)
    rows = WEEK.with_columns(generated=pl.lit(None, pl.Boolean)).filter(
        pl.col("hour_of_week") != missing.weekday() * 24 + missing.hour
    )
    found = band(rows, shown)
    assert found is not None
    lacking = found.frame.filter(pl.col("high").is_null())
    assert [(one.hour - missing.hour) % 24 for one in lacking["time"]] == [0, 1]
    assert found.frame["low"].null_count() == 2
    assert band(rows.filter(pl.col("hour_of_week") == missing.hour - 12), shown) is None


@pytest.mark.parametrize(
    ("known", "value", "said"),
    [
        pytest.param(Usual(low=40, median=43, high=50), 45.0, ("usually 43/s", "off"), id="usual"),
        pytest.param(
            Usual(low=130, median=137, high=150),
            121.0,
            ("usually 137/s", "off"),
            id="a little less",
        ),
        pytest.param(Usual(low=40, median=43, high=50), 234.0, ("usually 43/s", "orange"), id="up"),
        pytest.param(Usual(low=40, median=43, high=50), 0.0, ("usually 43/s", "orange"), id="down"),
        pytest.param(Usual(low=40, median=43, high=50), None, ("all", "off"), id="unknown now"),
        pytest.param(None, 45.0, ("all", "off"), id="unknown before"),
    ],
)
def test_a_rate_is_compared_with_what_is_usual(
    known: Usual | None, value: float | None, said: tuple[str, str]
) -> None:
    assert delta(known, value, "all") == said
    assert delta(known, value, "all", "5 of 6 partitions") == ("5 of 6 partitions", "violet")


@pytest.mark.parametrize(
    ("lag", "said"),
    [
        pytest.param(15_900, ("usually up to 1.06\u202fk", "orange"), id="far above"),
        pytest.param(1900, ("usually up to 1.06\u202fk", "off"), id="little above"),
        pytest.param(0, ("usually up to 1.06\u202fk", "off"), id="nothing waits"),
        pytest.param(None, ("usually up to 1.06\u202fk", "off"), id="unknown now"),
    ],
)
def test_a_lag_is_compared_with_what_the_band_has(lag: float | None, said: tuple[str, str]) -> None:
    assert lag_delta(Usual(low=100, median=470, high=1060), lag, 50.0) == said


def test_what_was_generated_is_not_called_usual(view: View) -> None:
    """Given waves of thousands that were measured, and generated hours of some hundreds."""
    rows = WEEK.with_columns(generated=pl.lit(True))
    known = usual(rows, MONDAY + timedelta(hours=40))
    assert known is not None
    assert lag_delta(known, 8000, 50.0) == ("generated history: up to 120", "orange")
    assert delta(known, 80.0, "all") == ("generated history: 80/s", "off")


def test_only_hours_that_were_measured_are_unusual(view: View) -> None:
    newest = view.now.replace(minute=0, second=0, microsecond=0)
    hours = [newest - timedelta(hours=ago) for ago in (5, 4, 3, 2)]
    made = {"cluster": "east", "group": "a"}
    view.lake.append(
        GROUP_HISTORY,
        pl.DataFrame(
            [
                {**made, "grain_seconds": 3600, "window_start": at, "generated": at < hours[2]}
                for at in hours
            ]
        ),
    )
    anomaly = {**made, "lag_max": 700, "usual": 43.0, "score": 9.0, "as_of": view.now}
    known = [{**anomaly, "window_start": hour} for hour in (hours[0], hours[3])]
    rows = conform(LAG_ANOMALIES, pl.DataFrame(known))
    view.lake.append(LAG_ANOMALIES, rows)
    said = unusual(view, "a") or ""
    assert said.count("up to") == 1
    assert clock(hours[3], view.zone, now=view.now) in said


def test_a_lag_of_seconds_is_never_far_above() -> None:
    known = Usual(low=0, median=0, high=1)
    assert lag_delta(known, 9, None)[1] == "off"
    assert lag_delta(known, 900, 50.0)[1] == "off"
    assert lag_delta(known, 1100, 50.0)[1] == "orange"
    assert lag_delta(None, 1100, 50.0) == ("messages waiting", "off")


def test_what_has_changed_within_a_week_is_said_the_newest_first() -> None:
    def change(metric: str, hours_ago: int, kind: str = "step") -> dict[str, object]:
        at = MONDAY - timedelta(hours=hours_ago)
        return {
            **{"metric": metric, "kind": kind, "changed_at": at, "before": 43.0, "after": 61.0},
            **{"ratio": 1.9, "generated": kind == "growth" or None},
        }

    rows = pl.DataFrame(
        [
            change("arrival_per_second", 24 * 8),
            change("consumption_per_second", 72, "growth"),
            change("arrival_per_second", 58),
        ],
    )
    assert changed(rows, MONDAY, UTC) == (
        "Changed within a week: arriving 43/s before 20 Nov 14:00, 61/s after it; "
        "consumed 43/s before 20 Nov 00:00, 61/s of late, 1.4 times as much (generated history)"
    )
    assert changed(rows.head(1), MONDAY, UTC) is None


@pytest.mark.parametrize(
    ("coverage", "drawn"), [(0.36, False), (0.74, False), (0.75, True), (0.9, True), (None, True)]
)
def test_a_forecast_whose_band_did_not_hold_is_not_drawn(
    coverage: float | None, drawn: bool
) -> None:
    assert holds({"coverage_90": coverage}) is drawn


@pytest.mark.parametrize(
    ("line", "before", "low", "name", "end"),
    [
        pytest.param(3360.0, 200.0, 90.0, "usual, up to 130k", 6720.0, id="far above the line"),
        pytest.param(90.0, 4000.0, 90.0, "usual, up to 130k", 8000.0, id="what was before is seen"),
        pytest.param(5.0, 5.0, 90_000.0, "usual", None, id="the line lies far below it"),
        pytest.param(70_000.0, 0.0, 90.0, "usual", None, id="near"),
        pytest.param(0.0, 0.0, 0.0, "usual", None, id="nothing else is there"),
    ],
)
def test_a_band_far_above_all_else_does_not_flatten_it(
    line: float, before: float, low: float, name: str, end: float | None
) -> None:
    times = [MONDAY + timedelta(minutes=minute) for minute in range(10)]
    made = columns_chart(
        pl.DataFrame({"time": times, "lag": [line] * 10}),
        [Line(column="lag", name="lag")],
        axis=Axis(start=times[0], end=times[-1], zone=UTC),
        palette=LIGHT,
        step_seconds=60,
        band=Band(
            frame=pl.DataFrame({"time": times, "low": [low] * 10, "high": [130_000.0] * 10}),
            name="usual",
        ),
        ghost=Ghost(
            frame=pl.DataFrame({"time": times, "value": [before] * 10}),
            name="yesterday",
            step_seconds=60,
        ),
    )
    assert made.data[0].name.replace("\u2009", "").replace("\u202f", "") == name
    assert made.layout.yaxis.autorangeoptions.clipmax == end


@pytest.mark.parametrize(
    ("generated", "name"),
    [
        pytest.param([None, True], "yesterday (generated history)", id="in part"),
        pytest.param([None, None], "yesterday", id="measured"),
    ],
)
def test_what_was_before_says_that_it_was_generated(
    view: View, generated: list[bool | None], name: str
) -> None:
    rows = [
        {
            "cluster": "east",
            "group": "a",
            "grain_seconds": view.range.grain.seconds,
            "window_start": view.now - timedelta(hours=hours),
            "lag_max": 5,
            "generated": of,
        }
        for hours, of in zip((30, 31), generated, strict=True)
    ]
    view.lake.append(GROUP_HISTORY, pl.DataFrame(rows, infer_schema_length=None))
    found = ghost(view, "yesterday", GROUP_HISTORY, "group", "a", GROUP[0])
    assert found is not None
    assert found.name == name
    assert found.frame["value"].to_list() == [5, 5]


def drawn(peak: float) -> list[str]:
    times = [MONDAY + timedelta(minutes=minute) for minute in range(10)]
    frame = pl.DataFrame({"time": times, "late": [peak] * 10})
    band = pl.DataFrame({"time": times, "low": [1.0] * 10, "high": [2.0] * 10})
    before = pl.DataFrame({"time": times, "value": [3.0] * 10})
    made = columns_chart(
        frame,
        [Line(column="late", name="time lag")],
        axis=Axis(start=times[0], end=times[-1], zone=UTC),
        palette=LIGHT,
        step_seconds=60,
        band=Band(frame=band, name="usual"),
        ghost=Ghost(frame=before, name="yesterday", step_seconds=60),
        levels=[("objective", 300.0), ("retention", 400.0)],
    )
    return [trace.name for trace in made.data]


def test_band_ghost_and_a_level_that_is_near_lie_behind_the_line() -> None:
    assert drawn(100.0) == ["usual", "yesterday", "objective", "retention", "time lag"]


def test_a_level_far_above_the_line_is_left_out() -> None:
    assert "objective" not in drawn(10.0)
