"""A real Kafka Connect worker on this machine: distributed, one process, asked over REST.

The demo and the tests use it alike, beside a ``KafkaCluster``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo.errors import DemoError
from demo.kafka.broker import HOST, java_command, properties_text
from demo.rest import ask
from runtime.java import Java
from runtime.processes import free_ports
from runtime.services import Service

_MAIN_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
_ANSWER_SECONDS = 30.0


def worker_properties(
    bootstrap_servers: str, port: int, replicas: int, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the properties of a worker that starts quickly and stays small."""
    properties = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "connect-cluster",
        "listeners": f"http://{HOST}:{port}",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "config.storage.topic": "connect-configs",
        "offset.storage.topic": "connect-offsets",
        "offset.storage.partitions": "2",
        "status.storage.topic": "connect-status",
        "status.storage.partitions": "2",
        **{
            f"{topic}.storage.replication.factor": str(replicas)
            for topic in ("config", "offset", "status")
        },
        # By their manifests: looking through every class of the class path takes seconds.
        "plugin.discovery": "service_load",
        "connector.client.config.override.policy": "All",
        "offset.flush.interval.ms": "2000",
        # A worker that was killed is not waited for.
        "scheduled.rebalance.max.delay.ms": "0",
        "session.timeout.ms": "10000",
        "heartbeat.interval.ms": "1000",
    }
    return {**properties, **extra}


class ConnectWorker:
    """A worker by its address: the service that runs it, and what is asked of it over REST."""

    def __init__(
        self,
        folder: Path,
        bootstrap_servers: str,
        *,
        replicas: int = 1,
        heap_mb: int = 128,
        properties: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> None:
        self.port = port if port is not None else free_ports(1, HOST)[0]
        self._properties = folder.absolute() / "connect.properties"
        self._content = worker_properties(
            bootstrap_servers, self.port, replicas, dict(properties or {})
        )
        self._heap_mb = heap_mb

    @property
    def url(self) -> str:
        """Its REST address."""
        return f"http://{HOST}:{self.port}"

    def service(self, java: Java, classpath: Path) -> Service:
        """Write its properties and return the program that runs it."""
        self._properties.parent.mkdir(parents=True, exist_ok=True)
        self._properties.write_text(properties_text(self._content), encoding="utf-8")
        command = java_command(java, classpath, self._heap_mb, _MAIN_CLASS, str(self._properties))
        return Service(name="connect", command=tuple(command))

    def ready(self) -> bool:
        """Return whether it has joined its group and takes requests."""
        try:
            self.ask("GET", "/health", timeout_seconds=2.0)
        except DemoError:
            return False
        return True

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector, or give it another configuration."""
        self.ask("PUT", f"/connectors/{connector}/config", dict(config))

    def ask(
        self, method: str, path: str, body: Any = None, timeout_seconds: float = _ANSWER_SECONDS
    ) -> Any:
        """Send one request and return the JSON of its answer; None where it is empty."""
        return ask(method, self.url + path, body, timeout_seconds=timeout_seconds)
