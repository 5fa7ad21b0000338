"""Which alerts a page that looks back reads from the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from alerting.notify.store import AlertStore
from alerting.rules.lifecycle import State, Told, Worst
from app.data.alert_store import VisibleAlerts, acknowledged, looked_after
from app.data.context import View
from app.data.viewer import Viewer
from app.data.visible_lake import VisibleLake
from config.app import RoleSettings
from config.parts import Selection
from lake.schemas.current import GROUP_STATUS
from lake.storage.current_store import CurrentStore
from tests.unit.app.ui.test_incidents import WARNING, alert


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
    everywhere = VisibleAlerts(view, store).around(900.0, 1200.0)
    store.close()
    assert sorted(one.what for one in found) == ["broker", "queue", "topic"]
    assert sorted(one.what for one in everywhere) == ["broker", "other", "queue", "topic"]


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


def test_what_an_alert_said_before_names_nothing_that_is_hidden(view: View, tmp_path: Path) -> None:
    groups = [
        {"cluster": "east", "group": name, "status": "OK", "evaluated_at": view.now}
        for name in ("mine", "theirs")
    ]
    CurrentStore(view.settings.lake).replace_all(
        "east", {GROUP_STATUS: pl.DataFrame(groups, schema=GROUP_STATUS.polars_schema)}
    )
    role = RoleSettings(name="team", values=["*"], groups=Selection(include=["mine"]))
    viewer = Viewer(name="ana", roles=(role,))
    limited = replace(view, viewer=viewer, lake=VisibleLake(view.settings.lake, viewer))
    said = "mine waits for theirs"
    one = replace(
        alert("mine", 1000.0, labels={"cluster": "east", "group": "mine"}, detail=said),
        before_mending=Told(
            until=1050.0, severity=WARNING, what=said, detail=said, step=said, cause=said
        ),
        worst=Worst(at=1010.0, value=1.0, detail=said),
    )
    store = AlertStore(tmp_path / "alerts.sqlite")
    store.save("east", {one.fingerprint: one}, {}, [], 1100.0)
    (shown,) = VisibleAlerts(limited, store).alerts().values()
    store.close()
    told, worst = shown.before_mending, shown.worst
    assert told is not None and worst is not None
    assert {shown.detail, told.what, told.detail, told.step, told.cause, worst.detail} == {
        "mine waits for (hidden)"
    }


def test_a_time_with_more_alerts_than_are_read_at_once_is_cut_and_says_so(
    view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.data.alert_store.MOST_ALERTS", 2)
    store = AlertStore(tmp_path / "alerts.sqlite")
    alerts = [alert(str(number), 1000.0 + number, 1100.0) for number in range(3)]
    store.save("c", {one.fingerprint: one for one in alerts}, {}, [], 1220.0)
    seen = VisibleAlerts(view, store)
    assert len(seen.history(900.0, until=1001.0)) == 2 and not seen.is_cut
    assert [one.what for one in seen.history(900.0)] == ["2", "1"], "the newest"
    assert seen.is_cut
    back = VisibleAlerts(view, store)
    back.around(900.0, 1200.0, ["c"])
    store.close()
    assert back.is_cut


def test_who_looks_after_what_is_known_of_all_and_nobody_of_a_store_that_cannot_be_read(
    view: View, tmp_path: Path
) -> None:
    def stated(path: Path) -> View:
        alerting = view.settings.alerting.model_copy(update={"state": path, "shared": False})
        settings = view.settings.model_copy(update={"alerting": alerting})
        return replace(view, settings=settings, held={})

    path = tmp_path / "alerts.sqlite"
    assert looked_after(stated(path)) == frozenset(), "no service has run"
    one, other = alert("one", 1000.0), alert("other", 1000.0)
    store = AlertStore(path)
    for name in (one.id, other.id):
        store.acknowledge(name, author="ana", comment="", now=1100.0)
    assert looked_after(stated(path)) == {one.id, other.id}
    assert store.take_back(one.id, acknowledged_at=1100.0, author="ben", now=1200.0)
    assert looked_after(stated(path)) == {other.id}
    of_page = stated(path)
    before = looked_after(of_page)
    store.acknowledge(one.id, author="ana", comment="", now=1300.0)
    assert looked_after(of_page) == before == frozenset(acknowledged(of_page)), "one read a page"
    assert looked_after(stated(path)) == {one.id, other.id}
    assert store.take_back(one.id, acknowledged_at=1300.0, author="ben", now=1400.0)
    (*_, gone) = VisibleAlerts(view, store).taken_back([one, other])
    assert (gone.acknowledgement.alert, gone.by) == (one.id, "ben")
    assert VisibleAlerts(view, store).taken_back([other]) == []
    store.close()
    broken = tmp_path / "broken.sqlite"
    broken.write_text("this is no database " * 100)
    assert looked_after(stated(broken)) == frozenset()
