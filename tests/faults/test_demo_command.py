"""The demo as a user runs it: up, look, break, restore, end, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from alerting.lifecycle import Alert, active
from alerting.store import AlertStore
from config.load import load
from config.settings import LakeSettings
from demo.connect_part import ARCHIVE, EXPORT, UNREADABLE
from demo.rabbitmq import find_rabbitmq
from demo.workload.catalogue import PARCELS
from lake.schema import Table
from lake.store import Lake
from lake.tables import CONNECTORS, DEAD_LETTERS, QUEUES
from runtime.java import Java
from tests.support import eventually, unavailable

ROOT = Path(__file__).parents[2]
ABOUT = ("group", "broker", "connector", "name")
pytestmark = pytest.mark.kafka


def demo(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def processes_of(folder: Path) -> list[str]:
    """Command lines that name the folder, which all of a demo's processes do."""
    listed = subprocess.run(
        ["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
    )
    return [
        line
        for line in listed.stdout.splitlines()
        if str(folder) in line and line.split()[1][0] != "Z"
    ]


@dataclass
class Up:
    process: subprocess.Popen[str]
    folder: Path
    output: Path

    def status(self) -> dict[str, Any]:
        answer = demo("status", "--json", "--data", str(self.folder))
        assert answer.returncode == 0, answer.stderr
        found: dict[str, Any] = json.loads(answer.stdout)
        return found

    def fault(self, *arguments: str) -> str:
        answer = demo("fault", *arguments, "--data", str(self.folder))
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()


def start(folder: Path, *options: str) -> Up:
    output = folder.with_suffix(".out")
    with output.open("w") as handle:
        process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "demo", "up", "--no-dashboard", "--data", str(folder), *options),
            ],
            cwd=ROOT,
            stdout=handle,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    return Up(process, folder, output)


def wait_for(up: Up, text: str, seconds: float = 120) -> None:
    def there() -> bool:
        said = up.output.read_text()
        assert up.process.poll() is None, said
        return text in said

    eventually(there, timeout_seconds=seconds, what=f"{text!r} in {up.output.read_text()}")


@pytest.fixture(scope="module")
def running(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    up = start(tmp_path_factory.mktemp("demo-command") / "data")
    try:
        wait_for(up, "first lag in the lake")
        yield up
    finally:
        if up.process.poll() is None:
            up.process.kill()
        up.process.wait()


def seen(status: dict[str, Any], without: int) -> set[int]:
    servers = [
        f"127.0.0.1:{each['port']}" for each in status["brokers"] if each["broker"] != without
    ]
    admin = AdminClient({"bootstrap.servers": ",".join(servers), "log_level": 0})
    try:
        return set(admin.list_topics(timeout=5).brokers)
    except KafkaException:
        return set()


def test_the_first_lag_is_there_within_a_minute(running: Up) -> None:
    line = next(each for each in running.output.read_text().splitlines() if "first lag in" in each)
    assert int(line.split(" after ")[1].split()[0]) <= 60, line
    assert int(line.rsplit(":", 1)[1].split()[0]) > 0


def test_the_status_names_what_runs(running: Up) -> None:
    status = running.status()
    assert [each["state"] for each in status["brokers"]] == ["running"] * 3
    assert {"alerting", "collectors", "spark", "workload"} <= status["services"].keys()
    assert status["consumers"]["stock-projection"] == 5
    eventually(
        lambda: running.status()["consumers"]["shipment-notification"] == 0,
        what="departure of the group that leaves",
    )
    assert status["dashboard"] is None
    assert Path(status["config"]).is_file()


def newest(running: Up, table: Table) -> dict[str, dict[str, Any]]:
    """Return the newest rows of a table by the connector or the dead-letter topic."""
    lake = Lake(LakeSettings(uri=str(running.folder / "lake")))
    rows = lake.latest(table, cluster="demo", now=datetime.now(UTC), within=timedelta(minutes=1))
    return {row.get("connector") or row["name"]: row for row in rows.to_dicts()}


def test_connect_runs_and_its_dead_letters_are_found(running: Up) -> None:
    """Given a sink that passes over bad records and one that does not, then both are told."""

    def told() -> bool:
        connectors = newest(running, CONNECTORS)
        states = {name: (row["state"], row["tasks_failed"]) for name, row in connectors.items()}
        return states == {ARCHIVE: ("RUNNING", 0), EXPORT: ("RUNNING", 1)}

    eventually(told, timeout_seconds=90, what="rows of both connectors")
    assert "connect" in running.status()["services"]

    def found() -> dict[str, Any]:
        row = newest(running, DEAD_LETTERS).get(UNREADABLE, {})
        return row if row.get("reasons") else {}

    row = eventually(found, timeout_seconds=60, what="reasons of the dead letters")
    assert (row["found_by"], row["origin"]) == ("connect config", PARCELS)
    assert {each["key"].rsplit(".", 1)[1] for each in row["reasons"]} == {"DataException"}


def fires(running: Up) -> dict[tuple[str, str], Alert]:
    """Return what fires, by the rule and what it is about."""
    store = AlertStore(running.folder / "alerts.sqlite")
    try:
        return {
            (alert.rule, next(v for k, v in alert.labels.items() if k in ABOUT)): alert
            for alert in active(store.alerts("demo").values())
            if set(ABOUT) & set(alert.labels)
        }
    finally:
        store.close()


def test_the_troubles_of_the_demo_are_told(running: Up) -> None:
    """Given groups that are stuck, stopped and losing data, then each is told as what it is."""
    wanted = {
        ("GroupStalled", "invoice-rendering"),
        ("GroupStopped", "shipment-notification"),
        ("GroupLosingData", "telemetry-archive"),
        ("DeadLettersArriving", "orders.placed-dlt"),
        ("DeadLettersArriving", "warehouse_sink.dlq"),
        ("ConnectorTasksFailed", EXPORT),
    }
    eventually(
        lambda: wanted <= fires(running).keys(),
        timeout_seconds=150,
        what=lambda: f"{wanted - fires(running).keys()} among {list(fires(running))}",
    )
    assert fires(running)["GroupStalled", "invoice-rendering"].status == "STALLED"


def test_a_killed_broker_is_gone_and_comes_back(running: Up) -> None:
    before = running.status()
    pid = before["brokers"][1]["process"]
    assert running.fault("kill-broker", "2") == "broker 2 got SIGKILL"
    assert running.status()["brokers"][1]["state"] == "down"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    eventually(lambda: seen(before, 2) == {1, 3}, what="metadata without broker 2")
    eventually(lambda: ("BrokerMissing", "2") in fires(running), timeout_seconds=60, what="alert")
    assert running.fault("restore") == "broker 2 started again"
    assert seen(before, 2) == {1, 2, 3}
    eventually(
        lambda: ("BrokerMissing", "2") not in fires(running), timeout_seconds=90, what="resolution"
    )


def test_a_frozen_broker_is_shown_and_thawed(running: Up) -> None:
    assert "broker 3 is frozen" in running.fault("freeze-broker", "3")
    assert running.status()["brokers"][2]["state"] == "frozen"
    assert running.fault("thaw-broker", "3") == "broker 3 goes on"
    assert running.status()["brokers"][2]["state"] == "running"


def test_consumers_leave_and_come_back(running: Up) -> None:
    running.fault("stop-consumers", "fraud-scoring")
    status = running.status()
    assert status["consumers"]["fraud-scoring"] == 0
    assert status["stopped_groups"] == ["fraud-scoring"]
    alert = ("GroupStopped", "fraud-scoring")
    eventually(lambda: alert in fires(running), timeout_seconds=120, what="alert")
    assert running.fault("restore") == "consumers of fraud-scoring back"
    eventually(
        lambda: running.status()["consumers"]["fraud-scoring"] == 2, what="two consumers again"
    )
    eventually(lambda: alert not in fires(running), timeout_seconds=120, what="resolution")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["kill-broker", "7"], "there is no broker 7", id="unknown broker"),
        pytest.param(["thaw-broker", "1"], "broker 1 is not frozen", id="not frozen"),
        pytest.param(["stop-consumers", "nobody"], "there is no group nobody", id="unknown group"),
        pytest.param(
            ["start-consumers", "fraud-scoring"], "were not stopped", id="not stopped before"
        ),
    ],
)
def test_an_impossible_fault_is_one_clear_line(
    running: Up, arguments: list[str], message: str
) -> None:
    answer = demo("fault", *arguments, "--data", str(running.folder))
    assert answer.returncode == 1
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert answer.stdout == ""


def test_rabbitmq_is_polled_where_it_is_installed(running: Up) -> None:
    if find_rabbitmq() is None:
        unavailable("rabbitmq-server is not installed")
    settings = load(Path(running.status()["config"]))

    def missing() -> set[str]:
        rows = Lake(settings.lake).latest(
            QUEUES, cluster="rabbit", now=datetime.now(UTC), within=timedelta(minutes=1)
        )
        return set(rows.filter(pl.col("dead_letter_target_missing"))["queue"])

    eventually(
        lambda: missing() == {"parcels"}, timeout_seconds=120, what="the queue without a target"
    )
    assert {"epmd", "rabbitmq", "rabbitmq-shop"} <= running.status()["services"].keys()


def test_a_second_demo_in_the_same_folder_is_refused(running: Up) -> None:
    answer = demo("up", "--no-dashboard", "--data", str(running.folder))
    assert answer.returncode == 1
    assert "a demo runs in" in answer.stderr


def test_sigterm_ends_everything(running: Up) -> None:
    assert len(processes_of(running.folder)) >= 6
    services = running.status()["services"].values()
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(30) == 0
    assert "ended" in running.output.read_text().splitlines()[-1]
    eventually(lambda: not processes_of(running.folder), what="end of every process")
    for pid in services:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not (running.folder / "kafka").exists()
    assert not (running.folder / "rabbitmq" / "node").exists()


def test_a_killed_demo_leaves_no_process(kafka_java: Java, tmp_path: Path) -> None:
    """Given a demo in the middle of its start, when it gets SIGKILL, then all of it ends."""
    up = start(tmp_path / "data", "--brokers", "1")
    wait_for(up, "1 Kafka brokers")
    eventually(lambda: len(processes_of(up.folder)) >= 4, what="running services")
    up.process.kill()
    up.process.wait()
    eventually(lambda: not processes_of(up.folder), timeout_seconds=30, what="end of every process")


def test_without_a_demo_a_fault_is_one_clear_line(tmp_path: Path) -> None:
    answer = demo("fault", "kill-broker", "2", "--data", str(tmp_path))
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"no demo runs in {tmp_path}")
    assert len(answer.stderr.strip().splitlines()) == 1


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        before = time.monotonic()
        answer = demo("up", "--port", str(port), "--data", str(tmp_path / "data"))
        assert time.monotonic() - before < 20
    assert answer.returncode == 1
    assert answer.stderr.strip() == (
        f"port {port} is taken: end what uses it, or choose another with --port (make demo PORT=…)"
    )
