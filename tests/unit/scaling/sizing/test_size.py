"""How many consumers a group needs, and which need binds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.facts.capacity import Capacity, CapacityStatus, Estimate
from scaling.facts.intervals import Floats
from scaling.sizing.assignment import Assignment
from scaling.sizing.size import LimitingFactor, SizeDecision, SizeInputs, size
from scaling.sizing.utilisation import HIGHEST_UTILISATION, LOWEST_UTILISATION, allowed_utilisation
from simulation.assignors import Assignor

MU = 100.0


def capacity(low: float = MU, **more: Any) -> Capacity:
    return replace(
        Capacity(
            status=CapacityStatus.IDENTIFIED,
            reason="",
            per_second=low,
            low=low,
            high=low,
            variability_seconds=0.0,
        ),
        **more,
    )


def inputs(
    consumers: int = 12,
    *,
    partitions: int = 24,
    each: float = 25.0,
    lag: float | Floats = 0.0,
    assignor: Assignor = Assignor.RANGE,
    **more: Any,
) -> SizeInputs:
    arrival = np.full(partitions, each)
    return replace(
        SizeInputs(
            assignment=Assignment(partitions=(("orders", partitions),), assignor=assignor),
            consumers=consumers,
            arrival=arrival,
            soon=arrival,
            lag=np.full(partitions, lag, dtype=np.float64),
            capacity=capacity(),
            objective_seconds=60.0,
        ),
        **more,
    )


def needs(found: SizeInputs) -> dict[LimitingFactor, int | None]:
    return {need.limiting_factor: need.consumers for need in size(found).needs}


def test_even_load_takes_the_smallest_step_that_carries_it() -> None:
    found = size(inputs(each=25.0))

    # Three partitions a member are 75 messages/s, four are 100 and more than 95 %.
    assert found.decision is SizeDecision.SIZED
    assert found.consumers == 8
    assert found.utilisation == pytest.approx(0.75)


@pytest.mark.parametrize("assignor", list(Assignor))
@pytest.mark.parametrize("each", [1.0, 5.0, 12.0, 31.0, 46.0, 60.0, 94.0])
def test_thirteen_to_twenty_three_consumers_are_never_the_answer_with_24_partitions(
    assignor: Assignor, each: float
) -> None:
    found = size(inputs(each=each, assignor=assignor))

    assert found.consumers not in range(13, 24)
    assert found.consumers in (1, 2, 3, 4, 5, 6, 8, 12, 24)


def test_uneven_load_is_sized_by_its_busiest_member() -> None:
    arrival = np.full(24, 10.0)
    arrival[0:2] = 60.0
    found = size(inputs(arrival=arrival, soon=arrival))

    # The mean of 340 messages/s would fit on four consumers; both busy partitions never fit on
    # one, which the range assignor puts together up to twelve consumers.
    assert found.consumers == 24


def test_round_robin_sets_busy_neighbours_apart() -> None:
    arrival = np.full(24, 10.0)
    arrival[0:2] = 60.0
    found = size(inputs(arrival=arrival, soon=arrival, assignor=Assignor.ROUNDROBIN))

    assert found.consumers < 24


def test_backlog_needs_more_than_steady_load() -> None:
    quiet = size(inputs(8, lag=0.0))
    late = size(inputs(8, lag=3000.0, time_lag_seconds=120.0))

    # Eight consumers have a quarter of their capacity to spare, 360 s for 9,000 messages each;
    # twelve work 6,000 and what comes meanwhile off in 145 s.
    assert (quiet.consumers, quiet.is_late) == (8, False)
    assert late.is_late
    assert late.consumers == 12
    assert late.limiting_factor is LimitingFactor.CATCH_UP


def test_forecast_binds_before_the_load_is_there() -> None:
    found = size(inputs(8, soon=np.full(24, 40.0)))

    assert found.limiting_factor is LimitingFactor.FORECAST
    assert found.consumers == 12


def test_seasons_peak_keeps_what_is_there_and_adds_nothing() -> None:
    peak = np.full(24, 90.0)

    assert size(inputs(8, peak=peak)).consumers == 8
    assert size(inputs(12, peak=peak)).consumers == 12
    assert size(inputs(12, peak=peak)).limiting_factor is LimitingFactor.FORECAST


def test_slow_member_is_given_less() -> None:
    even = size(inputs(8))
    slow = size(inputs(8, slowed={3: 40.0}))

    assert even.consumers == 8
    assert slow.consumers == 24


def test_growing_backlog_after_a_step_down_is_late_earlier() -> None:
    early: dict[str, Any] = {"time_lag_seconds": 18.0, "lag": 100.0, "is_growing": True}

    assert not size(inputs(8, **early)).is_late
    assert size(inputs(8, **early, is_on_trial=True)).is_late
    assert size(inputs(8, **early, is_on_trial=True)).consumers > 8


def test_group_that_is_about_to_miss_its_objective_gets_more_than_it_has() -> None:
    found = size(inputs(12, each=20.0, lag=10.0, time_lag_seconds=50.0, is_growing=True))

    assert found.limiting_factor is LimitingFactor.CATCH_UP
    assert found.consumers == 24


def test_retention_deadline_binds_where_it_comes_first() -> None:
    patient = inputs(8, lag=600.0, time_lag_seconds=20.0)
    pressed = replace(patient, deadline_seconds=30.0)

    assert LimitingFactor.RETENTION not in needs(patient)
    assert size(pressed).limiting_factor is LimitingFactor.RETENTION
    assert size(pressed).consumers > size(patient).consumers


def test_where_retention_cannot_be_forestalled_as_little_as_can_be_is_lost() -> None:
    late = inputs(8, lag=600.0, time_lag_seconds=20.0)
    found = size(replace(late, deadline_seconds=1.0))
    swamped = size(replace(inputs(24, each=98.0, lag=600.0), deadline_seconds=1.0))

    assert found.is_too_late and not size(replace(late, deadline_seconds=60.0)).is_too_late
    assert (found.decision, found.limiting_factor) == (SizeDecision.SIZED, LimitingFactor.RETENTION)
    assert found.consumers > size(late).consumers
    assert swamped.decision is SizeDecision.PARTITION_BOUND


def test_partition_above_a_consumers_capacity_is_named_and_does_not_make_the_number_larger() -> (
    None
):
    arrival = np.full(24, 20.0)
    arrival[5] = 150.0
    lag = np.zeros(24)
    lag[5] = 1e6
    found = size(inputs(8, arrival=arrival, soon=arrival, lag=lag))
    rest = size(inputs(8, each=20.0))

    assert found.hopeless == (5,)
    assert found.consumers == rest.consumers


def test_blocked_partitions_backlog_asks_for_nobody() -> None:
    lag = np.zeros(24)
    lag[3] = 1e6
    blocked = lag > 0

    assert size(inputs(8, lag=lag)).consumers == 24
    assert size(inputs(8, lag=lag, blocked=blocked)).consumers == 8


def test_shared_limit_keeps_the_number_at_what_helps() -> None:
    shared = capacity(
        low=50.0,
        status=CapacityStatus.CONFLICT,
        by_members={
            4: Estimate(per_second=100.0, low=98.0, high=102.0, samples=20, episodes=4),
            8: Estimate(per_second=50.0, low=49.0, high=51.0, samples=20, episodes=4),
        },
        limit_per_second=400.0,
        helpful_members=4,
    )
    found = size(inputs(4, each=25.0, lag=5000.0, time_lag_seconds=300.0, capacity=shared))

    assert found.decision is SizeDecision.DOWNSTREAM
    assert found.consumers == 4


def test_unknown_capacity_gives_no_number_but_one_step_where_the_group_is_late() -> None:
    unknown = Capacity(status=CapacityStatus.UNKNOWN, reason="nothing was seen")
    quiet = size(inputs(8, capacity=unknown))
    late = size(inputs(8, capacity=unknown, lag=1e5, time_lag_seconds=100.0))

    assert (quiet.decision, quiet.consumers) == (SizeDecision.UNKNOWN_CAPACITY, 8)
    assert (late.decision, late.consumers) == (SizeDecision.UNKNOWN_CAPACITY, 12)
    assert quiet.utilisation is None


def test_load_that_not_even_a_consumer_a_partition_carries_is_bound_by_partitions() -> None:
    found = size(inputs(24, each=98.0))

    assert found.decision is SizeDecision.PARTITION_BOUND
    assert found.consumers == 24


def test_group_without_load_needs_one() -> None:
    assert size(inputs(8, each=0.0)).consumers == 1


def test_noisy_service_lowers_the_utilisation_that_is_allowed() -> None:
    calm, noisy = (allowed_utilisation(v, 8, 60.0) for v in (0.1, 3.0))

    assert calm == HIGHEST_UTILISATION
    assert LOWEST_UTILISATION < noisy < 0.85
    assert allowed_utilisation(1e6, 8, 60.0) == LOWEST_UTILISATION


@settings(deadline=None)
@given(
    partitions=st.integers(1, 40),
    consumers=st.integers(1, 40),
    drawn=st.integers(0, 2**32 - 1),
    assignor=st.sampled_from(list(Assignor)),
)
def test_answer_is_a_useful_number_and_never_fewer_for_a_backlog(
    partitions: int, consumers: int, drawn: int, assignor: Assignor
) -> None:
    rng = np.random.default_rng(drawn)
    arrival = rng.uniform(0.0, 90.0, partitions)
    one = inputs(
        min(consumers, partitions),
        partitions=partitions,
        assignor=assignor,
        arrival=arrival,
        soon=arrival,
    )
    late = replace(one, lag=rng.uniform(0.0, 1e5, partitions))
    found, behind = size(one), size(late)

    assert found.consumers in one.assignment.counts
    assert behind.consumers in one.assignment.counts
    assert behind.consumers >= found.consumers
    assert found.hopeless == ()


def test_where_the_objective_is_missed_anyway_the_others_are_to_keep_up_and_no_more() -> None:
    noisy = replace(capacity(), variability_seconds=3.0)
    arrival = np.full(24, 28.0)
    even = size(inputs(8, arrival=arrival, soon=arrival, capacity=noisy))
    arrival = arrival.copy()
    arrival[5] = 120.0
    hot = size(inputs(8, arrival=arrival, soon=arrival, capacity=noisy))

    assert even.consumers == 12
    assert hot.consumers == 8
    assert hot.hopeless == (5,)


def test_partition_that_was_hot_for_long_stays_hot_in_a_calm_moment() -> None:
    arrival, lasting = np.full(24, 20.0), np.full(24, 20.0)
    arrival[5], lasting[5] = 95.0, 110.0
    found = size(inputs(8, arrival=arrival, soon=arrival, lasting=lasting))

    assert found.hopeless == (5,)
    assert found.consumers == 6


def test_more_than_every_partition_can_bear_is_overload_and_not_hot_partitions() -> None:
    found = size(inputs(12, each=130.0))

    assert found.hopeless == ()
    assert (found.decision, found.consumers) == (SizeDecision.PARTITION_BOUND, 24)
