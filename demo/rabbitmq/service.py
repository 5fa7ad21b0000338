"""RabbitMQ as a part of the running demo: its processes, and its lines of the configuration."""

from __future__ import annotations

import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from demo.errors import DemoError
from demo.rabbitmq.node import RabbitPrograms, RabbitServer
from demo.rabbitmq.shop import VIRTUAL_HOST
from runtime.errors import ProcessError
from runtime.processes import Child, ProcessGroup
from runtime.services import ROOT, Service

NAME = "rabbit"
"""What its samples carry in place of a Kafka cluster's name."""
USER = "headroom"
POLL_SECONDS = 5

_START_SECONDS = 180.0
"""How long the node may take on a machine that starts everything else at the same time."""
_ASK_SECONDS = 1.0


class RabbitPart:
    """A node and the shop that works in it. Not started again where they end: a demo without."""

    def __init__(self, folder: Path, programs: RabbitPrograms) -> None:
        self._folder = folder.absolute()
        self._node = self._folder / "node"
        self._server = RabbitServer(self._node, programs)
        self._password = secrets.token_urlsafe(12)
        self._children: list[Child] = []
        self._processes: ProcessGroup | None = None
        self._logs = self._folder
        self._works = False
        self._give_up_at = self._ask_again_at = 0.0

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
        """Start the node; :meth:`look_after` does the rest."""
        self._processes, self._logs = processes, logs
        for service in self._server.services():
            self._launch(service)
        self._give_up_at = time.monotonic() + _START_SECONDS

    def look_after(self) -> str | None:
        """Let the shop work as soon as the node is ready; call it often.

        Returns:
            Why there is no RabbitMQ in this demo any more, once, where it failed.
        """
        now = time.monotonic()
        if not self._children or now < self._ask_again_at:
            return None
        self._ask_again_at = now + _ASK_SECONDS
        try:
            ended = [child for child in self._children if not child.alive]
            if ended:
                raise DemoError(ended[0].exit_report())
            if not self._works and self._server.ready():
                self._server.virtual_host(VIRTUAL_HOST).create()
                self._server.user(USER, self._password, "monitoring", [VIRTUAL_HOST])
                self._launch(
                    Service(
                        "rabbitmq-shop",
                        (sys.executable, "-m", "demo.rabbitmq.shop", "--url", self.url),
                        {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
                    )
                )
                self._works = True
            elif not self._works and now > self._give_up_at:
                raise DemoError(f"not ready after {_START_SECONDS:.0f} s")
        except (ProcessError, DemoError) as error:
            self.close()
            return f"the demo goes on without RabbitMQ: {error}"
        return None

    def close(self) -> None:
        """End it at once and delete its data."""
        if self._processes is not None:
            self._processes.stop(*self._children, grace_seconds=0)
        self._children.clear()
        shutil.rmtree(self._node, ignore_errors=True)

    def _launch(self, service: Service) -> None:
        if self._processes is None:
            raise ProcessError("RabbitMQ was not started")
        child = self._processes.start(
            service.name,
            service.command,
            log=self._logs / f"{service.name}.log",
            environment=service.environment,
            folder=ROOT,
        )
        self._children.append(child)
