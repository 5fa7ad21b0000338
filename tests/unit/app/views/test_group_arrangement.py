"""Where the charts of a group stand beside advice of any height."""

from __future__ import annotations

import pytest

from app.views.group.arrangement import _ARRANGEMENTS, BALANCED, Part, arranged

BELOW, WHOLE = "below the advice", "whole"


def place(advice_pixels: int, partitions: int, part: Part) -> str:
    found = arranged(advice_pixels, partitions)
    if part in found.right:
        return BELOW
    if part in found.whole:
        return WHOLE
    return "beside"


@pytest.mark.parametrize(
    ("advice_pixels", "partitions", "left", "expected"),
    [
        pytest.param(180, 6, 3, BELOW, id="a short card: the forecast below it"),
        pytest.param(180, 24, 3, BELOW, id="a high heatmap, too"),
        pytest.param(450, 6, 3, BELOW, id="a card with a change, too"),
        pytest.param(700, 12, 3, BELOW, id="two cards beside three charts"),
        pytest.param(1000, 3, 3, WHOLE, id="two long cards beside all charts of the time"),
        pytest.param(1800, 3, 4, "beside", id="many cards beside all charts"),
    ],
)
def test_charts_stand_beside_advice_as_far_as_it_reaches(
    advice_pixels: int, partitions: int, left: int, expected: str
) -> None:
    assert len(arranged(advice_pixels, partitions).left) == left
    assert place(advice_pixels, partitions, Part.EXPECTED) == expected


@pytest.mark.parametrize("one", _ARRANGEMENTS)
def test_each_arrangement_has_every_chart_once(one: object) -> None:
    assert isinstance(one, type(BALANCED))
    assert sorted([*one.left, *one.right, *one.whole]) == sorted(Part)


@pytest.mark.parametrize("one", _ARRANGEMENTS)
def test_what_is_of_the_same_time_stands_below_each_other(one: object) -> None:
    assert isinstance(one, type(BALANCED))
    assert {Part.LAG, Part.FLOW, Part.PARTITIONS} <= set(one.left)


def test_no_rows_are_arranged_as_few() -> None:
    assert arranged(180, 0) == BALANCED
