"""RabbitMQ as a part of the running demo: its processes, and its lines of the configuration."""

from __future__ import annotations

import secrets
import shutil
import sys
from pathlib import Path
from typing import Any

from demo.part import Part
from demo.rabbitmq.node import RabbitPrograms, RabbitServer
from demo.rabbitmq.shop import VIRTUAL_HOST
from runtime.processes import ProcessGroup
from runtime.services import ROOT, Service

NAME = "rabbit"
"""What its samples carry in place of a Kafka cluster's name."""
USER = "headroom"
POLL_SECONDS = 5


class RabbitPart(Part):
    """A node and the shop that works in it."""

    title = "RabbitMQ"

    def __init__(self, folder: Path, programs: RabbitPrograms) -> None:
        super().__init__()
        self._folder = folder.absolute()
        self._node = self._folder / "node"
        self._server = RabbitServer(self._node, programs)
        self._password = secrets.token_urlsafe(12)

    @property
    def url(self) -> str:
        """The address of its management API and its own dashboard."""
        return self._server.url

    def configuration(self) -> dict[str, Any]:
        """Write the password's file, and return the entry under ``rabbitmq``."""
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / "password"
        file.touch(mode=0o600)
        file.write_text(f"{self._password}\n", encoding="utf-8")
        return {
            "name": NAME,
            "url": self.url,
            "username": USER,
            "password": {"file": str(file)},
            "poll_interval_seconds": POLL_SECONDS,
            "vhosts": {"include": [VIRTUAL_HOST]},
        }

    def start(self, processes: ProcessGroup, logs: Path) -> None:
        """Start the node."""
        self.launch(processes, logs, *self._server.services())

    def set_up(self) -> bool:
        """Let the shop work."""
        if not self._server.ready():
            return False
        self._server.virtual_host(VIRTUAL_HOST).create()
        self._server.user(USER, self._password, "monitoring", [VIRTUAL_HOST])
        command = (sys.executable, "-m", "demo.rabbitmq.shop", "--url", self.url)
        environment = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        self.launch_more(Service(name="rabbitmq-shop", command=command, environment=environment))
        return True

    def close(self) -> None:
        """End it at once and delete its data."""
        super().close()
        shutil.rmtree(self._node, ignore_errors=True)
