"""One incident in order of time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl

from alerting.rules.lifecycle import Alert, State, Told, Worst
from alerting.rules.matchers import Acknowledgement
from alerting.rules.model import AlertSeverity
from app.style.charts.base import ChartEvent
from app.ui.changes.events import Event, of_changes
from app.ui.incidents import Incident
from app.ui.symptoms import lines_in_all, symptoms_in_all
from app.views.incident.lag import DRAWN, courses, figures, groups_of
from app.views.incident.view_model import (
    after,
    around,
    as_it_was,
    bars,
    ends,
    markdown,
    range_of,
    sentence,
    step_rows,
    steps,
    told,
    topics_of,
    unheeded,
)
from lake.schemas.grain import Grain
from lake.schemas.tables import CLUSTER_EVENTS
from tests.alert_of import alert


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


CAUSE = alert(
    rule="BrokerMissing",
    check="broker_missing",
    labels={"cluster": "c", "broker": "2"},
    fired_at=1001.0,
    last_true_at=1300.0,
    resolved_at=1360.0,
    what="Broker 2 is missing",
    detail="2 of 3 brokers are left | <b> http://evil.example.",
    step="Restart it.",
)
SYMPTOM = alert(
    fingerprint="s",
    rule="UnderReplicated",
    check="under_replicated",
    severity=AlertSeverity.WARNING,
    labels={"cluster": "c", "topic": "t"},
    started_at=1010.0,
    fired_at=1010.0,
    last_true_at=1300.0,
    resolved_at=1350.0,
    inhibited_by="f",
    what="3 partitions of t under-replicated",
)
CHANGES = pl.DataFrame(
    [
        {
            "cluster": "c",
            "poll_id": "p",
            "observed_at": at(940),
            "kind": "broker configuration changed",
            "subject": "2",
            "before": "a=1",
            "after": "a=2",
        }
    ],
    schema=CLUSTER_EVENTS.polars_schema,
)
INCIDENT = Incident(cause=CAUSE, symptoms=(SYMPTOM,))


def test_what_happened_is_told_in_order_of_time() -> None:
    by = {CAUSE.id: Acknowledgement(alert=CAUSE.id, author="ana", comment="I look", at=1100.0)}
    found = steps(INCIDENT, of_changes(CHANGES), by)
    assert [step.kind for step in found] == [
        *("change", "cause", "alert", "symptom", "person", "end", "end")
    ]
    rows = step_rows(found, at(1000))
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


def test_a_change_that_is_the_begin_is_told_and_marked_once() -> None:
    def change(second: float, **given: str) -> list[Event]:
        row = {"cluster": "c", "poll_id": "p", "observed_at": at(second), **given}
        return of_changes(pl.DataFrame([row], schema=CLUSTER_EVENTS.polars_schema))

    missing = {"kind": "broker missing", "subject": "2", "detail": "controller moved to 3"}
    lost, earlier = change(1005, **missing), change(700, **missing)
    cause, *others = [one for one in steps(INCIDENT, lost, {}) if one.kind in ("cause", "change")]
    assert (cause.what, cause.detail, others) == (CAUSE.what, "Controller moved to 3.", [])
    kinds = [one.kind for one in steps(INCIDENT, [*earlier, *lost], {})]
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


WAS = Told(
    until=1200.0,
    severity=AlertSeverity.CRITICAL,
    what="g stopped",
    detail="900 wait",
    step="Start it.",
)
MENDED = replace(
    CAUSE,
    check="stopped",
    labels={"cluster": "c", "group": "g"},
    severity=AlertSeverity.WARNING,
    state=State.FIRING,
    resolved_at=None,
    what="g is catching up",
    detail="10 wait",
    step="Wait.",
    before_mending=WAS,
)


def test_what_is_mended_is_named_and_coloured_by_what_it_was_and_told_by_what_is_so_now() -> None:
    incident = Incident(cause=MENDED, symptoms=(SYMPTOM,))
    was = as_it_was(incident)
    assert (was.cause.what, was.cause.detail) == ("g stopped", "900 wait")
    assert was.symptoms == (SYMPTOM,)
    assert bars(was, at(2000))["severity"].to_list() == ["critical", "warning"]
    assert told(incident) == ("g is catching up: 10 wait", "Wait.")
    text = markdown(incident, steps(was, (), {}), at(2000), "http://h", spacing=STEP)
    assert text.startswith("# g stopped\n\ng is catching up\\: 10 wait\n")
    over = replace(MENDED, state=State.RESOLVED, resolved_at=1360.0)
    assert told(Incident(cause=over)) == ("It said: 900 wait", "It was advised: Start it.")


def test_when_it_was_mended_is_a_step_of_its_course() -> None:
    found = steps(as_it_was(Incident(cause=MENDED)), (), {})
    assert [(step.kind, step.what) for step in found] == [
        ("cause", "g stopped"),
        ("alert", "the alert fired"),
        ("mended", "mended: g stopped"),
    ]
    assert (found[-1].at, found[-1].detail) == (at(1200), "It said: 900 wait")


def test_when_it_was_worst_is_a_step_of_its_course() -> None:
    worst = Worst(at=1100.0, value=9000.0, detail="9000 wait")
    incident = as_it_was(Incident(cause=replace(MENDED, worst=worst)))
    (step,) = [one for one in steps(incident, (), {}) if one.kind == "worst"]
    assert (step.at, step.what) == (at(1100), "at its worst: g stopped")
    assert step.detail == "It said: 9000 wait"
    over = replace(incident.cause, state=State.RESOLVED, resolved_at=1360.0)
    assert told(Incident(cause=over))[0] == "At worst: 9000 wait"
    alike = replace(worst, detail=WAS.detail)
    same = as_it_was(Incident(cause=replace(MENDED, worst=alike)))
    assert "worst" not in [one.kind for one in steps(same, (), {})], "the end says it"


def test_the_topics_it_is_about_are_its_own_or_those_of_its_group() -> None:
    groups = pl.DataFrame(
        {"group": ["g", "h"], "topics": [["a", "b"], ["c"]]},
        schema_overrides={"topics": pl.List(str)},
    )
    about = [{"topic": "t"}, {"group": "g"}, {"group": "gone"}, {"broker": "2"}]
    found = [topics_of(replace(CAUSE, labels=labels), groups) for labels in about]
    assert found == [["t"], ["a", "b"], [], []]


def test_its_sentence_says_when_it_began_and_ended() -> None:
    assert sentence(INCIDENT, at(2000), UTC) == (
        "It began at 00:16:40, lasted 6 min; its alert was over at 00:22:40. 1 symptom."
    )
    outlived = replace(INCIDENT, symptoms=(replace(SYMPTOM, resolved_at=1420.0),))
    assert sentence(outlived, at(2000), UTC) == (
        "It began at 00:16:40, lasted 6 min; its alert was over at 00:22:40. 1 symptom. "
        "Its last symptom ended at 00:23:40."
    )
    assert [one.at for one in ends(outlived, ())] == [at(1000), at(1360)]
    mended = Incident(cause=replace(MENDED, state=State.RESOLVED, resolved_at=1360.0))
    assert sentence(mended, at(2000), UTC) == (
        "It began at 00:16:40, lasted 3 min 20 s; its alert was over at 00:22:40. No symptom."
    )
    assert bars(mended, at(2000))["to"].to_list() == [at(1200)]
    open_one = Incident(cause=replace(CAUSE, state=State.FIRING, resolved_at=None))
    assert sentence(open_one, at(1120), UTC) == (
        "It began at 00:16:40 and has lasted 2 min. No symptom."
    )
    unseen = Incident(cause=replace(open_one.cause, began_before=True))
    assert sentence(unseen, at(1120), UTC).startswith("It began at 00:16:40 or before and has ")
    loses = Incident(cause=replace(open_one.cause, deadline=1120.0 + 7200.0))
    assert sentence(loses, at(1120), UTC).endswith(" At the present rates it loses data in 2 h.")


def test_symptoms_that_are_alike_are_one_row_with_their_names() -> None:
    alike = tuple(
        replace(SYMPTOM, fingerprint=name, labels={"cluster": "c", "topic": name}, resolved_at=end)
        for name, end in (("a", 1340.0), ("b", 1350.0), ("d", None))
    )
    incident = Incident(cause=CAUSE, symptoms=alike)
    found = steps(incident, (), {})
    said = [(step.what, step.detail) for step in found if step.kind == "symptom"]
    assert said == [("3 alerts: under replicated", "a, b, d")]
    ends = {step.what: step.at for step in found if step.kind == "end"}
    assert ends["over: 2 of 3 alerts: under replicated"] == at(1350)
    rows = bars(incident, at(2000))
    assert rows["what"].to_list() == ["Broker 2 is missing", "3 alerts: under replicated"]
    assert rows["to"].to_list() == [at(1360), at(2000)]


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
        found = steps(Incident(cause=CAUSE, symptoms=tuple(symptoms)), (), {})
        return [(one.kind, one.what, one.detail) for one in found if SYMPTOM.what in one.what]

    assert told_of(late[:1]) == [
        ("symptom", SYMPTOM.what, "More arrives."),
        ("end", f"over: {SYMPTOM.what}", "It said: 0 wait"),
    ]
    often = f"{SYMPTOM.what}, 2 times"
    assert told_of(late) == [("symptom", often, "More arrives."), ("end", f"over: {often}", "")]
    goes_on = replace(late[1], state=State.FIRING, resolved_at=None)
    assert [kind for kind, *_ in told_of([late[0], goes_on])] == ["symptom"], "it is not over"


def test_a_symptom_that_never_fired_is_told_and_drawn_as_pending() -> None:
    labels = {"cluster": "c", "topic": "u"}
    never = replace(SYMPTOM, fingerprint="n", fired_at=None, detail="1 of 3", labels=labels)
    incident = Incident(cause=CAUSE, symptoms=(SYMPTOM, never))
    assert {"symptom", "pending"} <= {step.kind for step in steps(incident, (), {})}
    assert bars(incident, at(2000))["severity"].to_list() == ["critical", "warning", "pending"]
    assert lines_in_all(incident)[1] == f"{never.what}: 1 of 3 (never fired)"
    assert sentence(incident, at(2000), UTC).endswith(" 1 symptom, and 1 that never fired.")
    # Two rules may say the same: it fired if one did.
    twice = replace(incident, symptoms=(never, replace(never, fingerprint="m", fired_at=1010.0)))
    assert lines_in_all(twice) == [f"{never.what}: 1 of 3"]


def test_symptoms_from_before_count_as_those_of_the_list_do() -> None:
    early = replace(SYMPTOM, fingerprint="e", started_at=745.0, check="under_min_isr")
    # Sections are polled one by one: it may be dated a little earlier.
    late = replace(SYMPTOM, started_at=950.0)
    incident = Incident(cause=CAUSE, symptoms=(early, late))
    assert [step.kind for step in steps(incident, (), {})][:3] == ["symptom", "symptom", "cause"]
    said = sentence(incident, at(2000), UTC)
    assert said.endswith(" 2 symptoms, 1 of them from before.")
    # Two rules may say the same of one thing: lists have one line for it.
    twice = replace(incident, symptoms=(*incident.symptoms, replace(late, fingerprint="z")))
    assert sentence(twice, at(2000), UTC) == said
    assert symptoms_in_all(twice) == "2 symptoms, 1 of them from before"


def test_what_is_over_is_told_as_what_was() -> None:
    assert told(INCIDENT) == (f"It said: {CAUSE.detail}", "It was advised: Restart it.")
    goes_on = replace(CAUSE, state=State.FIRING, resolved_at=None)
    assert told(Incident(cause=goes_on)) == (CAUSE.detail, "Restart it.")


def test_what_only_lists_fold_can_be_acknowledged_where_it_is_told() -> None:
    cause, folded, held = (
        replace(CAUSE, fingerprint=name, state=State.FIRING, resolved_at=None, inhibited_by=by)
        for name, by in (("stopped", None), ("loss", None), ("lag", "stopped"))
    )
    stored = {one.fingerprint: one for one in (cause, folded, held)}
    incident = Incident(cause=cause, symptoms=(replace(folded, inhibited_by="stopped"), held))
    assert [one.fingerprint for one in unheeded(incident, stored, {})] == ["stopped", "loss"]
    by = {cause.id: Acknowledgement(alert=cause.id, author="ana", comment="", at=1100.0)}
    assert [one.fingerprint for one in unheeded(incident, stored, by)] == ["loss"]


def test_the_time_axis_has_what_was_before_and_after() -> None:
    changes = of_changes(CHANGES)
    assert around(INCIDENT, changes, at(9000)) == (at(1000 - 600), at(1360 + 600))
    assert around(INCIDENT, changes, at(1400)) == (at(1000 - 600), at(1400))
    long = Incident(cause=replace(CAUSE, resolved_at=1000.0 + 36000))
    assert around(long, (), at(90000)) == (at(1000 - 7200), at(37000 + 7200))
    # What was changed half an hour before is on it, and what was so for days does not press it.
    for earlier in (400.0, -90000.0):
        early = Incident(cause=CAUSE, symptoms=(replace(SYMPTOM, started_at=earlier),))
        assert around(early, (), at(1400))[0] == at(max(earlier, 1000.0 - 1800) - 150)


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


STEP = timedelta(minutes=1)
RISK = pl.DataFrame(
    {
        "time": [at(second) for second in (960, 1020, 1080, 1140)],
        "under_replicated": [0, 54, 54, 12],
        "under_min_isr": [0, 0, 0, 0],
        "offline": [0, 1, None, 0],
    }
)


def _late(**values: tuple[list[float | None], list[int | None]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"time": at(960 + 60 * step), "group": name, "time_lag_seconds": behind, "lag": waits}
            for name, (delays, lags) in values.items()
            for step, (behind, waits) in enumerate(zip(delays, lags, strict=True))
        ],
        schema={
            "time": pl.Datetime("us", "UTC"),
            "group": pl.String,
            "time_lag_seconds": pl.Float64,
            "lag": pl.Int64,
        },
    )


def test_the_groups_furthest_behind_are_drawn_and_the_others_named() -> None:
    names = [f"g{number}" for number in range(7)]
    history = _late(
        **{name: ([1.0, number * 60.0], [1, 2]) for number, name in enumerate(names[:-1])}
    )
    found = courses(history, names)
    assert (found.is_time, list(found.names)) == (True, ["g5", "g4", "g3", "g2", "g1"])
    assert len(found.names) == DRAWN
    assert found.rest == "The 5 furthest behind of 7 groups; less: g0. Not known: g6."
    assert found.frame["0"].to_list() == [1.0, 300.0]
    first = figures(found, at(1020), STEP)[0]
    assert first == ("g5", "1 s", "5 min", "1970-01-01 00:17:00 UTC", "5 min")


def test_messages_are_drawn_where_the_time_lag_of_a_group_is_not_known() -> None:
    found = courses(_late(a=([3.0, None], [5, 6]), b=([None, None], [7, None])), ["a", "b"])
    assert (found.is_time, list(found.names), found.rest) == (False, ["a", "b"], "")
    assert found.frame["1"].to_list() == [7, None]
    assert [row[1:3] for row in figures(found, at(900), STEP)] == [
        ("unknown", "6 messages"),
        ("unknown", "7 messages"),
    ]
    assert courses(_late(), ["a"]).names == []


def test_its_history_is_read_at_a_grain_that_suits_it_and_up_to_now_while_it_goes_on() -> None:
    now = at(90 * 86400.0)
    over = range_of(now - timedelta(hours=3), now - timedelta(hours=1), now, 30)
    assert (over.grain, over.end) == (Grain.MINUTE, now - timedelta(hours=1))
    goes_on = range_of(now - timedelta(seconds=100), now, now, 30)
    assert (goes_on.length, goes_on.end) == (timedelta(minutes=2), None)
    assert range_of(now - timedelta(days=60), now - timedelta(days=59), now, 30).grain is Grain.HOUR


def test_the_markdown_is_whole_and_takes_no_text_of_others_as_markup() -> None:
    late = courses(_late(**{"a|<i>": ([3.0, 90.0], [5, 6])}), ["a|<i>", "gone"])
    found = steps(INCIDENT, of_changes(CHANGES), {})
    text = markdown(
        *(INCIDENT, found, at(2000), "http://h/incident"), spacing=STEP / 2, at_risk=RISK, late=late
    )
    assert text.startswith("# Broker 2 is missing\n")
    assert "It began at 00:16:40, lasted 6 min; its alert was over at 00:22:40." in text
    assert "| 1970-01-01 00:16:50 | +10 s | symptom |" in text
    assert "| under-replicated | 0 | 54 | 1970-01-01 00:17:00 UTC | 12 |" in text.replace("\\", "")
    assert "| a|<i> | 3 s | 1 min 30 s | 1970-01-01 00:17:00 UTC |" in text.replace("\\", "")
    assert "Not known: gone." in text.replace("\\", "")
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert "http\\:<!-- -->//evil.example" in text
    assert "small" not in text
    assert "- Page: <http://h/incident>\n" in text
    assert "- Severity: was urgent\n" in text
    table = [line for line in text.splitlines() if line.startswith("| ")]
    # A bar in a text of others opens no cell.
    assert all(line.replace("\\|", "").count("|") == 6 for line in table)
    assert len(table) == 1 + 6 + 1 + 2 + 1 + 1
