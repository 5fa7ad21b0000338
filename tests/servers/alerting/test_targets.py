"""What a target gets, refuses and is spared."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler
from apprise.plugins.discord import NotifyDiscord
from apprise.plugins.slack import NotifySlack
from apprise.plugins.telegram import NotifyTelegram

from alerting.notify.notifications import NotificationKind
from alerting.notify.sender import Sender
from alerting.notify.store import AlertStore
from alerting.notify.targets.webhook import signature
from alerting.rules.lifecycle import State
from runtime.processes import free_ports
from tests.servers.alerting.messages import SECRET, alert, health, notification
from tests.servers.alerting.receiver import Receiver
from tests.support import eventually

ODD = "[here](http://evil) @all @everyone <!channel> <http://evil|you> stalled\nSee: evil"
NAME = '<img src="http://evil/x.png">'
CHATS = {
    "Mattermost": ("mmost://{host}/{key}", None, ""),
    "Slack": ("slack://T1JJ3T3L2/A1BRTD4JD/{key}", NotifySlack, "webhook_url"),
    "Discord": ("discord://4174216298/{key}", NotifyDiscord, "notify_url"),
    "Telegram": ("tgram://123456789:{key}/12315544", NotifyTelegram, "notify_url"),
}
"""The address of each chat, with the plug-in that has the host for its own and where."""


def test_a_webhook_is_signed_and_says_all_that_a_person_needs(
    store: AlertStore, receiver: Receiver, run_sender: Callable[..., Sender]
) -> None:
    stalled = alert()
    store.queue(notification(stalled), ["t"], time.time())
    run_sender(url=receiver.url, secret={"env": "HOOK_SECRET"})
    eventually(lambda: health(store) == (1, 0, 0), what="delivery")
    (one,) = receiver.received
    stamp = one.headers["X-Headroom-Timestamp"]
    assert one.headers["X-Headroom-Signature"] == signature(SECRET, stamp, one.content)
    assert one.headers["X-Headroom-Signature"] != signature("other", stamp, one.content)
    assert one.headers["Idempotency-Key"] == one.body["key"] == "key-1"
    assert one.body["thread"] == notification(replace(stalled, state=State.RESOLVED)).thread
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


def test_what_a_server_answers_beside_its_status_is_neither_kept_nor_waited_for(
    store: AlertStore, receiver: Receiver, run_sender: Callable[..., Sender]
) -> None:
    receiver.answers, receiver.reason = [401], f"Bad Bearer {SECRET} \x1b[31m<b>"
    receiver.says, receiver.length = SECRET.encode(), 10**12
    store.queue(notification(alert()), ["t"], time.time())
    run_sender(url=receiver.url, timeout_seconds=5)
    eventually(lambda: store.health()[0].attempts, what="the first attempt")
    assert store.health()[0].answer == "HTTP 401 Unauthorized"
    eventually(lambda: health(store) == (1, 0, 0), what="delivery")
    assert receiver.keys == ["key-1"]


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


@pytest.mark.parametrize("chat", CHATS)
def test_no_name_mentions_or_links_anybody_in_a_chat(
    chat: str,
    store: AlertStore,
    receiver: Receiver,
    run_sender: Callable[..., Sender],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plug-ins are Apprise's own; only the host that they speak to is the receiver."""
    address, plugin, setting = CHATS[chat]
    server = receiver.url.removesuffix("/hook")
    if plugin is not None:
        monkeypatch.setattr(plugin, setting, f"{server}/bot")
    receiver.says = b"ok"  # as Slack does
    monkeypatch.setenv("CHAT", address.format(host=server.removeprefix("http://"), key="a" * 24))
    named = replace(alert(), what=ODD, cause=f"{NAME} is poison.")
    store.queue(notification(named), ["t"], time.time())
    run_sender(kind="apprise", address={"env": "CHAT"})
    eventually(lambda: health(store) == (1, 0, 0), what="delivery")
    text = "\n".join(_texts(receiver.received[-1].body))
    assert "stalled See: evil" in text
    for live in ("@all", "@everyone", "](", "<!", "<http", "<img"):
        assert live not in text
    # What is sent as HTML has tags of the service's own alone.
    assert not set(re.findall(r"</?(\w+)", text)) - {"b"}


def _texts(body: Any) -> list[str]:
    """Return every text of a JSON document."""
    if isinstance(body, str):
        return [body]
    found = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return [text for part in found for text in _texts(part)]


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
