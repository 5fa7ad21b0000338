"""A running demo: brokers, workload and services, started in order and ended together."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import yaml

from config.load import load
from demo.connect.service import ConnectPart
from demo.errors import DemoError
from demo.kafka.cluster import KafkaCluster
from demo.part import Part
from demo.rabbitmq.node import find_rabbitmq
from demo.rabbitmq.service import RabbitPart
from demo.state import Answer, DataFolder, Request
from demo.workload.catalogue import CATALOGUE
from demo.workload.control import Reached, Wanted
from lake.errors import LakeError
from lake.schemas.tables import GROUP_OFFSETS
from lake.storage.store import Lake
from runtime.errors import ProcessError, RuntimeSetupError
from runtime.java import Java
from runtime.processes import Child, ProcessGroup, free_ports, wait_until
from runtime.services import ROOT, Service, Supervisor, services

CLUSTER_NAME = "demo"
POLL_SECONDS = 5

# Polls come three times as often as by default: so do alerts come and go.
_RULES = {
    "GroupStopped": {"for": f"{3 * POLL_SECONDS}s", "keep_firing_for": f"{3 * POLL_SECONDS}s"},
    "BrokerMissing": {"keep_firing_for": f"{3 * POLL_SECONDS}s"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user chose."""

    port: int = 8501
    kafka_ports: tuple[int, ...] = ()  # client ports of the brokers; free ones where there are none
    brokers: int = 3
    heap_mb: int = 128
    dashboard: bool = True
    keep: bool = False
    properties: Callable[[int], Mapping[str, str]] = lambda _: {}  # more of a broker, by its number


class RunningDemo:
    """Starts the parts of the demo, looks after them, and acts on requests.

    The data folder must be taken by this process. :meth:`close` ends everything.
    """

    def __init__(
        self, folder: DataFolder, options: Options, java: Java, on_progress: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._options = options
        self._java = java
        self._on_progress = on_progress
        if not folder.kept:
            folder.clear()
        known = len(list(folder.kafka.glob("broker-*.properties")))
        if known not in {0, options.brokers}:
            raise DemoError(
                f"the data kept in {folder.path} is of {known} brokers: "
                f"use --brokers {known}, or delete the folder"
            )
        self._processes = ProcessGroup()
        self.cluster = KafkaCluster(
            folder.kafka,
            options.brokers,
            options.heap_mb,
            options.properties,
            ports=options.kafka_ports or free_ports(options.brokers),
            java=java,
            processes=self._processes,
        )
        self._supervisor = Supervisor(self._processes, folder.logs, on_progress)
        self.connect = ConnectPart(folder.connect, java)
        rabbitmq = find_rabbitmq()
        self.rabbit = None if rabbitmq is None else RabbitPart(folder.rabbitmq, rabbitmq)
        self._history: Child | None = None
        self._wanted = Wanted()
        self._mourned: set[int] = set()
        self._started_at = datetime.now(UTC)

    def start_brokers(self) -> None:
        """Start the brokers and wait until they answer."""
        self.cluster.start()
        (self._folder.kafka / "kept").unlink(missing_ok=True)

    def write_config(self) -> Path:
        """Write the configuration for the services, and return its path."""
        content = {
            "clusters": [
                {
                    "name": CLUSTER_NAME,
                    "bootstrap_servers": self.cluster.bootstrap_servers,
                    "poll_interval_seconds": POLL_SECONDS,
                    "dead_letters": {"redrive_groups": dict(CATALOGUE.redrive_groups)},
                }
            ],
            "connect": [self.connect.configuration()],
            "rabbitmq": [] if self.rabbit is None else [self.rabbit.configuration()],
            "lake": {"uri": "lake"},
            "alerting": {"state": "alerts.sqlite", "rules": "rules.yaml"},
            "app": {"port": self._options.port, "refresh_seconds": POLL_SECONDS},
        }
        self._folder.config.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        rules = self._folder.config.with_name("rules.yaml")
        rules.write_text(yaml.safe_dump({"rules": _RULES}, sort_keys=False), encoding="utf-8")
        return self._folder.config

    def start_generated_history(self) -> None:
        """Begin to write the generated history, where the lake has no history yet.

        The configuration must have been written.
        """
        until = f"{self._started_at:%Y-%m-%dT%H:%M:%S}"
        options = ("--config", str(self._folder.config), "--until", until)
        self._history = self._processes.start(
            "generated history",
            (sys.executable, "-m", "demo.history.tables", *options),
            log=self._folder.logs / "generated-history.log",
            environment={"PYTHONPATH": str(ROOT)},
        )

    def wait_for_generated_history(self, timeout_seconds: float = 60.0) -> None:
        """Wait until it is written: Spark must not write history at the same time."""
        history, self._history = self._history, None
        if history is None:
            return
        if not history.wait(timeout_seconds) or history.returncode:
            self._on_progress(
                f"{history.exit_report()}\nthe demo goes on without a generated history"
            )
        self._processes.stop(history)

    def start_workload(self) -> None:
        """Start producers and consumers; :meth:`wait_for_workload` waits for them."""
        self._wanted.write(self._folder.control)
        command = (
            *(sys.executable, "-m", "demo.workload"),
            *("--bootstrap-servers", self.cluster.bootstrap_servers),
            *("--control", str(self._folder.control)),
        )
        self._supervisor.start(
            Service(name="workload", command=command, environment={"PYTHONPATH": str(ROOT)})
        )

    def wait_for_workload(self, timeout_seconds: float = 90.0) -> None:
        """Wait until all topics exist and all groups have been started."""
        wait_until(
            lambda: Reached.read(self._folder.control) is not None,
            timeout_seconds=timeout_seconds,
            waiting_for="running workload",
            children=[self._supervisor.child("workload")],
            interval_seconds=0.2,
        )

    def start_connect(self) -> str:
        """Begin to start a worker of Kafka Connect, and return one line on it."""
        replicas = min(3, self._options.brokers)
        self.connect.start(
            self._processes, self._folder.logs, self.cluster.bootstrap_servers, replicas
        )
        return f"Kafka Connect: {self.connect.url}, in some seconds"

    def start_rabbitmq(self) -> str:
        """Begin to start RabbitMQ where it is installed, and return one line on it."""
        if self.rabbit is None:
            return "RabbitMQ: rabbitmq-server is not installed, the demo goes on without it"
        self.rabbit.start(self._processes, self._folder.logs)
        return f"RabbitMQ: {self.rabbit.url} (guest, guest), in some seconds"

    def start_services(self, *names: str) -> None:
        """Start some of the services: ``collectors``, ``alerting``, ``spark``, ``dashboard``."""
        found = services(
            self._folder.config,
            self._java,
            port=self._options.port,
            dashboard=self._options.dashboard,
        )
        self._supervisor.start_all(each for each in found if each.name in names)

    @property
    def supervisor(self) -> Supervisor:
        """Who looks after workload and services."""
        return self._supervisor

    def wait_for_first_lag(self, timeout_seconds: float = 120.0) -> int:
        """Wait until the lake holds a lag that is not nothing, and return the sum of the first."""
        lake = Lake(load(self._folder.config).lake)
        total = 0

        def arrived() -> bool:
            nonlocal total
            try:
                rows = lake.latest(
                    GROUP_OFFSETS,
                    cluster=CLUSTER_NAME,
                    now=datetime.now(UTC),
                    within=timedelta(minutes=10),
                )
            except LakeError:  # a table in the moment of its creation
                return False
            rows = rows.filter(pl.col("observed_at") >= self._started_at)
            total = int(rows.get_column("lag").sum() or 0)
            return total > 0

        wait_until(
            arrived,
            timeout_seconds=timeout_seconds,
            waiting_for="lag in the lake",
            children=[self._supervisor.child("collectors")],
            interval_seconds=0.5,
        )
        return total

    def look_after(self) -> None:
        """Answer requests, restart services, report brokers that died; call it often."""
        for name, request in self._folder.requests():
            self._folder.reply(name, self.carry_out(request))
        self._supervisor.check()
        for part in self._parts:
            failure = part.look_after()
            if failure is not None:
                self._on_progress(failure)
        for number, child in self.cluster.died():
            if child.pid not in self._mourned:
                self._mourned.add(child.pid)
                self._on_progress(
                    f"{child.exit_report()}\nbroker {number} died; python -m demo fault restore "
                    "starts it again"
                )

    def close(self) -> None:
        """End every process; delete Kafka's data unless it is to be kept."""
        keep = self._options.keep
        for part in self._parts:
            part.close()
        others = [each for each in self._processes.children if not each.name.startswith("broker")]
        self._processes.stop(*others, grace_seconds=8.0)
        self.cluster.close(keep=keep)
        self._processes.close(grace_seconds=0)
        if keep:
            self._folder.keep()

    @property
    def _parts(self) -> Sequence[Part]:
        return [self.connect] if self.rabbit is None else [self.connect, self.rabbit]

    def carry_out(self, request: Request) -> Answer:
        """Act on a request, and return what came of it."""
        try:
            message, details = self._act(request)
        except (RuntimeSetupError, ProcessError) as error:
            return Answer(done=False, message=str(error))
        return Answer(done=True, message=message, details=details)

    def _act(self, request: Request) -> tuple[str, dict[str, object] | None]:
        broker = request.broker or 0
        match request.action:
            case "kill-broker":
                self.cluster.kill(broker)
                return f"broker {broker} got SIGKILL", None
            case "stop-broker":
                self.cluster.stop(broker, signal.SIGTERM)
                return f"broker {broker} was shut down", None
            case "freeze-broker":
                self.cluster.freeze(broker)
                return f"broker {broker} is frozen: its connections stay, it answers nothing", None
            case "thaw-broker":
                self.cluster.thaw(broker)
                return f"broker {broker} goes on", None
            case "stop-consumers":
                self._set_stopped({*self._wanted.stopped_groups, request.group or ""})
                return f"the consumers of {request.group} have left", None
            case "start-consumers":
                if request.group not in self._wanted.stopped_groups:
                    raise DemoError(f"the consumers of {request.group} were not stopped")
                self._set_stopped({*self._wanted.stopped_groups} - {request.group})
                return f"the consumers of {request.group} are back", None
            case "restore":
                return self._restore(), None
            case "status":
                return "the demo runs", self.status()
        raise DemoError(f"there is no action {request.action}")

    def _set_stopped(self, groups: set[str]) -> None:
        known = {group.name for group in CATALOGUE.groups}
        for name in groups - known:
            raise DemoError(f"there is no group {name}: choose from {', '.join(sorted(known))}")
        self._wanted = replace(
            self._wanted, number=self._wanted.number + 1, stopped_groups=sorted(groups)
        )
        self._wanted.write(self._folder.control)
        wait_until(
            lambda: self._reached().number == self._wanted.number,
            timeout_seconds=30,
            waiting_for="answer of the workload",
            children=[self._supervisor.child("workload")],
        )
        error = self._reached().error
        if error:
            raise DemoError(error)

    def _reached(self) -> Reached:
        return Reached.read(self._folder.control) or Reached(number=-1)

    def _restore(self) -> str:
        done = self.cluster.restore()
        if self._wanted.stopped_groups:
            names = ", ".join(self._wanted.stopped_groups)
            self._set_stopped(set())
            done.append(f"consumers of {names} back")
        return "; ".join(done) or "nothing was broken"

    def status(self) -> dict[str, object]:
        """Return what runs, as ``python -m demo status`` shows it."""
        running, frozen = self.cluster.running, self.cluster.frozen
        states = {
            number: "frozen" if number in frozen else "running" if number in running else "down"
            for number in self.cluster.brokers
        }
        address = f"http://localhost:{self._options.port}" if self._options.dashboard else None
        return {
            "process": os.getpid(),
            "running_seconds": round((datetime.now(UTC) - self._started_at).total_seconds()),
            "dashboard": address,
            "config": str(self._folder.config),
            "bootstrap_servers": self.cluster.bootstrap_servers,
            "brokers": [
                {
                    "broker": number,
                    "state": state,
                    "port": self.cluster.port(number),
                    "process": None if state == "down" else self.cluster.pid(number),
                }
                for number, state in states.items()
            ],
            "services": {
                child.name: child.pid
                for child in self._processes.children
                if not child.name.startswith("broker") and child.alive
            },
            "consumers": self._reached().members,
            "stopped_groups": list(self._wanted.stopped_groups),
        }


class Stopwatch:
    """Seconds since a start, for progress."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start
