"""What somebody looks after: it is counted as that, and comes after what nobody looks after."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from alerting.rules.lifecycle import Alert, State
from alerting.rules.matchers import Acknowledgement
from alerting.rules.model import AlertSeverity
from app.data.context import View
from app.data.viewer import Viewer
from app.ui import routes
from app.ui.incident_list import items, needs, numbers
from app.ui.incident_order import in_order
from app.ui.incidents import Incident, incidents
from app.views.alerts.view_model import elsewhere
from app.views.overview.view_model import cluster_rows, folded, shown
from config.app import RoleSettings
from config.parts import Selection
from lake.schemas.current import CLUSTER_STATUS
from tests import alert_of

NOW = datetime.fromtimestamp(2000.0, UTC)
WARNING, INFO = AlertSeverity.WARNING, AlertSeverity.INFO


def broken(name: str, began: float = 1900.0, **given: Any) -> Alert:
    labels = {"cluster": "c", "group": name}
    of_all = {"fingerprint": name, "labels": labels, "what": name}
    return alert_of.alert(started_at=began, **of_all | given)


LOST = broken("archive loses data", 1000.0, check="losing_data")
NEW = broken("new")
WATCHED, MORE = (broken(name, severity=WARNING) for name in ("watched", "more"))
NOTE = broken("note", severity=INFO)
BY = Acknowledgement(alert=LOST.id, author="ana", comment="", at=1950.0)


def listed(*given: Alert, acknowledged: frozenset[str] = frozenset()) -> list[Incident]:
    return in_order(incidents(given), NOW, acknowledged)


@pytest.mark.parametrize(
    ("acknowledged", "said"),
    [
        pytest.param((), "archive loses data. 2 things need you now, 2 to watch", id="nothing"),
        pytest.param(
            (LOST,), "new. 1 thing needs you now, 1 looked after, 2 to watch", id="the first"
        ),
        pytest.param((LOST, NEW), "Nothing needs you now, 2 looked after, 2 to watch", id="urgent"),
        pytest.param(
            (MORE, NOTE),
            "archive loses data. 2 things need you now, 1 looked after, 1 to watch",
            id="to watch",
        ),
        pytest.param(
            (LOST, NEW, WATCHED, MORE), "Nothing needs you now, 4 looked after", id="everything"
        ),
    ],
)
def test_what_somebody_looks_after_is_counted_as_that_and_leads_no_headline(
    acknowledged: tuple[Alert, ...], said: str
) -> None:
    ids = frozenset(one.id for one in acknowledged)
    found = listed(LOST, NEW, WATCHED, MORE, NOTE, acknowledged=ids)
    assert needs(found, ids) == said
    there = elsewhere(found, ids)
    assert there.startswith("In other clusters: ")
    assert said.lower().endswith(there.removeprefix("In other clusters: ").removesuffix(". "))


def test_it_comes_after_what_is_as_bad_and_nobody_looks_after() -> None:
    broker = broken("broker", check="broker_missing")
    ids = frozenset({broker.id, MORE.id})
    assert [one.cause.what for one in listed(broker, NEW, MORE, WATCHED, acknowledged=ids)] == [
        *("new", "broker", "watched", "more")
    ]
    assert listed(broker, NEW)[0].cause is broker


def test_what_needs_nobody_is_counted_as_what_it_is() -> None:
    may_fire, mends = broken("p", state=State.PENDING), broken("m", recovering_since=1990.0)
    ids = frozenset({may_fire.id, mends.id})
    assert numbers(listed(may_fire, mends), ids) == "Nothing needs you now, 1 pending"


def test_who_looks_after_what_goes_on_of_a_cause_that_is_over_looks_after_the_incident() -> None:
    over = broken("cause", state=State.RESOLVED, resolved_at=1950.0)
    (one,) = listed(over, broken("symptom", inhibited_by="cause"))
    assert one.lead.what == "symptom"
    for id_ in (one.lead.id, over.id):
        assert numbers([one], {id_}) == "Nothing needs you now, 1 looked after"
    assert numbers([one], {NEW.id}) == "1 thing needs you now"


def test_what_is_urgent_and_looked_after_is_seen_at_once() -> None:
    urgent = [broken(f"c{number}") for number in range(6)]
    watched = [broken(f"w{number}", severity=WARNING) for number in range(3)]
    ids = frozenset({urgent[0].id, watched[1].id})
    seen, rest = shown(listed(*urgent, *watched, acknowledged=ids))
    assert [one.cause.what for one in seen][-1] == "c0"
    assert len(seen) == 6
    assert folded(rest, ids) == "3 more: 1 looked after, 2 to watch"


def test_clusters_have_a_number_of_what_is_looked_after() -> None:
    status = pl.DataFrame([{"cluster": "c"}], schema=CLUSTER_STATUS.polars_schema)
    ids = frozenset({LOST.id, MORE.id})
    found = cluster_rows(["c"], status, listed(LOST, NEW, WATCHED, MORE), NOW, ids)
    assert found.select("act_now", "looked_after", "watch").rows() == [(1, 2, 1)]


def test_an_opened_row_leads_to_the_forms_that_the_viewer_may_use(view: View) -> None:
    given = [WATCHED, NEW, LOST]

    def offered(viewer: Viewer) -> dict[str, list[str]]:
        frame = replace(view, now=NOW, viewer=viewer)
        rows = items(listed(*given), frame, acknowledged={LOST.id: BY})
        offers: dict[str, list[str]] = {row.what: [] for row in rows}
        for row in rows:
            for each in row.acts:
                if each.page == routes.INCIDENT:
                    assert each.parameters["alert"] == row.id
                    offers[row.what].append(each.parameters["do"])
        return offers

    every = ["acknowledge", "silence"]
    assert offered(Viewer()) == {
        **{"new": every, "watched": every},
        "archive loses data": ["silence"],
    }
    role = RoleSettings(name="team", values=["x"], operator=True, groups=Selection(include=["new"]))
    none = {"watched": [], "archive loses data": []}
    assert offered(Viewer(name="n", roles=(role,))) == {"new": every, **none}
    shows = role.model_copy(update={"operator": False})
    assert offered(Viewer(name="n", roles=(shows,))) == {"new": [], **none}
