"""What a message says."""

from __future__ import annotations

from dataclasses import replace

from alerting.notify.notifications import Notification, NotificationKind
from alerting.notify.wording import alertmanager_alerts, body, title, webhook_payload
from alerting.rules.model import AlertSeverity
from tests.alert_of import alert

NOW = 1_800_000_000.0
ALERT = alert(
    rule="DataLossNear",
    check="data_loss_deadline",
    started_at=NOW - 60,
    last_true_at=NOW,
    deadline=NOW + 3 * 3600 + 600,
    what="g loses data soon",
    detail="Retention reaches the oldest unread message of t-0.",
)


NOTIFICATION = Notification(
    key="k",
    group="c/DataLossNear",
    kind=NotificationKind.FIRING,
    at=NOW,
    severity=AlertSeverity.CRITICAL,
    firing=(ALERT,),
)


def test_a_message_names_a_deadline_once_and_not_in_its_title() -> None:
    notification = NOTIFICATION
    assert title(notification) == "[CRITICAL] g loses data soon (c)"
    text = body(notification, "http://dash")
    assert "\nDeadline: in 3 h 10 min, about 2027-01-15 11:10:00 UTC\n" in text
    assert text.count("in 3 h") == 1
    assert webhook_payload(notification, "http://dash")["firing"][0]["deadline"] == ALERT.deadline
    (sent,) = alertmanager_alerts([ALERT], {}, "http://dash", NOW, 300.0)
    assert sent["annotations"]["deadline"] == "2027-01-15 11:10:00 UTC"
    assert sent["annotations"]["summary"] == "g loses data soon"


def test_a_deadline_that_has_passed_since_it_was_known_is_not_said_to_come() -> None:
    """Given an alert that fires on without data, when its message is repeated after the deadline,
    then that says so."""
    repeat = replace(NOTIFICATION, kind=NotificationKind.REPEAT, at=NOW + 4 * 3600)
    text = body(repeat, "http://dash")
    assert "\nDeadline: has passed, about 2027-01-15 11:10:00 UTC\n" in text


def test_what_came_back_is_told_since_its_first_time() -> None:
    back = replace(ALERT, fired_at=NOW - 60, flaps=1, first_at=NOW - 1800, first_before=True)
    text = body(replace(NOTIFICATION, firing=(back,)), "http://dash")
    began = "before 2027-01-15 07:30:00 UTC (30 min ago)"
    assert f"\nSince: {began}, again since 2027-01-15 07:59:00 UTC\n" in text
