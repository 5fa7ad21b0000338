"""A real RabbitMQ for tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pydantic import SecretStr

from collectors.rabbitmq.source import rabbitmq_source
from collectors.source import SectionResult, Source
from config.neighbours import RabbitMQSettings
from demo.rabbitmq import ADMINISTRATOR, HOST, RabbitServer, find_rabbitmq
from runtime.processes import Child, ProcessGroup, wait_until
from tests.support import unavailable


@dataclass
class Running:
    """A node that runs, and its processes."""

    server: RabbitServer
    node: Child

    def freeze(self) -> None:
        """Let it answer nothing; its connections stay open."""
        self.node.signal(signal.SIGSTOP)

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
        return rabbitmq_source(found, "rabbit", settings.get("poll_interval_seconds", 15.0))

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
        children = [
            processes.start(
                each.name,
                each.command,
                log=folder / f"{each.name}.log",
                environment=each.environment,
            )
            for each in server.services()
        ]
        wait_until(
            server.ready, timeout_seconds=90, waiting_for="a RabbitMQ node", children=children
        )
        yield Running(server, children[1])


def poll(source: Source) -> dict[str, SectionResult]:
    """Poll once, and return the sections by name."""
    return {each.section: each for each in source.poll(datetime.now(UTC))}


def rows(result: SectionResult) -> dict[str, dict[str, Any]]:
    """Return a section's rows: of ``queues`` by queue, of ``dead_letters`` by name."""
    frame = result.frames[result.section]
    key = "queue" if result.section == "queues" else "name"
    return {row[key]: row for row in frame.iter_rows(named=True)}
