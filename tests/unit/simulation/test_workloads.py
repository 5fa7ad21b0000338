from __future__ import annotations

import numpy as np
import pytest

from simulation.model import Workload
from simulation.rates import DAY, WEEK, between, constant, flapping, times_factors, week_season
from simulation.simulator import Simulation
from simulation.workloads import NAMES, UnknownWorkloadError, find_name, history, workload


def _mean(work: Workload) -> float:
    times = work.starts_at + np.arange(0, work.duration_seconds, 60.0)
    return float(work.rate(times).mean())


@pytest.mark.parametrize("name", NAMES)
def test_each_is_made_of_its_seed(name: str) -> None:
    assert workload(name, 1).consumers == workload(name, 1).consumers
    assert _mean(workload(name, 1)) == _mean(workload(name, 1))
    assert _mean(workload(name, 1)) != _mean(workload(name, 2))


@pytest.mark.parametrize("name", NAMES)
def test_consumers_at_all_partitions_can_do_what_arrives(name: str) -> None:
    for seed in range(5):
        work = workload(name, seed)
        assert 0.2 < _mean(work) / (work.partitions * work.consumers.rate_per_second) < 0.9


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("steady", "steady"),
        ("hot partition", "hot-partition"),
        ("Prime_number of partitions", "prime-number-of-partitions"),
        ("downstream", "shared-downstream-limit"),
    ],
)
def test_a_name_is_found_in_the_usual_spellings(text: str, name: str) -> None:
    assert find_name(text) == name


@pytest.mark.parametrize("text", ["", "nothing like it", "partition"])
def test_a_name_of_none_or_several_is_refused(text: str) -> None:
    with pytest.raises(UnknownWorkloadError, match="steady, diurnal"):
        find_name(text)


def test_no_number_of_consumers_cures_a_hot_partition() -> None:
    work = workload("hot-partition", 6)
    simulation = Simulation(work, 6, consumers=24)
    simulation.run_until(work.starts_at + 6 * 3600)
    waiting = simulation.truth().waiting
    assert waiting.max() > 0.99 * waiting.sum() > 10_000


def test_history_goes_on_into_the_workload() -> None:
    work = workload("weekly", 2)
    past = history(work, 2, seconds=14 * DAY, grain_seconds=3600.0)
    assert len(past) == 14 * 24
    assert past[:168].mean() == pytest.approx(past[168:].mean(), rel=0.02)
    assert past[-168:].mean() == pytest.approx(_mean(work), rel=0.02)


def test_weekends_are_quieter() -> None:
    rate = times_factors(constant(10.0), week_season(0.5))
    friday, saturday, sunday, monday = (
        float(np.datetime64(f"2026-01-{day:02}T12:00", "s").astype(float))
        for day in (9, 10, 11, 12)
    )
    values = rate(np.array([friday, saturday, sunday, monday, monday - WEEK]))
    assert values.tolist() == [10, 5, 5, 10, 10]


def test_a_campaign_has_its_ramps() -> None:
    rate = times_factors(constant(10.0), between(100, 200, 3.0, 10.0))
    assert rate(np.array([99.0, 105.0, 150.0, 195.0, 201.0])) == pytest.approx([10, 20, 30, 20, 10])


def test_flapping_holds_each_level_and_repeats() -> None:
    factor = flapping(1, 0.5, 1.5, (120.0, 900.0))
    times = np.arange(0.0, DAY, 10.0)
    levels = factor(times)
    assert 96 <= (np.diff(levels) != 0).sum() <= 720
    assert levels.min() >= 0.5
    assert levels.max() <= 1.5
    assert np.array_equal(factor(times + DAY), levels)
