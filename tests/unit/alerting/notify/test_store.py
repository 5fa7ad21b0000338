"""The alert store and the outbox."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from alerting.checks.model import Observation
from alerting.errors import DeliveryError, StoreError
from alerting.notify.json_codec import alert_from_json, alert_to_dict
from alerting.notify.notifications import Notification, NotificationIntervals, plan
from alerting.notify.outbox import free_at, pause_seconds
from alerting.notify.sender import Sender
from alerting.notify.store import AlertStore
from alerting.notify.store_schema import VERSION
from alerting.rules.lifecycle import State, Told, Worst, advance
from alerting.rules.model import evaluate
from config.alerting import TargetSettings
from tests.alert_of import alert
from tests.unit.alerting.notify.storing import RULES, damage, step, stopped


class Heard:
    """A target that remembers, and fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.notifications: list[Notification] = []

    def send(self, notification: Notification) -> str:
        if self.failures:
            self.failures -= 1
            raise DeliveryError("HTTP 503")
        self.notifications.append(notification)
        return "HTTP 200"


def sender(store: AlertStore, target: Heard, **options: object) -> Sender:
    settings = TargetSettings.model_validate(
        {"name": "t", "kind": "webhook", "url": "http://localhost", **options}
    )
    return Sender(settings, target, store)


def test_what_is_written_is_read_again(store: AlertStore, tmp_path: Path) -> None:
    assert step(store, 100.0, "a", "b") == 1
    other = AlertStore(tmp_path / "alerts.sqlite")
    assert other.alerts() == store.alerts()
    assert {alert.state for alert in other.alerts().values()} == {State.FIRING}
    assert list(other.notified("c")) == ["c/GroupStopped"]
    delivery = other.due("t", 100.0)
    assert delivery is not None
    assert [alert.what for alert in delivery.notification.firing] == ["a stopped", "b stopped"]
    other.close()


def test_what_was_said_before_it_was_mended_is_read_again(store: AlertStore) -> None:
    step(store, 100.0, "a")
    (alert,) = store.alerts().values()
    was = Told(until=100.0, severity=alert.severity, what="a stopped", detail="é", step="Start.")
    worst = Worst(at=90.0, value=7.0, detail="é was worse")
    mended = replace(alert, before_mending=was, worst=worst)
    assert alert_from_json(json.dumps(alert_to_dict(mended))) == mended


def test_history_keeps_what_was_resolved_and_forgets_what_is_old(store: AlertStore) -> None:
    for tick in range(6):
        step(store, tick * 30.0, *(["a"] if tick < 2 else []))
    assert [alert.state for alert in store.history(0.0)] == [State.RESOLVED]
    step(store, 10_000.0)
    assert store.alerts() == {}
    assert len(store.history(0.0)) == 1
    store.forget(9_000.0)
    assert store.history(0.0) == []


def test_symptoms_that_never_fired_are_a_history_of_their_own(store: AlertStore) -> None:
    fired = alert(fingerprint="cause", fired_at=1000.0, resolved_at=1100.0)
    never = alert(fingerprint="symptom", resolved_at=1090.0, inhibited_by="cause")
    store.save("c", {one.fingerprint: one for one in (fired, never)}, {}, [], 1100.0)
    assert store.history(0.0, "c") == [fired]
    assert store.history(0.0, "c", never_fired=True) == [never]


def test_what_fires_after_it_was_pending_is_of_the_history_of_what_fired(store: AlertStore) -> None:
    pending = alert(state=State.PENDING)
    for seen in (pending, replace(pending, state=State.FIRING, fired_at=1060.0)):
        store.save("c", {seen.fingerprint: seen}, {}, [], 1060.0)
    assert store.history(0.0, "c") == [seen]
    assert store.history(0.0, "c", never_fired=True) == []


def test_a_notice_is_queued_once_however_often_it_is_saved(store: AlertStore) -> None:
    alerts = advance({}, evaluate(RULES, stopped("a")), {}, 1.0)
    notifications, notified = plan(alerts, {}, 1.0, NotificationIntervals())
    for _ in range(3):
        store.save(
            "c", alerts, notified, [(notification, ["t"]) for notification in notifications], 1.0
        )
    (health,) = store.health()
    assert health.waiting == 1


def test_a_target_that_fails_is_tried_again_later_and_in_order(store: AlertStore) -> None:
    target = Heard(failures=2)
    send = sender(store, target, give_up_after_seconds=1e12)
    step(store, 1000.0, "a")
    for tick in range(3):
        step(store, 1060.0 + tick * 30)
    now = 2000.0
    for _ in range(200):
        send.step(now)
        now += 1.0
    # Pauses are counted from the machine's clock, which is far later than this test's.
    assert [health.attempts for health in store.health()] == [1]
    for _ in range(4):
        send.step(4e9)
    assert [notification.kind.value for notification in target.notifications] == [
        "firing",
        "resolved",
    ]
    (health,) = store.health()
    assert (health.sent, health.waiting, health.failed) == (2, 0, 0)


def test_a_message_that_is_not_taken_holds_up_only_its_own_group(store: AlertStore) -> None:
    target = Heard(failures=1)
    send = sender(store, target, give_up_after_seconds=1e12)
    step(store, 1.0, "a")
    send.step(1.0)
    other = Observation(
        check="broker_missing", labels={"cluster": "c", "broker": "2"}, value=1.0, what="broker"
    )
    alerts = advance(store.alerts("c"), evaluate(RULES, [other]), {}, 2.0)
    notifications, notified = plan(alerts, store.notified("c"), 2.0, NotificationIntervals())
    store.save(
        "c", alerts, notified, [(notification, ["t"]) for notification in notifications], 2.0
    )
    send.step(2.0)
    assert [notification.group for notification in target.notifications] == ["c/BrokerMissing"]


def test_a_message_is_given_up_at_last_and_told_so(store: AlertStore) -> None:
    send = sender(store, Heard(failures=9), give_up_after_seconds=60)
    step(store, 1.0, "a")  # queued long ago, by the machine's clock
    send.step(2.0)
    (health,) = store.health()
    assert (health.failed, health.waiting, health.answer) == (1, 0, "HTTP 503")


def test_no_more_than_the_rate_is_sent(store: AlertStore) -> None:
    assert free_at([10.0, 20.0], 2, 30.0) == 70.0
    assert free_at([10.0, 20.0], 3, 30.0) == 30.0
    assert free_at([10.0, 20.0], 2, 75.0) == 75.0


def test_pauses_grow_and_honour_what_the_target_asks_for() -> None:
    pauses = [pause_seconds(attempt) for attempt in range(1, 14)]
    assert 1.0 <= pauses[0] <= 2.5
    assert pauses[5] > 4 * pauses[0]
    assert max(pauses) <= 301 * 1.2
    assert pause_seconds(1, 120.0) == 120.0
    assert len({pause_seconds(3) for _ in range(20)}) > 1, "no jitter"


GARBAGE = [
    "{}",
    "garbage",
    "[]",
    "null",
    "CUT",
    '"\\ud800"',
    b"\xff\xfe",
    "STATE",
    "TIME",
    "FAR",
    "NOWHERE",
]


@pytest.mark.parametrize("body", GARBAGE)
def test_a_row_that_cannot_be_read_leaves_the_others(
    store: AlertStore, tmp_path: Path, caplog: pytest.LogCaptureFixture, body: str | bytes
) -> None:
    step(store, 100.0, "a")
    step(store, 130.0, "a", "b")
    (a, b) = sorted(store.alerts().values(), key=lambda alert: alert.what)
    damage(
        tmp_path,
        """UPDATE alerts SET body = CASE ?1 WHEN 'CUT' THEN substr(body, 1, 40)
        WHEN 'STATE' THEN json_set(body, '$.state', 'odd')
        WHEN 'TIME' THEN json_set(body, '$.started_at', 'soon')
        WHEN 'FAR' THEN json_set(body, '$.since', 1e300)
        WHEN 'NOWHERE' THEN json_remove(body, '$.labels.cluster')
        ELSE CAST(?1 AS TEXT) END WHERE id = ?2""",
        body,
        a.id,
    )
    for _ in range(3):
        assert list(store.alerts("c").values()) == [b]
        assert store.history(0.0) == [b]
    logged = [record for record in caplog.records if a.id in record.getMessage()]
    assert len(logged) == 1
    (line,) = store.unreadable(0.0)
    assert a.id in line
    step(store, 160.0, "a", "b")
    assert sorted(alert.what for alert in store.alerts().values()) == ["a stopped", "b stopped"]
    store.forget(1e9)


def test_what_was_told_and_cannot_be_read_leaves_the_others(
    store: AlertStore, tmp_path: Path
) -> None:
    step(store, 100.0, "a")
    damage(tmp_path, "INSERT INTO notified (name, cluster, body) VALUES ('c/Odd', 'c', '{}')")
    damage(tmp_path, "UPDATE notified SET cluster = 'other' WHERE name = 'c/GroupStopped'")
    assert store.notified("c") == {}
    assert len(store.unreadable(0.0)) == 1
    step(store, 130.0, "a")
    assert list(store.notified("c")) == ["c/GroupStopped"]


@pytest.mark.parametrize("body", ["{}", "garbage", b"\xff"])
def test_a_message_that_cannot_be_read_is_given_up_and_holds_up_no_other(
    store: AlertStore, tmp_path: Path, body: str | bytes
) -> None:
    target = Heard()
    send = sender(store, target)
    step(store, 100.0, "a")
    damage(tmp_path, "UPDATE notifications SET body = CAST(? AS TEXT)", body)
    assert store.has_open("c/GroupStopped")
    for tick in range(3):
        step(store, 160.0 + tick * 60)
    while send.step(4e9):
        pass
    assert [notification.kind.value for notification in target.notifications] == ["resolved"]
    (health,) = store.health()
    assert (health.sent, health.waiting, health.failed) == (1, 0, 1)
    assert len(store.unreadable(0.0)) == 1


def test_a_fact_that_cannot_be_read_is_none(store: AlertStore, tmp_path: Path) -> None:
    store.note("service", {"rules": 1})
    damage(tmp_path, "UPDATE facts SET body = '[1'")
    assert store.noted("service") is None
    store.note("service", {"rules": 2})
    assert store.noted("service") == {"rules": 2}


@pytest.mark.parametrize("version", [0, VERSION + 1])
def test_a_store_of_another_version_is_one_line_that_says_what_to_do(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "alerts.sqlite"
    AlertStore(path).close()
    damage(tmp_path, f"PRAGMA user_version={version}")
    before = path.read_bytes()
    with pytest.raises(StoreError) as error:
        AlertStore(path)
    said = str(error.value)
    assert said.startswith(f"{path}: this alert store has version {version}, ")
    assert "move the file away" in said
    assert len(said.splitlines()) == 1
    assert path.read_bytes() == before


def test_a_file_that_is_no_store_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "alerts.sqlite"
    path.write_text("this is not a database, and long enough to be taken for a header" * 20)
    with pytest.raises(StoreError, match="cannot be opened"):
        AlertStore(path)


def test_four_that_open_a_new_store_at_once_all_get_it(tmp_path: Path) -> None:
    """The dashboard and the alerting process start together on an empty volume."""
    with ThreadPoolExecutor(4) as pool:
        for number in range(20):
            gate = threading.Barrier(4)

            def opened(path: Path, gate: threading.Barrier) -> None:
                gate.wait(10)
                AlertStore(path).close()

            path = tmp_path / f"{number}.sqlite"
            for future in [pool.submit(opened, path, gate) for _ in range(4)]:
                future.result(60)
