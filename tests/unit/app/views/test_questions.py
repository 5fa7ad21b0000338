"""What the address asks of a what-if."""

from __future__ import annotations

import pytest

from app.views.scaling import questions


@pytest.mark.parametrize(
    ("text", "is_whole", "value"),
    [
        pytest.param("4", True, 4, id="a number"),
        pytest.param("1.5", False, 1.5, id="a part"),
        pytest.param("1.5", True, None, id="no whole one"),
        pytest.param("0", True, None, id="too few"),
        pytest.param("1e300", False, None, id="too many"),
        pytest.param("nan", False, None, id="no number"),
        pytest.param("inf", False, None, id="endless"),
        pytest.param("9" * 5000, True, None, id="long"),
        pytest.param("<b>", True, None, id="no number at all"),
        pytest.param("", True, None, id="nothing"),
    ],
)
def test_only_numbers_within_limits_are_taken(
    text: str, value: float | None, *, is_whole: bool
) -> None:
    assert questions.number(text, 1, 2000, is_whole=is_whole) == value


def test_a_choice_is_taken_where_it_is_offered() -> None:
    offered = (questions.NOTHING, questions.CAMPAIGN)
    assert questions.chosen("campaign", offered) == questions.CAMPAIGN
    assert questions.chosen("away", offered) is None
    assert questions.chosen("<script>", offered) is None


def test_what_cannot_be_is_said_in_one_line_and_cut() -> None:
    address = {"if-consumers": "many", "if-rate": "9" * 100, "if-event": "away"}
    said = questions.not_understood(address, ["if-consumers", "if-rate"])
    assert said == (
        "The address asks for what cannot be, which is left out: if-consumers=many, "
        f"if-rate={'9' * 20}"
    )
    assert questions.not_understood(address, []) == ""
