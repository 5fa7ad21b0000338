"""The demo as a user runs it: up, look, break, restore, end, and nothing left behind."""

from __future__ import annotations

import os
import signal
import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from alerting.notify.store import AlertStore
from alerting.rules.lifecycle import Alert, active
from config.load import load
from config.settings import LakeSettings
from demo.connect.service import ARCHIVE, EXPORT, UNREADABLE
from demo.rabbitmq.node import find_rabbitmq
from demo.workload.catalogue import PARCELS
from lake.schemas.model import Table
from lake.schemas.tables import CONNECTORS, DEAD_LETTERS, QUEUES
from lake.storage.store import Lake
from runtime.java import Java
from tests.demo.running import Demo, command, processes_of, start
from tests.support import eventually, unavailable

ABOUT = ("group", "broker", "connector", "name")
pytestmark = pytest.mark.kafka


def seen(status: dict[str, Any], without: int) -> set[int]:
    servers = [
        f"127.0.0.1:{each['port']}" for each in status["brokers"] if each["broker"] != without
    ]
    admin = AdminClient({"bootstrap.servers": ",".join(servers), "log_level": 0})
    try:
        return set(admin.list_topics(timeout=5).brokers)
    except KafkaException:
        return set()


def test_the_first_lag_is_there_within_a_minute(demo: Demo) -> None:
    line = next(each for each in demo.output.read_text().splitlines() if "first lag in" in each)
    assert int(line.split(" after ")[1].split()[0]) <= 60, line
    assert int(line.rsplit(":", 1)[1].split()[0]) > 0


def test_the_status_names_what_runs(demo: Demo) -> None:
    status = demo.status()
    assert [each["state"] for each in status["brokers"]] == ["running"] * 3
    assert {"alerting", "collectors", "spark", "workload"} <= status["services"].keys()
    assert status["consumers"]["stock-projection"] == 5
    eventually(
        lambda: demo.status()["consumers"]["shipment-notification"] == 0,
        what="departure of the group that leaves",
    )
    assert status["dashboard"] == demo.base
    assert Path(status["config"]).is_file()


def newest(demo: Demo, table: Table) -> dict[str, dict[str, Any]]:
    """Return the newest rows of a table by the connector or the dead-letter topic."""
    lake = Lake(LakeSettings(uri=str(demo.folder / "lake")))
    rows = lake.latest(table, cluster="demo", now=datetime.now(UTC), within=timedelta(minutes=1))
    return {row.get("connector") or row["name"]: row for row in rows.to_dicts()}


def test_connect_runs_and_its_dead_letters_are_found(demo: Demo) -> None:
    """Given a sink that passes over bad records and one that does not, then both are reported."""

    def reported() -> bool:
        connectors = newest(demo, CONNECTORS)
        states = {name: (row["state"], row["tasks_failed"]) for name, row in connectors.items()}
        return states == {ARCHIVE: ("RUNNING", 0), EXPORT: ("RUNNING", 1)}

    eventually(reported, timeout_seconds=90, what="rows of both connectors")
    assert "connect" in demo.status()["services"]

    def found() -> dict[str, Any]:
        row = newest(demo, DEAD_LETTERS).get(UNREADABLE, {})
        return row if row.get("reasons") else {}

    row = eventually(found, timeout_seconds=60, what="reasons of the dead letters")
    assert (row["found_by"], row["origin"]) == ("connect config", PARCELS)
    assert {each["key"].rsplit(".", 1)[1] for each in row["reasons"]} == {"DataException"}


def fires(demo: Demo) -> dict[tuple[str, str], Alert]:
    """Return what fires, by the rule and what it is about."""
    store = AlertStore(demo.folder / "alerts.sqlite")
    try:
        return {
            (alert.rule, next(v for k, v in alert.labels.items() if k in ABOUT)): alert
            for alert in active(store.alerts("demo").values())
            if set(ABOUT) & set(alert.labels)
        }
    finally:
        store.close()


def test_the_troubles_of_the_demo_are_told(demo: Demo) -> None:
    """Given groups that are stuck, stopped and losing data, then each is named as what it is."""
    wanted = {
        ("GroupStalled", "invoice-rendering"),
        ("GroupStopped", "shipment-notification"),
        ("GroupLosingData", "telemetry-archive"),
        ("DeadLettersArriving", "orders.placed-dlt"),
        ("DeadLettersArriving", "warehouse_sink.dlq"),
        ("ConnectorTasksFailed", EXPORT),
    }
    eventually(
        lambda: wanted <= fires(demo).keys(),
        timeout_seconds=150,
        what=lambda: f"{wanted - fires(demo).keys()} among {list(fires(demo))}",
    )
    assert fires(demo)["GroupStalled", "invoice-rendering"].status == "STALLED"


def test_a_frozen_broker_is_shown_and_thawed(demo: Demo) -> None:
    assert "broker 3 is frozen" in demo.fault("freeze-broker", "3")
    assert demo.status()["brokers"][2]["state"] == "frozen"
    assert demo.fault("thaw-broker", "3") == "broker 3 goes on"
    assert demo.status()["brokers"][2]["state"] == "running"


def test_consumers_and_a_broker_are_gone_and_come_back(demo: Demo) -> None:
    """Given a group that was stopped and a broker that was killed, then both are reported, and one
    command brings both back."""
    demo.fault("stop-consumers", "fraud-scoring")
    before = demo.status()
    assert before["consumers"]["fraud-scoring"] == 0
    assert before["stopped_groups"] == ["fraud-scoring"]
    stopped, missing = ("GroupStopped", "fraud-scoring"), ("BrokerMissing", "2")
    eventually(lambda: stopped in fires(demo), timeout_seconds=120, what="alert")

    pid = before["brokers"][1]["process"]
    assert demo.fault("kill-broker", "2") == "broker 2 got SIGKILL"
    assert demo.status()["brokers"][1]["state"] == "down"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    eventually(lambda: seen(before, 2) == {1, 3}, what="metadata without broker 2")
    eventually(lambda: missing in fires(demo), timeout_seconds=60, what="alert")

    restored = demo.fault("restore")
    assert restored == "broker 2 started again; consumers of fraud-scoring back"
    assert seen(before, 2) == {1, 2, 3}
    eventually(lambda: demo.status()["consumers"]["fraud-scoring"] == 2, what="two consumers again")
    eventually(
        lambda: not {stopped, missing} & fires(demo).keys(),
        timeout_seconds=120,
        what="both resolutions",
    )


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
    demo: Demo, arguments: list[str], message: str
) -> None:
    answer = command("fault", *arguments, "--data", str(demo.folder))
    assert answer.returncode == 1
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert answer.stdout == ""


def test_rabbitmq_is_polled_where_it_is_installed(demo: Demo) -> None:
    if find_rabbitmq() is None:
        unavailable("rabbitmq-server is not installed")
    settings = load(Path(demo.status()["config"]))

    def missing() -> set[str]:
        rows = Lake(settings.lake).latest(
            QUEUES, cluster="rabbit", now=datetime.now(UTC), within=timedelta(minutes=1)
        )
        return set(rows.filter(pl.col("dead_letter_target_missing"))["queue"])

    eventually(
        lambda: missing() == {"parcels"}, timeout_seconds=120, what="the queue without a target"
    )
    assert {"epmd", "rabbitmq", "rabbitmq-shop"} <= demo.status()["services"].keys()


def test_a_second_demo_in_the_same_folder_is_refused(demo: Demo) -> None:
    answer = command("up", "--no-dashboard", "--data", str(demo.folder))
    assert answer.returncode == 1
    assert "a demo runs in" in answer.stderr


def test_sigterm_ends_everything(demo: Demo) -> None:
    assert len(processes_of(demo.folder)) >= 6
    status = demo.status()
    services = status["services"].values()
    os.kill(status["process"], signal.SIGTERM)
    assert demo.process.wait(30) == 0
    assert "ended" in demo.output.read_text().splitlines()[-1]
    eventually(lambda: not processes_of(demo.folder), what="end of every process")
    for pid in services:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not (demo.folder / "kafka").exists()
    assert not (demo.folder / "rabbitmq" / "node").exists()


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGKILL, id="killed"),
        pytest.param(signal.SIGINT, id="Ctrl-C"),  # which a terminal sends to all of them
    ],
)
def test_a_demo_that_ends_in_the_middle_of_its_start_leaves_no_process(
    kafka_java: Java, tmp_path: Path, number: int
) -> None:
    begun = start(tmp_path / "data", "--brokers 1 --no-dashboard")
    begun.wait_for("1 Kafka brokers")
    eventually(lambda: len(processes_of(begun.folder)) >= 4, what="running services")
    if number == signal.SIGKILL:
        os.kill(begun.child(), number)
    else:
        os.killpg(begun.process.pid, number)
    begun.process.wait(60)
    eventually(
        lambda: not processes_of(begun.folder), timeout_seconds=30, what="end of every process"
    )


def test_without_a_demo_a_fault_is_one_clear_line(tmp_path: Path) -> None:
    answer = command("fault", "kill-broker", "2", "--data", str(tmp_path))
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"no demo runs in {tmp_path}")
    assert len(answer.stderr.strip().splitlines()) == 1


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        before = time.monotonic()
        answer = command("up", "--port", str(port), "--data", str(tmp_path / "data"))
        assert time.monotonic() - before < 20
    assert answer.returncode == 1
    assert answer.stderr.strip() == (
        f"port {port} is taken: end what uses it, or choose another with --port (make demo PORT=…)"
    )
