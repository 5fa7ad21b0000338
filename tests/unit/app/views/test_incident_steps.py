"""What happened in an incident, in order of time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import polars as pl

from alerting.rules.lifecycle import Alert, State, Worst
from alerting.rules.matchers import Acknowledgement, TakenBack
from alerting.rules.model import AlertSeverity
from app.style.charts.base import ChartEvent
from app.ui.changes.events import Event, Sort, of_changes
from app.ui.incidents import Incident
from app.ui.symptoms import lines_in_all, symptoms_in_all
from app.views.incident.steps import (
    after,
    as_rows,
    just_before,
    number_before,
    of_incident,
    parted,
)
from app.views.incident.view_model import (
    as_it_was,
    bars,
    ends,
    sentence,
    told,
)
from lake.schemas.tables import CLUSTER_EVENTS
from tests.unit.app.views.made_incident import (
    CAUSE,
    CHANGES,
    INCIDENT,
    MENDED,
    SYMPTOM,
    WAS,
    at,
)


def test_what_happened_is_told_in_order_of_time() -> None:
    by = {CAUSE.id: Acknowledgement(alert=CAUSE.id, author="ana", comment="I look", at=1100.0)}
    found = of_incident(INCIDENT, of_changes(CHANGES), by)
    assert [step.kind for step in found] == [
        *("change", "cause", "alert", "symptom", "person", "end", "end")
    ]
    rows = as_rows(found, at(1000))
    assert rows["after"].to_list() == [
        *("-1 min", "0 s", "+1 s", "+10 s", "+1 min 40 s", "+5 min 50 s", "+6 min")
    ]
    assert rows["detail"][0] == "a=1 → a=2"
    # What was so at the end was not so when it began.
    assert [row[0] for row in rows.filter(pl.col("kind") == "cause").select("detail").rows()] == [
        ""
    ]
    assert rows["detail"][-1] == f"It said: {CAUSE.detail}", "in the words of then"
    assert after(at(1000), at(1000)) == "0 s"


def test_who_took_it_back_is_told_beside_who_looked_after_it() -> None:
    ana, eve = (
        Acknowledgement(alert=id_, author=name, comment="I look", at=1100.0)
        for id_, name in ((CAUSE.id, "ana"), ("another", "eve"))
    )
    gone = [TakenBack(acknowledgement=one, by="ben", at=1130.0) for one in (ana, eve)]
    again = replace(ana, at=1160.0, comment="")
    found = of_incident(INCIDENT, [], {CAUSE.id: again}, gone)
    assert [(one.at, one.what, one.detail) for one in found if one.kind == "person"] == [
        (at(1100), "ana looks after it", "I look"),
        (at(1130), "ben took it back", "ana looks after it no more"),
        (at(1160), "ana looks after it", ""),
    ]


def test_a_change_that_is_the_begin_is_told_and_marked_once() -> None:
    def change(second: float, **given: str) -> list[Event]:
        row = {"cluster": "c", "poll_id": "p", "observed_at": at(second), **given}
        return of_changes(pl.DataFrame([row], schema=CLUSTER_EVENTS.polars_schema))

    missing = {"kind": "broker missing", "subject": "2", "detail": "controller moved to 3"}
    lost, earlier = change(1005, **missing), change(700, **missing)
    cause, *others = [
        one for one in of_incident(INCIDENT, lost, {}) if one.kind in ("cause", "change")
    ]
    assert (cause.what, cause.detail, others) == (CAUSE.what, "Controller moved to 3.", [])
    kinds = [one.kind for one in of_incident(INCIDENT, [*earlier, *lost], {})]
    assert kinds.count("change") == 1, "what was so before is another time"
    of_other = change(1005, kind="broker missing", subject="3")
    for marked, texts in (
        (lost, ["over"]),
        (earlier, [CAUSE.what, "over"]),
        (of_other, [CAUSE.what, "over"]),
        ([], [CAUSE.what, "over"]),
    ):
        marks = [ChartEvent(at=one.at, text=one.what) for one in marked]
        assert [one.text for one in ends(INCIDENT, marks)] == texts


def test_its_course_begins_with_the_cause_and_what_was_before_is_apart() -> None:
    def moved(second: float, names: int) -> Event:
        partitions = ", ".join(f"t-{number}" for number in range(names))
        detail = f"{names} partitions: {partitions}"
        return Event(at=at(second), sort=Sort.LEADERS, what="broker 2 out of sync", detail=detail)

    changes = [*of_changes(CHANGES), moved(400, 70), moved(998, 2), moved(1000, 70)]
    before, course = parted(of_incident(INCIDENT, changes, {}), at(1000))
    # Nothing of the same moment stands above the cause.
    assert [step.kind for step in course][:2] == ["cause", "change"]
    assert (course[1].what, course[1].detail) == ("broker 2 out of sync", "70 partitions")
    assert [step.at for step in before] == [at(400), at(940), at(998)]
    assert just_before(before, at(1000)) == (
        "Changed last before it: 2 s before, broker 2 out of sync (2 partitions: t-0, t-1); "
        "1 min before, broker configuration changed: 2 (a=1 → a=2)."
    )
    assert number_before(before, at(1000)) == "3 changes in the 10 min before"
    assert not just_before([], at(1000))


def test_a_symptom_that_began_before_its_cause_is_of_the_course() -> None:
    early = replace(SYMPTOM, started_at=950.0, fired_at=960.0)
    over = replace(SYMPTOM, fingerprint="o", check="lag", started_at=700.0, resolved_at=900.0)
    incident = Incident(cause=CAUSE, symptoms=(over, early))
    before, course = parted(of_incident(incident, of_changes(CHANGES), {}), at(1000))
    assert [step.kind for step in before] == ["change"], "changes alone are folded"
    assert [step.kind for step in course] == [
        *("symptom", "end", "symptom", "cause", "alert", "end", "end")
    ]
    assert as_rows(course, at(1000))["after"].to_list()[2] == "-50 s"


def test_what_two_rules_say_of_one_thing_at_one_time_is_one_bar_as_bad_as_the_worse() -> None:
    soon = {"check": "data_loss_deadline", "what": "g loses data soon"}
    near, coming = (
        replace(SYMPTOM, **soon, fingerprint=severity.value, severity=severity, **times)
        for severity, times in (
            (AlertSeverity.CRITICAL, {"started_at": 1100.0, "fired_at": 1110.0}),
            (AlertSeverity.WARNING, {"started_at": 1020.0, "fired_at": 1020.0}),
        )
    )
    incident = Incident(cause=CAUSE, symptoms=(coming, replace(near, resolved_at=1300.0)))
    drawn = bars(incident, at(2000)).filter(pl.col("what") == near.what)
    assert drawn.select("severity", "from", "to").rows() == [("critical", at(1020), at(1350))]
    told_of = [one.kind for one in of_incident(incident, (), {}) if near.what in one.what]
    assert told_of == ["symptom", "end"]
    # Later it is another time.
    again = replace(near, started_at=1400.0, fired_at=1400.0, resolved_at=1500.0)
    found = of_incident(replace(incident, symptoms=(coming, again)), (), {})
    assert sum(one.kind == "symptom" for one in found) == 2
    own = replace(near, check=CAUSE.check, labels=CAUSE.labels)
    assert near.what not in bars(replace(incident, symptoms=(own,)), at(2000))["what"]


def test_when_it_was_mended_is_a_step_of_its_course() -> None:
    found = of_incident(as_it_was(Incident(cause=MENDED)), (), {})
    assert [(step.kind, step.what) for step in found] == [
        ("cause", "g stopped"),
        ("alert", "the alert fired"),
        ("mended", "mended: g stopped"),
    ]
    assert (found[-1].at, found[-1].detail) == (at(1200), "It said: 900 wait")


def test_what_was_kept_by_its_rule_is_mended_before_it_is_over() -> None:
    kept = replace(CAUSE, untrue_since=1300.0)
    *_, mended, over = of_incident(Incident(cause=kept), (), {})
    assert (mended.at, mended.kind) == (at(1300), "mended")
    assert mended.detail.startswith("It said: 2 of 3 brokers are left")
    assert (over.at, over.kind, over.detail) == (at(1360), "end", "")


def test_when_it_was_worst_is_a_step_of_its_course() -> None:
    worst = Worst(at=1100.0, value=9000.0, detail="9000 wait")
    incident = as_it_was(Incident(cause=replace(MENDED, worst=worst)))
    (step,) = [one for one in of_incident(incident, (), {}) if one.kind == "worst"]
    assert (step.at, step.what) == (at(1100), "at its worst: g stopped")
    assert step.detail == "It said: 9000 wait"
    over = replace(incident.cause, state=State.RESOLVED, resolved_at=1360.0)
    assert told(Incident(cause=over))[0] == "At worst: 9000 wait"
    alike = replace(worst, detail=WAS.detail)
    same = as_it_was(Incident(cause=replace(MENDED, worst=alike)))
    assert "worst" not in [one.kind for one in of_incident(same, (), {})], "the end says it"


def test_symptoms_that_are_alike_are_one_row_with_their_names() -> None:
    alike = tuple(
        replace(SYMPTOM, fingerprint=name, labels={"cluster": "c", "topic": name}, resolved_at=end)
        for name, end in (("a", 1340.0), ("b", 1350.0), ("d", None))
    )
    incident = Incident(cause=CAUSE, symptoms=alike)
    found = of_incident(incident, (), {})
    said = [(step.what, step.detail) for step in found if step.kind == "symptom"]
    assert said == [("3 topics: under replicated", "a, b, d")]
    ends = {step.what: step.at for step in found if step.kind == "end"}
    assert ends["over: 2 of 3 topics: under replicated"] == at(1350)
    rows = bars(incident, at(2000))
    assert rows.filter(pl.col("severity") != "pending").select("what", "to").rows() == [
        ("Broker 2 is missing", at(1360)),
        ("3 topics: under replicated", at(2000)),
    ]
    again = replace(alike[0], started_at=1345.0, resolved_at=1348.0)
    twice = of_incident(Incident(cause=CAUSE, symptoms=(*alike, again)), (), {})
    assert [one.what for one in twice if one.kind == "symptom"] == ["3 topics: under replicated"]


def test_a_symptom_that_comes_and_goes_is_one_thing_and_says_nothing_before_its_time() -> None:
    late = [
        replace(SYMPTOM, fingerprint=str(n), detail=f"{n} wait", cause="More arrives.", **times)
        for n, times in enumerate(
            (
                {"started_at": 1010.0, "resolved_at": 1100.0},
                {"started_at": 1150.0, "resolved_at": 1350.0},
                {"started_at": 1005.0, "resolved_at": 1010.0, "fired_at": None},
            )
        )
    ]

    def told_of(symptoms: list[Alert]) -> list[tuple[str, str, str]]:
        found = of_incident(Incident(cause=CAUSE, symptoms=tuple(symptoms)), (), {})
        return [(one.kind, one.what, one.detail) for one in found if SYMPTOM.what in one.what]

    assert told_of(late[:1]) == [
        ("symptom", SYMPTOM.what, ""),
        ("end", f"over: {SYMPTOM.what}", "It said: 0 wait"),
    ]
    often = f"{SYMPTOM.what}, 2 times"
    assert told_of(late) == [("symptom", often, ""), ("end", f"over: {often}", "")]
    goes_on = replace(late[1], state=State.FIRING, resolved_at=None)
    assert [kind for kind, *_ in told_of([late[0], goes_on])] == ["symptom"], "it is not over"


def test_what_is_usual_is_not_said_of_a_symptom_whose_cause_is_known() -> None:
    hangs = replace(SYMPTOM, check="stalled", cause="A call in the handler that hangs.")
    before = replace(hangs, started_at=700.0)
    failed = replace(SYMPTOM, check="tasks_failed", cause="No such table.")
    told_of = []
    for one in (hangs, before, failed):
        found = of_incident(Incident(cause=CAUSE, symptoms=(one,)), (), {})
        told_of += [step.detail for step in found if step.kind == "symptom"]
    assert told_of == ["", "A call in the handler that hangs.", "No such table."]


def test_a_symptom_that_never_fired_is_told_and_drawn_as_pending() -> None:
    labels = {"cluster": "c", "topic": "u"}
    never = replace(SYMPTOM, fingerprint="n", fired_at=None, detail="1 of 3", labels=labels)
    incident = Incident(cause=CAUSE, symptoms=(SYMPTOM, never))
    assert {"symptom", "pending"} <= {step.kind for step in of_incident(incident, (), {})}
    drawn = bars(incident, at(2000))["severity"].to_list()
    assert drawn == ["pending", "critical", "warning", "pending"], "a second before it fired, too"
    assert lines_in_all(incident)[1] == f"{never.what}: 1 of 3 (too short to alert)"
    assert sentence(incident, at(2000), UTC).endswith(" 1 symptom, and 1 too short to alert.")
    # Two rules may say the same: it fired if one did.
    twice = replace(incident, symptoms=(never, replace(never, fingerprint="m", fired_at=1010.0)))
    assert lines_in_all(twice) == [f"{never.what}: 1 of 3"]


def test_symptoms_from_before_count_as_those_of_the_list_do() -> None:
    early = replace(SYMPTOM, fingerprint="e", started_at=745.0, check="under_min_isr")
    # Sections are polled one by one: it may be dated a little earlier.
    late = replace(SYMPTOM, started_at=950.0)
    incident = Incident(cause=CAUSE, symptoms=(early, late))
    assert [step.kind for step in of_incident(incident, (), {})][:3] == [
        "symptom",
        "symptom",
        "cause",
    ]
    said = sentence(incident, at(2000), UTC)
    assert said.endswith(" 2 symptoms, 1 of them from before.")
    # Two rules may say the same of one thing: lists have one line for it.
    twice = replace(incident, symptoms=(*incident.symptoms, replace(late, fingerprint="z")))
    assert sentence(twice, at(2000), UTC) == said
    assert symptoms_in_all(twice) == "2 symptoms, 1 of them from before"
