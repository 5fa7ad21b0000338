"""A real RabbitMQ for tests."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pydantic import SecretStr

from collectors.rabbitmq.source import rabbitmq_sources
from collectors.source.model import SectionResult, Source
from collectors.source.shared_facts import SharedFacts
from config.integrations import RabbitMQSettings
from config.settings import ClusterSettings, Settings
from demo.rabbitmq.node import ADMINISTRATOR, HOST, RabbitServer, find_rabbitmq
from runtime.processes import Child, ProcessGroup, wait_until
from runtime.services import Service
from tests.support import freeze, unavailable


@dataclass
class Running:
    """A node that runs, and its processes."""

    server: RabbitServer
    folder: Path
    processes: ProcessGroup
    node: Child

    def kill(self) -> None:
        """End it without a word."""
        self.processes.stop(self.node, grace_seconds=0)

    def start_again(self) -> None:
        """Start it again on its data and its ports, and wait for it."""
        _, service = self.server.services()
        self.node = launch(service, self.folder, self.processes)
        self.wait()

    def wait(self) -> None:
        """Wait until it takes requests and messages."""
        wait_until(
            self.server.ready,
            timeout_seconds=120,
            waiting_for="a RabbitMQ node",
            children=[self.node],
        )

    def freeze(self) -> None:
        """Let it answer nothing; its connections stay open."""
        freeze(self.node)

    def thaw(self) -> None:
        """Let it go on."""
        self.node.signal(signal.SIGCONT)

    def source(self, user: str = ADMINISTRATOR, **settings: Any) -> Source:
        """Return the node as a source; the password is the user's name unless it is given."""
        password = settings.pop("password", user)
        found = RabbitMQSettings(
            name="rabbit",
            url=self.server.url,
            username=user,
            password=SecretStr(password),
            **settings,
        )
        kafka = ClusterSettings(name="kafka", bootstrap_servers="localhost:9092")
        (source,) = rabbitmq_sources(Settings(clusters=[kafka], rabbitmq=[found]), SharedFacts())
        return source

    @contextmanager
    def channel(self, virtual_host: str = "/") -> Iterator[BlockingChannel]:
        """Open an AMQP channel."""
        login = pika.PlainCredentials(ADMINISTRATOR, ADMINISTRATOR)
        connection = BlockingConnection(
            pika.ConnectionParameters(HOST, self.server.amqp_port, virtual_host, login)
        )
        try:
            yield connection.channel()
        finally:
            connection.close()


@contextmanager
def rabbit(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Run a node in a folder of its own; nothing of it is left afterwards."""
    programs = find_rabbitmq()
    if programs is None:
        unavailable("rabbitmq-server is not installed")
    quick = {"collect_statistics_interval": "1000", **(settings or {})}
    server = RabbitServer(folder, programs, settings=quick)
    with ProcessGroup(grace_seconds=0) as processes:
        _, node = (launch(each, folder, processes) for each in server.services())
        running = Running(server, folder, processes, node)
        running.wait()
        yield running


def launch(service: Service, folder: Path, processes: ProcessGroup) -> Child:
    """Start one of a node's programs."""
    return processes.start(
        service.name,
        service.command,
        log=folder / f"{service.name}.log",
        environment=service.environment,
    )


def poll(source: Source) -> dict[str, SectionResult]:
    """Poll once, and return the sections by name."""
    return {each.section: each for each in source.poll(datetime.now(UTC))}


def rows(result: SectionResult) -> dict[str, dict[str, Any]]:
    """Return a section's rows: of ``queues`` by queue, of ``dead_letters`` by name."""
    frame = result.frames[result.section]
    key = "queue" if result.section == "queues" else "name"
    return {row[key]: row for row in frame.iter_rows(named=True)}


def descendants(pid: int) -> list[int]:
    """Return a process and all that it started."""
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    children: dict[int, list[int]] = {}
    for line in listed.stdout.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found, todo = [], [pid]
    while todo:
        todo += children.get(one := todo.pop(), [])
        found.append(one)
    return found


def runs(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
