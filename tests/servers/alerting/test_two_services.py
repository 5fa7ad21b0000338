"""Two alerting services on one lake, each with its own disk: one works, the other takes over."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
import yaml

from alerting.notify.shared_state import read_state
from alerting.service import SERVICE
from config.load import load
from config.settings import LakeSettings, Settings
from lake.schemas.tables import BROKERS, COLLECTIONS
from lake.storage.store import Lake
from tests.servers.alerting.receiver import Receiver
from tests.servers.s3.server import S3Server
from tests.support import eventually

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture(params=["folder", "object store"])
def shared_lake(request: pytest.FixtureRequest, tmp_path: Path) -> LakeSettings:
    if request.param == "folder":
        return LakeSettings(uri=str(tmp_path / "lake"))
    s3: S3Server = request.getfixturevalue("s3")
    return s3.bucket("two-services")


@pytest.fixture
def configured(
    shared_lake: LakeSettings, tmp_path: Path, receiver: Receiver
) -> Callable[[str], Path]:
    """Return a function that writes the configuration of one machine."""
    options: dict[str, object] = {}
    for key, value in shared_lake.plain_storage_options().items():
        (tmp_path / key).write_text(value)
        options[key] = {"file": str(tmp_path / key)}

    def write(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "rules.yaml").write_text("rules: {BrokerMissing: {for: 0s}}")
        content = {
            "clusters": [{"name": "one", "bootstrap_servers": "localhost:1"}],
            "lake": {"uri": shared_lake.uri, "storage_options": options},
            "alerting": {
                "state": "own/alerts.sqlite",
                "shared": True,
                "rules": "rules.yaml",
                "evaluate_seconds": 1,
                "targets": [{"name": "hook", "kind": "webhook", "url": receiver.url}],
            },
        }
        path = folder / "headroom.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    return write


@pytest.fixture
def start(configured: Callable[[str], Path], tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts the service of one machine."""
    started: list[subprocess.Popen[bytes]] = []

    def run(name: str) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", "alerting", "run", "--config", configured(name)]
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait(timeout=20)


def poll(lake: LakeSettings) -> None:
    """Write a poll in which broker 2 is missing."""
    row = {"cluster": "one", "observed_at": datetime.now(UTC), "poll_id": str(time.time())}
    sections = ("brokers", "partitions", "groups", "group_offsets")
    done = {**row, "source": "kafka", "status": "ok", "interval_seconds": 15.0}
    store = Lake(lake)
    store.append(COLLECTIONS, pl.DataFrame([{**done, "section": name} for name in sections]))
    brokers = [
        {**row, "broker_id": number, "is_alive": number == 1, "is_controller": number == 1}
        for number in (1, 2)
    ]
    store.append(BROKERS, pl.DataFrame(brokers, schema_overrides={"broker_id": pl.Int32}))


def evaluated_at(settings: Settings) -> float:
    store = read_state(settings)
    said = None if store is None else store.noted(SERVICE)
    at = (said or {}).get("evaluated_at")
    return at if isinstance(at, float) else 0.0


def command(config: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "alerting", *arguments, "--config", str(config)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_second_service_goes_on_where_the_first_was_killed(
    shared_lake: LakeSettings,
    configured: Callable[[str], Path],
    start: Start,
    receiver: Receiver,
    tmp_path: Path,
) -> None:
    poll(shared_lake)
    first = start("first")
    eventually(lambda: receiver.received, what="message of the first service")
    second = start("second")
    log = tmp_path / "second.log"
    eventually(lambda: "waiting: another alerting job" in log.read_text(), what="wait")

    # A third machine asks; it has no state of its own.
    third = configured("third")
    said = command(
        third, *("silence", "rule=BrokerMissing", "--for", "1h"), "--author=ana", "--comment=x"
    )
    number = said.split()[1]
    assert number in command(third, "silence", "--list")
    settings = load(third)

    def taken() -> bool:
        store = read_state(settings)
        return (
            store is not None
            and evaluated_at(settings) > asked_at
            and [str(one.id) for one in store.silences()] == [number]
        )

    asked_at = time.time()
    eventually(taken, what="silence of the service")
    assert not (third.parent / "own").exists()

    keys = set(receiver.keys)
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=20)
    killed_at = time.time()
    poll(shared_lake)
    eventually(
        lambda: evaluated_at(settings) > killed_at + 1, timeout_seconds=90, what="second service"
    )
    assert "of the service that worked before" in log.read_text()
    store = read_state(settings)
    assert store is not None
    assert [str(one.id) for one in store.silences()] == [number]
    assert [one.rule for one in store.alerts().values() if one.rule == "BrokerMissing"]
    assert set(receiver.keys) == keys  # nobody is told again

    # The first comes back, and waits; its old file is replaced once it works.
    again = start("first")
    first_log = tmp_path / "first.log"
    eventually(lambda: "waiting: another alerting job" in first_log.read_text(), what="wait")
    second.send_signal(signal.SIGTERM)
    assert second.wait(timeout=30) == 0
    ended_at = time.time()
    eventually(
        lambda: evaluated_at(settings) > ended_at + 1, timeout_seconds=90, what="first service"
    )
    assert "of the service that worked before" in first_log.read_text()
    assert set(receiver.keys) == keys
    again.send_signal(signal.SIGTERM)
    assert again.wait(timeout=30) == 0
