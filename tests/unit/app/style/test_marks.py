"""Marks of events: which are one, and that their labels cover neither each other nor the edge."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.style.charts.base import Axis, ChartEvent, plot
from app.style.charts.marks import Label, labels, put_marks
from app.style.theme import DARK

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
AXIS = Axis(start=START, end=START + timedelta(hours=1), zone=UTC, pixels=600)


def event(minute: float, text: str = "e", *, is_act: bool = False, detail: str = "") -> ChartEvent:
    at = START + timedelta(minutes=minute)
    return ChartEvent(at=at, text=text, detail=detail, kind="act" if is_act else "quiet")


def labelled(axis: Axis, *events: ChartEvent, rows: int = 1) -> list[Label]:
    return labels([[one] for one in events], axis, rows)


def said(found: Sequence[Label]) -> list[str]:
    return [f"{'<' if one.is_left else ''}{one.text}" for one in found]


@pytest.mark.parametrize(
    ("pixels", "texts"),
    [
        pytest.param(600, ["orders stopped", "payments stopped", "<leader moved"], id="room"),
        pytest.param(
            300, ["orders stopped", "payments stopped and 1 more"], id="a half of a window"
        ),
        pytest.param(220, ["orders stopped +1", "<leader moved"], id="a phone"),
    ],
)
def test_a_label_takes_in_those_that_it_would_cover(pixels: int, texts: list[str]) -> None:
    events = event(2, "orders stopped"), event(25, "payments stopped"), event(58, "leader moved")
    assert said(labelled(replace(AXIS, pixels=pixels), *events)) == texts


def test_a_second_row_has_room_for_more_marks() -> None:
    names = ("broker 2 is missing", "deploy", "topic a appeared", "broker 2 is back")
    events = [event(5 + number * 8, name) for number, name in enumerate(names)]
    axis = replace(AXIS, pixels=560)
    one, two = (labelled(axis, *events, rows=rows) for rows in (1, 2))
    assert said(one) == ["broker 2 is missing +1", "topic a appeared and 1 more change"]
    assert (said(two), [label.row for label in two]) == (list(names), [0, 1, 0, 1])


def test_the_return_of_a_broker_is_named_before_others_but_for_a_loss() -> None:
    at = START + timedelta(minutes=4)
    back = ChartEvent(at=at, text="broker 2 is back", kind="main")
    (label,) = labelled(AXIS, event(2, "leaders moved: 1 → 2"), back, event(6, "e"))
    assert (label.text, label.first) == ("broker 2 is back and 2 more changes", back)
    (label,) = labelled(AXIS, back, event(5, "broker 3 is missing", is_act=True))
    assert label.text == "broker 3 is missing and 1 more change"


def test_a_label_is_of_what_is_worst_among_its_events() -> None:
    (label,) = labelled(AXIS, event(2, "quiet"), event(4, "lost", is_act=True), event(6, "also"))
    assert label.text == "lost and 2 more changes"
    assert label.first.at == START + timedelta(minutes=4)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("pixels", [220, 300, 700])
def test_no_label_covers_another_or_the_edge(pixels: int, rows: int) -> None:
    seeded = random.Random(pixels)  # noqa: S311 (places, no secret)
    axis = replace(AXIS, pixels=pixels)
    for _ in range(300):
        minutes = sorted(seeded.uniform(0, 60) for _ in range(seeded.randint(1, 30)))
        events = [
            event(minute, "x" * seeded.randint(1, 40), is_act=seeded.random() < 0.3)
            for minute in minutes
        ]
        found = labelled(axis, *events, rows=rows)
        assert all(0 <= one.span[0] and one.span[1] <= pixels for one in found)
        for row in range(rows):
            here = [one for one in found if one.row == row]
            assert all(one.span[1] <= other.span[0] for one, other in itertools.pairwise(here))
        assert [one for label in found for one in label.events] == events, "each is told of"


def test_events_of_the_axis_are_drawn_as_lines_and_told_on_hover() -> None:
    made = plot(DARK, height=200, y_title="")
    events = (event(20, "e", detail="<b>x</b>"), event(20.05, "lost", is_act=True), event(90))
    put_marks(made, replace(AXIS, events=events), DARK)
    (shape,), (note,) = made.shapes, made.notes
    assert note["text"] == "lost and 1 more change"
    assert note["font"]["color"] == shape["line"]["color"] == DARK.act
    assert note["x"] == shape["x0"]
    assert note["hovertext"].split("<br>") == ["08:20:00 e: &lt;b&gt;x&lt;/b&gt;", "08:20:03 lost"]


def test_a_crowd_is_told_in_a_few_lines() -> None:
    made = plot(DARK, height=200, y_title="")
    events = tuple(event(20 + number / 100, f"e{number}") for number in range(11))
    put_marks(made, replace(AXIS, events=events), DARK)
    lines = made.notes[0]["hovertext"].split("<br>")
    assert (len(lines), lines[-1]) == (9, "and 3 more")
