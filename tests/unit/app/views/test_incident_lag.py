"""How late the groups were that an incident is about."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from app.style.format import duration
from app.ui.incidents import Incident
from app.views.incident.lag import DRAWN, courses, figures, groups_of, missed
from tests.unit.app.views.made_incident import (
    CAUSE,
    at,
    late_rows,
)

GROUPS = pl.DataFrame(
    {"group": ["a", "b", "connect-x", "d"], "topics": [["t"], ["t", "u"], ["v"], None]},
    schema_overrides={"topics": pl.List(pl.String)},
)


def test_it_is_about_the_groups_that_it_names_and_those_that_read_its_topics() -> None:
    def of(*labels: dict[str, str]) -> list[str]:
        cause, *symptoms = (replace(CAUSE, labels={"cluster": "c", **one}) for one in labels)
        return groups_of(Incident(cause=cause, symptoms=tuple(symptoms)), GROUPS)

    assert of({"group": "gone"}) == ["gone"]
    # What d reads is not known.
    assert of({"topic": "t"}, {"group": "e"}) == ["a", "b", "d", "e"]
    assert of({"connect": "w", "connector": "x"}) == ["connect-x"]
    assert of({"vhost": "/", "queue": "q"}) == []


def test_one_of_a_broker_or_the_cluster_is_about_the_groups_that_follow_from_it() -> None:
    for cause in ({"broker": "2"}, {}):
        labels = [{"cluster": "c", **one} for one in (cause, {"topic": "t"}, {"group": "e"})]
        first, *symptoms = (replace(CAUSE, labels=one) for one in labels)
        assert groups_of(Incident(cause=first, symptoms=tuple(symptoms)), GROUPS) == ["e"]
        assert groups_of(Incident(cause=first, symptoms=tuple(symptoms[:1])), GROUPS) == []


def test_the_groups_furthest_behind_are_drawn_and_the_others_named() -> None:
    names = [f"g{number}" for number in range(7)]
    history = late_rows(
        **{name: ([1.0, number * 60.0], [1, 2]) for number, name in enumerate(names[:-1])}
    )
    found = courses(history, names)
    assert (found.is_time, list(found.names)) == (True, ["g5", "g4", "g3", "g2", "g1"])
    assert len(found.names) == DRAWN
    assert found.rest == "The 5 furthest behind of 7 groups; less: g0. Not known: g6."
    assert found.frame["0"].to_list() == [1.0, 300.0]
    first = figures(found, at(1020))[0]
    assert first == ("g5", "1 s", "5 min", "1970-01-01 00:17:00 UTC", "5 min")


def test_messages_are_drawn_where_the_time_lag_of_a_group_is_not_known() -> None:
    found = courses(late_rows(a=([3.0, None], [5, 6]), b=([None, None], [7, None])), ["a", "b"])
    assert (found.is_time, list(found.names), found.rest) == (False, ["a", "b"], "")
    assert found.frame["1"].to_list() == [7, None]
    assert [row[1:3] for row in figures(found, at(900))] == [
        ("unknown", "6 messages"),
        ("unknown", "7 messages"),
    ]
    assert courses(late_rows(), ["a"]).names == []


def test_a_missed_objective_of_which_no_alert_told_is_a_line_of_the_course() -> None:
    rows = late_rows(a=([1.0, 400.0, 430.0, 2.0], [1] * 4), b=([1.0, 9.0, 9.0, 400.0], [1] * 4))
    found = courses(rows, ["a", "b"])
    step = found.frame["time"][1] - found.frame["time"][0]
    ended, goes_on = missed(found, (), lambda name: 300.0)
    assert (ended.what, ended.kind) == ("a missed its objective", "symptom")
    about = duration(2 * step.total_seconds())
    assert ended.detail == f"later than 5 min for about {about}, at most 7 min 10 s"
    assert ended.at == found.frame["time"][2], "at the end of the step: it was so by then"
    assert goes_on.what == "b misses its objective"
    assert goes_on.detail == "later than 5 min, at most 6 min 40 s"
    assert missed(found, ["b misses its objective"], lambda name: 300.0) == [ended]
    assert missed(found, (), lambda name: 900.0) == []
