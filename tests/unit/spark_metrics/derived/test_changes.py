from __future__ import annotations

import numpy as np
import pytest

from spark_metrics.derived.changes import changes
from spark_metrics.derived.series import DAY, WEEK, Floats

FIRST = 20_458 * DAY


def usual(seed: int, days: int, noise: float = 0.1) -> Floats:
    dice = np.random.default_rng(seed)
    at = np.arange(days * DAY)
    weekend = np.where((at // DAY) % 7 > 4, 0.5, 1.0)
    rhythm = 100 * (1 + 0.5 * np.sin(2 * np.pi * at / DAY)) * weekend
    return rhythm * np.exp(noise * dice.normal(size=len(at)))


@pytest.mark.parametrize("days", [pytest.param(15, id="15 days"), pytest.param(28, id="4 weeks")])
@pytest.mark.parametrize("seed", range(5))
def test_a_deploy_that_halved_is_found_to_the_hour(seed: int, days: int) -> None:
    at = (days - 6) * DAY + 10
    values = usual(seed, days)
    values[at:] *= 0.5
    (found,) = changes(FIRST, values)
    assert found.kind == "step"
    assert abs(found.at_hour - FIRST - at) <= 3
    assert found.ratio == pytest.approx(0.5, rel=0.15)
    assert found.ratio_low < found.ratio < found.ratio_high
    assert found.confidence > 0.9
    assert found.before > found.after


@pytest.mark.parametrize("seed", range(5))
def test_growth_that_began_on_a_day_is_found(seed: int) -> None:
    days = np.arange(28 * DAY) / DAY
    values = usual(seed, 28) * np.exp(0.05 * np.maximum(0, days - 14))
    found = changes(FIRST, values)
    growth = [one for one in found if one.kind == "growth"]
    assert len(growth) == 1
    assert abs(growth[0].at_hour - FIRST - 14 * DAY) <= 3 * DAY
    assert growth[0].ratio == pytest.approx(np.exp(0.35), rel=0.15)


@pytest.mark.parametrize("days", [8, 12, 15, 21, 28])
def test_weekends_and_noise_are_no_change(days: int) -> None:
    alarms = sum(bool(changes(FIRST + DAY * seed, usual(seed, days))) for seed in range(40))
    assert alarms <= 1


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.full(4 * WEEK, 5.0), id="constant"),
        pytest.param(np.zeros(4 * WEEK), id="zeros"),
        pytest.param(np.full(4 * WEEK, np.nan), id="unknown"),
        pytest.param(np.empty(0), id="nothing"),
        pytest.param(usual(1, 3), id="three days"),
    ],
)
def test_nothing_is_made_up(values: Floats) -> None:
    assert changes(FIRST, values) == []


def test_a_peak_of_some_hours_is_no_change() -> None:
    values = usual(2, 28)
    values[300:308] *= 20
    assert changes(FIRST, values) == []


def test_two_steps_are_both_found() -> None:
    values = usual(3, 42)
    values[14 * DAY :] *= 2
    values[28 * DAY :] *= 0.3
    found = changes(FIRST, values)
    assert [one.kind for one in found] == ["step", "step"]
    assert [one.ratio for one in found] == pytest.approx([2.0, 0.3], rel=0.2)
