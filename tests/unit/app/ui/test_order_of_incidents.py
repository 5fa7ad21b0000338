"""The order in which lists have what needs somebody: one for all pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from app.ui.incident_order import in_order
from app.ui.incidents import incidents
from tests import alert_of

NOW = datetime.fromtimestamp(2000.0, UTC)


def broken(name: str, began: float, **given: Any) -> Alert:
    labels = {"cluster": "c", "broker": name}
    of_all = {"fingerprint": name, "labels": labels, "what": name}
    return alert_of.alert(started_at=began, **of_all | given)


def test_a_missing_broker_comes_first_then_what_is_lost_now_then_the_nearest_deadline() -> None:
    now, hour = NOW.timestamp(), 3600.0
    given = [
        broken("newest", 1900.0),
        broken("broker", 1000.0, check="broker_missing"),
        broken("broker, 17 h", 1990.0, check="broker_missing", deadline=now + 17 * hour),
        broken("1.5 h", 1950.0, deadline=now + 1.5 * hour),
        broken("1 h", 1100.0, deadline=now + hour),
        broken("a month", 1100.0, deadline=now + 30 * 24 * hour),
        broken("lost now", 1050.0, check="losing_data"),
        broken("mends", 1990.0, check="losing_data", recovering_since=1995.0),
        broken("to watch", 1990.0, deadline=now + 60.0, severity=AlertSeverity.WARNING),
    ]
    assert [one.cause.what for one in in_order(incidents(given), NOW)] == [
        *("broker, 17 h", "broker", "lost now", "1 h", "1.5 h", "newest", "a month"),
        *("mends", "to watch"),
    ]


def test_below_what_is_to_be_acted_on_stands_what_mends_since_and_then_what_will_be() -> None:
    watch = AlertSeverity.WARNING
    given = [
        broken("to watch", 1900.0, severity=watch),
        broken("watch recovers", 1900.0, severity=watch, recovering_since=1995.0),
        broken("may be to watch", 1990.0, severity=watch, state=State.PENDING),
        broken("will be urgent", 1990.0, state=State.PENDING),
        broken("catches up", 1000.0, check="stopped", status="CATCHING_UP"),
        broken("recovers", 1000.0, recovering_since=1995.0),
        broken("now", 1900.0),
    ]
    assert [one.cause.what for one in in_order(incidents(given), NOW)] == [
        *("now", "recovers", "catches up", "will be urgent"),
        *("to watch", "watch recovers", "may be to watch"),
    ]


def test_a_loss_of_the_last_minutes_ranks_as_one_of_now() -> None:
    lost = broken("archive", 1000.0, check="losing_data", deadline=NOW.timestamp() + 7200.0)
    stopped = broken("stopped", 1900.0, deadline=NOW.timestamp() + 3600.0)
    found = incidents([stopped, lost])
    for loses_now in (True, False):
        given = [replace(one, loses_now=loses_now) for one in found]
        assert [one.cause.what for one in in_order(given, NOW)] == ["archive", "stopped"]


def test_rows_stand_still_while_their_deadlines_are_written_alike() -> None:
    for newer, older in ((5460.0, 5430.0), (5430.0, 5460.0)):
        given = [
            broken("older", 1000.0, deadline=NOW.timestamp() + older),
            broken("newer", 1500.0, deadline=NOW.timestamp() + newer),
        ]
        assert [one.cause.what for one in in_order(incidents(given), NOW)] == ["newer", "older"]
