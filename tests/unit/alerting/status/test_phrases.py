from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.status.phrases import (
    brief_time_left,
    compared_rates,
    duration,
    in_steps,
    minute_rate,
    on_partitions,
    rate,
    share,
    short,
    time_left,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (260, "4 min 20 s"), (3600, "1 h"), (183_600, "2 d 3 h")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (0.0, "0/s"),
        (1240.4, "1,240/s"),
        (2.5, "2.5/s"),
        (2.0, "2/s"),
        (0.5, "30/min"),
        (14 / 60, "14/min"),
        (1 / 3600, "1/h"),
        (1e-9, "under 1/d"),
    ],
)
def test_rate(per_second: float, text: str) -> None:
    assert rate(per_second) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [(1.9, "114/min"), (20.0, "1,200/min"), (0.05, "3/min"), (1 / 120, "0.5/min")],
)
def test_what_is_rare_is_told_a_minute(per_second: float, text: str) -> None:
    assert minute_rate(per_second) == text


@pytest.mark.parametrize(
    ("arrival", "consumption", "text"),
    [
        pytest.param(90.2, 70.0, "90/s arrive, 70/s consumed", id="apart"),
        pytest.param(90.2, 89.8, "90/s arrive, 0.4/s more than consumed", id="more arrive"),
        pytest.param(89.8, 90.2, "90/s arrive, 0.4/s fewer than consumed", id="fewer arrive"),
        pytest.param(0.202, 0.198, "12/min arrive, 0.2/min more than consumed", id="per minute"),
        pytest.param(90.0, 90.0, "90/s arrive, 90/s consumed", id="the same"),
    ],
)
def test_rates_that_tell_a_direction(arrival: float, consumption: float, text: str) -> None:
    assert compared_rates(arrival, consumption) == text


@pytest.mark.parametrize(
    ("amounts", "text"),
    [
        pytest.param([9, 11, 10], "evenly on all 3 partitions", id="all alike"),
        pytest.param([9, 30, 10], "on 3 of 3 partitions, most on t-1", id="one stands out"),
        pytest.param([0, 0, 5], "on 3 of 3 partitions, most on t-2", id="one has all"),
        pytest.param([9, 11], "evenly on 2 of 3 partitions", id="some alike"),
        pytest.param([329, 584], "on 2 of 3 partitions", id="some, not alike"),
        pytest.param([9, 15, 11], "on all 3 partitions", id="all, not alike"),
        pytest.param([4], "on t-0 (1 of 3)", id="one alone"),
    ],
)
def test_a_partition_is_named_where_it_stands_out(amounts: list[float], text: str) -> None:
    assert on_partitions({f"t-{n}": amount for n, amount in enumerate(amounts)}, 3) == text


def test_of_two_partitions_both_are_meant() -> None:
    assert on_partitions({"t-0": 5.0, "t-1": 6.0}, 2) == "evenly on both partitions"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0, "0 %"), (0.002, "0.2 %"), (0.0213, "2.1 %"), (0.0999, "10 %"), (1.0, "100 %")],
)
def test_share(ratio: float, text: str) -> None:
    assert share(ratio) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (940, "940"), (12_400, "12.4 k"), (999_900, "1 M"), (1_240_000, "1.24 M")],
)
def test_short(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "within 5 min"),
        (299, "within 5 min"),
        (300, "in 5 min"),
        (3599, "in 59 min"),
        (3600, "in 1 h"),
        (89 * 60, "in 1 h 20 min"),
        (72 * 60, "in 1 h 10 min"),
        (3 * 3600 - 1, "in 2 h 50 min"),
        (3 * 3600, "in 3 h"),
        (5 * 3600 + 29 * 60, "in 5 h 20 min"),
        (10 * 3600 - 1, "in 9 h 50 min"),
        (10 * 3600 + 3599, "in 10 h"),
        (23 * 3600 + 3000, "in 23 h"),
        (27 * 3600 + 3599, "in 27 h"),
        (2 * 86_400 + 3600, "in 2 d"),
        (3 * 86_400 - 1, "in 2 d"),
    ],
)
def test_time_left_is_fine_where_it_is_short_and_never_more_than_is_left(
    seconds: float, text: str
) -> None:
    assert time_left(seconds) == text
    assert in_steps(seconds) <= max(0, seconds)
    assert brief_time_left(seconds) == text.replace("within", "under").removeprefix("in ")


@given(st.floats(0, 1e15))
def test_every_number_can_be_said(value: float) -> None:
    assert duration(value) and rate(value) and short(value)
