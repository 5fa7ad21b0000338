"""Messages reach real receivers once, whatever happens on the way."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import polars as pl
import pytest

from alerting.notify.notifications import NotificationKind
from alerting.notify.store import AlertStore
from alerting.notify.targets.alertmanager import AlertmanagerTarget
from alerting.notify.targets.registry import make_target
from alerting.rules.lifecycle import State
from alerting.service import AlertingService
from config.alerting import TargetSettings
from config.settings import Settings
from lake.schemas.tables import BROKERS, COLLECTIONS
from lake.storage.store import Lake
from runtime.processes import free_ports
from runtime.spawning import nameless_main
from tests.selection import exhaustive
from tests.servers.alerting import alerting_killed
from tests.servers.alerting.messages import alert, health, notification
from tests.servers.alerting.receiver import Receiver, receiving
from tests.support import eventually, unavailable


@pytest.fixture
def alertmanager(tmp_path: Path, receiver: Receiver) -> Iterator[str]:
    """A real Alertmanager that sends to the receiver; yields its address."""
    program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        unavailable("prometheus-alertmanager is not installed")
    config = tmp_path / "alertmanager.yml"
    config.write_text(
        "route: {receiver: hook, group_by: [alertname], group_wait: 1s, group_interval: 1s, "
        "repeat_interval: 1h}\n"
        f"receivers: [{{name: hook, webhook_configs: [{{url: '{receiver.url}'}}]}}]\n"
    )
    (port,) = free_ports(1)
    with (tmp_path / "alertmanager.log").open("w") as log:
        process = subprocess.Popen(
            [
                program,
                f"--config.file={config}",
                f"--storage.path={tmp_path / 'alertmanager'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--cluster.listen-address=",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        assert process.poll() is None, (tmp_path / "alertmanager.log").read_text()
        try:
            return httpx.get(f"{url}/-/ready", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    try:
        eventually(ready, what="a ready Alertmanager")
        yield url
    finally:
        process.terminate()
        process.wait(20)


def test_two_instances_page_once_through_alertmanager_and_resolve(
    tmp_path: Path, receiver: Receiver, alertmanager: str
) -> None:
    settings = TargetSettings(name="t", kind="alertmanager", url=alertmanager)
    targets = [make_target(settings, "http://dash:8501") for _ in range(2)]
    began = time.time() - 60
    lines = ["Lag, last hour: ▁▂█ 1 → 9 messages", "Changed before: 09:55 rebalance"]
    noted = {alert(at=began).id: tuple(lines)}
    for target in targets:
        target.send(replace(notification(alert(at=began)), notes=noted))
    for target in targets:
        assert isinstance(target, AlertmanagerTarget)
        target.refresh([alert(at=began)])
    eventually(lambda: receiver.received, what="a page")
    (found,) = httpx.get(f"{alertmanager}/api/v2/alerts").json()
    # They outlast being sent again, and reach whom Alertmanager tells.
    (told,) = receiver.received[0].body["alerts"]
    for said in (found["annotations"], told["annotations"]):
        assert said["notes"].splitlines() == lines
        assert said["next_step"] == "Look at the handler's log."
    assert found["labels"] == {
        "alertname": "GroupStalled",
        "severity": "critical",
        "cluster": "production",
        "group": "payments",
        "monitor": "headroom",
    }
    assert datetime.fromisoformat(found["startsAt"]).timestamp() == pytest.approx(began, abs=0.01)
    assert found["generatorURL"].startswith("http://dash:8501/group?cluster=production")
    for target in targets:
        target.send(
            notification(alert(state=State.RESOLVED, at=began), kind=NotificationKind.RESOLVED)
        )
    eventually(lambda: len(receiver.received) > 1, what="the resolution")
    # Alertmanager looks at its groups every second: a second page would come by then.
    until = time.monotonic() + 2.5
    eventually(lambda: time.monotonic() > until, what="the end of the watch")
    assert [one.body["status"] for one in receiver.received] == ["firing", "resolved"]
    assert [len(one.body["alerts"]) for one in receiver.received] == [1, 1]


@pytest.mark.parametrize("lives", [20, *exhaustive(100)])
def test_killed_again_and_again_nothing_is_lost_and_nothing_told_twice(
    tmp_path: Path, receiver: Receiver, lives: int
) -> None:
    """Given a process that evaluates and sends, when it gets SIGKILL again and again, half of
    them in the middle of a request, then each message has arrived, and under one key each."""
    all_ticks = lives * alerting_killed.TICKS_A_LIFE
    reference = AlertStore(tmp_path / "reference.sqlite")
    expected = [
        key for tick in range(all_ticks) for key in alerting_killed.evaluate_tick(reference, tick)
    ]
    reference.close()
    assert len(set(expected)) == len(expected) > 0.6 * lives
    path = tmp_path / "alerts.sqlite"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.servers.alerting.alerting_killed"])
    chance = random.Random(7)  # noqa: S311 (no secret)
    kills, in_request = 0, 0
    asked = threading.Event()
    receiver.on_request = lambda _: asked.set()
    for life in range(1, lives + 1):
        ticks = life * alerting_killed.TICKS_A_LIFE
        child = context.Process(target=alerting_killed.live, args=(str(path), receiver.url, ticks))
        asked.clear()
        with nameless_main():  # tests of pages leave a page in its place
            child.start()
        if kills % 2:
            in_request += asked.wait(20)
        else:
            child.join(chance.uniform(0.01, 0.12))
        assert child.exitcode is None
        child.kill()
        child.join(20)
        kills += 1
    assert in_request >= 0.4 * lives
    last = context.Process(
        target=alerting_killed.live,
        args=(str(path), receiver.url, all_ticks),
        kwargs={"to_the_end": True},
    )
    with nameless_main():
        last.start()
    last.join(120)
    assert last.exitcode == 0
    store = AlertStore(path)
    assert health(store) == (len(expected), 0, 0)
    store.close()
    assert set(receiver.keys) == set(expected)
    # A request that was answered and not yet noted down is made again with the same key, by which
    # the receiver knows it: at most one for each kill.
    assert len(receiver.keys) - len(expected) <= kills


def sampled(lake: Lake, at: datetime, *, broker_is_alive: bool) -> None:
    """Write what a poll of two brokers would have written."""
    rows = {"cluster": "c", "observed_at": at, "poll_id": at.isoformat()}
    sections = [
        {**rows, "source": "kafka", "section": name, "status": "ok", "interval_seconds": 5.0}
        for name in ("brokers", "partitions", "groups", "group_offsets")
    ]
    lake.append(COLLECTIONS, pl.DataFrame(sections))
    brokers = [
        {**rows, "broker_id": 1, "is_alive": True, "is_controller": True},
        {**rows, "broker_id": 2, "is_alive": broker_is_alive, "is_controller": False},
    ]
    lake.append(BROKERS, pl.DataFrame(brokers, schema_overrides={"broker_id": pl.Int32}))


def test_the_service_pages_through_a_hanging_target_and_a_good_one(
    tmp_path: Path, receiver: Receiver
) -> None:
    """Given a target that hangs, then evaluation goes on and the other target is notified."""
    with receiving() as hanging:
        hanging.delay_seconds = 8.0
        settings = Settings.model_validate(
            {
                "clusters": [{"name": "c", "bootstrap_servers": "localhost:1"}],
                "lake": {"uri": str(tmp_path / "lake")},
                "alerting": {
                    "state": str(tmp_path / "alerts.sqlite"),
                    "evaluate_seconds": 1,
                    "targets": [
                        {"name": "hangs", "kind": "webhook", "url": hanging.url},
                        {"name": "good", "kind": "webhook", "url": receiver.url},
                    ],
                },
            }
        )
        lake = Lake(settings.lake)
        service = AlertingService(settings)
        thread = threading.Thread(target=service.run)
        thread.start()
        try:
            sampled(lake, datetime.now(UTC), broker_is_alive=False)
            eventually(lambda: receiver.received, what="the page")
            evaluated: Sequence[object] = []

            def goes_on() -> bool:
                nonlocal evaluated
                noted = service.store.noted("service") or {}
                evaluated = [*evaluated, noted.get("evaluated_at")]
                return len(set(evaluated)) >= 4

            eventually(goes_on, what="evaluations while a target hangs")
        finally:
            service.stop()
            thread.join(30)
    body = receiver.received[0].body
    assert (body["group"], body["severity"]) == ("c/BrokerMissing", "critical")
    assert body["firing"][0]["what"] == "Broker 2 is missing"
    assert not thread.is_alive()
