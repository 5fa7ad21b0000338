"""Marks of events: which are one, and that they cover neither each other nor the edge."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.style.charts.base import Axis, ChartEvent, plot, put_ground
from app.style.charts.marks import Mark, marks, put_marks
from app.style.theme import DARK

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
AXIS = Axis(start=START, end=START + timedelta(hours=1), zone=UTC, pixels=600)


def event(minute: float, text: str = "e", *, is_act: bool = False, detail: str = "") -> ChartEvent:
    at = START + timedelta(minutes=minute)
    return ChartEvent(at=at, text=text, detail=detail, kind="act" if is_act else "quiet")


def marked(axis: Axis, *events: ChartEvent) -> list[Mark]:
    return marks(replace(axis, events=events), most_rows=1)


def said(found: Sequence[Mark]) -> list[str]:
    return [f"{'<' if one.is_left else ''}{one.text}" for one in found]


@pytest.mark.parametrize(
    ("pixels", "texts"),
    [
        pytest.param(600, ["orders stopped", "<payments stopped", "<leader moved"], id="room"),
        pytest.param(300, ["", "<payments stopped", "<leader moved"], id="a half of a window"),
        pytest.param(200, ["", "", "<leader moved"], id="a phone"),
    ],
)
def test_a_mark_has_words_where_there_is_room(pixels: int, texts: list[str]) -> None:
    events = event(2, "orders stopped"), event(25, "payments stopped"), event(58, "leader moved")
    assert said(marked(replace(AXIS, pixels=pixels), *events)) == texts


def test_a_loss_has_words_before_a_broker_and_that_before_others() -> None:
    back = ChartEvent(at=START + timedelta(minutes=8), text="broker 2 is back", kind="main")
    found = marked(replace(AXIS, pixels=200), event(2, "a" * 20), back, event(58, "b" * 20))
    assert said(found) == ["", "broker 2 back", ""]
    lost = event(58, "orders lost messages", is_act=True)
    assert said(marked(replace(AXIS, pixels=200), event(2, "a" * 20), back, lost)) == [
        "",
        "<orders lost messages",
    ], "a broker that is not named whole is not named"


@pytest.mark.parametrize(
    ("pixels", "texts"),
    [
        pytest.param(
            640, ["rebalance", "<broker 2 missing", "", "stopped", "rebalance"], id="wide"
        ),
        pytest.param(275, ["", "<broker 2 missing", "stopped"], id="over a rebalance"),
        pytest.param(220, ["", "<broker 2 missing", "stopped"], id="a phone"),
    ],
)
def test_what_explains_a_fault_is_named_whatever_else_is_near(
    pixels: int, texts: list[str]
) -> None:
    axis = replace(AXIS, end=START + timedelta(minutes=25), pixels=pixels)
    events = (
        event(0, "rebalance"),
        event(12, "broker 2 is missing", is_act=True),
        ChartEvent(at=START + timedelta(minutes=14), text="broker 2 is back", kind="main"),
        event(15, "is stopped", is_act=True),
        event(19, "rebalance"),
    )
    found = marked(axis, *events)
    assert said(found) == texts
    assert tuple(one for mark in found for one in mark.events) == events


def test_a_broker_is_named_before_what_fired_for_it() -> None:
    fired = ChartEvent(at=START + timedelta(minutes=29), text="orders is stopped", kind="fired")
    (one,) = marked(AXIS, fired, event(29.5, "broker 2 is missing", is_act=True))
    assert one.text == "broker 2 missing"


def test_what_the_page_is_about_is_named_first_and_two_rows_hold_more_words() -> None:
    """Given a group's alert beside its broker's loss, then the group's comes first, both stand."""
    lost = event(29.5, "broker 2 is missing", is_act=True)
    own = ChartEvent(at=START + timedelta(minutes=30), text="falls behind", is_own=True)
    (one,) = marked(AXIS, lost, own)
    assert one.text == "falls behind"
    axis = replace(AXIS, events=(event(25, "rebalance"), lost, own))
    assert [(one.text, one.row) for one in marks(axis)] == [
        *(("rebalance", 0), ("falls behind", 0), ("broker 2 missing", 1))
    ]
    made = plot(DARK, height=120)
    put_marks(made, axis, DARK)
    assert made.y["domain"][1] == pytest.approx(1 - 2 * 18 / 120)
    assert [note["yshift"] for note in made.notes] == [-18, -18, 0]


@pytest.mark.parametrize(
    ("second", "rows"),
    [
        pytest.param(event(50, "broker 2 is missing", is_act=True), 1, id="one has room for both"),
        pytest.param(event(30.1, "rebalance"), 1, id="what is of no weight"),
        pytest.param(event(30.1, "x" * 41, is_act=True), 1, id="words that no row has room for"),
        pytest.param(event(30.1, "broker 2 is missing", is_act=True), 2, id="two faults"),
    ],
)
def test_a_second_row_is_there_for_words_that_one_has_no_room_for(
    second: ChartEvent, rows: int
) -> None:
    axis = replace(AXIS, events=(event(30, "stopped", is_act=True), second))
    assert {mark.row for mark in marks(axis)} == set(range(rows))
    made = plot(DARK, height=120)
    put_marks(made, axis, DARK)
    assert made.layout["meta"]["marks"]["rows"] == rows


def test_words_stay_on_their_side_while_the_axis_moves_on() -> None:
    """Given a mark from the end of the axis to its begin, then its words change their side once."""
    sides = []
    for minute in range(60, -1, -1):
        (one,) = marked(AXIS, event(minute, "broker 2 is missing", is_act=True))
        assert one.text, "there is room at all times"
        sides.append(one.is_left)
    assert sides == sorted(sides, reverse=True)
    assert sides.count(False) < 15, "not before the begin of the axis is near"


def test_what_words_stand_over_keeps_its_line() -> None:
    made = plot(DARK, height=120)
    events = event(2, "stopped", is_act=True), event(6, "e"), event(58, "f")
    put_marks(made, replace(AXIS, events=events, pixels=300), DARK)
    assert [note["text"] for note in made.notes] == ["▼ stopped", "f ▼"]
    assert [shape["x0"].minute for shape in made.shapes] == [2, 6, 58]


def test_events_whose_signs_would_cover_each_other_are_one_mark() -> None:
    back = ChartEvent(at=START + timedelta(minutes=4.4), text="broker 2 is back", kind="main")
    (one,) = marked(AXIS, event(4, "leaders moved: 1 → 2"), back, event(4.8, "e"))
    assert (one.text, one.first) == ("broker 2 back", back)
    (one,) = marked(AXIS, back, event(5, "broker 3 is missing", is_act=True))
    assert one.text == "broker 3 missing"
    assert len(marked(AXIS, event(4), event(5.3))) == 2


def test_what_is_marked_is_named_in_few_letters() -> None:
    missing, alert = event(5, "broker 2 is missing"), event(40, "Alert: billing is stalled")
    assert said(marked(AXIS, missing, alert)) == ["broker 2 missing", "<billing stalled"]


@pytest.mark.parametrize("pixels", [220, 300, 700])
def test_no_mark_covers_another_or_the_edge(pixels: int) -> None:
    seeded = random.Random(pixels)  # noqa: S311 (places, no secret)
    axis = replace(AXIS, pixels=pixels)
    for _ in range(300):
        minutes = sorted(seeded.uniform(0, 60) for _ in range(seeded.randint(1, 30)))
        events = [
            event(minute, "x" * seeded.randint(1, 40), is_act=seeded.random() < 0.3)
            for minute in minutes
        ]
        found = marked(axis, *events)
        assert all(0 <= one.span[0] and one.span[1] <= pixels for one in found)
        assert all(one.span[1] <= other.span[0] for one, other in itertools.pairwise(found))
        assert [one for mark in found for one in mark.events] == events, "each is told of"


def test_events_of_the_axis_are_drawn_as_lines_and_told_on_hover() -> None:
    made = plot(DARK, height=120)
    events = (event(20, "e", detail="<b>x</b>"), event(20.05, "lost", is_act=True), event(90))
    put_marks(made, replace(AXIS, events=events), DARK)
    (shape,), (note,) = made.shapes, made.notes
    assert note["text"] == "lost ▼"
    assert note["font"]["color"] == shape["line"]["color"] == DARK.act
    assert note["x"] == shape["x0"]
    assert note["hovertext"].split("<br>") == ["08:20:00 e: &lt;b&gt;x&lt;/b&gt;", "08:20:03 lost"]


def test_a_crowd_is_told_in_a_few_lines() -> None:
    made = plot(DARK, height=120)
    events = tuple(event(20 + number / 100, f"e{number}") for number in range(11))
    put_marks(made, replace(AXIS, events=events), DARK)
    lines = made.notes[0]["hovertext"].split("<br>")
    assert (len(lines), lines[-1]) == (9, "and 3 more")


def test_a_label_is_whole_or_not_there_and_hover_says_all_of_it() -> None:
    text = "leaders moved: broker 3 → brokers 1 and 2"
    for pixels in (700, 220, 100):
        made = plot(DARK, height=120)
        put_marks(made, replace(AXIS, events=(event(30, text[:38]),), pixels=pixels), DARK)
        (note,) = made.notes
        assert note["text"] in (f"▼ {text[:38]}", f"{text[:38]} ▼", "▼")
        assert (note["text"] == "▼") == (pixels < 500)
        assert text[:38] in note["hovertext"]
    made = plot(DARK, height=120)
    put_marks(made, replace(AXIS, events=(event(30, "b", detail="word " * 40),)), DARK)
    assert made.notes[0]["hovertext"].count("word") == 40


def test_marks_near_each_other_without_room_for_words_are_one_that_counts_them() -> None:
    made = plot(DARK, height=120)
    events = tuple(event(20 + 5 * number, f"e{number}" * 9) for number in range(3))
    put_marks(made, replace(AXIS, events=events, pixels=200), DARK)
    (note,) = made.notes
    assert note["text"] == "3 changes ▼"
    assert all(one.text in note["hovertext"] for one in events)
    assert [shape["x0"].minute for shape in made.shapes] == [20, 25, 30], "each has its line"


def test_no_line_of_the_ground_strikes_a_label_through() -> None:
    made = plot(DARK, height=120)
    axis = replace(AXIS, events=(event(30),), generated_until=START + timedelta(minutes=31))
    put_ground(made, axis)
    put_marks(made, axis, DARK)
    assert len(made.shapes) == 3
    assert all(shape["y1"] == made.y["domain"][1] < 1 for shape in made.shapes)
    assert made.notes[0]["bgcolor"] == DARK.ground
