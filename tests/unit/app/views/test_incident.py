"""One incident on its page and as Markdown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import polars as pl

from alerting.rules.lifecycle import State
from alerting.rules.matchers import Acknowledgement
from app.data.history import History
from app.ui.changes.events import of_changes
from app.ui.incidents import Incident
from app.views.incident.lag import courses
from app.views.incident.steps import of_incident
from app.views.incident.view_model import (
    around,
    as_it_was,
    bars,
    ends,
    heeded,
    markdown,
    range_of,
    sentence,
    title,
    title_now,
    told,
    topics_of,
    unheeded,
)
from lake.schemas.grain import Grain
from tests.unit.app.views.made_incident import (
    CAUSE,
    CHANGES,
    INCIDENT,
    MENDED,
    RISK,
    SYMPTOM,
    at,
    late_rows,
)


def test_what_is_mended_is_named_and_coloured_by_what_it_was_and_told_by_what_is_so_now() -> None:
    incident = Incident(cause=MENDED, symptoms=(SYMPTOM,))
    was = as_it_was(incident)
    assert (was.cause.what, was.cause.detail) == ("g stopped", "900 wait")
    assert was.symptoms == (SYMPTOM,)
    drawn = bars(was, at(2000))["severity"]
    assert drawn.unique(maintain_order=True).to_list() == [
        "pending",
        "critical",
        "mending",
        "warning",
    ]
    assert told(incident) == ("g is catching up: 10 wait", "Wait.")
    text = markdown(incident, of_incident(was, (), {}), at(2000), "http://h")
    assert text.startswith("# g stopped\n\ng is catching up: 10 wait\n")
    over = replace(MENDED, state=State.RESOLVED, resolved_at=1360.0)
    assert told(Incident(cause=over)) == ("It said: 900 wait", "It was advised: Start it.")


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
    assert bars(mended, at(2000))["to"].to_list()[-2:] == [at(1200), at(1360)]
    assert sentence(INCIDENT, at(2000) + timedelta(days=1), UTC) == (
        "It began at 1 Jan 00:16:40, lasted 6 min; its alert was over at 00:22:40. 1 symptom."
    )
    mends = replace(CAUSE, state=State.FIRING, resolved_at=None, recovering_since=1125.0)
    assert sentence(Incident(cause=mends), at(2000), UTC) == (
        "It began at 00:16:40 and lasted 2 min 5 s; its alert recovers. No symptom."
    )
    open_one = Incident(cause=replace(CAUSE, state=State.FIRING, resolved_at=None))
    assert sentence(open_one, at(1120), UTC) == (
        "It began at 00:16:40 and has lasted 2 min. No symptom."
    )
    unseen = Incident(cause=replace(open_one.cause, began_before=True))
    assert sentence(unseen, at(1120), UTC).startswith("It began before 00:16:40 and has ")
    loses = Incident(cause=replace(open_one.cause, deadline=1120.0 + 7200.0))
    assert sentence(loses, at(1120), UTC).endswith(" At the present rates it loses data in 2 h.")


def test_the_title_of_what_is_over_says_so_and_how_long_it_lasted() -> None:
    goes_on = replace(CAUSE, state=State.FIRING, resolved_at=None)
    back = replace(goes_on, recovering_since=1125.0)
    over = replace(MENDED, state=State.RESOLVED, resolved_at=1360.0)
    unseen = replace(CAUSE, began_before=True)
    twice = Incident(cause=CAUSE, earlier=(replace(CAUSE, started_at=10.0, resolved_at=500.0),))
    alone = [Incident(cause=one) for one in (goes_on, CAUSE, back, unseen, MENDED, over)]
    goes_on_of_it = replace(SYMPTOM, state=State.FIRING, resolved_at=None)
    outlived = replace(alone[1], symptoms=(goes_on_of_it,))
    assert [title(as_it_was(one)) for one in (*alone, twice, outlived)] == [
        "Broker 2 is missing",
        "Broker 2 was missing for 6 min",
        "Broker 2 was missing for 2 min 5 s",
        "Broker 2 was missing for at least 6 min",
        "g stopped",
        "g stopped (over, lasted 3 min 20 s)",
        "Broker 2 was missing for 6 min the last time",
        "Broker 2 was missing for 6 min",
    ]


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
    assert heeded(incident, by) == [(cause, by[cause.id])]
    over = replace(cause, state=State.RESOLVED)
    assert heeded(replace(incident, cause=over), by) == [], "there is nothing to take back"


def test_an_incident_takes_most_of_its_time_axis() -> None:
    assert around(INCIDENT, at(9000)) == (at(1000 - 120), at(1360 + 120))
    assert around(INCIDENT, at(1400)) == (at(1000 - 120), at(1400))
    long = Incident(cause=replace(CAUSE, resolved_at=1000.0 + 36000))
    assert around(long, at(90000)) == (at(1000 - 7200), at(37000 + 7200))


def test_its_history_is_read_at_a_grain_that_suits_it_and_up_to_now_while_it_goes_on() -> None:
    now = at(90 * 86400.0)
    over = range_of(now - timedelta(hours=3), now - timedelta(hours=1), now, 30)
    assert (over.grain, over.end) == (Grain.MINUTE, now - timedelta(hours=1))
    goes_on = range_of(now - timedelta(seconds=100), now, now, 30)
    assert (goes_on.length, goes_on.end) == (timedelta(minutes=2), None)
    assert range_of(now - timedelta(days=60), now - timedelta(days=59), now, 30).grain is Grain.HOUR


def test_the_markdown_is_whole_and_takes_no_text_of_others_as_markup() -> None:
    rows = replace(late_rows(**{"a|<i>": ([3.0, 90.0], [5, 6])}), step_seconds=30)
    late = courses(rows, ["a|<i>", "gone"])
    found = of_incident(INCIDENT, of_changes(CHANGES), {})
    text = markdown(
        *(INCIDENT, found, at(2000), "http://h/incident"),
        at_risk=History(frame=RISK, step_seconds=30),
        late=late,
    )
    assert text.startswith("# Broker 2 was missing for 6 min\n")
    assert "It began at 00:16:40, lasted 6 min; its alert was over at 00:22:40." in text
    assert "| 1970-01-01 00:16:50 | +10 s | symptom |" in text
    assert "| under-replicated | 0 | 54 | 1970-01-01 00:17:00 UTC | 12 |" in text
    assert r"| a\|\<i\> | 3 s | 1 min 30 s | 1970-01-01 00:17:00 UTC |" in text
    assert "Not known: gone." in text
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert "http:<!-- -->//evil.example" in text
    assert "small" not in text
    assert "- Page: <http://h/incident>\n" in text
    assert "- Severity: was urgent\n" in text
    table = [line for line in text.splitlines() if line.startswith("| ")]
    # A bar in a text of others opens no cell.
    assert all(line.replace("\\|", "").count("|") == 6 for line in table)
    assert len(table) == 1 + 6 + 1 + 2 + 1 + 1


def test_a_group_that_mends_is_titled_by_what_it_does_now() -> None:
    mends = replace(MENDED, check="stopped", status="CATCHING_UP", state=State.FIRING)
    mends = replace(mends, what="g is catching up", resolved_at=None)
    assert title_now(Incident(cause=mends)) == "g is catching up"
    over = replace(mends, state=State.RESOLVED, resolved_at=3600.0)
    assert title_now(Incident(cause=over)).startswith("g stopped (over, lasted ")
