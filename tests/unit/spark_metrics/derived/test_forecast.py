from __future__ import annotations

import numpy as np
import pytest

from bench.cases.forecasts import ForecastScore, generated, of_demo, score
from demo.history.generated import DAYS
from spark_metrics.derived.forecast import LEVELS, forecast
from spark_metrics.derived.series import DAY, WEEK, Floats

RARE = ("weekly with spikes", "nightly batch")
HOURS = np.arange(5 * WEEK)


def weekly(seed: int = 1) -> Floats:
    dice = np.random.default_rng(seed)
    shape = (
        100 * (1 + 0.5 * np.sin(2 * np.pi * HOURS / DAY)) * np.where(HOURS // DAY % 7 > 4, 0.4, 1)
    )
    return shape * np.exp(0.1 * dice.normal(size=len(HOURS)))


def silent(hours: int) -> Floats:
    """Two weeks, of which the second begins with a gap."""
    values = weekly()[: 2 * WEEK]
    values[WEEK : WEEK + hours] = np.nan
    return values


@pytest.mark.parametrize("name", list(generated()))
def test_no_worse_than_seasonal_naive_and_intervals_hold_what_they_say(name: str) -> None:
    # Where few hours make most of the error, few origins tell nothing.
    found = score(generated()[name], origins=60 if name in RARE else 12)
    assert isinstance(found, ForecastScore)
    assert found.mae_ratio <= 1
    assert found.pinball_ratio <= 1
    assert found.coverage[0] >= 0.7
    assert found.coverage[1] >= 0.8


def test_of_what_comes_in_the_demo_a_90_percent_interval_holds_85_to_95() -> None:
    """Given the demo's history, of which one topic begins to grow, when days of it are forecast,
    then each series errs less than seasonal-naive, and no interval is a promise or an excuse."""
    found = [score(one, origins=24, known=DAYS * DAY) for one in of_demo().values()]
    scores = [one for one in found if isinstance(one, ForecastScore)]
    assert len(scores) == len(found) == 12
    assert 0.85 <= np.mean([one.coverage[1] for one in scores]) <= 0.95
    assert min(one.coverage[1] for one in scores) > 0.8
    assert max(one.mae_ratio for one in scores) <= 1
    assert max(one.pinball_ratio for one in scores) <= 1


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param(np.empty(0), "is 0 h long", id="nothing"),
        pytest.param(np.full(3 * WEEK, np.nan), "is 0 h long", id="all unknown"),
        pytest.param(weekly()[: 2 * WEEK - 1], "is 335 h long", id="an hour short of two weeks"),
        pytest.param(
            np.where(HOURS % 3 == 0, 1.0, np.nan), "only 33%", id="two hours of three unknown"
        ),
        pytest.param(
            np.concatenate([weekly(), np.full(WEEK, np.nan)]), "last season", id="silent for a week"
        ),
        pytest.param(silent(6 * DAY), "forecasts of 0 hours", id="a gap up to what is held back"),
        pytest.param(silent(5 * DAY), "forecasts of 6 hours", id="hardly an error is known"),
    ],
)
def test_too_little_history_says_why_and_gives_no_number(values: Floats, reason: str) -> None:
    found = forecast(values)
    assert reason in str(found.reason)
    assert found.method is None
    assert len(found.median) == 0
    assert found.low.shape == found.high.shape == (len(LEVELS), 0)
    assert found.measured is None


def test_two_weeks_are_enough() -> None:
    found = forecast(weekly()[: 2 * WEEK])
    assert found.reason is None
    assert np.isfinite(found.median).all()


def test_wider_intervals_hold_narrower_ones_and_the_median() -> None:
    found = forecast(weekly())
    assert (found.low[1] <= found.low[0]).all()
    assert (found.low[0] <= found.median).all()
    assert (found.median <= found.high[0]).all()
    assert (found.high[0] <= found.high[1]).all()
    assert (found.low >= 0).all()


def test_what_is_measured_is_the_method_that_was_taken() -> None:
    """Given a series that repeats week by week, and day by day in its last, larger week, when the
    method is taken that erred least over all of it, then another was best before that week."""
    values = np.where(HOURS // DAY % 7 > 4, 10.0, 100.0) * (1 + HOURS % DAY)
    values[-WEEK:] = 1000.0 * (1 + np.arange(WEEK) % DAY)
    found = forecast(values)
    assert found.method == "a day ago"
    assert forecast(values[:-WEEK]).method == "a week ago"
    assert found.measured is not None
    held = np.arange(len(values) - found.measured.hours, len(values))
    assert found.measured.mae == pytest.approx(np.abs(values[held] - values[held - DAY]).mean())
    naive = np.abs(values[held] - values[held - WEEK]).mean()
    assert found.measured.mae_seasonal_naive == pytest.approx(naive)


def test_what_was_held_back_is_measured() -> None:
    found = forecast(weekly()).measured
    assert found is not None
    assert found.hours == (5 - 1) * WEEK // 4
    assert found.mae_seasonal_naive is not None
    assert 0 < found.mae < found.mae_seasonal_naive
    assert found.coverage[0] == pytest.approx(0.8, abs=0.12)
    assert found.coverage[1] == pytest.approx(0.9, abs=0.1)


@pytest.mark.parametrize("level", [pytest.param(0.0, id="zeros"), pytest.param(70.0, id="level")])
def test_a_constant_series_stays_what_it_is(level: float) -> None:
    found = forecast(np.full(4 * WEEK, level))
    assert found.median == pytest.approx(np.full(24, level))
    assert found.low == pytest.approx(np.full((2, 24), level))
    assert found.high == pytest.approx(np.full((2, 24), level))


def test_a_new_level_is_followed() -> None:
    values = weekly()
    values[-5 * DAY :] *= 3
    usual = weekly()[-WEEK : -WEEK + 24]
    assert forecast(values).median.mean() > 2 * usual.mean()


def test_the_same_values_give_the_same_forecast() -> None:
    one, other = forecast(weekly()), forecast(weekly())
    assert np.array_equal(one.median, other.median)
    assert np.array_equal(one.high, other.high)


def test_the_past_is_not_told_the_future() -> None:
    """What is forecast for held-back hours must not depend on them."""
    values = weekly()
    changed = values.copy()
    changed[-1] *= 50
    one, other = forecast(values[:-1]), forecast(changed[:-1])
    assert np.array_equal(one.median, other.median)
