"""Services are started again when they end, with growing pauses, and never end each other."""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.errors import ProcessError
from runtime.java import Java
from runtime.processes import ProcessGroup, free_ports
from runtime.services import Service, Supervisor, pause_seconds, services, wait_for_dashboard

JAVA = Java(home=Path("/opt/java"), executable=Path("/opt/java/bin/java"), major=17, source="PATH")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def processes() -> Iterator[ProcessGroup]:
    with ProcessGroup(grace_seconds=1) as group:
        yield group


def test_a_service_that_ends_is_started_again_after_growing_pauses(
    processes: ProcessGroup, tmp_path: Path
) -> None:
    clock, said = Clock(), list[str]()
    supervisor = Supervisor(processes, tmp_path, said.append, clock)
    child = supervisor.start(
        Service(name="worker", command=("/bin/sh", "-c", "echo no database; exit 2"))
    )
    pauses = []
    for pause in (1.0, 2.0, 4.0, 8.0):
        assert child.wait(10)
        supervisor.check()
        assert "worker ended with exit status 2" in said[-1]
        assert "no database" in said[-1]
        pauses.append(said[-1].splitlines()[-1])
        clock.now += pause - 0.1
        supervisor.check()
        assert supervisor.child("worker") is child, "started again too early"
        clock.now += 0.1
        supervisor.check()
        assert supervisor.child("worker") is not child
        child = supervisor.child("worker")
    assert pauses == [f"worker starts again in {each} s" for each in (1, 2, 4, 8)]


def test_what_a_service_writes_is_not_for_other_users(
    processes: ProcessGroup, tmp_path: Path
) -> None:
    script = f"echo said; mkdir {tmp_path}/lake; echo row > {tmp_path}/lake/file"
    service = Service(name="worker", command=("/bin/sh", "-c", script))
    child = Supervisor(processes, tmp_path / "logs", print).start(service)
    assert child.wait(10)
    for path in ("lake", "lake/file", "logs/worker.log"):
        assert (tmp_path / path).stat().st_mode & 0o007 == 0, path


def test_a_service_that_keeps_failing_is_tried_again_and_leaves_the_others_alone(
    processes: ProcessGroup, tmp_path: Path
) -> None:
    clock, said = Clock(), list[str]()
    supervisor = Supervisor(processes, tmp_path, said.append, clock)
    good = supervisor.start(Service(name="good", command=("sleep", "60")))
    bad = supervisor.start(Service(name="bad", command=("/bin/sh", "-c", "echo no store; exit 1")))
    for number in range(1, 9):
        assert bad.wait(10)
        supervisor.check()
        assert len(said) == number
        clock.now += 30.0
        supervisor.check()
        bad = supervisor.child("bad")
    assert [each.splitlines()[-1] for each in said[-3:]] == ["bad starts again in 30 s"] * 3
    assert all("no store" in each for each in said)
    assert supervisor.child("good") is good
    assert good.alive


def test_what_cannot_be_started_again_now_is_tried_later(
    processes: ProcessGroup, tmp_path: Path
) -> None:
    clock, said = Clock(), list[str]()
    supervisor = Supervisor(processes, tmp_path / "logs", said.append, clock)
    good = supervisor.start(Service(name="good", command=("sleep", "60")))
    bad = supervisor.start(Service(name="bad", command=("/bin/sh", "-c", "exit 1")))
    assert bad.wait(10)
    supervisor.check()
    (tmp_path / "logs" / "bad.log").unlink()
    (tmp_path / "logs" / "bad.log").mkdir()
    clock.now += 1.0
    supervisor.check()
    assert "bad could not be started" in said[-1]
    assert said[-1].endswith("bad starts again in 2 s")
    (tmp_path / "logs" / "bad.log").rmdir()
    clock.now += 2.0
    supervisor.check()
    assert supervisor.child("bad") is not bad
    assert good.alive


@pytest.mark.parametrize(("deaths", "pause"), [(1, 1), (2, 2), (5, 16), (6, 30), (100_000, 30)])
def test_pauses_grow_up_to_half_a_minute(deaths: int, pause: float) -> None:
    assert pause_seconds(deaths) == pause


def test_healthy_minutes_forgive_earlier_deaths(processes: ProcessGroup, tmp_path: Path) -> None:
    clock, said = Clock(), list[str]()
    supervisor = Supervisor(processes, tmp_path, said.append, clock)
    child = supervisor.start(Service(name="worker", command=("/bin/sh", "-c", "exit 1")))
    for _ in range(8):
        assert child.wait(10)
        clock.now += 200
        supervisor.check()
        clock.now += 1
        supervisor.check()
        child = supervisor.child("worker")
    assert {each.splitlines()[-1] for each in said} == {"worker starts again in 1 s"}


def test_a_running_service_is_left_alone(processes: ProcessGroup, tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(processes, tmp_path, said.append)
    child = supervisor.start(Service(name="worker", command=("sleep", "60")))
    supervisor.check()
    assert child.alive
    assert said == []


def test_every_service_knows_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "headroom.yaml"
    found = {each.name: each for each in services(config, JAVA, port=8600)}
    assert list(found) == ["collectors", "alerting", "spark", "dashboard"]
    assert found["collectors"].command[1:] == ("-m", "collectors", "run", "--config", str(config))
    assert found["spark"].command[1:] == ("-m", "spark_metrics", "run", "--config", str(config))
    assert found["spark"].environment["JAVA_HOME"] == "/opt/java"
    assert found["dashboard"].command[1:] == (
        *("-m", "app", "--config", str(config)),
        *("--port", "8600", "--address", "localhost"),
    )
    assert found["dashboard"].environment["HEADROOM_CONFIG"] == str(config)
    without = services(config, JAVA, port=8600, dashboard=False)
    assert [each.name for each in without] == ["collectors", "alerting", "spark"]


def test_the_dashboard_is_waited_for(processes: ProcessGroup, tmp_path: Path) -> None:
    class Healthy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/_stcore/health" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    child = processes.start("dashboard", ["sleep", "60"], log=tmp_path / "log")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        wait_for_dashboard(child, server.server_address[1], timeout_seconds=10)
        server.shutdown()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param(
            (sys.executable, "-c", "raise SystemExit('no streamlit')"),
            r"(?s)dashboard ended with exit status 1.*no streamlit",
            id="ended",
        ),
        pytest.param(("sleep", "60"), r"no answer of the dashboard after 1 s", id="silent"),
    ],
)
def test_a_dashboard_that_does_not_come_up_is_told(
    processes: ProcessGroup, tmp_path: Path, command: tuple[str, ...], message: str
) -> None:
    child = processes.start("dashboard", command, log=tmp_path / "log")
    with pytest.raises(ProcessError, match=message):
        wait_for_dashboard(child, free_ports(1)[0], timeout_seconds=1)
