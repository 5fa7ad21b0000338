"""How many symptoms an incident has: the same number on all pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.current.rows import alert_rows
from alerting.inputs.frames import Frames
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from app.data.context import View
from app.ui.incident_list import items
from app.ui.incident_rows import of_rows
from app.ui.incident_timeline import timeline_rows
from app.ui.incidents import Incident, incidents
from app.ui.symptoms import SymptomCount, counted, each_once, lines_in_all, lines_now, symptoms_of
from app.ui.symptoms import symptoms_in_all as in_all
from app.ui.symptoms import symptoms_now as now
from app.views.incident.view_model import sentence
from app.views.overview.view_model import headline
from app.views.week.view_model import incident_part
from lake.schemas.current import GROUP_STATUS, READERS
from tests.unit.app.ui.test_incidents import NOW, alert

BEGAN = 1000.0
BROKER = alert("broker", BEGAN, check="broker_missing")


def symptom(name: str, ended: float | None = None, **given: Any) -> Alert:
    began = {"fired_at": BEGAN + 20} | given
    return alert(name, BEGAN + 10, ended, inhibited_by="broker", **began)


GOES_ON = [symptom("a"), symptom("b", recovering_since=1990.0)]
OVER = symptom("c", 1500.0)
PENDING = symptom("d", state=State.PENDING, fired_at=None)
NEVER = symptom("e", 1100.0, fired_at=None)
EVERY = (*GOES_ON, OVER, PENDING, NEVER)


def test_those_that_never_fired_are_in_no_number_of_symptoms() -> None:
    assert counted(EVERY) == SymptomCount(fired=3, now=2, pending=1, never_fired=1)
    assert counted([]) == SymptomCount()


@pytest.mark.parametrize(
    ("symptoms", "said_now", "said_in_all"),
    [
        pytest.param((), "", "", id="none"),
        pytest.param(GOES_ON, "2 symptoms", "2 symptoms now", id="all go on"),
        pytest.param(
            (*GOES_ON, OVER), "2 symptoms", "3 symptoms in all, 2 of them now", id="one is over"
        ),
        pytest.param((OVER,), "", "1 symptom in all, none of them now", id="all are over"),
        pytest.param(
            (*GOES_ON, PENDING),
            *("2 symptoms, 1 pending", "2 symptoms now, and 1 pending"),
            id="one may fire",
        ),
        pytest.param((NEVER,), "", "1 symptom, too short to alert", id="one never fired"),
        pytest.param(
            (PENDING,),
            *("1 pending", "1 symptom, pending"),
            id="one is pending",
        ),
        pytest.param(
            (PENDING, replace(PENDING, fingerprint="f", labels={"group": "f"})),
            *("2 pending", "2 symptoms, all pending"),
            id="all are pending",
        ),
        pytest.param(
            (PENDING, NEVER),
            "1 pending",
            "1 symptom, pending, and 1 too short to alert",
            id="one may fire, one did not",
        ),
        pytest.param(
            (OVER, PENDING),
            "1 pending",
            "1 symptom in all, none of them now, and 1 pending",
            id="one is over, one may fire",
        ),
        pytest.param(
            EVERY,
            "2 symptoms, 1 pending",
            "3 symptoms in all, 2 of them now, 1 pending, and 1 too short to alert",
            id="all of these",
        ),
    ],
)
def test_symptoms_in_words(symptoms: tuple[Alert, ...], said_now: str, said_in_all: str) -> None:
    one = Incident(cause=BROKER, symptoms=tuple(symptoms))
    assert (now(one), in_all(one)) == (said_now, said_in_all)


def test_of_what_is_over_none_goes_on() -> None:
    cause = replace(BROKER, state=State.RESOLVED, resolved_at=1600.0)
    assert in_all(Incident(cause=cause, symptoms=(OVER, NEVER))) == (
        "1 symptom, and 1 too short to alert"
    )


def test_what_rules_say_alike_or_comes_back_is_one_symptom() -> None:
    """Given alerts of one check and thing, then what is certain counts, whatever they say."""
    labels = {"cluster": "c", "topic": "t"}
    past, present, never, other = (
        symptom(name, ended, labels=labels, detail=name, **given)
        for name, ended, given in (
            ("past", 1100.0, {}),
            ("present", None, {}),
            ("never", 1050.0, {"fired_at": None}),
            ("other", None, {"check": "under_min_isr"}),
        )
    )
    assert counted((past, present, never)) == SymptomCount(fired=1, now=1)
    assert counted((past, never)) == SymptomCount(fired=1)
    assert counted((past, present, other)) == SymptomCount(fired=2, now=2)
    one = Incident(cause=BROKER, symptoms=(never, past, present))
    assert lines_in_all(one) == ["present: present"]


def test_what_is_open_is_as_many_things_as_causes_and_symptoms() -> None:
    """Given two rules of one thing, then the worst of them stands for it, symptom or cause."""

    def losses(group: str, **given: Any) -> list[Alert]:
        labels = {"cluster": "c", "group": group}
        of_all = {"check": "data_loss_deadline", "labels": labels, "state": State.FIRING} | given
        return [
            alert(f"{group} {severity}", BEGAN + later, severity=severity, **of_all)
            for later, severity in enumerate((AlertSeverity.CRITICAL, AlertSeverity.WARNING))
        ]

    every = [BROKER, symptom("a"), *losses("held", inhibited_by="broker"), *losses("alone")]
    once = each_once(every)
    assert {one.fingerprint for one in once} == {"broker", "a", "held critical", "alone critical"}
    found = incidents(every)
    assert len(once) == len(found) + sum(counted(symptoms_of(one)).now for one in found)
    assert [now(one) for one in found] == ["", "2 symptoms"]


def test_lists_tell_what_goes_on_and_what_is_over_tells_all() -> None:
    one = Incident(cause=BROKER, symptoms=EVERY)
    assert lines_now(one) == ["a: ", "b: ", "d:  (pending)"]
    assert lines_in_all(one) == ["a: ", "b: ", "c: ", "d:  (pending)", "e:  (too short to alert)"]


def test_all_pages_have_the_same_number_of_symptoms(view: View) -> None:
    """Given an incident that goes on, then its lists, its page and Week agree."""
    frame = replace(view, now=NOW)
    alerts = [BROKER, *EVERY]
    (stored,) = incidents(alerts)
    rows = alert_rows(
        alerts, GROUP_STATUS.empty, READERS.empty, Frames(cluster="c", now=2000.0, tables={})
    )
    (written,) = of_rows(rows.with_columns(pl.lit("c").alias("cluster")))

    listed = [items([one], frame)[0] for one in (stored, written)]
    assert {row.more_label for row in listed} == {"2 symptoms, 1 pending"}
    assert listed[0].more == listed[1].more
    _, detail = headline([written], GROUP_STATUS.empty, brokers="All brokers are up")
    assert ", 2 symptoms now, folded under causes." in detail

    said = sentence(stored, NOW, UTC)
    assert "3 symptoms in all, 2 of them now, 1 pending, and 1 too short to alert." in said
    start = datetime.fromtimestamp(0.0, UTC)
    week = incident_part([stored], start, start + timedelta(days=7)).rows
    assert week.select("symptoms", "not_fired").row(0) == (3, 2)
    bars = timeline_rows([stored], NOW)["what"].unique(maintain_order=True)
    assert [name.strip() for name in bars] == ["broker", "↳ 3 symptoms in all of broker"]


def test_what_never_fired_draws_no_bar_of_symptoms() -> None:
    bars = timeline_rows([Incident(cause=BROKER, symptoms=(NEVER,))], NOW)
    assert bars["what"].to_list() == ["broker"]
