"""How the numbers of a column are written."""

from __future__ import annotations

from math import inf, nan

import pytest

from app.style.columns import Kind, fitted, line_width, room_left, text_pixels, word_width, writers
from app.style.format import THIN


def column(kind: Kind, *values: float | None) -> list[str]:
    write = writers([("it", kind, [one for one in values if one is not None])])["it"]
    assert write is not None
    return [write(one) for one in values]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        pytest.param(
            [46_234.0, 120.4, 12.34, 0.02, 0.0],
            [f"46{THIN}234/s", "120/s", "12.3/s", "0.02/s", "0/s"],
            id="a second",
        ),
        pytest.param([0.5, 0.01], ["30/min", "0.6/min"], id="a minute"),
        pytest.param([0.002, None], ["7.2/h", "unknown"], id="an hour"),
        pytest.param([0.0], ["0/s"], id="nothing"),
        pytest.param(
            [1_500_000.0, 46_234.0],
            [f"1{THIN}500{THIN}k/s", f"46.2{THIN}k/s"],
            id="thousands, all of them",
        ),
        pytest.param([2.0, inf, nan], ["2/s", "unknown", "unknown"], id="what is no number"),
    ],
)
def test_rates_of_a_column_have_one_unit(values: list[float | None], texts: list[str]) -> None:
    assert column("rate", *values) == texts


def test_changes_of_a_column_have_one_unit_and_their_signs() -> None:
    assert column("change", 2.0, -0.5, 0.0, None) == ["+2/s", "-0.5/s", "0/s", "unknown"]


def test_a_column_of_small_rates_has_a_unit_of_its_own() -> None:
    made = writers(
        [
            ("published", "rate", [5.0, 0.02]),
            ("growth", "change", [0.0954, 0.42]),
            ("none", "rate", [0]),
        ]
    )
    values = {"published": 0.02, "growth": 0.0954, "none": 0.0}
    said = {name: write(values[name]) for name, write in made.items() if write is not None}
    assert said == {"published": "0.02/s", "growth": "+5.72/min", "none": "0/s"}


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        pytest.param([0.041, 0.0, 0.003], ["41 ms", "0 ms", "3 ms"], id="all are short"),
        pytest.param([0.041, 0.42, 260.0], ["0.041 s", "0.42 s", "4 min 20 s"], id="some are long"),
        pytest.param([0.0, None], ["0 s", "unknown"], id="nothing"),
    ],
)
def test_durations_of_a_column_are_in_milliseconds_together_or_not_at_all(
    values: list[float | None], texts: list[str]
) -> None:
    assert column("duration", *values) == texts


def test_a_text_is_no_number() -> None:
    assert writers([("it", "text", [])]) == {"it": None}


LONG = f"No commit for 45 min with 3{THIN}315 messages waiting on orders-7"


@pytest.mark.parametrize(
    ("width", "left"),
    [
        pytest.param("large", None, id="it has room"),
        pytest.param(None, None, id="as wide as its texts"),
        pytest.param(200, "messages waiting on orders-7", id="behind a number, all of it"),
        pytest.param(178, f"3{THIN}315 messages waiting on orders-7", id="or before it"),
    ],
)
def test_a_text_that_has_no_room_in_its_column_ends_behind_a_word(
    width: int | str | None, left: str | None
) -> None:
    said = LONG if left is None else f"{LONG.removesuffix(left).rstrip()} …"
    assert fitted(LONG, width) == said


@pytest.mark.parametrize("width", range(20, 420, 7))
def test_what_is_left_of_a_text_has_room(width: int) -> None:
    assert text_pixels(fitted(LONG, width)) <= width - 16 or fitted(LONG, width) == "…"


def test_a_name_that_has_no_room_is_cut_within() -> None:
    assert fitted("telemetry-archive-of-the-north", 120) == "telemetry-archive…"
    assert fitted("orders", 120) == "orders"


def test_a_name_in_a_sentence_is_begun_rather_than_left_out() -> None:
    assert fitted("a hot partition web.page_views-0 of six", 170) == "a hot partition web.page_vi…"
    assert fitted("a hot partition misconfiguration", 170) == "a hot partition …"


def test_what_columns_leave_of_a_table() -> None:
    assert room_left([100, 18, None, "small"]) == 1104 - 118


@pytest.mark.parametrize(
    ("texts", "pixels"),
    [
        pytest.param([], 84, id="none"),
        pytest.param(["orders", None], 84, id="short"),
        pytest.param(["orders.placed"], 107, id="a name has no blank to break at"),
        pytest.param(["orders and clicks"], 84, id="words break at blanks"),
        pytest.param(["o" * 99], 200, id="no more than there is room for"),
    ],
)
def test_a_column_has_the_width_of_its_longest_word(texts: list[str | None], pixels: int) -> None:
    assert word_width(texts, least=84) == pixels


def test_dead_letters_have_one_unit_however_many_arrive() -> None:
    assert column("minute_rate", 0.05, 1.9) == ["3/min", "114/min"]
    assert column("minute_rate", 0.0) == ["0/min"]


def test_the_time_until_a_deadline_is_written_in_the_steps_of_all_deadlines() -> None:
    seconds = [0.0, 120.0, 5 * 3600 + 29 * 60.0, 47.9 * 3600, 3 * 86_400 - 1.0, None]
    assert column("left", *seconds) == [
        "now",
        "under 5 min",
        "5 h 20 min",
        "47 h",
        "2 d",
        "unknown",
    ]


def test_a_column_that_is_as_wide_as_its_texts_cuts_none() -> None:
    texts = ["IllegalArgumentException, 67 %", None, "DataException"]
    width = line_width(texts, least=150, most=204)
    assert 150 < width < 204
    assert fitted(texts[0] or "", width) == texts[0]
    assert line_width([None], least=150, most=204) == 150
