"""RabbitMQ in the demo: nothing left behind, and a demo without it where it does not start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import demo.running
from config.load import load
from demo.rabbitmq.node import RabbitPrograms, RabbitServer, VirtualHost
from demo.rabbitmq.service import RabbitPart
from demo.rabbitmq.shop import REJECTED_EVERY, SEEDED_INVOICES, Shop, declare
from demo.running import Options, RunningDemo
from demo.state import DataFolder
from runtime.java import Java
from runtime.processes import ProcessGroup
from tests.support import eventually


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def part_with(folder: Path, server: str) -> RabbitPart:
    """A part whose node is a shell script."""
    programs = RabbitPrograms(
        server=program(folder / "rabbitmq-server", server),
        epmd=program(folder / "epmd", "exec sleep 600"),
    )
    return RabbitPart(folder / "rabbitmq", programs)


@pytest.fixture
def processes() -> Iterator[ProcessGroup]:
    with ProcessGroup(grace_seconds=0) as group:
        yield group


def test_a_node_may_start_no_daemon_and_keeps_to_its_folder(tmp_path: Path) -> None:
    server = RabbitServer(
        tmp_path / "node",
        RabbitPrograms(server=Path("/bin/rabbitmq-server"), epmd=Path("/bin/epmd")),
        settings={"collect_statistics_interval": "1000"},
        plugins=("rabbitmq_management", "rabbitmq_stream"),
    )
    epmd, node = server.services()
    assert epmd.command[0] == "/bin/epmd"
    assert "-daemon" not in epmd.command
    assert node.environment["ERL_AFLAGS"] == "-start_epmd false"
    assert node.environment["ERL_EPMD_PORT"] == epmd.command[-1]
    for key in ("CONFIG_FILE", "CONF_ENV_FILE", "ENABLED_PLUGINS_FILE", "LOG_BASE", "MNESIA_BASE"):
        assert node.environment[f"RABBITMQ_{key}"].startswith(str(tmp_path))
    lines = (tmp_path / "node" / "rabbitmq.conf").read_text().splitlines()
    assert f"listeners.tcp.1 = 127.0.0.1:{server.amqp_port}" in lines
    assert "collect_statistics_interval = 1000" in lines
    plugins = (tmp_path / "node" / "enabled_plugins").read_text()
    assert plugins == "[rabbitmq_management,rabbitmq_stream].\n"


def test_a_node_that_ends_is_told_once_and_leaves_nothing(
    tmp_path: Path, processes: ProcessGroup
) -> None:
    part = part_with(tmp_path, "echo no such cookie; exit 3")
    part.start(processes, tmp_path / "logs")
    reported = eventually(part.look_after, what="word of the end")
    assert reported.startswith(
        "the demo goes on without RabbitMQ: rabbitmq ended with exit status 3"
    )
    assert "no such cookie" in reported
    assert processes.children == ()
    assert part.look_after() is None
    assert not (tmp_path / "rabbitmq" / "node").exists()


def test_a_node_that_is_not_ready_is_waited_for(tmp_path: Path, processes: ProcessGroup) -> None:
    part = part_with(tmp_path, "exec sleep 600")
    part.start(processes, tmp_path / "logs")
    assert part.look_after() is None
    assert [child.name for child in processes.children] == ["epmd", "rabbitmq"]
    part.close()
    assert processes.children == ()


def test_the_configuration_names_it_also_after_the_end(
    tmp_path: Path, processes: ProcessGroup
) -> None:
    part = part_with(tmp_path, "exec sleep 600")
    config = tmp_path / "demo.yaml"
    content = {
        "clusters": [{"name": "demo", "bootstrap_servers": "localhost:1"}],
        "rabbitmq": [part.configuration()],
    }
    config.write_text(yaml.safe_dump(content))
    part.start(processes, tmp_path / "logs")
    part.close()
    (settings,) = load(config).rabbitmq
    assert (settings.name, settings.url, settings.username) == ("rabbit", part.url, "headroom")
    assert settings.vhosts.selects("shop")
    assert not settings.vhosts.selects("/")
    assert settings.password is not None
    secret = settings.password.get_secret_value()
    assert len(secret) >= 12
    assert secret not in config.read_text()
    assert (tmp_path / "rabbitmq" / "password").stat().st_mode & 0o077 == 0


def test_without_rabbitmq_the_demo_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo.running, "find_rabbitmq", lambda: None)
    folder = DataFolder(tmp_path / "data")
    folder.take()
    running = RunningDemo(
        folder,
        Options(brokers=1),
        Java(home=tmp_path, executable=tmp_path / "java", major=17, source="PATH"),
        lambda _: None,
    )
    try:
        line = running.start_rabbitmq()
        assert line == "RabbitMQ: rabbitmq-server is not installed, the demo goes on without it"
    finally:
        running.close()
        folder.release()


class Counting(VirtualHost):
    """A virtual host whose queues are numbers."""

    def __init__(self) -> None:
        self.waiting: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    def depths(self) -> dict[str, int | None]:
        return dict(self.waiting)

    def publish(
        self, key: str, payload: str = "-", *, exchange: str = "amq.default", **properties: Any
    ) -> None:
        assert properties["timestamp"] > 1_700_000_000
        self.waiting[key] += 1

    def take(self, queue: str, count: int, *, reject: bool = False) -> int:
        taken = min(count, self.waiting[queue])
        self.waiting[queue] -= taken
        self.rejected[queue] += taken * reject
        return taken


class Noting(VirtualHost):
    """A virtual host that notes in which order queues are made, and whom they name."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.named: dict[str, str] = {}

    def create(self) -> None:
        pass

    def exchange(self, name: str, kind: str = "direct", **arguments: Any) -> None:
        pass

    def bind(self, source: str, destination: str, key: str = "", *, exchange: bool = False) -> None:
        self.made.append(f"binding of {destination}")

    def policy(self, name: str, pattern: str, apply_to: str = "queues", **definition: Any) -> None:
        pass

    def queue(self, name: str, **arguments: Any) -> None:
        self.made.append(name)
        self.named[name] = arguments.get("dead_letter_routing_key", "")


def test_a_queue_comes_after_the_one_that_gets_its_dead_letters() -> None:
    host = Noting()

    declare(host)

    assert host.made.index("binding of invoices.dead") < host.made.index("invoices")
    # Of two that name each other, the one that gets messages comes last.
    assert host.named["mails"] == "mails.wait"
    assert host.made.index("mails.wait") < host.made.index("mails")


def test_the_shop_does_what_the_documentation_says() -> None:
    queues = Counting()
    shop = Shop(queues)
    shop.seed()
    shop.seed()
    assert queues.waiting == {"invoices": SEEDED_INVOICES}
    for _ in range(60):
        shop.step()
    assert queues.waiting["invoices"] == SEEDED_INVOICES + 30
    assert queues.waiting["parcels"] == queues.waiting["mails"] == 0
    assert queues.rejected["invoices"] == queues.rejected["parcels"] == 60 // REJECTED_EVERY
    assert queues.rejected["mails"] == 20
