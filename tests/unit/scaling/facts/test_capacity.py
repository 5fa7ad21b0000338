"""What a consumer can process: the figure, its interval, and when there is none."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

from scaling.facts.capacity import (
    CapacityStatus,
    estimate_capacity,
    not_measured,
    student_t_95,
)
from scaling.facts.intervals import INTERVAL_COLUMNS, Intervals, blocked_partitions, saturated

MU = 100.0
STEP = 30.0


def recorded(
    seed: int = 1,
    *,
    members: int = 4,
    episodes: int = 6,
    minutes: int = 10,
    deviation: float = 0.1,
    memory_seconds: float = 60.0,
    capacity: float = MU,
    backlog: float = 5000.0,
    begins: float = 0.0,
    names: str = "m",
) -> dict[str, list[object]]:
    """Members whose rate is lognormal with a memory, seen through commits every five seconds."""
    rng = np.random.default_rng(seed)
    keep = exp(-1 / memory_seconds)
    seconds = minutes * 60
    rows: dict[str, list[object]] = {name: [] for name in INTERVAL_COLUMNS}
    for episode in range(episodes):
        for member in range(members):
            level = rng.standard_normal()
            levels = np.empty(seconds)
            for second, shock in enumerate(rng.standard_normal(seconds) * sqrt(1 - keep**2)):
                level = keep * level + shock
                levels[second] = level
            rate = capacity * np.exp(deviation * levels - deviation**2 / 2)
            done = np.concatenate([[0.0], np.cumsum(rate)])
            polls = np.arange(30, seconds - 29, STEP)
            commits = np.floor((polls - member) / 5) * 5 + member
            committed = np.interp(commits, np.arange(seconds + 1), done)
            for number, consumed in enumerate(np.diff(committed)):
                row = (
                    f"{names}{member}",
                    members,
                    begins + episode * 5000.0 + polls[number],
                    STEP,
                    consumed,
                    capacity * STEP,
                    backlog,
                    backlog,
                    False,
                )
                for name, value in zip(INTERVAL_COLUMNS, row, strict=True):
                    rows[name].append(value)
    return rows


def joined(*parts: dict[str, list[object]]) -> Intervals:
    return Intervals.of(
        {name: [value for one in parts for value in one[name]] for name in INTERVAL_COLUMNS}
    )


def test_saturated_intervals_identify_the_rate() -> None:
    found = estimate_capacity(Intervals.of(recorded()))

    assert found.status is CapacityStatus.IDENTIFIED
    assert found.per_second == pytest.approx(MU, rel=0.05)
    assert found.low is not None and found.high is not None
    assert found.low < MU < found.high
    assert (found.samples, found.episodes) == (4 * 6 * 18, 6)
    assert found.members is not None
    assert set(found.members) == {"m0", "m1", "m2", "m3"}


@pytest.mark.parametrize(
    ("members", "episodes", "deviation", "memory_seconds"),
    [
        pytest.param(1, 8, 0.1, 20.0, id="one member, short memory"),
        pytest.param(4, 4, 0.1, 120.0, id="few episodes, long memory"),
        pytest.param(6, 3, 0.2, 300.0, id="memory as long as half an episode"),
        pytest.param(6, 8, 0.2, 60.0, id="much data"),
    ],
)
def test_interval_covers_the_truth_about_nine_times_in_ten(
    members: int, episodes: int, deviation: float, memory_seconds: float
) -> None:
    covered = 0
    for seed in range(100):
        found = estimate_capacity(
            Intervals.of(
                recorded(
                    seed,
                    members=members,
                    episodes=episodes,
                    deviation=deviation,
                    memory_seconds=memory_seconds,
                )
            )
        )
        assert found.low is not None and found.high is not None
        covered += found.low <= MU <= found.high

    assert 80 <= covered <= 98


def test_members_that_wait_give_a_lower_bound_and_no_figure() -> None:
    found = estimate_capacity(Intervals.of(recorded(backlog=50.0)))

    assert found.status is CapacityStatus.LOWER_BOUND
    assert found.per_second is None and found.high is None
    assert found.low == pytest.approx(MU, rel=0.15)
    assert "never busy" in found.reason or "ever busy" in found.reason


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"lag_end": 100.0}, id="drained at the end"),
        pytest.param({"lag_start": 100.0}, id="drained at the start"),
        pytest.param({"throttled": True}, id="slowed by a quota"),
        pytest.param({"seconds": 10.0}, id="shorter than five commits"),
        pytest.param({"arrived": 50_000.0}, id="less backlog than ten seconds of arrival"),
    ],
)
def test_interval_that_is_not_saturated(changes: dict[str, object]) -> None:
    rows = recorded(episodes=1)
    plain = Intervals.of(rows)
    count = len(plain)

    changed = Intervals.of({**rows, **{name: [value] * count for name, value in changes.items()}})

    assert saturated(plain).all()
    assert not saturated(changed).any()


def test_one_episode_is_not_enough() -> None:
    found = estimate_capacity(Intervals.of(recorded(episodes=1)))

    assert found.status is CapacityStatus.LOWER_BOUND
    assert found.reason.endswith("its limit was not: 1 of 2 busy episodes seen."), (
        "what was seen often enough is not named"
    )


def test_what_was_seen_stands_with_what_was_not_measured() -> None:
    bound = estimate_capacity(Intervals.of(recorded(backlog=50.0)))

    assert not_measured(bound) == (
        f"what one consumer can process was not measured: at least {bound.low:.0f}/s of one "
        "consumer were seen, its limit was not: no member was ever busy without a pause"
    )
    assert not_measured(None).endswith(
        "that takes times in which a consumer is busy without a pause"
    )


def test_rate_that_varies_too_much_is_not_sold_as_a_figure() -> None:
    found = estimate_capacity(
        joined(
            recorded(episodes=1, members=1, capacity=50.0),
            recorded(2, episodes=1, members=1, begins=9000.0),
        )
    )

    assert found.status is CapacityStatus.LOWER_BOUND
    assert "varies too much" in found.reason


def test_nothing_seen_is_unknown() -> None:
    found = estimate_capacity(Intervals.of({name: [] for name in INTERVAL_COLUMNS}))

    assert found.status is CapacityStatus.UNKNOWN
    assert found.per_second is None and found.low is None


def test_rate_a_member_that_falls_as_members_grow_is_a_shared_limit() -> None:
    few = recorded(members=3)
    many = recorded(2, members=9, capacity=MU * 4 / 9, begins=100_000.0)

    found = estimate_capacity(joined(few, many))

    assert found.status is CapacityStatus.CONFLICT
    assert found.limit_per_second == pytest.approx(4 * MU, rel=0.05)
    assert found.helpful_members in (4, 5)
    assert "more consumers will not help" in found.reason


def test_small_loss_with_more_members_is_no_conflict() -> None:
    few = recorded(members=3)
    many = recorded(2, members=9, capacity=MU * 0.9, begins=100_000.0)

    found = estimate_capacity(joined(few, many))

    assert found.status is CapacityStatus.IDENTIFIED


def test_blocked_partition_comes_first() -> None:
    found = estimate_capacity(Intervals.of(recorded()), blocked=["orders-3"])

    assert found.status is CapacityStatus.BLOCKED
    assert "orders-3" in found.reason


def test_slow_member_shows_in_its_own_figure() -> None:
    found = estimate_capacity(
        joined(recorded(members=3), recorded(2, members=1, capacity=MU / 2, names="slow"))
    )

    assert found.members is not None
    assert found.members["slow0"].high < found.members["m0"].low


def test_rows_with_a_missing_number_are_left_out() -> None:
    rows = recorded(episodes=1)
    rows["consumed"][0] = None

    assert len(Intervals.of(rows)) == len(rows["member"]) - 1


def test_columns_of_different_length_are_refused() -> None:
    rows = recorded(episodes=1)
    rows["consumed"].pop()

    with pytest.raises(ValueError, match="differ in length"):
        Intervals.of(rows)


def test_partition_is_blocked_if_its_member_advances_elsewhere() -> None:
    polls = np.arange(6.0)[:, None]
    log_end = 100.0 + polls * np.array([10.0, 10.0, 10.0, 10.0, 0.0])
    committed = polls * np.array([10.0, 0.0, 0.0, 10.0, 0.0])
    member = np.array([0, 0, 1, 2, 0])

    found = blocked_partitions(committed, log_end, member)

    # Its member advances; its member stands still as a whole; fine; nothing arrives there.
    assert found.tolist() == [False, True, False, False, False]


def test_blockage_needs_enough_polls() -> None:
    still = np.zeros((4, 2))

    assert not blocked_partitions(still, still + 1, np.array([0, 0])).any()


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 6.3138), (2, 2.92), (3, 2.3534), (5, 2.015), (30, 1.6973)]
)
def test_student_t_agrees_with_the_tables(degrees: int, expected: float) -> None:
    assert student_t_95(degrees) == pytest.approx(expected, rel=0.003)


def test_student_t_needs_a_degree_of_freedom() -> None:
    with pytest.raises(ValueError, match="one degree"):
        student_t_95(0)


def test_more_members_than_were_seen_to_meet_a_shared_limit_do_not_help() -> None:
    few = recorded(members=6, capacity=0.8 * MU)
    many = recorded(2, members=12, capacity=0.42 * MU, begins=100_000.0)

    found = estimate_capacity(joined(few, many))

    assert found.status is CapacityStatus.CONFLICT
    assert found.helpful_members == 6


def drained(seed: int) -> dict[str, list[object]]:
    """Members that work off a backlog: a quick one is done early, a slow one late."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[object]] = {name: [] for name in INTERVAL_COLUMNS}
    keep = exp(-STEP / 60.0)
    for episode in range(6):
        for member in range(12):
            lag, level, at = 240 * MU, rng.standard_normal(), 5000.0 * episode
            while lag > 5 * MU:
                level = keep * level + sqrt(1 - keep**2) * rng.standard_normal()
                done = MU * STEP * exp(0.2 * level - 0.02)
                left = lag + 0.2 * MU * STEP - done
                row = (f"m{member}", 12, at, STEP, done, 0.2 * MU * STEP, lag, left, False)
                for name, value in zip(INTERVAL_COLUMNS, row, strict=True):
                    rows[name].append(value)
                lag, at = left, at + STEP
    return rows


def test_members_that_are_done_early_do_not_make_the_others_look_typical() -> None:
    rates, naive = [], []
    for seed in range(12):
        full = Intervals.of(drained(seed))
        full = full.where(saturated(full))
        found = estimate_capacity(full)
        assert found.per_second is not None
        rates.append(found.per_second / MU - 1)
        naive.append(full.consumed.sum() / full.seconds.sum() / MU - 1)

    assert np.mean(naive) < -0.015
    assert abs(np.mean(rates)) < 0.6 * abs(np.mean(naive))
