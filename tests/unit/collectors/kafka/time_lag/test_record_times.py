from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.kafka.time_lag.record_times import POINTS, RecordTimes
from collectors.kafka.time_lag.timestamp_lookups import COMPACTED, NO_TIMESTAMP, batch_time

NOW = 1_000_000.0


def known(*points: tuple[int, float]) -> RecordTimes:
    times = RecordTimes()
    for offset, time in points:
        times.add(offset, time)
    return times


@pytest.mark.parametrize(
    ("points", "offset", "upper", "expected"),
    [
        pytest.param([(10, 500.0)], 10, None, 500.0, id="looked up"),
        pytest.param([], 10, (20, NOW), None, id="nothing known"),
        pytest.param([(20, 500.0)], 10, (30, NOW), None, id="before everything known"),
        pytest.param([(10, 500.0)], 15, None, None, id="nothing known after it"),
        pytest.param([(10, NOW - 100), (20, NOW - 80)], 15, None, NOW - 90, id="between two"),
        pytest.param([(10, NOW - 100)], 15, (20, NOW - 80), NOW - 90, id="up to the timeline"),
        pytest.param([(10, 500.0)], 15, (20, NOW - 80), None, id="two too far apart to tell"),
        pytest.param([(10, NOW - 80), (20, NOW - 90)], 15, None, None, id="clocks in disorder"),
        pytest.param([(10, NOW - 50)], 15, (20, NOW), NOW - 25, id="a minute apart is near"),
    ],
)
def test_a_time_is_told_between_near_points_only(
    points: list[tuple[int, float]],
    offset: int,
    upper: tuple[int, float] | None,
    expected: float | None,
) -> None:
    assert known(*points).time_at(offset, upper, NOW) == expected


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, NOW)), max_size=80),
    st.integers(0, 10_000),
)
def test_a_told_time_lies_between_its_neighbours(
    points: list[tuple[int, float]], offset: int
) -> None:
    times = known(*points)
    assert len(times) <= POINTS
    found = times.bracket(offset, None)
    reported = times.time_at(offset, None, NOW)
    if found is None:
        assert reported is None
    elif reported is not None:
        (low, low_time), (high, high_time) = found
        assert low <= offset <= high
        assert low_time <= reported <= high_time


def test_the_newest_points_stay() -> None:
    times = known(*((offset, float(offset)) for offset in range(100)))
    assert times.time_at(99, None, NOW) == 99.0
    assert times.time_at(100 - POINTS, None, NOW) == 100.0 - POINTS
    assert times.time_at(10, None, NOW) is None


def head(
    base: int = 100,
    version: int = 2,
    attributes: int = 0,
    last_delta: int = 10,
    first_ms: int = 1_000,
    latest_ms: int = 3_000,
) -> bytes:
    return struct.pack(
        ">qiibIhiqq", base, 500, 0, version, 0, attributes, last_delta, first_ms, latest_ms
    )


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        pytest.param(head(), 100, 1.0, id="first of the batch"),
        pytest.param(head(), 110, 3.0, id="last of the batch"),
        pytest.param(head(), 105, 2.0, id="inside the batch"),
        pytest.param(head(last_delta=0), 100, 3.0, id="a single record"),
        pytest.param(head(attributes=8), 100, 3.0, id="set by the broker"),
        pytest.param(head(attributes=64), 100, 3.0, id="compacted, with tombstones"),
        pytest.param(head(base=101), 100, COMPACTED, id="the record was compacted away"),
        pytest.param(head(first_ms=-1, latest_ms=-1), 100, NO_TIMESTAMP, id="no timestamp"),
        pytest.param(head(version=1), 100, NO_TIMESTAMP, id="records of long ago"),
        pytest.param(head()[:20], 100, "the broker sent no record", id="cut short"),
        pytest.param(b"", 100, "the broker sent no record", id="nothing"),
    ],
)
def test_the_head_of_a_batch_tells_when(data: bytes, offset: int, expected: object) -> None:
    assert batch_time(data, offset) == expected
