from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulation.assignors import Assignor
from simulation.interventions import Interventions
from simulation.model import Backlog, Consumers, GroupObservation, SimulatedEvent, Workload
from simulation.rates import constant
from simulation.simulator import Simulation
from simulation.workloads import NAMES, workload

ASSIGNORS = [pytest.param(assignor, id=assignor.value) for assignor in Assignor]


def _work(
    per_second: float = 100.0,
    *,
    partitions: int = 6,
    count: int = 3,
    capacity: float = 50.0,
    noise: float = 0.0,
    events: tuple[SimulatedEvent, ...] = (),
    assignor: Assignor = Assignor.COOPERATIVE_STICKY,
) -> Workload:
    consumers = Consumers(count=count, rate_per_second=capacity, noise=noise, assignor=assignor)
    return Workload(
        name="test",
        topics={"t": partitions},
        rate=constant(per_second),
        consumers=consumers,
        events=events,
    )


def _run(work: Workload, seed: int = 1, seconds: float = 600.0, every: float = 15.0) -> Simulation:
    simulation = Simulation(work, seed)
    while simulation.now < work.starts_at + seconds:
        simulation.run_until(simulation.now + every)
        simulation.observe()
    return simulation


def _same(one: GroupObservation, other: GroupObservation) -> bool:
    return one.keys == other.keys and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("log_start", "log_end", "committed", "member", "time_lag_seconds")
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_arrived_was_consumed_waits_or_was_lost(name: str) -> None:
    work = replace(workload(name, 3), starts_at=workload(name, 3).starts_at + 4 * 3600)
    simulation = Simulation(work, 3, consumers=9)
    for count in (14, 5, 24, 7):
        simulation.scale(count)
        simulation.run_until(simulation.now + 3000)
        truth = simulation.truth()
        accounted = truth.consumed + float(truth.waiting.sum()) + truth.lost
        assert accounted == pytest.approx(truth.arrived, abs=1e-3)
        assert (truth.waiting >= 0).all()
    assert truth.consumed > 0


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.tuples(st.integers(5, 290), st.sampled_from(range(9))), min_size=1, max_size=6),
    st.sampled_from(list(Assignor)),
)
def test_nothing_is_made_or_forgotten_whatever_happens(
    seed: int, happenings: list[tuple[int, int]], assignor: Assignor
) -> None:
    actions: list[Callable[[Interventions], None]] = [
        lambda s: s.scale(6),
        lambda s: s.scale(1),
        lambda s: s.freeze(0, 3),
        lambda s: s.thaw(0, 3),
        lambda s: s.reset_offsets("earliest"),
        lambda s: s.reset_offsets("latest", [1]),
        lambda s: s.set_capacity(0.5),
        lambda s: s.cut_log(40.0, [2]),
        lambda s: s.rebalance(),
    ]
    events = tuple(
        SimulatedEvent(at=float(at), action=actions[number]) for at, number in happenings
    )
    work = replace(
        _work(events=events, noise=0.3, assignor=assignor),
        retention_seconds=60.0,
        retention_check_seconds=20.0,
    )
    simulation = Simulation(work, seed)
    while simulation.now < 300:
        simulation.run_until(simulation.now + 7)
        seen = simulation.observe()
        assert (seen.log_start <= seen.log_end).all()
        assert (seen.time_lag_seconds >= 0).all()
    truth = simulation.truth()
    accounted = truth.consumed + float(truth.waiting.sum()) + truth.lost
    assert accounted == pytest.approx(truth.arrived, abs=1e-3)


@pytest.mark.parametrize("seconds", [pytest.param(1.0, id="steps"), pytest.param(97.0, id="odd")])
def test_the_same_seed_gives_the_same_run_however_it_is_stepped(seconds: float) -> None:
    work = workload("spike", 5)
    one, other = Simulation(work, 5), Simulation(work, 5)
    one.run_until(work.starts_at + 1800)
    while other.now < work.starts_at + 1800:
        other.run_until(min(other.now + seconds, work.starts_at + 1800))
    assert np.allclose(one.truth().waiting, other.truth().waiting)
    assert np.array_equal(one.observe().log_end, other.observe().log_end)
    assert one.truth().violation_seconds == other.truth().violation_seconds


def test_another_seed_gives_another_run() -> None:
    work = _work()
    assert not _same(_run(work, 1).observe(), _run(work, 2).observe())


def test_arrivals_do_not_depend_on_what_a_policy_does() -> None:
    work = workload("diurnal", 4)
    one, other = Simulation(work, 4), Simulation(work, 4, consumers=3)
    other.run_until(work.starts_at + 100)
    other.scale(20)
    for simulation in (one, other):
        simulation.run_until(work.starts_at + 3600)
    assert np.array_equal(one.observe().log_end, other.observe().log_end)


def test_without_arrivals_nothing_waits() -> None:
    simulation = _run(_work(0.0))
    seen, truth = simulation.observe(), simulation.truth()
    assert truth.arrived == truth.consumed == 0
    assert seen.total_lag == 0
    assert seen.worst_time_lag_seconds == 0.0


def test_without_consumers_everything_waits() -> None:
    simulation = _run(_work(count=0))
    seen = simulation.observe()
    assert seen.state == "Empty"
    assert set(seen.member) == {-1}
    assert seen.total_lag == simulation.truth().arrived > 0
    assert simulation.truth().consumer_seconds == 0


def test_time_lag_is_the_age_of_the_oldest_unread_message() -> None:
    work = _work(30.0, count=1, capacity=20.0, noise=0.4)
    simulation = Simulation(work, 8)
    ends = [np.zeros(work.partitions)]
    while simulation.now < 400:
        simulation.step()
        seen, waiting = simulation.observe(), simulation.truth().waiting
        ends.append(seen.log_end)
        history = np.array(ends)
        for position, reported in (
            (seen.committed, float(seen.time_lag_seconds.max())),
            (seen.log_end - waiting, simulation.truth().time_lag_seconds),
        ):
            ages = [
                simulation.now - int(np.argmax(history[:, partition] > position[partition] + 1e-6))
                for partition in range(work.partitions)
                if seen.log_end[partition] > position[partition] + 1e-6
            ]
            assert reported == max(ages, default=0.0)
    assert simulation.truth().worst_time_lag_seconds > 60


def test_more_consumers_never_wait_longer_on_even_load() -> None:
    work = _work(230.0, partitions=24, capacity=20.0)
    worst = []
    for count in (6, 8, 12, 24):
        simulation = Simulation(replace(work, weights=np.ones(24)), 2, consumers=count)
        simulation.run_until(1800)
        worst.append(float(simulation.truth().waiting.sum()))
    assert worst == sorted(worst, reverse=True)
    assert worst[0] > worst[-1]


def test_thirteen_to_twenty_three_consumers_are_no_better_than_twelve() -> None:
    work = _work(24 * 10.0, partitions=24, capacity=19.0)  # two partitions a member: too much
    lags = {}
    for count in (12, 13, 23, 24):
        simulation = Simulation(work, 2, consumers=count)
        simulation.run_until(1800)
        lags[count] = simulation.truth().time_lag_seconds
    assert lags[13] == pytest.approx(lags[12], rel=0.25)
    assert lags[23] == pytest.approx(lags[12], rel=0.25)
    assert lags[24] < lags[12] / 10


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_new_consumer_joins_after_its_start_and_then_the_group_pauses(
    assignor: Assignor,
) -> None:
    simulation = Simulation(_work(assignor=assignor), 1)
    simulation.run_until(100)
    simulation.scale(4)
    simulation.run_until(129)
    assert (simulation.observe().members, simulation.observe().replicas) == (3, 4)
    simulation.run_until(131)
    seen = simulation.observe()
    assert seen.members == 4
    assert seen.rebalancing
    stopped = int((seen.member == -1).sum())
    eager = assignor in (Assignor.RANGE, Assignor.ROUNDROBIN, Assignor.STICKY)
    assert stopped == (6 if eager else 1)
    simulation.run_until(145)
    seen = simulation.observe()
    assert (seen.state, len(set(seen.member))) == ("Stable", 4)
    assert simulation.truth().rebalances == 1


def test_a_vanished_member_is_replaced_after_its_session_and_its_work_done_again() -> None:
    simulation = Simulation(_work(), 1)
    simulation.run_until(103)
    simulation.lose_member(1)
    simulation.run_until(147)
    seen = simulation.observe()
    assert seen.members == 3
    held = seen.member == 1
    assert held.sum() == 2
    assert (seen.time_lag_seconds[held] > 40).all()
    simulation.run_until(200)
    seen = simulation.observe()
    assert seen.members == 2
    assert 1 not in set(seen.member)
    assert simulation.truth().consumed == pytest.approx(
        simulation.truth().arrived - simulation.truth().waiting.sum(), abs=1e-6
    )


def test_a_frozen_partition_stands_while_its_member_goes_on() -> None:
    simulation = Simulation(_work(), 1)
    simulation.run_until(60)
    simulation.freeze(2)
    simulation.run_until(90)
    before = simulation.observe()
    simulation.run_until(300)
    after = simulation.observe()
    assert after.committed[2] == before.committed[2]
    others = [key for key in range(6) if key != 2]
    assert (after.committed[others] > before.committed[others]).all()
    assert after.time_lag_seconds[2] == pytest.approx(240, abs=10)
    simulation.thaw(2)
    simulation.run_until(600)
    assert simulation.observe().time_lag_seconds[2] < 10


def test_retention_overtakes_a_group_that_does_not_consume() -> None:
    work = replace(_work(count=0), retention_seconds=120.0, retention_check_seconds=30.0)
    simulation = _run(work, seconds=600)
    seen, truth = simulation.observe(), simulation.truth()
    assert (seen.log_start > 0).all()
    assert truth.lost == seen.log_start.sum()
    assert truth.lost + truth.waiting.sum() == truth.arrived
    assert seen.worst_time_lag_seconds == 119  # what is two minutes old has just been deleted


def test_commits_come_at_their_interval_only() -> None:
    consumers = replace(_work().consumers, commit_seconds=120.0)
    simulation = Simulation(replace(_work(), consumers=consumers), 1)
    changes = np.zeros(6)
    last = simulation.observe().committed
    for _ in range(600):
        simulation.step()
        seen = simulation.observe().committed
        changes += seen != last
        last = seen
    assert (changes == 5).all()
    assert simulation.truth().time_lag_seconds == 0


def test_a_shared_limit_makes_each_consumer_slower() -> None:
    consumers = replace(_work().consumers, shared_limit_per_second=90.0)
    done = []
    for count in (2, 6):
        simulation = Simulation(replace(_work(200.0), consumers=consumers), 1, consumers=count)
        simulation.run_until(600)
        done.append(simulation.truth().consumed / 600)
    assert done == [pytest.approx(90, rel=0.01), pytest.approx(90, rel=0.01)]


def test_a_backlog_has_its_age() -> None:
    backlog = Backlog(
        messages=np.array([600.0, 0, 0, 0, 0, 60.0]),
        age_seconds=np.array([300.0, 0, 0, 0, 0, 30.0]),
    )
    simulation = Simulation(replace(_work(0.0, count=0), backlog=backlog), 1)
    seen = simulation.observe()
    assert seen.total_lag == 660
    assert seen.time_lag_seconds.tolist() == [300, 0, 0, 0, 0, 30]
    simulation.scale(1)
    simulation.run_until(100)
    assert simulation.truth().waiting.sum() == 0
    assert simulation.truth().consumed == 660


def test_deleting_and_making_topics_anew_begins_at_zero() -> None:
    simulation = Simulation(_work(), 1)
    simulation.run_until(103)
    simulation.recreate_topics()
    seen = simulation.observe()
    assert seen.log_end.sum() == 0
    assert (seen.committed > 0).any()
    assert seen.total_lag == 0
    simulation.run_until(200)
    seen = simulation.observe()
    assert (seen.committed <= seen.log_end).all()
    assert seen.log_end.sum() == pytest.approx(9700, rel=0.1)


def test_added_partitions_are_filled_and_consumed() -> None:
    simulation = Simulation(_work(), 1)
    simulation.run_until(100)
    simulation.add_partitions(12)
    simulation.run_until(400)
    seen = simulation.observe()
    assert len(seen.keys) == len(seen.committed) == 12
    assert (seen.committed > 0).all()
    assert set(seen.member) == {0, 1, 2}


def test_offsets_that_are_gone_are_unknown_not_zero() -> None:
    simulation = Simulation(_work(), 1)
    simulation.run_until(100)
    simulation.forget_offsets()
    seen = simulation.observe()
    assert np.isnan(seen.committed).all()
    assert np.isnan(seen.lag).all()
    assert seen.worst_time_lag_seconds is None


@pytest.mark.parametrize("count", [-1, 101])
def test_an_impossible_number_of_consumers_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="there may be 0 to 100"):
        Simulation(_work(), 1).scale(count)
