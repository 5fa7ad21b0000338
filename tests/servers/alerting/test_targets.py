"""What a target gets, refuses and is spared."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler

from alerting.notify.notifications import NotificationKind
from alerting.notify.sender import Sender
from alerting.notify.store import AlertStore
from alerting.notify.targets.webhook import signature
from alerting.rules.lifecycle import State
from runtime.processes import free_ports
from tests.servers.alerting.messages import SECRET, alert, health, notification
from tests.servers.alerting.receiver import Receiver
from tests.support import eventually

ODD = "[here](http://evil) @all <!channel> <http://evil|you> stalled\nSee: evil"
NAME = '<img src="http://evil/x.png">'


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
        odd = replace(alert(), cause=f"{NAME} is poison.")
        noted = {odd.id: ("Lag, last hour: ▁▂█ 1 → 9 messages",)}
        store.queue(replace(notification(odd), notes=noted), ["t"], time.time())
        over = replace(odd, state=State.RESOLVED, resolved_at=time.time())
        end = notification(over, kind=NotificationKind.RESOLVED, key="key-2")
        store.queue(end, ["t"], time.time())
        other = alert("other")
        store.queue(notification(other, key="key-3"), ["t"], time.time())
        run_sender(kind="apprise", address={"env": "MAIL"})
        eventually(lambda: health(store) == (3, 0, 0), what="delivery")
    finally:
        controller.stop()
    mail, resolved, another = mails
    assert resolved["Subject"] == "[RESOLVED] payments stalled (production)"
    assert resolved["References"] == resolved["In-Reply-To"] == mail["References"]
    assert another["References"] != mail["References"]
    assert mail["Subject"] == "[CRITICAL] payments stalled (production)"
    assert mail["To"].endswith("ops@example.com")
    parts = {
        part.get_content_type(): part.get_payload(decode=True).decode()
        for part in mail.walk()
        if not part.is_multipart()
    }
    lines = parts.pop("text/plain", "").splitlines() or [
        html.unescape(line) for line in re.split(r"<br ?/?>|\n", parts["text/html"])
    ]
    assert "Next step: Look at the handler's log." in lines
    assert "Lag, last hour: ▁▂█ 1 → 9 messages" in lines
    assert f"Likely cause: {NAME} is poison." in lines
    assert "<img" not in parts.get("text/html", "")


def test_no_name_mentions_or_links_anybody_in_a_chat(
    store: AlertStore,
    receiver: Receiver,
    run_sender: Callable[..., Sender],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = receiver.url.removeprefix("http://").rstrip("/")
    monkeypatch.setenv("CHAT", f"mmost://{host.partition('/')[0]}/{'a' * 24}")
    named = replace(
        alert(), what="[here](http://evil) @all <!channel> <http://evil|you> stalled\nSee: evil"
    )
    store.queue(notification(named), ["t"], time.time())
    run_sender(kind="apprise", address={"env": "CHAT"})
    eventually(lambda: health(store) == (1, 0, 0), what="delivery")
    (one,) = receiver.received
    text = one.body["text"]
    assert "stalled See: evil" in text
    for live in ("@all", "](", "<!", "<http"):
        assert live not in text


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
