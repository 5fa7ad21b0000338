from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.kafka.time_lag.timeline import OffsetTimeline
from collectors.kafka.time_lag.timelines import RecordResult


def timeline(*points: tuple[int, float], capacity: int = 60) -> OffsetTimeline:
    made = OffsetTimeline(capacity)
    for offset, at in points:
        made.record(offset, at)
    return made


@pytest.mark.parametrize(
    ("before", "point", "result"),
    [
        pytest.param([], (5, 10.0), RecordResult.INSERTED, id="first"),
        pytest.param([(5, 10.0)], (9, 20.0), RecordResult.INSERTED, id="grows"),
        pytest.param([(5, 10.0)], (5, 20.0), RecordResult.INSERTED, id="same once"),
        pytest.param(
            [(5, 10.0), (5, 20.0)], (5, 30.0), RecordResult.UPDATED, id="same three times"
        ),
        pytest.param(
            [(5, 10.0), (5, 20.0)], (6, 30.0), RecordResult.INSERTED, id="grows after idling"
        ),
        pytest.param([(5, 10.0)], (9, 10.0), RecordResult.OUT_OF_ORDER, id="same time"),
        pytest.param([(5, 10.0)], (9, 9.0), RecordResult.OUT_OF_ORDER, id="earlier"),
        pytest.param([(5, 10.0)], (4, 9.0), RecordResult.OUT_OF_ORDER, id="earlier and smaller"),
        pytest.param([(5, 10.0)], (4, 20.0), RecordResult.NON_MONOTONIC, id="smaller"),
    ],
)
def test_record(
    before: list[tuple[int, float]], point: tuple[int, float], result: RecordResult
) -> None:
    made = timeline(*before)
    assert made.record(*point) is result
    grown = len(before) + (result is RecordResult.INSERTED)
    assert len(made) == grown


@pytest.mark.parametrize(
    ("points", "offset", "at"),
    [
        pytest.param([], 0, None, id="empty"),
        pytest.param([(5, 10.0)], 5, 10.0, id="only point"),
        pytest.param([(5, 10.0)], 4, None, id="below the only point"),
        pytest.param([(0, 10.0), (10, 20.0)], 5, 15.0, id="in the middle"),
        pytest.param([(0, 10.0), (10, 20.0)], 0, 10.0, id="oldest"),
        pytest.param([(0, 10.0), (10, 20.0)], 10, 20.0, id="newest"),
        pytest.param([(5, 10.0), (10, 20.0)], 4, None, id="below the oldest"),
        pytest.param([(5, 10.0), (10, 20.0)], 11, None, id="beyond the newest"),
        pytest.param(
            [(0, 10.0), (10, 20.0), (10, 50.0)], 5, 15.0, id="idle: not younger than it is"
        ),
        pytest.param(
            [(0, 10.0), (10, 20.0), (10, 50.0), (20, 60.0)],
            10,
            50.0,
            id="after idling: came after the last sight",
        ),
        pytest.param(
            [(0, 10.0), (10, 20.0), (10, 50.0), (20, 60.0)], 15, 55.0, id="after idling: between"
        ),
        pytest.param([(0, 10.0), (10, 20.0), (10, 50.0), (20, 60.0)], 9, 19.0, id="before idling"),
    ],
)
def test_time_at(points: list[tuple[int, float]], offset: int, at: float | None) -> None:
    assert timeline(*points).time_at(offset) == at


def test_an_idle_partition_does_not_make_the_lag_younger() -> None:
    made = timeline((0, 0.0), (100, 10.0))
    first = made.time_at(50)
    for poll in range(1, 500):
        made.record(100, 10.0 + poll * 15)
        assert made.time_at(50) == first
    assert len(made) == 3
    assert made.time_at(100) == 10.0 + 499 * 15


def test_the_oldest_point_is_given_up() -> None:
    made = timeline((0, 0.0), (10, 1.0), (20, 2.0), (30, 3.0), capacity=3)
    assert len(made) == 3
    assert made.time_at(5) is None
    assert made.time_at(15) == 1.5
    assert made.oldest == (10, 1.0)


def test_reset_forgets_everything() -> None:
    made = timeline((50, 0.0), (60, 1.0))
    assert made.record(3, 2.0) is RecordResult.NON_MONOTONIC
    made.reset()
    assert made.time_at(55) is None
    assert made.oldest is None
    assert made.record(3, 2.0) is RecordResult.INSERTED


def test_capacity_below_two_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        OffsetTimeline(1)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(0.1, 100)), min_size=1, max_size=100),
    st.integers(2, 60),
)
def test_whatever_is_recorded_times_are_inside_and_never_decrease(
    steps: list[tuple[int, float]], capacity: int
) -> None:
    made = OffsetTimeline(capacity)
    offset, at = 0, 0.0
    for grown, passed in steps:
        offset, at = offset + grown, at + passed
        assert made.record(offset, at) in (RecordResult.INSERTED, RecordResult.UPDATED)
        assert len(made) <= capacity
    oldest = made.oldest
    assert oldest is not None
    times = [made.time_at(value) for value in range(offset + 1)]
    known = [time for time in times if time is not None]
    assert known == sorted(known)
    assert all(oldest[1] <= time <= at for time in known)
    # Once the timeline reaches an offset, it reaches every later one up to the end.
    assert None not in times[times.index(known[0]) :]
