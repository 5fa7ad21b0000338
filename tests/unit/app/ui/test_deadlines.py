"""How soon data is lost, in the rows of incidents and on their pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.rules.lifecycle import Alert
from alerting.rules.model import AlertSeverity
from app.data.context import View
from app.style.format import unbroken
from app.ui.incident_list import items
from app.ui.incident_order import in_order
from app.ui.incidents import Incident, incidents
from app.ui.loss_words import ahead, deadline
from tests import alert_of

NOW = datetime.fromtimestamp(2000.0, UTC)


def alert(name: str, began: float, ended: float | None = None, **given: Any) -> Alert:
    labels = {"cluster": "c", "broker": name}
    of_all = {"fingerprint": name, "what": name, "severity": AlertSeverity.WARNING}
    return alert_of.alert(
        **of_all | {"started_at": began, "resolved_at": ended, "labels": labels} | given
    )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(None, "", id="not known"),
        pytest.param(3600.0, "loses data in 1 h", id="later"),
        pytest.param(89 * 60.0, "loses data in 1 h 20 min", id="as finely as it can be acted on"),
        pytest.param(5 * 3600.0 + 25 * 60, "loses data in 5 h 20 min", id="to ten minutes"),
        pytest.param(8 * 86400.0, "", id="far"),
        pytest.param(200.0, "loses data within 5 min", id="soon"),
        pytest.param(-5.0, "loses data within 5 min", id="over"),
    ],
)
def test_how_long_until_messages_are_deleted(seconds: float | None, expected: str) -> None:
    assert deadline(None if seconds is None else NOW + timedelta(seconds=seconds), NOW) == expected


@pytest.mark.parametrize("hours", [0.0, 0.99, 1.99, 2.99, 23.9, 47.9, 167.9])
def test_a_deadline_is_never_broken_within_its_time(view: View, hours: float) -> None:
    due = NOW.timestamp() + hours * 3600
    (found,) = incidents([alert("g", 1000.0, labels={"cluster": view.cluster}, deadline=due)])
    (row,) = items([found], replace(view, now=NOW))
    *_, time = unbroken(row.until).split(" ")
    assert time[0].isdecimal() and len(row.until) <= 24


def test_a_cause_that_is_no_group_says_whose_data_is_lost(view: View) -> None:
    """Given the deadline of a symptom, then it stands alone, and whose it is beside the cause."""
    broker = alert("broker", 1000.0, labels={"cluster": "east"}, deadline=NOW.timestamp() + 7200.0)
    late, later = (
        alert(
            name, 1000.0, deadline=NOW.timestamp() + ahead, labels={"cluster": "c", "group": name}
        )
        for name, ahead in (("payments", 7200.0), ("audit", 9000.0))
    )
    loses = alert("stock", 1990.0, check="losing_data", labels={"cluster": "c", "group": "stock"})
    given = {
        "payments": Incident(cause=broker, symptoms=(later, late)),
        "stock": Incident(cause=broker, symptoms=(late, loses)),
        "its own": Incident(cause=late, symptoms=(later,)),
        "now": Incident(cause=loses),
        "none": Incident(cause=alert("quiet", 1000.0, labels={"cluster": "east"})),
    }
    rows = items(given.values(), replace(view, now=NOW, cluster="east"))
    assert {name: row.until for name, row in zip(given, rows, strict=True)} == {
        **{"payments": "loses data in 2 h", "stock": "loses data now"},
        **{"its own": "loses data in 2 h", "now": "loses data now", "none": ""},
    }
    assert not any(row.is_far for row in rows)
    assert {name: row.note for name, row in zip(given, rows, strict=True)} == {
        **{"payments": "group payments", "stock": "group stock"},
        **{"its own": "in c", "now": "in c", "none": ""},
    }
    assert [ahead(one, NOW) for one in given.values()] == [
        "At the present rates payments loses data in 2 h.",
        "stock loses data now.",
        "At the present rates it loses data in 2 h.",
        "It loses data now.",
        "",
    ]


_PAYMENTS = ("loses data in 5 h", "group payments", True)
_AUDIT = ("loses data in 3 h", "group audit", False)


@pytest.mark.parametrize(
    ("of_cause", "other", "said"),
    [
        pytest.param(5.0, {"ahead": 9.0}, _PAYMENTS, id="far"),
        pytest.param(None, {"ahead": 9.0}, _PAYMENTS, id="known of the group alone"),
        pytest.param(5.0, {"ahead": 1.0, "resolved_at": 1500.0}, _PAYMENTS, id="one is over"),
        pytest.param(5.0, {"ahead": 1.0, "recovering_since": 1990.0}, _PAYMENTS, id="one recovers"),
        pytest.param(5.0, {"ahead": 3.0}, _AUDIT, id="near"),
    ],
)
def test_whose_data_is_lost_how_soon_and_whether_that_is_far_are_of_one_deadline(
    view: View, of_cause: float | None, other: dict[str, float], said: tuple[str, str, bool]
) -> None:
    """Given a failed connector, then its row is about the first of the groups that lose data."""

    def hours(ahead: float | None) -> float | None:
        return None if ahead is None else NOW.timestamp() + ahead * 3600.0

    def of_group(group: str, ahead: float, **given: float) -> Alert:
        labels = {"cluster": "east", "group": group}
        return alert(group, 1100.0, labels=labels, deadline=hours(ahead), **given)

    failed = alert("sink", 1000.0, labels={"cluster": "east"}, deadline=hours(of_cause))
    given = Incident(cause=failed, symptoms=(of_group("audit", **other), of_group("payments", 5.0)))
    (row,) = items([given], replace(view, now=NOW, cluster="east"))
    assert (row.until, row.note, row.is_far) == said
    who = said[1].removeprefix("group ")
    assert ahead(given, NOW) == f"At the present rates {who} {said[0]}."


def test_a_deadline_weighs_less_beyond_four_hours(view: View) -> None:
    """Given two groups that stopped, then the one that has until tomorrow weighs less."""
    soon, far = (
        alert(name, 1000.0, deadline=NOW.timestamp() + hours * 3600.0)
        for name, hours in (("soon", 3.9), ("far", 17.0))
    )
    rows = items(incidents([soon, far]), replace(view, now=NOW))
    assert {row.what: row.is_far for row in rows} == {"soon": False, "far": True}


def test_an_incident_has_its_deadline_once_while_it_goes_on(view: View) -> None:
    ahead = 2000.0 + 7200.0
    given = alert("g loses data soon", 1000.0, deadline=ahead)
    over = alert("g lost data", 1000.0, ended=1500.0, deadline=ahead)
    old = alert("not seen", 900.0, deadline=ahead, last_true_at=1000.0)
    rows = items(incidents([given, over, old]), replace(view, now=NOW), acknowledged={})
    assert {row.what: row.until for row in rows} == {
        **{"g loses data soon": "loses data in 2 h", "g lost data": "", "not seen": ""}
    }
    assert {row.what: row.note for row in rows} == {
        **{"g loses data soon": "in c", "g lost data": "in c", "not seen": "last seen 00:16, in c"}
    }


def test_data_that_was_lost_minutes_ago_is_not_lost_now(view: View) -> None:
    """An alert stays open for a while after a loss; what it says of now is what polls saw."""
    one = replace(
        Incident(cause=alert("g", 1000.0, check="losing_data", deadline=NOW.timestamp() + 7200.0)),
        loses_now=False,
        last_lost_at=NOW.timestamp() - 360.0,
    )
    before_all = replace(one, last_lost_at=None)
    (row, unseen) = items([one, before_all], replace(view, now=NOW))
    assert (row.until, row.is_far) == ("lost data 6 min ago", True)
    assert "the next" not in row.note  # losses come in bursts
    assert unseen.until == "lost data"
    assert ahead(one, NOW) == "It lost data 6 min ago."
    stops = Incident(cause=alert("h", 1000.0, deadline=NOW.timestamp() + 600.0))
    loses = Incident(cause=alert("i", 1000.0, check="losing_data"))
    assert in_order([one, stops, loses], NOW) == [one, loses, stops], "it may lose more"
