"""Messages reach real receivers once, whatever happens on the way."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx
import polars as pl
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler

from alerting.notify.notifications import Notification, NotificationKind
from alerting.notify.sender import Sender
from alerting.notify.store import AlertStore
from alerting.notify.targets.alertmanager import AlertmanagerTarget
from alerting.notify.targets.registry import make_target
from alerting.notify.targets.webhook import signature
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from alerting.service import AlertingService
from config.alerting import TargetSettings
from config.settings import Settings
from lake.schemas.tables import BROKERS, COLLECTIONS
from lake.storage.store import Lake
from runtime.processes import free_ports
from runtime.spawning import nameless_main
from tests.selection import exhaustive
from tests.servers.alerting import alerting_killed
from tests.servers.alerting.receiver import Receiver, receiving
from tests.support import eventually, unavailable

SECRET = "the-secret-of-the-hook"  # noqa: S105 (a test's)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    made = AlertStore(tmp_path / "alerts.sqlite")
    yield made
    made.close()


@pytest.fixture
def run_sender(
    store: AlertStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Sender]]:
    """Start the thread of a target; it ends with the test."""
    started: list[Sender] = []
    monkeypatch.setenv("HOOK_SECRET", SECRET)

    def start(**options: object) -> Sender:
        settings = TargetSettings.model_validate({"name": "t", "kind": "webhook", **options})
        sender = Sender(settings, make_target(settings, "http://dash:8501"), store)
        sender.start()
        started.append(sender)
        return sender

    yield start
    for sender in started:
        sender.stop()


def alert(name: str = "payments", state: State = State.FIRING, at: float | None = None) -> Alert:
    began = time.time() - 120 if at is None else at
    return Alert(
        fingerprint=f"fingerprint-{name}",
        rule="GroupStalled",
        check="stalled",
        severity=AlertSeverity.CRITICAL,
        labels={"cluster": "production", "group": name},
        state=state,
        started_at=began,
        last_true_at=began,
        fired_at=began,
        resolved_at=time.time() if state is State.RESOLVED else None,
        what=f"{name} stalled",
        detail="No commit for 2 min with 1,204 messages waiting.",
        cause="A message that the handler cannot get past.",
        step="Look at the handler's log.",
        page="group",
        runbook="https://wiki/stalled",
    )


def notification(
    *alerts: Alert, kind: NotificationKind = NotificationKind.FIRING, key: str = "key-1"
) -> Notification:
    firing = tuple(one for one in alerts if one.state is State.FIRING)
    resolved = tuple(one for one in alerts if one.state is State.RESOLVED)
    return Notification(
        key=key,
        group="production/GroupStalled",
        kind=kind,
        at=time.time(),
        severity=AlertSeverity.CRITICAL,
        firing=firing,
        resolved=resolved,
        inhibited=(alert("held"),),
    )


def health(store: AlertStore) -> tuple[int, int, int]:
    (found,) = store.health()
    return found.sent, found.waiting, found.failed


def test_a_webhook_is_signed_and_says_all_that_a_person_needs(
    store: AlertStore, receiver: Receiver, run_sender: Callable[..., Sender]
) -> None:
    store.queue(notification(alert()), ["t"], time.time())
    run_sender(url=receiver.url, secret={"env": "HOOK_SECRET"})
    eventually(lambda: health(store) == (1, 0, 0), what="delivery")
    (one,) = receiver.received
    stamp = one.headers["X-Headroom-Timestamp"]
    assert one.headers["X-Headroom-Signature"] == signature(SECRET, stamp, one.content)
    assert one.headers["X-Headroom-Signature"] != signature("other", stamp, one.content)
    assert one.headers["Idempotency-Key"] == one.body["key"] == "key-1"
    text = one.body["text"]
    for part in (
        "What: payments stalled",
        "Where: cluster production, group payments",
        "Since: 20",
        "How bad: critical. No commit for 2 min with 1,204 messages waiting.",
        "Likely cause: A message that the handler cannot get past.",
        "Next step: Look at the handler's log.",
        "Runbook: https://wiki/stalled",
        "See: http://dash:8501/group?cluster=production&range=1h&group=payments",
        "held stalled",
    ):
        assert part in text
    assert SECRET not in one.content.decode()


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_what_a_target_refuses_is_tried_again_until_it_takes_it(
    store: AlertStore, receiver: Receiver, run_sender: Callable[..., Sender], status: int
) -> None:
    receiver.answers = [status]
    store.queue(notification(alert()), ["t"], time.time())
    run_sender(url=receiver.url)
    eventually(lambda: store.health()[0].attempts == 1, what="the first attempt")
    assert str(status) in (store.health()[0].answer or "")
    eventually(lambda: health(store) == (1, 0, 0), what="delivery")
    assert receiver.keys == ["key-1"]


def test_a_target_that_asks_to_wait_is_left_alone(
    store: AlertStore, receiver: Receiver, run_sender: Callable[..., Sender]
) -> None:
    receiver.answers, receiver.headers = [429], {"Retry-After": "600"}
    now = time.time()
    store.queue(notification(alert()), ["t"], now)
    run_sender(url=receiver.url)
    eventually(lambda: store.health()[0].attempts == 1, what="the first attempt")
    assert store.due("t", now + 500) is None
    assert store.due("t", now + 700) is not None


def test_a_target_that_is_down_or_slow_is_told_so_and_never_by_its_address(
    store: AlertStore, receiver: Receiver, run_sender: Callable[..., Sender]
) -> None:
    receiver.delay_seconds = 3.0
    store.queue(notification(alert()), ["t"], time.time())
    run_sender(url=receiver.url, timeout_seconds=0.2)
    eventually(lambda: store.health()[0].attempts, what="the first attempt")
    assert store.health()[0].answer == "no answer within 0.2 s"


def test_a_secret_in_an_address_reaches_no_answer_and_no_log(
    store: AlertStore,
    run_sender: Callable[..., Sender],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (port,) = free_ports(1)
    monkeypatch.setenv("ADDRESS", f"http://127.0.0.1:{port}/token-of-mine")
    store.queue(notification(alert()), ["t"], time.time())
    run_sender(address={"env": "ADDRESS"})
    eventually(lambda: store.health()[0].attempts, what="the first attempt")
    assert store.health()[0].answer == "cannot be reached: ConnectError"
    assert "token-of-mine" not in caplog.text


def test_no_more_messages_than_the_target_may_get(
    store: AlertStore, receiver: Receiver, run_sender: Callable[..., Sender]
) -> None:
    for number in range(5):
        store.queue(notification(alert(), key=f"key-{number}"), ["t"], time.time())
    sender = run_sender(url=receiver.url, max_per_minute=2)
    eventually(lambda: health(store) == (2, 3, 0), what="two messages")
    sender.step(time.time())
    assert health(store) == (2, 3, 0)
    assert receiver.keys == ["key-0", "key-1"]


def test_mail_arrives_through_apprise(
    store: AlertStore, run_sender: Callable[..., Sender], monkeypatch: pytest.MonkeyPatch
) -> None:
    mails = []

    class Handler(MessageHandler):
        def handle_message(self, message: object) -> None:
            mails.append(message)

    (port,) = free_ports(1)
    controller = Controller(Handler(), hostname="127.0.0.1", port=port)
    controller.start()
    try:
        monkeypatch.setenv(
            "MAIL",
            f"mailto://127.0.0.1:{port}?from=headroom@example.com&to=ops@example.com&mode=insecure",
        )
        store.queue(notification(alert()), ["t"], time.time())
        run_sender(kind="apprise", address={"env": "MAIL"})
        eventually(lambda: health(store) == (1, 0, 0), what="delivery")
    finally:
        controller.stop()
    (mail,) = mails
    assert mail["Subject"] == "[CRITICAL] payments stalled (production)"
    assert mail["To"].endswith("ops@example.com")
    assert "Next step: Look at the handler's log." in mail.as_string().replace("=\n", "")


def test_a_mail_server_that_is_down_is_told_without_its_address(
    store: AlertStore, run_sender: Callable[..., Sender], monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports(1)
    monkeypatch.setenv(
        "MAIL", f"mailto://u:{SECRET}@127.0.0.1:{port}?from=a@example.com&to=o@example.com"
    )
    store.queue(notification(alert()), ["t"], time.time())
    run_sender(kind="apprise", address={"env": "MAIL"})
    eventually(lambda: store.health()[0].attempts, what="the first attempt")
    answer = store.health()[0].answer or ""
    assert "did not take it" in answer
    assert SECRET not in answer


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
    for target in targets:
        target.send(notification(alert(at=began)))
    for target in targets:
        assert isinstance(target, AlertmanagerTarget)
        target.refresh([alert(at=began)])
    eventually(lambda: receiver.received, what="a page")
    (found,) = httpx.get(f"{alertmanager}/api/v2/alerts").json()
    assert found["labels"] == {
        "alertname": "GroupStalled",
        "severity": "critical",
        "cluster": "production",
        "group": "payments",
        "monitor": "headroom",
    }
    assert datetime.fromisoformat(found["startsAt"]).timestamp() == pytest.approx(began, abs=0.01)
    assert found["generatorURL"].startswith("http://dash:8501/group?cluster=production")
    assert found["annotations"]["next_step"] == "Look at the handler's log."
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
