"""The facts of an incident at a glance."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from alerting.rules.lifecycle import Alert, State, Worst
from alerting.rules.matchers import Acknowledgement
from app.ui.incidents import Incident
from app.views.incident import facts
from app.views.incident.steps import of_incident
from app.views.incident.view_model import bars
from tests.unit.app.views.made_incident import CAUSE, INCIDENT, SYMPTOM, at

BY = Acknowledgement(alert="a", author="Ada", comment="", at=0.0)


def notes(incident: Incident, by: Acknowledgement | None = None) -> dict[str, tuple[str, str]]:
    found = facts.of_incident(incident, by, at(2000), UTC, is_quiet=False)
    return {one.label: (one.value, one.note) for one in found}


def test_an_incident_that_is_over_says_when_it_began_and_ended_how_bad_and_who() -> None:
    found = notes(INCIDENT)
    assert list(found) == ["Began", "Lasted", "At its worst", "Looked after by"]
    assert found["Began"][0] == "00:16:40"
    assert found["Lasted"] == ("6 min", "alert over at 00:22:40")
    assert found["At its worst"][0] == "act now"
    assert found["Looked after by"] == ("nobody", "not acknowledged")
    outlived = replace(INCIDENT, symptoms=(replace(SYMPTOM, resolved_at=1420.0),))
    assert notes(outlived)["Lasted"][1] == "last symptom until 00:23:40"


@pytest.mark.parametrize(
    ("check", "value", "said"),
    [
        pytest.param("stalled", 24889.0, "24\u202f889 messages", id="messages"),
        pytest.param("under_replicated", 1.0, "1 partition", id="one"),
        pytest.param("objective_missed", 208.0, "3 min 28 s", id="time"),
        pytest.param("data_loss_deadline", 600.0, "10 min left", id="time that is left"),
        pytest.param("disk_free", 0.04, "4\u202f% free", id="ratio that is left"),
        pytest.param("data_stale", 5.2, "5 intervals", id="intervals"),
        pytest.param("dead_letter_new_reason", 2.0, "2 classes", id="classes"),
    ],
)
def test_at_its_worst_is_what_was_measured(check: str, value: float, said: str) -> None:
    cause = replace(CAUSE, check=check, worst=Worst(at=1500.0, value=value, detail="x"))
    assert notes(Incident(cause=cause))["At its worst"] == (said, "at 00:25:00")


def test_an_incident_that_goes_on_says_for_how_long() -> None:
    cause = replace(CAUSE, state=State.FIRING, resolved_at=None, began_before=True)
    worst = Worst(at=1500.0, value=9.0, detail="x")
    found = notes(Incident(cause=replace(cause, worst=worst)))
    assert found["Began"][0] == "before 00:16:40"
    assert found["Lasts for"] == ("at least 17 min", "goes on")
    assert found["At its worst"] == ("act now", cause.rule), "it is so or not: no number"
    recovers = Incident(cause=replace(cause, recovering_since=1125.0))
    assert notes(recovers)["Lasted"] == ("at least 2 min 5 s", "its alert recovers")


@pytest.mark.parametrize(("comment", "note"), [("", "acknowledged"), ("the disk", "the disk")])
def test_who_looks_after_it_is_said_with_and_without_a_comment(comment: str, note: str) -> None:
    found = notes(INCIDENT, replace(BY, comment=comment))
    assert found["Looked after by"] == ("Ada", note)


def test_a_symptom_ends_in_the_course_when_its_bar_does() -> None:
    """Given a rule that keeps its alert for a minute after it was true last."""
    kept = replace(SYMPTOM, resolved_at=1300.0, untrue_since=1240.0)
    other: Alert = replace(kept, fingerprint="o", labels={"topic": "o"}, untrue_since=1250.0)
    for symptoms in ((kept,), (kept, other)):
        incident = replace(INCIDENT, symptoms=symptoms)
        (over,) = [
            step.at
            for step in of_incident(incident, (), {})
            if step.kind == "end" and CAUSE.what not in step.what
        ]
        assert bars(incident, at(2000))["to"].to_list()[-1] == over
        assert over == at(1240 if len(symptoms) == 1 else 1250)
