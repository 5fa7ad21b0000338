"""An acknowledgement that is taken back: its alert is as if nobody had acknowledged it."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerting.notify.notifications import NotificationIntervals, NotificationKind, plan
from alerting.notify.store import AlertStore
from alerting.rules.matchers import Acknowledgement, TakenBack
from tests.unit.alerting.notify.storing import damage, step

ANA = Acknowledgement(alert="a", author="ana", comment="the disk", at=100.25)


def acknowledge(store: AlertStore, one: Acknowledgement = ANA) -> None:
    store.acknowledge(one.alert, author=one.author, comment=one.comment, now=one.at)


def take_back(store: AlertStore, at: float = ANA.at, *, author: str = " ben ") -> bool:
    return store.take_back("a", acknowledged_at=at, author=author, now=200.0)


def test_it_is_gone_and_who_took_it_back_is_kept(store: AlertStore) -> None:
    acknowledge(store)
    assert take_back(store)
    assert store.acknowledgements() == {}
    assert store.taken_back() == [TakenBack(acknowledgement=ANA, by="ben", at=200.0)]


def test_it_is_taken_back_once(store: AlertStore) -> None:
    acknowledge(store)
    assert [take_back(store), take_back(store), take_back(store, 99.0)] == [True, False, False]
    (one,) = store.taken_back()
    assert one.by == "ben"


def test_one_that_came_meanwhile_stays(store: AlertStore) -> None:
    """Another browser still shows the first one."""
    acknowledge(store)
    acknowledge(store, Acknowledgement(alert="a", author="eve", comment="", at=150.0))
    assert not take_back(store)
    assert store.acknowledgements()["a"].author == "eve"
    assert store.taken_back() == []


def test_it_can_be_acknowledged_and_taken_back_again(store: AlertStore) -> None:
    acknowledge(store)
    assert take_back(store)
    acknowledge(store)
    assert store.acknowledgements() == {}, "the first request is applied once more"
    acknowledge(store, Acknowledgement(alert="a", author="ana", comment="", at=300.0))
    assert store.acknowledgements()["a"].at == 300.0
    assert take_back(store, 300.0, author="ana")
    assert [one.by for one in store.taken_back()] == ["ben", "ana"]


def test_somebody_must_take_it_back(store: AlertStore) -> None:
    acknowledge(store)
    with pytest.raises(ValueError, match="who takes"):
        take_back(store, author=" ")
    assert "a" in store.acknowledgements()


def test_an_alert_is_repeated_again(store: AlertStore) -> None:
    step(store, 100.0, "billing")
    (alert,) = store.alerts().values()
    acknowledge(store, Acknowledgement(alert=alert.id, author="ana", comment="", at=110.0))

    def repeated(now: float) -> list[NotificationKind]:
        acknowledged = store.acknowledgements()
        found, _ = plan(
            store.alerts("c"),
            store.notified("c"),
            now,
            NotificationIntervals(repeat_interval_seconds=3600.0),
            is_acknowledged=lambda one: one.id in acknowledged,
        )
        return [one.kind for one in found]

    assert repeated(3800.0) == []
    assert store.take_back(alert.id, acknowledged_at=110.0, author="ana", now=120.0)
    assert repeated(3600.0) == []
    assert repeated(3800.0) == [NotificationKind.REPEAT]


def test_it_is_forgotten_with_its_alert(store: AlertStore) -> None:
    step(store, 100.0, "billing")
    (alert,) = store.alerts().values()
    for id_ in (alert.id, "another"):
        acknowledge(store, Acknowledgement(alert=id_, author="ana", comment="", at=110.0))
        assert store.take_back(id_, acknowledged_at=110.0, author="ana", now=120.0)
    store.forget(1000.0)
    assert [one.acknowledgement.alert for one in store.taken_back()] == [alert.id]


def test_a_store_of_before_keeps_what_it_has(store: AlertStore, tmp_path: Path) -> None:
    acknowledge(store)
    damage(tmp_path, "DROP TABLE taken_back")
    copy = store.copy()
    for again in (AlertStore.of_copy(copy), AlertStore(tmp_path / "alerts.sqlite")):
        assert again.acknowledgements() == {"a": ANA}
        assert take_back(again)
        assert len(again.taken_back()) == 1
        again.close()
    assert len(store.taken_back()) == 1, "who had it open works on"
