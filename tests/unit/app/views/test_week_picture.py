"""A week in pictures, from incidents made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.data.context import View
from app.style.columns import ROW_PIXELS
from app.style.theme import LIGHT
from app.ui.incidents import Incident
from app.views.week import picture, view_model
from tests.unit.app.ui.test_incidents import alert
from tests.unit.app.views.week_rows import END, START, by_group_of, hour


def one(what: str, before_end: timedelta, lasted: timedelta | None = None) -> Incident:
    began = END - before_end
    ended = None if lasted is None else (began + lasted).timestamp()
    return Incident(cause=alert(what, began=began.timestamp(), ended=ended))


def test_a_row_says_when_an_incident_began_how_it_ended_and_how_long_it_lasted(view: View) -> None:
    found = [
        one("goes on", timedelta(minutes=30)),
        one("is over", timedelta(hours=1), timedelta(minutes=5)),
    ]
    rows = view_model.incident_part(found, START, END).rows
    on, over = picture.items(found, rows, replace(view, now=END))
    assert (on.when, on.more_label) == ("11:30 → goes on", "for 30 min")
    assert (over.when, over.more_label) == ("11:00 → 11:05", "lasted 5 min")
    assert over.link is not None
    assert (over.link.label, over.link.page) == ("is over", "incident")
    assert over.badge is not None and over.badge.colour == "gray"


@pytest.mark.parametrize(
    ("first", "known"),
    [
        pytest.param(END - timedelta(hours=1), END - timedelta(hours=2), id="fired before"),
        pytest.param(END - timedelta(days=3), END - timedelta(days=3), id="measured before"),
        pytest.param(None, END - timedelta(hours=2), id="not measured"),
        pytest.param(START - timedelta(days=1), START, id="all of it"),
    ],
)
def test_a_week_is_known_from_what_was_measured_or_fired(
    first: datetime | None, known: datetime
) -> None:
    fired = [one("late", timedelta(hours=2))]
    assert picture.known_from(first, fired, START) == known


def test_what_was_not_watched_is_shaded_unless_it_is_most_of_the_week(view: View) -> None:
    found = [one("late", timedelta(hours=2))]
    for known, said in (
        (START, []),
        (START + timedelta(days=2), ["not watched"]),
        (START + timedelta(days=6), []),
    ):
        axis = picture.axis_of(known, START, END, view)
        made, note = picture.timeline(found, known, axis, view)
        assert note is None
        assert [each.text for each in made.layout.annotations if each.text != "late"] == said
        assert len(made.layout.shapes) == len(said)
    assert axis.start == START + timedelta(days=6), "what is known alone"


def test_bars_of_groups_stand_at_the_height_of_their_rows() -> None:
    part = view_model.objective_part(by_group_of(hour("fast", 3, 11.0), hour("slow", 2, 40.0)))
    made = picture.over_bars(part.rows, LIGHT)
    (bars,) = made.data
    assert list(bars.y) == part.rows["group"].to_list()
    assert list(bars.text) == ["1 h", "1 h"]
    plot = made.layout.height - made.layout.margin.t - made.layout.margin.b
    assert plot == 2 * ROW_PIXELS
