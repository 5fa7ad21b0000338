"""What leads an incident, and whether it needs somebody."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from alerting.rules.lifecycle import Alert, State, Told
from alerting.rules.model import AlertSeverity
from alerting.status.descriptions import WAIT_STEP
from app.data.context import View
from app.ui.alert_list import OVER_BADGE_STYLES
from app.ui.incident_list import (
    badge_of,
    items,
    needs,
    numbers,
)
from app.ui.incident_order import in_order
from app.ui.incident_timeline import timeline_rows
from app.ui.incidents import Incident, incidents
from app.views.week.view_model import incident_part
from tests import alert_of

NOW = datetime.fromtimestamp(2000.0, UTC)


WARNING = AlertSeverity.WARNING


URGENT = {"severity": AlertSeverity.CRITICAL}


def alert(name: str, began: float, ended: float | None = None, **given: Any) -> Alert:
    given = {"fired_at": None if ended is None else began} | given
    labels = {"cluster": "c", "broker": name}
    of_all = {"fingerprint": name, "severity": WARNING, "labels": labels, "what": name}
    return alert_of.alert(started_at=began, resolved_at=ended, **of_all | given)


@pytest.mark.parametrize(
    "over", [pytest.param({"ended": 1900.0}, id="over"), {"recovering_since": 1900.0}]
)
@pytest.mark.parametrize(
    ("symptoms", "headline", "badge", "first"),
    [
        pytest.param(
            [alert("all", 1500.0, inhibited_by="cause", recovering_since=1900.0, **URGENT)],
            *("Nothing needs you now", "recovering", "cause"),
            id="all recovers",
        ),
        pytest.param(
            [
                alert("watched", 1500.0, inhibited_by="cause"),
                alert("g stalled", 1600.0, inhibited_by="cause", **URGENT),
            ],
            *("g stalled. 1 thing needs you now", "act now", "g stalled"),
            id="an urgent symptom goes on",
        ),
        pytest.param(
            [alert("watched", 1500.0, inhibited_by="cause")],
            *("Nothing needs you now, 1 to watch", "watch", "watched"),
            id="a symptom to watch goes on",
        ),
        pytest.param(
            [
                alert(
                    *("g is catching up", 1500.0),
                    **{"inhibited_by": "cause", "check": "stopped", "status": "CATCHING_UP"},
                    **URGENT,
                )
            ],
            *("Nothing needs you now, 1 catching up", "catching up", "g is catching up"),
            id="a group catches up",
        ),
    ],
)
def test_once_a_cause_is_over_its_worst_symptom_that_goes_on_leads(
    view: View,
    over: dict[str, float],
    symptoms: list[Alert],
    headline: str,
    badge: str,
    first: str,
) -> None:
    found = incidents([alert("cause", 100.0, **over, **URGENT), *symptoms])
    (row,) = items(found, replace(view, now=NOW))
    assert row.badge is not None
    assert (needs(found), row.badge.word, row.what) == (headline, badge, first)
    assert row.link is not None and row.link.parameters == {"alert": found[0].cause.id}
    ends = "over" if "ended" in over else "recovering"
    assert (f"after “cause” ({ends})" in row.note) == (first != "cause")


def test_what_began_before_a_cause_that_is_over_is_not_said_to_come_after_it(view: View) -> None:
    cause, frame = alert("cause", 1500.0, 1900.0, **URGENT), replace(view, now=NOW)
    notes = [
        items(incidents([cause, alert("g", began, inhibited_by="cause")]), frame)[0].note
        for began in (1450.0, 1500.0)
    ]
    assert notes == ["in c", "after “cause” (over), in c"]


def test_a_row_tells_what_is_so_now_from_the_poll_on_that_found_it(view: View) -> None:
    """Given what was so at the poll before and fires on, then the row is not about that."""
    frame = replace(view, now=NOW)
    group = {"labels": {"cluster": "c", "group": "g"}}
    mends = alert("g is catching up", 1000.0, check="stopped", status="CATCHING_UP", **group)
    near = {"check": "data_loss_deadline", "deadline": 5000.0, "step": "Raise it.", **group}
    loss = alert("g loses data soon", 1500.0, last_true_at=1990.0, **URGENT, **near)
    (row,) = items(incidents([mends, loss]), frame)
    assert row.badge is not None
    assert (row.what, row.badge.word, row.until) == ("g is catching up", "catching up", "")
    assert row.step != "Raise it."
    broker = alert("Broker 2", 1000.0, check="broker_missing", last_true_at=1990.0, **URGENT)
    late = alert("h falls behind", 1100.0, inhibited_by="Broker 2")
    (row,) = items(incidents([broker, late]), frame)
    assert (row.what, row.note) == ("h falls behind", "after “Broker 2” (recovering), in c")


def test_what_was_urgent_needs_nobody_while_it_catches_up_and_week_has_how_bad_it_was() -> None:
    """Given data that was soon lost meanwhile, then it is no incident of its own after that."""
    urgent = {"severity": AlertSeverity.CRITICAL, "labels": {"cluster": "c", "group": "g"}}
    was = Told(until=1500.0, severity=AlertSeverity.CRITICAL, what="g stopped", detail="", step="")
    mends = {"check": "stopped", "step": WAIT_STEP, "before_mending": was}
    mends |= {"status": "CATCHING_UP"}
    stopped = alert("g catches up", 1000.0, state=State.FIRING, **urgent | mends)
    loss = alert("g loses data soon", 1400.0, 1700.0, check="data_loss_deadline", **urgent)
    (found,) = incidents([loss, stopped])
    assert (badge_of(found).word, badge_of(found).colour) == ("catching up", "orange")
    assert numbers([found]) == "Nothing needs you now, 1 catching up"
    assert set(timeline_rows([found], NOW)["severity"]) == {"critical", "mending"}
    week = incident_part([found], datetime.fromtimestamp(0.0, UTC), NOW).rows
    assert week["severity"].to_list() == [[OVER_BADGE_STYLES[AlertSeverity.CRITICAL].label]]


def test_what_catches_up_is_urgent_where_it_loses_data_or_more_is_wrong() -> None:
    """Given a group that stopped and is back, then what else fires of it decides."""
    urgent = {"severity": AlertSeverity.CRITICAL, "labels": {"cluster": "c", "group": "g"}}
    mends = alert("g is catching up", 1000.0, check="stopped", status="CATCHING_UP", **urgent)
    too_slow = replace(mends, deadline=9000.0)
    failed = alert("task", 1100.0, inhibited_by=mends.fingerprint, **urgent)
    watched = replace(failed, severity=WARNING)
    stopped = replace(mends, status="STOPPED")
    found = {
        "mends": Incident(cause=mends),
        "to watch": Incident(cause=mends, symptoms=(watched,)),
        "too slow": Incident(cause=too_slow),
        "task": Incident(cause=mends, symptoms=(failed,)),
        "task recovers": Incident(
            cause=mends, symptoms=(replace(failed, recovering_since=1500.0),)
        ),
        "stopped": Incident(cause=stopped),
    }
    assert {name: badge_of(one).word for name, one in found.items()} == {
        **dict.fromkeys(("mends", "to watch", "task recovers"), "catching up"),
        **dict.fromkeys(("too slow", "task", "stopped"), "act now"),
    }
    watch = Incident(cause=alert("watch", 1990.0))
    listed = in_order([watch, found["mends"], found["stopped"]], NOW)
    assert listed == [found["stopped"], found["mends"], watch], "everybody watches what mends"
