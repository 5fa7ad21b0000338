"""Which alerts a page that looks back reads from the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from alerting.notify.store import AlertStore
from alerting.rules.lifecycle import State
from app.data.alert_store import VisibleAlerts
from app.data.context import View
from tests.unit.app.ui.test_incidents import alert


def test_a_look_back_has_all_places_and_symptoms_that_have_not_fired(
    view: View, tmp_path: Path
) -> None:
    store = AlertStore(tmp_path / "alerts.sqlite")
    broker = alert("broker", 1000.0)
    pending = alert("topic", 1010.0, inhibited_by="broker", state=State.PENDING)
    queue = replace(alert("queue", 1000.0), labels={"cluster": "rabbit"})
    other = replace(alert("other", 1000.0), labels={"cluster": "west"})
    for cluster, alerts in (("c", [broker, pending]), ("rabbit", [queue]), ("west", [other])):
        store.save(cluster, {one.fingerprint: one for one in alerts}, {}, [], 1100.0)
    found = VisibleAlerts(view, store).around(900.0, 1200.0, ["c", "rabbit"])
    store.close()
    assert sorted(one.what for one in found) == ["broker", "queue", "topic"]


def test_what_is_over_is_found_beside_what_goes_on(view: View, tmp_path: Path) -> None:
    store = AlertStore(tmp_path / "alerts.sqlite")
    over, older = (
        replace(alert(name, 1000.0), state=State.RESOLVED, resolved_at=at)
        for name, at in (("over", 1100.0), ("older", 1020.0))
    )
    every = {one.fingerprint: one for one in (over, older, alert("open", 1000.0))}
    store.save("c", every, {}, [], 1100.0)
    found = VisibleAlerts(view, store).ended(1050.0, ["c", "rabbit"])
    store.close()
    assert [one.what for one in found] == ["over"]
