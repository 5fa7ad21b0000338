"""The report of a week, from rows made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, cast
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from alerting.rules.lifecycle import Alert, State, Told, Worst
from alerting.rules.model import AlertSeverity
from app.data import present
from app.data.context import View
from app.data.late_hours import by_group, first_minute_between, over_now, over_objective
from app.ui.incidents import Incident
from app.ui.tables import csv, texts
from app.views.report import view_model
from lake.schemas.tables import CLUSTER_HISTORY, CONTRIBUTORS, GROUP_HISTORY, RECOMMENDATIONS
from scaling.advice.follow_up import AdviceOutcome, Followed
from tests.unit.app.ui.test_incidents import alert

END = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
START = END - timedelta(days=7)


class Frame:
    now = END
    zone: tzinfo = UTC


def hour(group: str, hours_before: float, late: float | None, **given: Any) -> dict[str, Any]:
    at = END - timedelta(hours=hours_before)
    told = {"group": group, "window_start": at, "time_lag_seconds_max": late}
    return {**told, "grain_seconds": 3600, **given}


def by_group_of(
    *rows: dict[str, Any], objective: Callable[[str], float] = lambda _: 10.0
) -> pl.DataFrame:
    hours = pl.DataFrame(
        [{"generated": None, **row} for row in rows],
        schema={
            "group": pl.String,
            "grain_seconds": pl.Int32,
            "window_start": pl.Datetime("us", "UTC"),
            "time_lag_seconds_max": pl.Float64,
            "generated": pl.Boolean,
        },
    )
    return by_group(hours, objective)


def now_late(*groups: str) -> pl.DataFrame:
    """Return groups that are late now, as ``late_hours.over_now`` does."""
    rows = [
        {"group": name, "objective_seconds": 10.0, "over_seconds": None, "whole_hours": 0}
        | {"worst_seconds": 50.0, "worst_at": END, "is_generated": False}
        for name in groups
    ]
    return pl.DataFrame(rows, schema=by_group_of().schema)


def test_a_week_begins_seven_days_before_it_ends() -> None:
    assert view_model.week(END, 0) == (START, END)
    assert view_model.week(END, 1) == (START - timedelta(days=7), START)


def test_each_group_is_held_against_its_own_objective() -> None:
    objective = {"fast": 10.0, "slow": 600.0}.__getitem__
    part = view_model.objective_part(
        by_group_of(
            hour("fast", 3, 11.0),
            hour("fast", 2, 40.0),
            hour("fast", 1, 10.0),
            hour("slow", 2, 500.0),
            objective=objective,
        )
    )
    assert part.rows["group"].to_list() == ["fast"]
    assert part.rows["over_seconds"].to_list() == [7200.0]
    assert "counts whole" in part.note
    assert part.rows["worst_seconds"].to_list() == [40.0]
    assert part.rows["worst_at"].to_list() == [END - timedelta(hours=2)]
    assert "Generated" not in part.note
    generated = view_model.objective_part(
        by_group_of(hour("fast", 1, 90.0, generated=True), objective=objective)
    )
    assert "Generated history is in it" in generated.note


def test_minutes_are_counted_where_they_are_kept(view: View) -> None:
    rows = [
        {
            "cluster": "east",
            "group": "late",
            "grain_seconds": grain,
            "window_start": view.now - timedelta(minutes=ago),
            "time_lag_seconds_max": lag,
        }
        for grain, ago, lag in (
            *((3600, 180, 400.0), (3600, 120, 450.0), (60, 61, 450.0)),
            *((60, 30, 350.0), (60, 29, 500.0), (60, 3, 1.0)),
        )
    ]
    view.lake.append(GROUP_HISTORY, pl.DataFrame(rows))
    late, until, first = over_objective(view, view.now - timedelta(days=7), view.now)
    assert (until, first) == (None, None), "nothing tells how far the history goes"
    found = late.select("group", "over_seconds", "whole_hours", "worst_seconds", "worst_at").rows()
    assert found == [("late", 3600.0 + 3 * 60, 1, 500.0, view.now - timedelta(minutes=29))]


def test_the_week_names_the_last_minute_of_history(view: View) -> None:
    rows = [
        {
            "cluster": "east",
            "grain_seconds": grain,
            "window_start": view.now.replace(second=0, microsecond=0) - timedelta(minutes=ago),
        }
        for grain, ago in ((60, 5), (60, 4), (3600, 1))
    ]
    view.lake.append(CLUSTER_HISTORY, pl.DataFrame(rows))
    late = over_objective(view, view.now - timedelta(days=7), view.now)
    assert late.until == view.now.replace(second=0, microsecond=0) - timedelta(minutes=3)
    part = view_model.objective_part(by_group_of(hour("fast", 1, 90.0)), until="15:40")
    assert "Counted is until 15:40, the last minute of history." in part.note
    assert "last minute" not in view_model.objective_part(by_group_of()).note


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([(60, 55, None), (60, 54, None)], 55, id="no hour is over yet"),
        pytest.param([(3600, 120, None), (60, 95, None)], 95, id="within the hour"),
        pytest.param([(3600, 9000, None), (60, 95, None)], 9000, id="minutes are not kept"),
        pytest.param([(3600, 9000, True), (60, 55, None)], 55, id="generated before"),
        pytest.param([(3600, 9000, True)], None, id="all of it generated"),
        pytest.param(
            [(3600, 180, True), (60, 130, None), (3600, 120, None)], 130, id="the end of an hour"
        ),
    ],
)
def test_a_week_knows_the_first_moment_that_was_measured(
    view: View, rows: list[tuple[int, int, bool | None]], first: int | None
) -> None:
    now = view.now.replace(minute=0, second=0, microsecond=0)
    written = [
        {
            **{"cluster": "east", "grain_seconds": grain, "generated": generated},
            "window_start": now - timedelta(minutes=ago),
        }
        for grain, ago, generated in rows
    ]
    if written:
        view.lake.append(CLUSTER_HISTORY, pl.DataFrame(written))
    found = over_objective(view, now - timedelta(days=7), view.now).first
    assert found == (None if first is None else now - timedelta(minutes=first))


@pytest.mark.parametrize(
    ("hours", "minutes"),
    [
        pytest.param([], (0, 168), id="no hour is over yet"),
        pytest.param([(0, None), (1, None)], (0, 1), id="all of the week"),
        pytest.param([(9, None), (10, None)], (8, 10), id="from the ninth hour on"),
        pytest.param([(8, True), (9, None)], (8, 10), id="generated before"),
        pytest.param([(8, True), (9, True)], (9, 168), id="all of it generated"),
    ],
)
def test_the_first_minute_is_looked_for_where_it_can_be(
    hours: list[tuple[int, bool | None]], minutes: tuple[int, int]
) -> None:
    def hour(number: int) -> datetime:
        return START + timedelta(hours=number)

    rows = pl.DataFrame(
        [(hour(number), generated) for number, generated in hours],
        schema={"window_start": pl.Datetime("us", "UTC"), "generated": pl.Boolean},
        orient="row",
    )
    assert first_minute_between(rows, START, END) == tuple(map(hour, minutes))


@pytest.mark.parametrize(
    ("first", "said"),
    [
        pytest.param(END - timedelta(hours=1), "Known is 1 h of 7 d: from 11:00 on.", id="an hour"),
        pytest.param(START, "", id="all of it"),
        pytest.param(START + timedelta(hours=9), "", id="nearly all of it"),
        pytest.param(None, "There is no measured history of this week.", id="nothing"),
        pytest.param(END, "There is no measured history of this week.", id="later"),
    ],
)
def test_a_week_says_how_much_of_it_was_measured(first: datetime | None, said: str) -> None:
    measured = view_model.measured(first, START, END, zone=UTC, now=END)
    assert measured == said
    none = view_model.incident_part([], START, END)
    assert view_model.headline({"incidents": none}, measured)[1] == said


def test_that_no_group_was_late_is_said_of_what_was_measured_alone() -> None:
    part = view_model.objective_part(by_group_of(), is_measured=False)
    assert part.nothing == "Whether a group exceeded its objective is not known."
    none = view_model.incident_part([], START, END)
    assert view_model.headline({"incidents": none, "objectives": part})[0] == "0 incidents"
    late = view_model.objective_part(by_group_of(), now_late("slow"), is_measured=False)
    assert view_model.headline({"objectives": late})[0] == "1 group over its objective"


def test_the_worst_incidents_come_first_and_of_these_the_longest() -> None:
    found = [
        Incident(
            cause=alert(
                what,
                severity=severity,
                began=END.timestamp() - 60 * lasted,
                ended=END.timestamp(),
            )
        )
        for what, severity, lasted in (
            ("a note of hours", AlertSeverity.INFO, 600),
            ("a minute", AlertSeverity.CRITICAL, 1),
            ("an hour", AlertSeverity.CRITICAL, 60),
        )
    ]
    part = view_model.incident_part(found, START, END)
    assert part.rows["what"].to_list() == ["an hour", "a minute", "a note of hours"]
    page = view_model.html("a week", "3 incidents.", [part], cast(View, Frame()))
    assert "● was urgent" in page and "i was a note" in page
    assert [line.split(",")[0] for line in csv(part.rows, part.columns).splitlines()] == [
        "severity",
        "was urgent",
        "was urgent",
        "was a note",
    ]
    goes_on = Incident(cause=alert("goes on", severity=AlertSeverity.CRITICAL, began=1.0))
    rows = view_model.incident_part([goes_on], START, END).rows
    assert rows["severity"].to_list() == [["● act now"]]


def test_incidents_count_as_far_as_they_lie_in_the_week() -> None:
    def one(what: str, began: timedelta, lasted: timedelta | None) -> Incident:
        at = (START + began).timestamp()
        ended = None if lasted is None else at + lasted.total_seconds()
        return Incident(cause=alert(what, began=at, ended=ended))

    part = view_model.incident_part(
        [
            one("before", -timedelta(days=2), timedelta(days=1)),
            one("across", -timedelta(days=1), timedelta(days=2)),
            one("inside", timedelta(days=3), timedelta(hours=1)),
            one("goes on", timedelta(days=6), None),
            one("after", timedelta(days=8), None),
        ],
        START,
        END,
    )
    lasted = dict(part.rows.select("what", "seconds").iter_rows())
    assert lasted == {"goes on": 86400.0, "across": 86400.0, "inside": 3600.0}


def test_an_incident_lasted_in_the_week_until_its_cause_was_mended() -> None:
    at = START.timestamp()
    was = Told(until=at + 60, severity=AlertSeverity.WARNING, what="w", detail="", step="")
    cause = replace(alert("w", began=at, ended=at + 90), before_mending=was)
    late = alert("late", began=at, ended=at + 300)
    one = Incident(cause=cause, symptoms=(late,))
    (row,) = view_model.incident_part([one], START, END).rows.to_dicts()
    assert (row["seconds"], row["ended"]) == (60.0, START + timedelta(seconds=90))


def test_what_was_saved_is_counted_from_when_advice_was_followed() -> None:
    given = pl.DataFrame(
        [
            {"subject": "billing", "saving": 2, "valid_from": START},
            {"subject": "idle", "saving": 3, "valid_from": START},
        ],
        schema={
            name: RECOMMENDATIONS.polars_schema[name]
            for name in ("subject", "saving", "valid_from")
        },
    ).with_columns(change=pl.lit("4 → 2 consumers"))
    part = view_model.advice_part(
        given,
        [
            AdviceOutcome(followed=Followed.FOLLOWED, at=END - timedelta(hours=10)),
            AdviceOutcome(followed=Followed.NOT_FOLLOWED),
        ],
        ["followed", "not followed"],
        END,
        total=2,
    )
    assert part.rows["subject"].to_list() == ["billing", "idle"]
    assert part.rows["saved_hours"].to_list() == [20.0, 0.0]
    assert view_model.headline({"advice": part})[0] == "1 piece of advice followed"
    some = view_model.advice_part(
        given, [AdviceOutcome(followed=Followed.NOT_FOLLOWED)] * 2, ["", ""], END, total=1234
    )
    assert some.note.endswith("These are the newest 2 of 1\u202f234.")
    said, _ = view_model.headline({"advice": some})
    assert said == "None of the newest 2 pieces of advice followed"
    none = replace(some, total=2)
    assert view_model.headline({"advice": none})[0] == "No advice was followed"
    nothing = replace(some, rows=some.rows.clear(), total=0)
    incidents = view_model.incident_part([], START, END)
    said, _ = view_model.headline({"incidents": incidents, "advice": nothing})
    assert said == "0 incidents", "nothing was there to be followed"


def test_the_document_loads_nothing_and_escapes_names() -> None:
    part = view_model.objective_part(by_group_of(hour("<script>x</script>", 1, 90.0)))
    empty = view_model.growth_part(pl.DataFrame(schema=CONTRIBUTORS.polars_schema))
    made = view_model.html("c & d", "1 group.", [part, empty], cast(View, Frame()))
    assert "<script" not in made and "&lt;script&gt;" in made
    assert "c &amp; d" in made and "1 min 30 s" in made
    assert "http" not in made and "src=" not in made
    assert empty.nothing in made
    assert csv(part.rows, part.columns).splitlines()[0].startswith("group,objective (seconds)")


def test_the_document_says_of_which_zone_its_clock_times_are() -> None:
    part = view_model.objective_part(by_group_of(hour("fast", 24, 90.0)))
    frame = Frame()
    frame.zone = ZoneInfo("Asia/Kolkata")
    made = view_model.html("a week", "1 group.", [part], cast(View, frame))
    assert "21 Nov 17:30" in made
    assert made.count("Kolkata, UTC+5:30") == 1


def test_the_headline_says_what_is_known_in_a_short_sentence() -> None:
    late = view_model.objective_part(by_group_of(hour("a" * 200, 1, 90.0)), now_late("a", "b"))
    none = view_model.incident_part([], START, END)
    said, more = view_model.headline({"incidents": none, "objectives": late})
    assert said == "0 incidents, 3 groups over their objective", "one count"
    assert more == f"Longest over it: {'a' * 200}, 1 h. 2 of them are over it now."
    assert view_model.headline({}) == ("The week is not known", "")


def test_a_group_that_is_late_now_is_said_although_its_hour_is_not_in_the_history() -> None:
    nothing = by_group_of()
    assert view_model.headline({"objectives": view_model.objective_part(nothing)}) == (
        *("No group over its objective", ""),
    )
    part = view_model.objective_part(nothing, now_late("slow"))
    assert view_model.headline({"objectives": part}) == (
        *("1 group over its objective", "It is over it now."),
    )
    more = view_model.objective_part(
        by_group_of(hour("fast", 1, 90.0)), now_late("fast", "slow", "slower")
    )
    assert "Over it now: fast, slow and slower." in more.note
    assert "Those that are not in the history yet are over it now." in more.note
    said, detail = view_model.headline({"objectives": more})
    assert said.startswith(f"{more.rows.height} groups over"), "the table has all that are counted"
    assert detail == "Longest over it: fast, 1 h. 3 of them are over it now."
    written = [row[:3] for row in texts(more.rows, more.columns, cast(View, Frame()))]
    assert written == [
        ("fast", "10 s", "1 h"),
        ("slow", "10 s", "not in the history yet"),
        ("slower", "10 s", "not in the history yet"),
    ]


def test_who_is_over_the_objective_now_is_told_by_the_present(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = view.settings.scaling.objective_seconds("any")
    groups = pl.DataFrame(
        {
            "group": ["well", "unknown", "late", "later", "alike"],
            "time_lag_seconds": [wanted, None, wanted + 1, wanted + 2, wanted + 1],
            "evaluated_at": [view.now] * 5,
        }
    )
    monkeypatch.setattr(present, "rows", lambda view, table: groups)
    found = over_now(view)
    assert found["group"].to_list() == ["later", "alike", "late"]
    assert found.row(0, named=True) == {
        **{"group": "later", "objective_seconds": wanted, "over_seconds": None},
        **{"whole_hours": 0, "worst_seconds": wanted + 2, "worst_at": view.now},
        "is_generated": False,
    }
    assert found.schema == by_group_of().schema, "rows of one table"


def test_an_incident_is_named_by_what_it_was_while_it_catches_up() -> None:
    mends = alert("g is catching up", began=START.timestamp(), detail="9 wait.")
    was = Told(
        until=END.timestamp(), severity=mends.severity, what="g stopped", detail="99 wait.", step=""
    )
    mends = replace(mends, before_mending=was)
    part = view_model.incident_part([Incident(cause=mends)], START, END)
    assert part.rows.select("what", "detail").row(0) == ("g stopped", "99 wait.")


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        pytest.param(None, "3 lost.", id="it goes on"),
        pytest.param(END.timestamp(), "“3 lost.”", id="it is over"),
    ],
)
def test_how_bad_an_incident_is_says_it_at_its_worst(ended: float | None, said: str) -> None:
    loses = alert("g loses data", began=START.timestamp(), ended=ended, detail="3 lost.")
    worst = Worst(at=START.timestamp() + 60, value=90.0, detail="90 lost.")

    def detail_of(cause: Alert) -> str:
        part = view_model.incident_part([Incident(cause=cause)], START, END)
        return str(part.rows["detail"].item())

    assert detail_of(replace(loses, worst=worst)) == "“90 lost.”, at worst"
    assert detail_of(replace(loses, worst=replace(worst, detail="3 lost."))) == said


def test_what_may_never_fire_is_no_incident() -> None:
    waits = alert("waits", began=START.timestamp(), state=State.PENDING)
    assert view_model.incident_part([Incident(cause=waits)], START, END).rows.is_empty()


def test_symptoms_count_as_in_lists_of_incidents() -> None:
    began = START.timestamp()
    labels = {"cluster": "c", "topic": "t"}
    twice = tuple(alert(name, began, labels=labels) for name in ("a", "b"))
    never = alert("never", began, ended=began + 60, fired_at=None)
    one = Incident(cause=alert("broker", began), symptoms=(*twice, never))
    part = view_model.incident_part([one], START, END)
    assert part.rows.select("symptoms", "not_fired").row(0) == (1, 1)
    assert list(part.columns)[-2:] == ["symptoms", "not_fired"], "looked up less"


def test_what_never_fired_is_no_incident_of_the_week() -> None:
    never = alert("never", START.timestamp(), ended=END.timestamp() - 60, fired_at=None)
    assert view_model.incident_part([Incident(cause=never)], START, END).rows.is_empty()


def test_the_week_says_whose_begin_nobody_saw() -> None:
    unseen, seen = (
        Incident(cause=alert(name, START.timestamp(), began_before=name == "unseen"))
        for name in ("unseen", "seen")
    )
    assert view_model.incident_part([unseen, seen], START, END).note == (
        "Began then or before: unseen."
    )
    assert view_model.incident_part([seen], START, END).note == ""
