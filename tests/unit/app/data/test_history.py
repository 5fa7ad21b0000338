from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl
import pytest

from app.data.history import GROUP, History, evenly, fine_step, in_steps, merge, observed
from app.data.time_range import DEFAULT_RANGE, POINT_BUDGET, RANGES, between

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
NAMES = [measure.name for measure in GROUP]


def gold(*lags: int | None, grain: int = 60, generated: int = 0) -> pl.DataFrame:
    """Return rows of history, the first ``generated`` of them generated."""
    return pl.DataFrame(
        {
            "window_start": [START + timedelta(seconds=grain * at) for at in range(len(lags))],
            "group": ["a"] * len(lags),
            "lag_max": list(lags),
            "time_lag_seconds_max": [1.0] * len(lags),
            "arrival_per_second": [10.0] * len(lags),
            "consumption_per_second": [9.0] * len(lags),
            "members_last": [2] * len(lags),
            "generated": [True if at < generated else None for at in range(len(lags))],
            "samples": [12] * len(lags),
            "samples_expected": [12] * len(lags),
            "arrived_seconds": [60.0] * len(lags),
        },
        schema={
            "window_start": pl.Datetime("us", "UTC"),
            "group": pl.String,
            "lag_max": pl.Int64,
            "time_lag_seconds_max": pl.Float64,
            "arrival_per_second": pl.Float64,
            "consumption_per_second": pl.Float64,
            "members_last": pl.Int32,
            "generated": pl.Boolean,
            "samples": pl.Int32,
            "samples_expected": pl.Int32,
            "arrived_seconds": pl.Float64,
        },
    )


def samples(**lags: int) -> pl.DataFrame:
    seconds = [int(name.removeprefix("s")) for name in lags]
    return pl.DataFrame(
        {
            "time": [START + timedelta(seconds=second) for second in seconds],
            "group": ["a"] * len(lags),
            "lag": list(lags.values()),
            "time_lag_seconds": [2.0] * len(lags),
            "arrival_per_second": [20.0] * len(lags),
            "consumption_per_second": [20.0] * len(lags),
            "members": [3] * len(lags),
        },
        schema_overrides={
            "time": pl.Datetime("us", "UTC"),
            "lag": pl.Int64,
            "members": pl.Int32,
        },
    )


def merged(
    past: pl.DataFrame,
    raw: pl.DataFrame,
    *,
    now: float = 3600,
    key: str = "1h",
    course: pl.DataFrame | None = None,
) -> History:
    return merge(
        past,
        raw,
        keys=("group",),
        measures=GROUP,
        chosen=RANGES[key],
        poll_seconds=5.0,
        now=START + timedelta(seconds=now),
        course=course,
    )


@pytest.mark.parametrize(
    ("seconds", "polls", "known"),
    [
        pytest.param([55.0, 60.0, 60.0], [12] * 3, [None, 10.0, 10.0], id="watching began in it"),
        pytest.param([60.0, 55.0, 60.0], [12] * 3, [10.0] * 3, id="a late poll"),
        pytest.param([60.0] * 3, [12, 5, 12], [10.0, None, 10.0], id="collectors were away"),
        pytest.param([60.0] * 3, [12, 6, 12], [10.0] * 3, id="half of it is known"),
        pytest.param([None] * 3, [None] * 3, [10.0] * 3, id="nobody knows how much"),
    ],
)
def test_rates_of_a_part_of_a_minute_are_left_out(
    seconds: list[float | None], polls: list[int | None], known: list[float | None]
) -> None:
    past = gold(1, 2, 3).with_columns(
        pl.Series("arrived_seconds", seconds, pl.Float64), pl.Series("samples", polls, pl.Int32)
    )
    for frame in (past, pl.concat([gold(9, generated=1), past]).sort("window_start")):
        found = merged(frame, samples())
        assert found.frame["lag"].to_list() == [1, 2, 3], "what is of a moment is known"
        assert found.frame["arrival_per_second"].to_list() == known


def test_without_history_the_samples_stand_in_and_say_so() -> None:
    found = merged(gold(), samples(s0=5, s5=9, s10=7, s15=3))
    assert found.frame["lag"].to_list() == [9, 3]
    assert found.step_seconds == 15.0
    assert found.note is not None
    assert "No history" in found.note


def test_generated_history_is_history_that_has_been_written() -> None:
    found = merged(gold(7, 8, generated=2), samples(s130=4, s150=6))
    assert found.frame["lag"].to_list() == [4, 6]
    assert found.note is None


def test_nothing_at_all_needs_no_note() -> None:
    found = merged(gold(), samples())
    assert found.frame.is_empty()
    assert found.note is None


def test_samples_that_reach_back_as_far_are_finer_than_the_history() -> None:
    found = merged(gold(1, 2), samples(s10=4, s30=6, s130=8))
    assert found.frame["lag"].to_list() == [4, 6, 8]
    assert found.note is None


def test_generated_history_is_shown_in_long_ranges_and_says_so() -> None:
    found = merged(gold(7, 8, 1, generated=2), samples(s185=4), key="24h")
    assert found.frame["lag"].to_list() == [8, 4], "in steps of three minutes"
    assert found.generated_until == START + timedelta(seconds=120)
    assert found.measured["lag"].to_list() == [4]


@pytest.mark.parametrize("key", ["1h", "6h"])
def test_a_short_range_begins_where_measuring_did(key: str) -> None:
    past = gold(7, 8, 1, generated=2)
    for raw, shown in ((samples(s130=4, s150=6), [4, 6]), (samples(), [1])):
        found = merged(past, raw, key=key)
        assert found.frame["lag"].to_list() == found.measured["lag"].to_list() == shown
        assert found.generated_until is None
    of_evaluations = merged(past, samples(), key=key, course=samples(s185=3, s190=2))
    assert of_evaluations.first == START + timedelta(seconds=120)
    assert merged(gold(7, 8, generated=2), samples(), key=key).frame.is_empty()


def test_a_short_range_of_the_past_shows_generated_history_where_nothing_was_measured() -> None:
    end = START + timedelta(seconds=120)
    chosen = between(START, end, end + timedelta(days=1), None)
    assert observed(gold(7, 8, generated=2), chosen).height == 2
    assert observed(gold(7, 8, generated=1), chosen)["lag_max"].to_list() == [8]


def test_samples_after_the_last_window_are_added_by_the_minute() -> None:
    found = merged(gold(1, 2), samples(s60=99, s125=4, s130=6))
    assert found.frame["lag"].to_list() == [1, 2, 6]
    assert found.frame["time"].to_list()[-1] == START + timedelta(seconds=120)
    assert found.note is None
    assert found.first == START


@pytest.mark.parametrize(
    ("now", "lags"),
    [pytest.param(179, [1, 2], id="not over"), pytest.param(180, [1, 2, 6], id="just over")],
)
def test_a_minute_is_drawn_when_it_is_over(now: float, lags: list[int]) -> None:
    assert merged(gold(1, 2), samples(s125=6), now=now).frame["lag"].to_list() == lags


def test_a_course_is_drawn_up_to_now_and_its_means_stay_unknown() -> None:
    course = samples(s65=5, s125=6, s130=8, s140=7).with_columns(
        pl.lit(None, pl.Float64).alias("arrival_per_second")
    )

    def ended(now: float, raw: pl.DataFrame, key: str = "1h") -> History:
        return merged(gold(1, 2), raw, now=now, key=key, course=course)

    found = ended(140, samples())
    assert found.frame["lag"].to_list() == [1, 2, 6, 8, 7], "each poll"
    assert ends_of(found) == [60, 120, 125, 130, 140], "at its own time"
    assert found.frame["arrival_per_second"].to_list() == [10.0, 10.0, None, None, None]
    assert found.newest == START + timedelta(seconds=140)
    assert evenly(found, ("group",), GROUP)["lag"].to_list() == [1, 8], "for trends"
    sampled = ended(200, samples(s125=4))
    assert sampled.frame["lag"].to_list() == [1, 2, 4], "samples tell more"
    assert sampled.newest is None
    in_steps_of_minutes = merged(gold(1, 2), samples(), now=140, key="24h", course=course)
    assert in_steps_of_minutes.frame["lag"].to_list() == [8]


def ends_of(found: History) -> list[float]:
    """Return where the values stand."""
    ends = found.frame["time"] + timedelta(seconds=found.step_seconds)
    return [(end - START).total_seconds() for end in ends]


def polled(**lags: int) -> pl.DataFrame:
    return samples(**lags).with_columns(pl.lit(1.0).alias("time_lag_seconds"))


def test_a_line_that_falls_has_no_drop_behind_the_last_minute_nor_at_the_present() -> None:
    """The highest of a minute stands at its end, where the value is far below it by then."""
    a_second = 100
    polls = {f"s{second}": 30_000 - a_second * second for second in range(62, 240, 5)}
    minutes = gold(*(30_000 - a_second * second for second in (0, 60, 120)))
    found = merged(minutes, samples(), now=240, course=polled(**polls))
    points = list(zip(ends_of(found), found.frame["lag"].to_list(), strict=True))
    slopes = [
        (before - after) / (end - start) for (start, before), (end, after) in pairwise(points)
    ]
    assert max(slopes) <= 3 * a_second
    assert points[-1] == (237, polls["s237"])


def test_rates_behind_the_last_minute_are_means_of_a_minute_and_unknown_where_a_poll_is() -> None:
    course = polled(**{f"s{second}": 1 for second in range(125, 245, 10)}).with_columns(
        pl.Series("arrival_per_second", [None, *[0.0, 20.0] * 5, 0.0], dtype=pl.Float64)
    )
    found = merged(gold(1, 2), samples(), now=240, course=course)
    rates = found.frame["arrival_per_second"].to_list()
    assert rates[:2] == [10.0, 10.0] and rates[-1] == 10.0, "of the minute up to the poll"
    assert 0.0 not in rates and 20.0 not in rates[-5:]
    first = merged(gold(1, 2), samples(), now=126, course=course.head(1))
    assert first.frame["arrival_per_second"].to_list() == [10.0, 10.0, None]


def test_what_rises_behind_the_last_minute_is_drawn_and_so_is_the_newest_poll() -> None:
    def lags(now: float, **course: int) -> list[int]:
        return (
            merged(gold(1, 2), samples(), now=now, course=polled(**course)).frame["lag"].to_list()
        )

    assert lags(160, s122=2, s127=9, s132=1, s157=1) == [1, 2, 9, 1]
    assert lags(125, s122=1) == [1, 2, 1]


@pytest.mark.parametrize(
    "hours", [(10, 20), (10, 20, 30)], ids=["not yet", "the hour that goes on"]
)
def test_a_line_by_the_hour_ends_with_what_the_newest_poll_found(hours: tuple[int, ...]) -> None:
    at = 2 * 3600 + 2400
    course = samples(**{f"s{at - 5}": 90, f"s{at}": 70})
    found = merged(gold(*hours, grain=3600), samples(), now=at + 2, key="7d", course=course)
    assert found.frame["lag"].to_list() == [10, 20, 90, 70]
    assert found.frame["time"].to_list()[-1] == found.newest == START + timedelta(seconds=at)
    assert found.frame["arrival_per_second"].to_list()[-1] is None, "no poll is a mean of an hour"


@pytest.mark.parametrize(
    ("poll_seconds", "step"),
    [pytest.param(5.0, 15, id="demo"), pytest.param(15.0, 30, id="usual")],
)
def test_two_polls_fall_into_a_fine_step(poll_seconds: float, step: int) -> None:
    assert fine_step(poll_seconds) == step


def test_an_unknown_window_stays_unknown() -> None:
    found = merged(gold(1, None, 3), samples())
    assert found.frame["lag"].to_list() == [1, None, 3]


def test_steps_take_the_highest_lag_the_mean_rate_and_the_last_count() -> None:
    frame = samples(s0=1, s30=9, s59=4, s60=2).with_columns(
        pl.Series("arrival_per_second", [0.0, 3.0, 6.0, 9.0]),
        pl.Series("members", [1, 5, 2, 7], dtype=pl.Int32),
    )
    found = in_steps(frame, ("group",), GROUP, 60).sort("time")
    assert found["lag"].to_list() == [9, 2]
    assert found["arrival_per_second"].to_list() == [3.0, 9.0]
    assert found["members"].to_list() == [2, 7]


@pytest.mark.parametrize("key", RANGES)
def test_every_range_keeps_to_the_budget_on_whole_rows(key: str) -> None:
    chosen = RANGES[key]
    assert chosen.length.total_seconds() / chosen.step_seconds <= POINT_BUDGET
    assert chosen.step_seconds % chosen.grain.seconds == 0
    start = chosen.start(datetime(2026, 11, 20, 8, 3, 7, tzinfo=UTC))
    assert start.timestamp() % chosen.step_seconds == 0


def test_the_default_is_one_of_the_ranges() -> None:
    assert DEFAULT_RANGE in RANGES
