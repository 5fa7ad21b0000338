from __future__ import annotations

import numpy as np
import pytest

from spark_metrics.derived.season import season
from spark_metrics.derived.series import DAY, WEEK, hour_of_week, on_grid, quantile

MONDAY = (20454 + 4) * DAY


def test_hours_of_the_week_begin_on_monday() -> None:
    assert hour_of_week(np.array([MONDAY, MONDAY + 1, MONDAY - 1])).tolist() == [0, 1, WEEK - 1]


def test_quantiles_of_an_hour_are_those_of_its_week_mostly() -> None:
    hours = np.arange(8 * WEEK)
    found = season(MONDAY, np.where(hours % WEEK == 5 * DAY + 3, 500.0, 10.0))
    assert found.reason is None
    assert found.quantiles[5 * DAY + 3, 2] == pytest.approx(500)
    assert found.quantiles[2 * DAY + 3, 2] == 10
    assert found.samples.tolist() == [8] * WEEK
    assert (np.diff(found.quantiles, axis=1) >= 0).all()


def test_a_series_that_begins_on_a_wednesday_lands_on_the_right_hours() -> None:
    begin = MONDAY + 2 * DAY + 5
    hours = begin + np.arange(4 * WEEK)
    found = season(begin, hour_of_week(hours).astype(np.float64))
    assert found.quantiles[100, 2] == pytest.approx(100, abs=24 * 2)
    assert abs(found.quantiles[100, 2] - 100) < abs(found.quantiles[100, 2] - 40)


def test_an_outage_does_not_move_what_is_usual() -> None:
    values = np.full(3 * WEEK, 100.0)
    values[200:206] = 1e6
    found = season(MONDAY, values)
    assert found.quantiles[:, 2] == pytest.approx(np.full(WEEK, 100.0))


def test_gaps_are_no_samples() -> None:
    values = np.full(4 * WEEK, 7.0)
    values[10] = np.nan
    found = season(MONDAY, values)
    assert (found.samples[10], found.samples[11]) == (3, 4)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.full(2 * WEEK - 1, 1.0), id="an hour short"),
        pytest.param(np.empty(0), id="nothing"),
        pytest.param(np.full(5 * WEEK, np.nan), id="unknown"),
    ],
)
def test_too_little_history_has_a_reason_and_no_numbers(values: np.ndarray) -> None:
    found = season(MONDAY, values)
    assert "336 are needed" in str(found.reason)
    assert np.isnan(found.quantiles).all()


def test_values_are_put_on_a_grid() -> None:
    first, values = on_grid([12, 10, 14], [2.0, None, float("inf")])
    assert first == 10
    assert values.tolist() == pytest.approx([np.nan, np.nan, 2.0, np.nan, np.nan], nan_ok=True)
    assert on_grid([], [])[1].tolist() == []


def test_quantiles_of_rows_equal_numpys() -> None:
    rows = np.random.default_rng(4).normal(size=(50, 7))
    rows[rows > 1] = np.nan
    rows[3] = np.nan
    rows[4, 1:] = np.nan
    rows[4, 0] = 2.5
    found = quantile(rows, 0.3)
    known = np.isfinite(rows).any(axis=1)
    assert found[known] == pytest.approx(np.nanquantile(rows[known], 0.3, axis=1))
    assert np.isnan(found[3])
