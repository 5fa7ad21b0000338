"""Kafka Connect as a part of the running demo: one worker, its connectors, its configuration."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo.connect.worker import ConnectWorker
from demo.errors import DemoError
from demo.kafka.broker import HOST
from demo.workload.catalogue import PARCELS
from runtime.jars import kafka_classpath
from runtime.java import Java
from runtime.processes import Child, ProcessGroup, free_ports
from runtime.services import ROOT

NAME = "shop"
"""What the Connect cluster is called in the configuration."""
ARCHIVE, EXPORT = "parcel_archive", "carrier_export"
UNREADABLE = "parcels.unreadable"
"""The archive's dead letters: only Connect's configuration tells that they are."""
POLL_SECONDS = 5

_FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
_START_SECONDS = 180.0
"""How long the worker may take on a machine that starts everything else at the same time."""
_ASK_SECONDS = 1.0


def connectors(folder: Path, replicas: int) -> dict[str, Mapping[str, str]]:
    """Return the configurations of the demo's connectors by name.

    Both read the same topic, of whose records some are no JSON. The archive passes them over and
    keeps them as dead letters; the export, which tolerates nothing, fails at the first.
    """
    common = {"connector.class": _FILE_SINK, "topics": PARCELS}
    return {
        ARCHIVE: {
            **common,
            "tasks.max": "2",
            "file": str(folder / f"{ARCHIVE}.txt"),
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": UNREADABLE,
            "errors.deadletterqueue.topic.replication.factor": str(replicas),
            "errors.deadletterqueue.context.headers.enable": "true",
        },
        EXPORT: {
            **common,
            "tasks.max": "1",
            "file": str(folder / f"{EXPORT}.txt"),
            # What it had written before it failed is committed: else it had no lag to show.
            "consumer.override.max.poll.records": "10",
        },
    }


class ConnectPart:
    """A worker and its connectors. Not started again where it ends: a demo without."""

    def __init__(self, folder: Path, java: Java) -> None:
        self._folder = folder.absolute()
        self._java = java
        self._port = free_ports(1, HOST)[0]
        self._worker: ConnectWorker | None = None
        self._connectors: Mapping[str, Mapping[str, str]] = {}
        self._processes: ProcessGroup | None = None
        self._child: Child | None = None
        self._works = False
        self._give_up_at = self._ask_again_at = 0.0

    @property
    def url(self) -> str:
        """The worker's REST address."""
        return f"http://{HOST}:{self._port}"

    def configuration(self) -> dict[str, Any]:
        """Return the entry under ``connect``."""
        return {"name": NAME, "url": self.url, "poll_interval_seconds": POLL_SECONDS}

    def start(
        self, processes: ProcessGroup, logs: Path, bootstrap_servers: str, replicas: int
    ) -> None:
        """Start the worker; :meth:`look_after` does the rest."""
        worker = ConnectWorker(self._folder, bootstrap_servers, replicas=replicas, port=self._port)
        service = worker.service(self._java, kafka_classpath(self._java))
        self._worker, self._processes = worker, processes
        self._connectors = connectors(self._folder, replicas)
        self._child = processes.start(
            service.name,
            service.command,
            log=logs / f"{service.name}.log",
            environment=service.environment,
            folder=ROOT,
        )
        self._give_up_at = time.monotonic() + _START_SECONDS

    def look_after(self) -> str | None:
        """Create the connectors as soon as the worker is ready; call it often.

        Returns:
            Why there is no Kafka Connect in this demo any more, once, where it failed.
        """
        now = time.monotonic()
        if self._worker is None or self._child is None or now < self._ask_again_at:
            return None
        self._ask_again_at = now + _ASK_SECONDS
        reason = None
        if not self._child.alive:
            reason = self._child.exit_report()
        elif not self._works:
            try:
                self._works = self._create(self._worker)
            except DemoError as error:  # such as a rebalance of the group: tried again
                reason = str(error) if now > self._give_up_at else None
            if not self._works and now > self._give_up_at:
                reason = reason or f"not ready after {_START_SECONDS:.0f} s"
        if reason is None:
            return None
        self.close()
        return f"the demo goes on without Kafka Connect: {reason}"

    def close(self) -> None:
        """End it at once; what it keeps is in Kafka."""
        if self._processes is not None and self._child is not None:
            self._processes.stop(self._child, grace_seconds=0)
        self._child = None

    def _create(self, worker: ConnectWorker) -> bool:
        if not worker.ready():
            return False
        for name, config in self._connectors.items():
            worker.configure(name, config)
        return True
