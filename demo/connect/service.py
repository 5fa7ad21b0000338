"""Kafka Connect as a part of the running demo: one worker, its connectors, its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo.connect.worker import ConnectWorker
from demo.kafka.broker import HOST
from demo.part import Part
from demo.workload.catalogue import PARCELS
from runtime.jars import kafka_classpath
from runtime.java import Java
from runtime.processes import ProcessGroup, free_ports

NAME = "shop"
"""What the Connect cluster is called in the configuration."""
ARCHIVE, EXPORT = "parcel_archive", "carrier_export"
UNREADABLE = "parcels.unreadable"
"""The archive's dead letters: only Connect's configuration tells that they are."""
POLL_SECONDS = 5

_FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


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


class ConnectPart(Part):
    """A worker and its connectors; what it keeps is in Kafka."""

    title = "Kafka Connect"

    def __init__(self, folder: Path, java: Java) -> None:
        super().__init__()
        self._folder = folder.absolute()
        self._java = java
        self._port = free_ports(1, HOST)[0]
        self._worker: ConnectWorker | None = None
        self._replicas = 1

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
        """Start the worker."""
        self._replicas = replicas
        self._worker = ConnectWorker(
            self._folder, bootstrap_servers, replicas=replicas, port=self._port
        )
        self.launch(processes, logs, self._worker.service(self._java, kafka_classpath(self._java)))

    def set_up(self) -> bool:
        """Create the connectors."""
        if self._worker is None or not self._worker.ready():
            return False
        for name, config in connectors(self._folder, self._replicas).items():
            self._worker.configure(name, config)
        return True
