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


def test_a_look_back_leaves_out_what_was_over_before_and_what_began_later(
    view: View, tmp_path: Path
) -> None:
    store = AlertStore(tmp_path / "alerts.sqlite")
    alerts = (
        alert("older", 1000.0, 1020.0),
        alert("over", 1000.0, 1100.0),
        alert("open", 1000.0),
        alert("later", 1210.0),
    )
    store.save("c", {one.fingerprint: one for one in alerts}, {}, [], 1220.0)
    found = VisibleAlerts(view, store).around(1050.0, 1200.0, ["c", "rabbit"])
    store.close()
    assert sorted(one.what for one in found) == ["open", "over"]
