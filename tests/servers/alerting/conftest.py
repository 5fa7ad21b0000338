"""A receiver, an alert store, and senders to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alerting.notify.sender import Sender
from alerting.notify.store import AlertStore
from alerting.notify.targets.registry import make_target
from config.alerting import TargetSettings
from tests.servers.alerting.messages import SECRET
from tests.servers.alerting.receiver import Receiver, receiving


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
