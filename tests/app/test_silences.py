"""What the pages of silences and incidents say of what is hidden, chosen or unreadable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.data import queries
from app.data.alert_store import VisibleAlerts
from lake.errors import LakeError
from tests.app.conftest import NOW, Open, store_of
from tests.app.test_pages import texts


def test_an_alert_of_a_maintenance_window_is_silenced_on_both_pages(
    open_page: Open, alarmed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VisibleAlerts, "is_quiet", lambda *_: True)
    said = texts(open_page(alarmed, "alerts"))
    found = re.search(r"(\d+) silenced", said)
    assert found is not None and int(found[1]) > 1
    assert f"{found[1]} of {found[1]} alerts that fire are silenced" in texts(
        open_page(alarmed, "silences")
    )


def test_the_silence_that_is_chosen_to_be_ended_stays_so_when_another_is_made(
    open_page: Open, alarmed: Path
) -> None:
    def made(group: str, minutes: int) -> None:
        store, at = store_of(alarmed), NOW.timestamp()
        ends = at + 60 * minutes
        store.silence([group], starts_at=at, ends_at=ends, author="ana", comment="x", now=at)
        store.close()

    made("group=a", 10)
    made("group=b", 20)
    test = open_page(alarmed, "silences")
    chooser = test.selectbox(key="silence-to-end")
    before = chooser.id
    chooser.select_index(1).run()
    chosen = test.selectbox(key="silence-to-end").value.id
    made("group=c", 30)
    chooser = test.run().selectbox(key="silence-to-end")
    assert len(chooser.options) == 3
    assert (chooser.id, chooser.value.id) == (before, chosen)


def test_changes_that_cannot_be_read_are_not_said_to_be_none(
    open_page: Open, alarmed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: Any) -> None:
        raise LakeError("cluster_events: cut short")

    monkeypatch.setattr(queries, "changes_between", unreadable)
    store = store_of(alarmed)
    alert = next(iter(store.alerts().values()))
    store.close()
    test = open_page(alarmed, "incident", alert=alert.id)
    assert "cluster\\_events cannot be read" in test.error[0].value
    assert "No change of the cluster was seen" not in texts(test)
