"""Colours of lines: each name keeps its own, whatever is beside it."""

from __future__ import annotations

from itertools import combinations

from app.style.charts.colours import colours_of, places_of
from app.style.theme import DARK, LIGHT

TOTAL = len(LIGHT.series)


def test_a_colour_stays_with_its_name() -> None:
    names = [f"g{number}" for number in range(40)]
    own = {name: colours_of([name], LIGHT)[name] for name in names}
    for first in range(31):
        beside = colours_of(names[first : first + 10], LIGHT)
        assert len(set(beside.values())) == 10, "no two lines are alike"
        for colour in {own[name] for name in beside}:
            keeps = min(name for name in beside if own[name] == colour)
            assert beside[keeps] == colour, "only one of two that share it steps aside"
    one, two = next(pair for pair in combinations(names, 2) if own[pair[0]] == own[pair[1]])
    assert colours_of([two, one], LIGHT) == colours_of([one, two], LIGHT)
    assert len(colours_of(names[:12], LIGHT)) == 12


def test_a_name_keeps_its_colour_while_others_come_and_go() -> None:
    names = [f"g{number}" for number in range(TOTAL)]
    kept: dict[str, int] = {}
    first: dict[str, int] = {}
    for begin in range(2 * TOTAL):
        shown = [names[(begin * 3 + beside) % TOTAL] for beside in range(5)]
        places = places_of(shown, TOTAL, kept)
        kept |= places
        first = places | first
        assert places == {name: first[name] for name in shown}
    assert sorted(kept.values()) == list(range(TOTAL)), "as many names as colours share none"


def test_of_two_that_have_one_colour_the_first_keeps_it() -> None:
    found = places_of(["a", "z"], TOTAL, {"z": 3, "x": 4, "a": 3})
    assert found["z"] == 3
    assert found["a"] not in (3, 4)


def test_a_name_has_the_same_place_in_each_palette() -> None:
    (light,), (dark,) = (colours_of(["a"], one, {"a": 2}).values() for one in (LIGHT, DARK))
    assert (light, dark) == (LIGHT.series[2], DARK.series[2])
