"""A real Kafka Connect worker for tests, beside a cluster of one broker, with connectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from demo.connect.worker import ConnectWorker
from demo.errors import DemoError
from demo.kafka.cluster import KafkaCluster
from runtime.jars import kafka_classpath
from runtime.java import Java
from runtime.processes import Child, ProcessGroup
from tests.support import eventually

FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MIRROR_SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


class RunningConnect:
    """A worker with its process: it can be killed, frozen and started again.

    Attributes:
        worker: What is asked over REST.
        child: Its process.
    """

    def __init__(
        self, worker: ConnectWorker, java: Java, processes: ProcessGroup, folder: Path
    ) -> None:
        self.worker = worker
        self._java = java
        self._processes = processes
        self._log = folder / "connect.log"
        self.child = self.start()

    def start(self) -> Child:
        """Start the worker and wait until it takes requests."""
        service = self.worker.service(self._java, kafka_classpath(self._java))
        self.child = self._processes.start(service.name, service.command, log=self._log)
        self.wait()
        return self.child

    def wait(self) -> None:
        """Wait until it takes requests."""

        def ready() -> bool:
            assert self.child.alive, self.child.exit_report()
            return self.worker.ready()

        eventually(ready, timeout_seconds=60, what="ready Connect worker")

    def kill(self) -> None:
        """Kill the worker."""
        self._processes.stop(self.child, grace_seconds=0)

    def status(self, connector: str) -> Mapping[str, Any]:
        """Return a connector's status as Connect tells it; without states before it has one."""
        try:
            found: Mapping[str, Any] = self.worker.ask("GET", f"/connectors/{connector}/status")
        except DemoError:
            return {"connector": {"state": None}, "tasks": []}
        return found

    def is_in(self, connector: str, state: str, tasks: list[str]) -> bool:
        """Return whether a connector and its tasks are in these states."""
        status = self.status(connector)
        found = [task["state"] for task in status["tasks"]]
        return bool(status["connector"]["state"] == state and found == tasks)

    def sink(self, name: str, topic: str, file: Path, **config: str) -> None:
        """Create a file sink; ``__`` in a key of ``config`` is a dot."""
        own = {key.replace("__", "."): value for key, value in config.items()}
        self.worker.configure(
            name,
            {"connector.class": FILE_SINK, "topics": topic, "file": str(file), **own},
        )

    def mirror(self, name: str, cluster: KafkaCluster, alias: str, topics: str) -> None:
        """Create a MirrorMaker 2 that copies topics of a cluster into itself, renamed."""
        servers = cluster.bootstrap_servers
        self.worker.configure(
            name,
            {
                "connector.class": MIRROR_SOURCE,
                "tasks.max": "2",
                "source.cluster.alias": alias,
                "target.cluster.alias": "here",
                "source.cluster.bootstrap.servers": servers,
                "target.cluster.bootstrap.servers": servers,
                "topics": topics,
                "replication.factor": "1",
                "offset-syncs.topic.replication.factor": "1",
                "sync.topic.acls.enabled": "false",
                "refresh.topics.interval.seconds": "2",
                "key.converter": BYTES,
                "value.converter": BYTES,
            },
        )


@contextmanager
def running_connect(cluster: KafkaCluster, java: Java, folder: Path) -> Iterator[RunningConnect]:
    """Run a worker beside a cluster."""
    with ProcessGroup(grace_seconds=3) as processes:
        worker = ConnectWorker(folder, cluster.bootstrap_servers)
        yield RunningConnect(worker, java, processes, folder)
