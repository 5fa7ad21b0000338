"""The lag of a mirror: never negative, never silently nothing."""

from __future__ import annotations

import polars as pl
import pytest

from collectors.connect.answers import Position
from collectors.connect.comparison import (
    BEYOND_END,
    NO_END,
    NO_PARTITION,
    NO_POSITION,
    Compared,
    compare,
)


def ends(**logs: int | None) -> pl.DataFrame:
    """Return log ends of partition 0 of some topics."""
    rows = [(topic, 0, end) for topic, end in logs.items()]
    schema = {"topic": pl.String, "partition": pl.Int32, "log_end": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def at(replicated: int | None, topic: str = "orders") -> Position:
    return Position(alias="east", topic=topic, partition=0, replicated=replicated)


def outcome(position: Position, logs: pl.DataFrame, before: Compared | None = None) -> object:
    return compare([position], logs, before).lag(position)


@pytest.mark.parametrize(
    ("replicated", "logs", "expected"),
    [
        pytest.param(40, ends(orders=100), (100, 60, None), id="behind"),
        pytest.param(100, ends(orders=100), (100, 0, None), id="at the end"),
        pytest.param(104, ends(orders=100), (100, 0, None), id="the end was read earlier"),
        pytest.param(None, ends(orders=100), (100, None, NO_POSITION), id="no position"),
        pytest.param(40, ends(refunds=100), (None, None, NO_PARTITION), id="deleted topic"),
        pytest.param(40, ends(orders=None), (None, None, NO_END), id="end unknown"),
    ],
)
def test_the_lag_of_a_partition(
    replicated: int | None, logs: pl.DataFrame, expected: tuple[object, ...]
) -> None:
    assert outcome(at(replicated), logs) == expected


def test_a_log_that_went_backwards_is_noticed_at_the_next_end() -> None:
    first = compare([at(500)], ends(orders=500), None)
    recreated = ends(orders=20)
    second = compare([at(500)], recreated, first)
    assert second.lag(at(500)) == (20, 0, BEYOND_END)
    third = compare([at(500)], recreated, second)
    assert third.lag(at(500)) == (20, 0, BEYOND_END), "as long as there is no newer end"
    caught_up = compare([at(500)], ends(orders=510), third)
    assert caught_up.lag(at(500)) == (510, 10, None)


def test_a_quick_mirror_is_never_taken_for_one_beyond_the_end() -> None:
    """Given ends that are always read before the positions, when both grow, then no doubt."""
    before = None
    for end in range(100, 2000, 100):
        position = at(end + 50)
        before = compare([position], ends(orders=end), before)
        assert before.lag(position) == (end, 0, None)


def test_a_mirror_that_began_anew_is_in_order() -> None:
    first = compare([at(500)], ends(orders=500), None)
    again = compare([at(5)], ends(orders=20), first)
    assert again.lag(at(5)) == (20, 15, None)
