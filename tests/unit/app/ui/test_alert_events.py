"""Alerts as events: on the page of what they are about, and on Overview."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from alerting.rules.lifecycle import Alert, Told
from alerting.rules.model import AlertSeverity
from app.ui.changes import event_marks, events
from app.ui.changes.events import Sort
from tests.alert_of import alert

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def test_what_fired_is_an_event_by_what_it_fired_for() -> None:
    fired = START + timedelta(minutes=5)
    stopped = alert(
        started_at=START.timestamp(),
        last_true_at=fired.timestamp(),
        what="g is catching up",
        fired_at=fired.timestamp(),
        before_mending=Told(
            until=fired.timestamp(),
            severity=AlertSeverity.CRITICAL,
            what="g stopped",
            detail="",
            step="",
        ),
    )
    (marked,) = events.of_alerts([stopped], "g")
    assert (marked.at, marked.what, marked.detail) == (START, "stopped", "GroupStopped")
    assert marked.is_loss


def test_what_has_a_line_in_the_chart_is_named_before_all_else() -> None:
    at = START.timestamp()
    late = [
        alert(started_at=at, last_true_at=at, fired_at=at, labels={"group": name})
        for name in ("drawn", "small")
    ]
    broker = events.Event(at=START, sort=events.Sort.BROKERS, what="broker 2 is missing")
    found = event_marks.with_lines_first([broker, *events.of_late_groups(late)], ["drawn"])
    assert {one.name: one.is_own for one in found} == {"": False, "drawn": True, "small": False}


def test_overview_marks_the_groups_that_are_late_by_themselves() -> None:
    def late(name: str, minute: int, **given: Any) -> Alert:
        at = (START + timedelta(minutes=minute)).timestamp()
        return alert(started_at=at, last_true_at=at, fired_at=at, what=f"{name} stopped", **given)

    slow = {"check": "falling_behind", "severity": AlertSeverity.WARNING}
    found = events.of_late_groups(
        [
            late("slow", 9, **slow),
            late("orders", 1),
            late("a symptom", 2, inhibited_by="broker"),
            late("outlived its cause", 2, followed="broker"),
            late("a topic", 3, check="dead_letter_ratio"),
            late("bills", 4),
        ]
    )
    assert [one.what for one in found] == ["bills stopped", "orders stopped", "slow stopped"]
    assert [one.is_loss for one in found] == [True, True, False]
    assert {one.sort for one in found} == {Sort.ALERTS}
    many = [late("slow", 99, **slow), *(late(f"g{number}", number) for number in range(30))]
    assert [one.what for one in events.of_late_groups(many)] == [
        f"g{number} stopped" for number in range(29, 9, -1)
    ]
