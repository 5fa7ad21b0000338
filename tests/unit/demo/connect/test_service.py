"""Kafka Connect in the demo: connectors once the worker is ready, a demo without it where not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

import demo.connect.service
import demo.part
from config.load import load
from demo.connect.service import ARCHIVE, EXPORT, UNREADABLE, ConnectPart, connectors
from demo.connect.worker import worker_properties
from demo.running import Options, RunningDemo
from demo.state import DataFolder
from demo.workload.catalogue import CATALOGUE, PARCELS
from runtime.java import Java
from runtime.processes import ProcessGroup
from tests.support import eventually

README = (Path(__file__).parents[4] / "demo" / "README.md").read_text(encoding="utf-8")

# Refuses once, as during a rebalance, and writes down what it is asked to do.
WORKER = """
import json, re, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

properties = Path(sys.argv[-1])
port = re.search(r"listeners=http://127.0.0.1:(\\d+)", properties.read_text())[1]
answers = iter([503, 200, 409])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(next(answers, 200))

    def do_PUT(self):
        status = next(answers, 200)
        body = self.rfile.read(int(self.headers["content-length"]))
        if status == 200:
            (properties.parent / self.path.split("/")[2]).write_bytes(body)
        self.answer(status)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""


@pytest.fixture
def processes() -> Iterator[ProcessGroup]:
    with ProcessGroup(grace_seconds=0) as group:
        yield group


@pytest.fixture
def part_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ConnectPart]:
    """Make a part whose worker is a shell script."""
    monkeypatch.setattr(demo.connect.service, "kafka_classpath", lambda java: tmp_path / "jars")
    monkeypatch.setattr(demo.part, "ASK_SECONDS", 0.05)

    def make(script: str) -> ConnectPart:
        program = tmp_path / "java"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return ConnectPart(
            tmp_path / "connect", Java(home=tmp_path, executable=program, major=17, source="PATH")
        )

    return make


def start(part: ConnectPart, processes: ProcessGroup, folder: Path) -> None:
    part.start(processes, folder / "logs", "127.0.0.1:9092", 1)


def test_connectors_are_created_once_the_worker_is_ready(
    part_with: Callable[[str], ConnectPart], processes: ProcessGroup, tmp_path: Path
) -> None:
    """Given a worker that is starting, then rebalances, when looked after, then it gets both."""
    (tmp_path / "worker.py").write_text(WORKER)
    part = part_with(f'exec {sys.executable} {tmp_path}/worker.py "$@"')
    start(part, processes, tmp_path)

    def created() -> bool:
        assert part.look_after() is None
        return all((tmp_path / "connect" / name).exists() for name in (ARCHIVE, EXPORT))

    eventually(created, what="connectors")
    asked = json.loads((tmp_path / "connect" / ARCHIVE).read_text())
    assert asked == connectors(tmp_path / "connect", 1)[ARCHIVE]
    part.close()
    assert processes.children == ()
    assert part.look_after() is None


def test_a_worker_that_ends_is_told_once(
    part_with: Callable[[str], ConnectPart], processes: ProcessGroup, tmp_path: Path
) -> None:
    part = part_with("echo no brokers; exit 3")
    start(part, processes, tmp_path)
    reported = eventually(part.look_after, what="word of the end")
    assert reported.startswith("the demo goes on without Kafka Connect: connect ended with exit")
    assert "no brokers" in reported
    assert processes.children == ()
    assert part.look_after() is None


def test_a_worker_that_is_never_ready_is_given_up(
    part_with: Callable[[str], ConnectPart],
    processes: ProcessGroup,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo.part, "START_SECONDS", 0.3)
    part = part_with("exec sleep 600")
    start(part, processes, tmp_path)
    assert part.look_after() is None
    reported = eventually(part.look_after, what="word of giving up")
    assert "not ready after 0 s" in reported
    assert processes.children == ()


def test_the_configuration_names_the_worker(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "demo")
    folder.take()
    try:
        running = RunningDemo(
            folder,
            Options(),
            Java(home=Path("/java"), executable=Path("/bin/java"), major=17, source="PATH"),
            print,
        )
        entry = running.connect.configuration()
        assert entry["url"] == running.connect.url
        content = {
            "clusters": [{"name": "demo", "bootstrap_servers": "127.0.0.1:9092"}],
            "connect": [entry],
        }
        folder.config.write_text(yaml.safe_dump(content))
        (source,) = load(folder.config).connect
        assert (source.name, source.url) == ("shop", running.connect.url)
        running.close()
    finally:
        folder.release()


def test_a_clearing_takes_what_connectors_wrote(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "demo")
    folder.take()
    folder.connect.mkdir()
    folder.clear()
    folder.release()
    assert not folder.connect.exists()


def test_properties_may_be_replaced() -> None:
    ours = worker_properties("a:1,b:2", 8083, 3, {"offset.flush.interval.ms": "9"})
    assert ours["bootstrap.servers"] == "a:1,b:2"
    assert ours["listeners"] == "http://127.0.0.1:8083"
    assert ours["offset.flush.interval.ms"] == "9"
    assert {ours[f"{name}.storage.replication.factor"] for name in ("config", "status")} == {"3"}


def test_the_readme_tells_what_is_declared() -> None:
    stream = CATALOGUE.stream(PARCELS)
    assert stream.broken_one_in is not None
    configured = connectors(Path("/data"), 3)
    for name, config in configured.items():
        assert config["topics"] == PARCELS
        assert f"| `{name}` |" in README
    assert configured[ARCHIVE]["errors.deadletterqueue.topic.name"] == UNREADABLE
    assert "errors.tolerance" not in configured[EXPORT]
    # Else it fails within its first poll, and nothing is committed whose lag could grow.
    assert int(configured[EXPORT]["consumer.override.max.poll.records"]) < stream.broken_one_in
    assert f"One record of {stream.broken_one_in} there is no JSON" in README
    assert f"({CATALOGUE.topic(PARCELS).partitions} partitions, {stream.rate.mean:g} m" in README
    per_second = stream.rate.mean / stream.broken_one_in
    assert f"{per_second:g} dead letters a second" in README
