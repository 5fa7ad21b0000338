"""A real Kafka cluster on this machine: KRaft, every broker a process of its own.

The demo and the tests use it alike. Its brokers can be stopped, killed, frozen and started again,
and nothing of it is left behind when it is closed or when the process that holds it is killed.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from demo.errors import ClusterError
from demo.kafka import broker as settings
from demo.kafka import storage
from runtime.errors import ProcessError
from runtime.jars import kafka_classpath
from runtime.java import Java, find_java
from runtime.processes import Child, ProcessGroup, free_ports, port_free, wait_until

SMALLEST_HEAP_MB = 64
_METADATA_SECONDS = 3.0


class KafkaCluster:
    """A cluster of brokers numbered from 1, each broker and controller in one.

    Use as a context manager, or call :meth:`start` and :meth:`close`. What does not succeed, or not
    in time, raises ClusterError.

    Attributes:
        folder: Holds data (that of an earlier run is used again), properties and logs.
    """

    def __init__(
        self,
        folder: Path,
        brokers: int = 3,
        heap_mb: int = 128,
        properties: Mapping[str, str] | Callable[[int], Mapping[str, str]] | None = None,
        *,
        ports: Sequence[int] | None = None,
        java: Java | None = None,
        processes: ProcessGroup | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """Describe a cluster; nothing starts yet.

        Properties are those of every broker, or a function from its number to its own.
        """
        if brokers < 1:
            raise ClusterError(f"a cluster needs at least one broker, not {brokers}")
        if heap_mb < SMALLEST_HEAP_MB:
            raise ClusterError(f"a broker needs {SMALLEST_HEAP_MB} MB of heap, not {heap_mb}")
        if ports is not None and len(ports) != brokers:
            raise ClusterError(f"{brokers} brokers need {brokers} ports, not {len(ports)}")
        self.folder = folder.absolute()
        self._count = brokers
        self._heap_mb = heap_mb
        shared = {} if properties is None or callable(properties) else dict(properties)
        self._extra = properties if callable(properties) else lambda _: shared
        self._fixed_ports = list(ports) if ports is not None else None
        self._ports: dict[int, settings.Ports] = {}
        self._java = java
        self._flags = tuple(flags)
        self._classpath: Path | None = None
        self._own_processes = processes is None
        self._processes = processes
        self._running: dict[int, Child] = {}
        self._frozen: set[int] = set()
        self._cluster_id = ""
        self._admin: AdminClient | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def brokers(self) -> tuple[int, ...]:
        """Numbers of all brokers, running or not."""
        return tuple(range(1, self._count + 1))

    @property
    def running(self) -> tuple[int, ...]:
        """Numbers of the brokers whose process lives, frozen ones included."""
        return tuple(number for number, child in sorted(self._running.items()) if child.alive)

    @property
    def frozen(self) -> tuple[int, ...]:
        """Numbers of the brokers that are frozen."""
        return tuple(sorted(self._frozen))

    def died(self) -> list[tuple[int, Child]]:
        """Return number and process of the brokers that ended though nobody stopped them."""
        return [(number, child) for number, child in self._running.items() if not child.alive]

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of all brokers, as clients want them."""
        return ",".join(f"{settings.HOST}:{self.port(number)}" for number in self.brokers)

    @property
    def cluster_id(self) -> str:
        """The cluster's id; empty before the start."""
        return self._cluster_id

    def port(self, broker: int) -> int:
        """Return a broker's client port."""
        number = self._known(broker)
        if not self._ports and self._fixed_ports is not None:  # known before the start
            return self._fixed_ports[number - 1]
        return self._ports[number].client

    def pid(self, broker: int) -> int:
        """Return the process id of a broker that was started."""
        child = self._running.get(self._known(broker))
        if child is None:
            raise ClusterError(f"broker {broker} is not running")
        return child.pid

    def log(self, broker: int) -> Path:
        """Return the file with a broker's output."""
        return self.folder / "logs" / f"broker-{self._known(broker)}.log"

    def start(self, timeout_seconds: float = 90.0) -> Self:
        """Start all brokers at once and wait until they answer."""
        self._java = self._java or find_java()
        self._classpath = kafka_classpath(self._java)
        self._processes = self._processes or ProcessGroup()
        try:
            self._choose_ports()
            self._cluster_id = storage.prepare(
                self.folder, self._ports, self._extra, partial(self.java_command, 64)
            )
            for number in self.brokers:
                self._launch(number)
            self.wait_until_ready(timeout_seconds)
        except BaseException:
            self.close()
            raise
        return self

    def wait_until_ready(self, timeout_seconds: float = 90.0) -> None:
        """Wait until metadata shows every running broker and a controller."""
        self._wait(set(self.running) - self._frozen, self._running.values(), timeout_seconds)

    def stop(self, broker: int, number: int = signal.SIGTERM, grace_seconds: float = 20.0) -> None:
        """End one broker and wait for its end."""
        child = self._running.pop(self._known(broker), None)
        if child is None or self._processes is None:
            raise ClusterError(f"broker {broker} is not running")
        self._frozen.discard(broker)
        self._processes.stop(child, grace_seconds=0 if number == signal.SIGKILL else grace_seconds)

    def kill(self, broker: int) -> None:
        """End one broker as a crash would: SIGKILL."""
        self.stop(broker, signal.SIGKILL)

    def freeze(self, broker: int) -> None:
        """Stop a broker's clock (SIGSTOP): its connections stay open, but it answers nothing."""
        self._alive(broker).signal(signal.SIGSTOP)
        self._frozen.add(broker)

    def thaw(self, broker: int) -> None:
        """Let a frozen broker go on (SIGCONT)."""
        child = self._alive(broker)
        if broker not in self._frozen:
            raise ClusterError(f"broker {broker} is not frozen")
        child.signal(signal.SIGCONT)
        self._frozen.discard(broker)

    def restart(self, broker: int, timeout_seconds: float = 60.0) -> None:
        """Start a broker that is down on its old data, and wait until metadata shows it.

        A broker that still runs is shut down first.
        """
        if self._known(broker) in self._running:
            alive = self._running[broker].alive
            self.stop(broker, signal.SIGTERM if alive else signal.SIGKILL)
        self._launch(broker)
        self._wait({broker}, [self._running[broker]], timeout_seconds)

    def restore(self, timeout_seconds: float = 60.0) -> list[str]:
        """Undo every fault: thaw what is frozen, start what is down.

        Returns:
            What was done, one sentence a broker.
        """
        done = []
        for number in sorted(self._frozen):
            self.thaw(number)
            done.append(f"broker {number} thawed")
        # All at once: where most were down, one alone would wait for a quorum for ever.
        for number in [broker for broker in self.brokers if broker not in self.running]:
            if number in self._running:  # it died by itself
                self.kill(number)
            self._launch(number)
            done.append(f"broker {number} started again")
        self.wait_until_ready(timeout_seconds)
        return done

    def admin(self) -> AdminClient:
        """Return an admin client of this cluster, always the same."""
        if self._admin is None:
            self._admin = AdminClient(settings.admin_settings(self.bootstrap_servers))
        return self._admin

    def close(self, *, keep: bool = True) -> None:
        """End every broker; safe to call twice.

        Args:
            keep: Shut down in an orderly way and leave the data usable. Otherwise the brokers
                are killed and the folder is deleted.
        """
        self._admin = None
        if self._processes is not None:
            grace = 8.0 if keep else 0.0
            self._processes.stop(*self._running.values(), grace_seconds=grace)
            self._running.clear()
            self._frozen.clear()
            if self._own_processes:
                self._processes.close()
                self._processes = None
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _known(self, broker: int) -> int:
        if broker not in self.brokers:
            raise ClusterError(f"there is no broker {broker}: they are 1 to {self._count}")
        return broker

    def _alive(self, broker: int) -> Child:
        child = self._running.get(self._known(broker))
        if child is None or not child.alive:
            raise ClusterError(f"broker {broker} is not running")
        return child

    def _choose_ports(self) -> None:
        if self._fixed_ports is not None:
            for port in self._fixed_ports:
                if not port_free(port, settings.HOST):
                    raise ClusterError(f"port {port} for a broker is taken: choose other ports")
            clients = self._fixed_ports
        else:
            clients = []
        needed = 2 * self._count - len(clients)
        free = iter(free_ports(needed, settings.HOST))
        self._ports = {
            number: settings.Ports(
                client=clients[number - 1] if clients else next(free), controller=next(free)
            )
            for number in self.brokers
        }

    def _launch(self, broker: int) -> None:
        if self._processes is None:
            raise ClusterError("the cluster is closed")
        properties = str(storage.properties_file(self.folder, broker))
        self._running[broker] = self._processes.start(
            f"broker {broker}",
            self.java_command(self._heap_mb, "kafka.Kafka", properties, flags=self._flags),
            log=self.log(broker),
            folder=self.folder,
        )

    def java_command(
        self, heap_mb: int, main_class: str, *arguments: str, flags: Sequence[str] = ()
    ) -> list[str]:
        """Return the command that runs a class of Kafka's jars."""
        if self._java is None or self._classpath is None:
            raise ClusterError("the cluster has not been started")
        return settings.java_command(
            self._java, self._classpath, heap_mb, main_class, *arguments, flags=flags
        )

    def _wait(self, brokers: set[int], children: Iterable[Child], timeout_seconds: float) -> None:
        def ready() -> bool:
            try:
                metadata = self.admin().list_topics(timeout=_METADATA_SECONDS)
            except KafkaException:
                return False
            return metadata.controller_id >= 0 and brokers <= set(metadata.brokers)

        try:
            wait_until(
                ready,
                timeout_seconds=timeout_seconds,
                waiting_for=f"answer of {len(brokers)} brokers with a controller",
                children=children,
            )
        except ProcessError as error:
            raise ClusterError(str(error)) from error
