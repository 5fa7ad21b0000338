"""The exhaustive tests of two weeks are all of them."""

from __future__ import annotations

import pytest

from tests.selection import MARK, PARTS, exhaustive, runs_on

TESTS = [f"tests/unit/test_one.py::test_it[{number}]" for number in range(1400)]


@pytest.mark.parametrize("first", [1, 200, 360])
def test_in_any_fortnight_each_runs_once(first: int) -> None:
    days = range(first, first + PARTS)
    assert {sum(runs_on(test, day) for day in days) for test in TESTS} == {1}


def test_no_day_has_much_more_than_another() -> None:
    counts = [sum(runs_on(test, day) for test in TESTS) for day in range(PARTS)]
    assert max(counts) < 1.3 * len(TESTS) / PARTS


def test_parameters_are_marked_whether_one_or_several() -> None:
    one, several = exhaustive("a", ("b", 2))
    assert (one.values, several.values) == (("a",), ("b", 2))
    assert [parameter.marks for parameter in (one, several)] == [(MARK,), (MARK,)]
