"""The report of a week, from rows made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from alerting.rules.lifecycle import Alert, State, Told, Worst
from alerting.rules.model import AlertSeverity
from alerting.status.model import Status
from app.data.context import View
from app.data.late_hours import first_minute_between, over_objective
from app.ui.incidents import LOSES_DATA, Incident
from app.ui.tables import csv
from app.views.week import portable, view_model
from lake.schemas.tables import CLUSTER_HISTORY, CONTRIBUTORS, RECOMMENDATIONS
from scaling.advice.follow_up import AdviceOutcome, Followed
from tests.unit.app.ui.test_incidents import alert
from tests.unit.app.views.week_rows import END, START, Frame, by_group_of, hour, now_late


def test_a_week_begins_seven_days_before_it_ends() -> None:
    assert view_model.week(END, 0) == (START, END)
    assert view_model.week(END, 1) == (START - timedelta(days=7), START)


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


def test_incidents_keep_their_order_and_say_how_bad_they_were() -> None:
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
            ("a minute", AlertSeverity.CRITICAL, 1),
            ("an hour", AlertSeverity.CRITICAL, 60),
            ("a note of hours", AlertSeverity.INFO, 600),
        )
    ]
    part = view_model.incident_part(found, START, END)
    assert part.rows["what"].to_list() == ["a minute", "an hour", "a note of hours"]
    assert view_model.headline({"incidents": part})[0] == "2 incidents, 1 note"
    page = portable.html("a week", "3 incidents.", [part], cast(View, Frame()))
    assert "● was urgent" in page and "i was a note" in page
    assert [line.split(",")[0] for line in csv(part.rows, part.columns).splitlines()] == [
        "severity",
        "was urgent",
        "was urgent",
        "was a note",
    ]
    goes_on = Incident(cause=alert("goes on", severity=AlertSeverity.CRITICAL, began=1.0))
    rows = view_model.incident_part([goes_on], START, END).rows
    assert rows.select("severity", "now").row(0) == (["● act now"], "goes on")
    assert rows["ended"].to_list() == [None]
    mends = replace(goes_on.cause, check="stopped", status=Status.CATCHING_UP)
    rows = view_model.incident_part([Incident(cause=mends)], START, END).rows
    assert rows.select("severity", "now").row(0) == (["● was urgent"], "catches up")
    recovers = replace(goes_on.cause, recovering_since=END.timestamp() - 60)
    rows = view_model.incident_part([Incident(cause=recovers)], START, END).rows
    assert rows.select("severity", "now").row(0) == (["● was urgent"], "mended")


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
    assert (row["seconds"], row["ended"]) == (60.0, START + timedelta(seconds=60))
    kept = replace(alert("w", began=at, ended=at + 90), untrue_since=at + 30)
    (row,) = view_model.incident_part([Incident(cause=kept)], START, END).rows.to_dicts()
    assert row["seconds"] == 30.0


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
    assert view_model.headline({"advice": none})[0] == "2 pieces of advice not followed"
    nothing = replace(some, rows=some.rows.clear(), total=0)
    incidents = view_model.incident_part([], START, END)
    said, _ = view_model.headline({"incidents": incidents, "advice": nothing})
    assert said == "0 incidents", "nothing was there to be followed"
    early = view_model.advice_part(
        given,
        [AdviceOutcome(followed=Followed.STANDS), AdviceOutcome(followed=Followed.WITHDRAWN)],
        ["", ""],
        END,
        total=2,
    )
    said, _ = view_model.headline({"incidents": incidents, "advice": early})
    assert said == "0 incidents", "of what may still be followed nothing is said"


def test_the_document_loads_nothing_and_escapes_names() -> None:
    part = view_model.objective_part(by_group_of(hour("<script>x</script>", 1, 90.0)))
    empty = view_model.growth_part(pl.DataFrame(schema=CONTRIBUTORS.polars_schema))
    made = portable.html("c & d", "1 group.", [part, empty], cast(View, Frame()))
    assert "<script" not in made and "&lt;script&gt;" in made
    assert "c &amp; d" in made and "1 min 30 s" in made
    assert "http" not in made and "src=" not in made
    assert empty.nothing in made
    assert csv(part.rows, part.columns).splitlines()[0].startswith("group,objective (seconds)")


def test_the_document_says_of_which_zone_its_clock_times_are() -> None:
    part = view_model.objective_part(by_group_of(hour("fast", 24, 90.0)))
    frame = Frame()
    frame.zone = ZoneInfo("Asia/Kolkata")
    made = portable.html("a week", "1 group.", [part], cast(View, frame))
    assert "21 Nov 17:30" in made
    assert made.count("Kolkata, UTC+5:30") == 1


def test_the_headline_says_what_is_known_in_a_short_sentence() -> None:
    late = view_model.objective_part(by_group_of(hour("a" * 200, 1, 90.0)), now_late("a", "b"))
    none = view_model.incident_part([], START, END)
    said, more = view_model.headline({"incidents": none, "objectives": late})
    assert said == "0 incidents, 3 groups over their objective", "one count"
    assert more == f"Longest over it: {'a' * 200}, 1 h. 2 of them are over it now."
    assert view_model.headline({}) == ("The week is not known", "")


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
        pytest.param(END.timestamp(), "3 lost.", id="it is over"),
    ],
)
def test_how_bad_an_incident_is_says_it_at_its_worst(ended: float | None, said: str) -> None:
    loses = alert("g loses data", began=START.timestamp(), ended=ended, detail="3 lost.")
    worst = Worst(at=START.timestamp() + 60, value=90.0, detail="90 lost.")

    def detail_of(cause: Alert) -> str:
        part = view_model.incident_part([Incident(cause=cause)], START, END)
        return str(part.rows["detail"].item())

    assert detail_of(replace(loses, worst=worst)) == "at worst: 90 lost."
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
    part = view_model.incident_part([unseen, seen], START, END)
    assert dict(part.rows.select("what", "began_before").iter_rows()) == {
        "unseen": True,
        "seen": False,
    }
    assert part.columns["began"].at_least == "began_before"


@pytest.mark.parametrize(
    ("said", "detail"),
    [("5 lost.", "5 lost. At least 9."), ("5 lost", "5 lost. At least 9."), ("", "At least 9.")],
)
def test_a_week_says_what_was_deleted_unread_behind_how_bad_it_is(said: str, detail: str) -> None:
    one = Incident(cause=replace(alert("g loses data", began=END.timestamp() - 60), detail=said))
    lost = {one.cause.id: "At least 9."}
    rows = view_model.incident_part([one], START, END, lost=lost).rows
    assert rows["detail"].to_list() == [detail]


def test_a_week_says_of_a_loss_its_total_alone() -> None:
    loses = alert("g loses data", began=END.timestamp() - 60, detail="5 lost in the last 10 min.")
    one = Incident(cause=replace(loses, check=LOSES_DATA))
    lost = {one.cause.id: "At least 9."}
    rows = view_model.incident_part([one], START, END, lost=lost).rows
    assert rows["detail"].to_list() == ["At least 9."]


def test_a_week_with_more_alerts_than_are_read_says_so() -> None:
    part = view_model.incident_part([], START, END, is_cut=True)
    assert part.note.startswith("Only the newest 1\u202f000 alerts are read at once")
    assert view_model.headline({"incidents": part})[0] == "At least 0 incidents"
