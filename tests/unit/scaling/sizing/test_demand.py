"""How much arrives, and will arrive."""

from __future__ import annotations

import numpy as np
import pytest

from scaling.facts.intervals import Floats
from scaling.sizing.demand import HOUR_SECONDS, TOO_LITTLE, demand, peak_ahead, season

DAY = 86400.0


def ends(rate: Floats, seconds: float = 15.0, shares: tuple[float, ...] = (0.5, 0.5)) -> Floats:
    return np.concatenate([[0.0], np.cumsum(rate * seconds)])[:, None] * np.array(shares)


def polls(count: int, seconds: float = 15.0) -> Floats:
    return np.arange(count + 1) * seconds


def test_steady_arrival_is_shared_out_as_it_came() -> None:
    found = demand(polls(60), ends(np.full(60, 100.0), shares=(0.8, 0.2)), lead_seconds=60)

    assert found.now == pytest.approx([80.0, 20.0])
    assert found.soon == pytest.approx([80.0, 20.0])
    assert found.growth_per_second == pytest.approx(0.0)


def test_growth_is_carried_on_to_the_end_of_the_lead_time() -> None:
    rate = 100.0 + 0.5 * 15.0 * np.arange(60)
    found = demand(polls(60), ends(rate), lead_seconds=120)

    assert found.growth_per_second == pytest.approx(0.5, rel=0.05)
    assert found.now.sum() == pytest.approx(rate[-1], rel=0.02)
    assert found.soon.sum() == pytest.approx(rate[-1] + 60, rel=0.03)


def test_noise_is_no_growth_but_widens_the_forecast() -> None:
    rate = 100.0 + np.random.default_rng(1).normal(0, 10, 60)
    found = demand(polls(60), ends(rate), lead_seconds=60)

    assert found.growth_per_second == 0.0
    assert found.soon.sum() > found.now.sum()
    assert found.now.sum() == pytest.approx(100.0, rel=0.1)


def test_sudden_step_counts_at_once() -> None:
    rate = np.concatenate([np.full(56, 100.0), np.full(4, 300.0)])
    found = demand(polls(60), ends(rate), lead_seconds=60)

    assert found.now.sum() == pytest.approx(300.0)


def test_falling_load_is_not_forecast_to_fall_further() -> None:
    found = demand(polls(60), ends(100.0 - np.arange(60)), lead_seconds=600)

    assert found.soon.sum() >= found.now.sum()


def test_two_polls_make_a_rate_and_one_does_not() -> None:
    assert demand(polls(1), ends(np.array([100.0])), lead_seconds=60).now.sum() == 100.0
    with pytest.raises(ValueError, match="two polls"):
        demand(polls(0), ends(np.empty(0)), lead_seconds=60)


def test_nothing_arrives() -> None:
    found = demand(polls(60), ends(np.zeros(60)), lead_seconds=60)

    assert found.now.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("days", "hours"), [(1, 0), (3, 24), (13, 24), (15, 168)])
def test_season_needs_to_be_seen_twice(days: int, hours: int) -> None:
    starts = np.arange(days * 24) * HOUR_SECONDS
    found = season(starts, np.full(len(starts), 50.0), now=days * DAY)

    assert found.hours == hours
    assert (found.reason == TOO_LITTLE) == (hours == 0)


def test_season_with_holes_is_none() -> None:
    starts = np.arange(0, 21 * 24, 3) * HOUR_SECONDS

    assert season(starts, np.ones(len(starts)), now=21 * DAY).hours == 0


def test_peak_follows_the_season_from_the_present_level() -> None:
    starts = np.arange(21 * 24) * HOUR_SECONDS
    rates = np.where(starts % DAY == 12 * HOUR_SECONDS, 300.0, 100.0)
    found = season(starts, rates, now=21 * DAY)

    def peak(hour: float) -> float | None:
        return peak_ahead(found, at=21 * DAY + hour * HOUR_SECONDS, horizon_seconds=3600, now=200.0)

    assert peak(4.5) == pytest.approx(200.0, rel=0.01)
    assert peak(11.5) == pytest.approx(600.0, rel=0.01)


def test_growth_over_weeks_is_no_season() -> None:
    starts = np.arange(21 * 24) * HOUR_SECONDS
    found = season(starts, 100.0 + starts / DAY, now=21 * DAY)
    peak = peak_ahead(found, at=21 * DAY, horizon_seconds=3600, now=120.0)

    assert peak == pytest.approx(120.0, rel=0.05)


def test_no_season_gives_no_peak() -> None:
    found = season(np.empty(0), np.empty(0), now=DAY)

    assert peak_ahead(found, at=DAY, horizon_seconds=3600, now=10.0) is None
