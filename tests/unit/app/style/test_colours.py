"""Colours of lines: each name keeps its own, whatever is beside it."""

from __future__ import annotations

from itertools import combinations, permutations

from app.style.charts.colours import FAMILIES, SHARED_DASHES, colour_of, looks_of
from app.style.theme import DARK, LIGHT

NAMES = [f"g{number}" for number in range(40)]


def test_a_name_has_its_colour_whatever_is_drawn_beside_it() -> None:
    for first in range(len(NAMES) - 5):
        beside = NAMES[first : first + 5]
        found = looks_of(beside, LIGHT)
        assert {name: look.colour for name, look in found.items()} == {
            name: colour_of(name, LIGHT) for name in beside
        }
    assert {colour_of(name, LIGHT) for name in NAMES} == set(LIGHT.series)


def test_two_that_share_a_colour_differ_in_their_dash_in_any_order() -> None:
    one, two, three = next(
        found
        for found in combinations(NAMES, 3)
        if len({colour_of(name, LIGHT) for name in found}) == 1
    )
    for order in permutations([one, two, three]):
        looks = looks_of(order, LIGHT)
        assert [looks[name].dash for name in sorted(order)] == list(SHARED_DASHES)
    assert looks_of([two], LIGHT)[two].dash == "solid"


def test_a_name_has_the_same_place_in_each_palette() -> None:
    assert len(LIGHT.series) == len(DARK.series)
    for name in NAMES:
        places = [one.series.index(colour_of(name, one)) for one in (LIGHT, DARK)]
        assert places[0] == places[1]


def test_names_of_one_chart_alone_look_apart_and_as_many_as_can_keep_their_own() -> None:
    changed = 0
    for first in range(len(NAMES) - 6):
        names = NAMES[first : first + 6]
        looks = looks_of(names, LIGHT, are_own=False)
        families = [FAMILIES[LIGHT.series.index(look.colour)] for look in looks.values()]
        assert len(set(families)) == 6
        assert {look.dash for look in looks.values()} == {"solid"}
        assert looks_of(names[::-1], LIGHT, are_own=False) == looks
        changed += sum(looks[name].colour != colour_of(name, LIGHT) for name in names)
        own = {FAMILIES[LIGHT.series.index(colour_of(name, LIGHT))] for name in names}
        assert sum(looks[name].colour == colour_of(name, LIGHT) for name in names) >= len(own)
    assert changed
    nine = looks_of(NAMES[:9], LIGHT, are_own=False)
    assert {look.colour for look in nine.values()} == set(LIGHT.series)
    ten = looks_of(NAMES[:10], LIGHT, are_own=False)
    assert len(set(ten.values())) == 10, "a dash tells the tenth apart"
