"""The demo with everything twice that may be there twice, and what can be done to it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from bench.support.network import Network
from config.load import load
from config.settings import Settings
from demo.running import Options, RunningDemo
from demo.state import DataFolder, Request
from runtime.java import Java
from runtime.processes import free_ports
from runtime.services import ROOT, Service, services
from tests.faults.hour.clock import CLOCKED, STEP_SECONDS, Clock
from tests.faults.hour.schedule import Fault, Kind
from tests.faults.hour.store import Store

DISK = "lake"
"""The folder of the lake, inside the data folder: a disk of its own, with the alerts on it."""

DISK_BYTES = 512 * 1024 * 1024
SLOW_SECONDS = 0.3
SERVICES = ("collectors", "collectors-2", "alerting", "alerting-2", "spark", "dashboard")
_BROKERS = 3
_HOST = "127.0.0.1"


class World:
    """A running demo whose brokers Headroom reaches through proxies, with a disk of its own."""

    def __init__(
        self,
        data: Path,
        java: Java,
        webhook: str,
        say: Callable[[str], None],
        store_seed: int | None = None,
    ) -> None:
        """Prepare.

        Args:
            data: An empty or missing folder.
            java: What runs brokers and Spark.
            webhook: Where alerts are sent.
            say: Told of everything that happens.
            store_seed: The lake lies in an object store, whose failures this decides; None: in
                the folder.
        """
        self._say = say
        self._webhook = webhook
        self._java = java
        self._folder = DataFolder(data)
        self._folder.take()
        self._network = Network()
        ports = free_ports(3 * _BROKERS + 1)
        clients, proxied, controllers = (ports[at : at + _BROKERS] for at in (0, 3, 6))
        self.port = ports[-1]
        self._paths = [self._network.path(each) for each in proxied]

        def listeners(broker: int) -> Mapping[str, str]:
            at = broker - 1
            plain, host = f"PLAINTEXT://{_HOST}:{clients[at]}", f"PROXIED://{_HOST}"
            return {
                "listeners": f"{plain},{host}:{proxied[at]},CONTROLLER://{_HOST}:{controllers[at]}",
                "advertised.listeners": f"{plain},{host}:{self._paths[at].port}",
                "listener.security.protocol.map": ",".join(
                    f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "PROXIED", "CONTROLLER")
                ),
                "controller.quorum.voters": ",".join(
                    f"{number}@{_HOST}:{each}" for number, each in enumerate(controllers, 1)
                ),
            }

        self.demo = RunningDemo(
            self._folder,
            Options(port=self.port, kafka_ports=tuple(clients), properties=listeners),
            java,
            say,
        )
        self._disk = data / DISK
        self._disk.mkdir(exist_ok=True)
        self.has_own_disk = _mount(self._disk)
        self.clock = Clock(data / "clock")
        self._store = None
        if store_seed is not None:
            self._store = Store(java, data / "store", self._network, store_seed)
        self._broken: dict[Path, bytes] = {}

    @property
    def settings(self) -> Settings:
        """What the first collectors run with."""
        return load(self._folder.config)

    def start(self) -> None:
        """Start everything, and wait for the first lag and the dashboard's process."""
        if self._store is not None:
            self._store.start()
        self.demo.start_brokers()
        self._write_settings()
        self.demo.start_workload()
        self._start_services("collectors", "dashboard")
        self.demo.wait_for_workload()
        self._start_services("alerting", "spark", "collectors-2", "alerting-2")
        self.demo.wait_for_first_lag()

    def _start_services(self, *names: str) -> None:
        """Start some of Headroom's services, those on the clock that can jump with it."""
        found = services(self._folder.config, self._java, port=self.port)
        environment = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        for name in ("collectors", "alerting"):
            config = self._folder.config.with_name(f"{name}-2.yaml")
            command = (sys.executable, "-m", name, "run", "--config", str(config))
            found.append(Service(name=f"{name}-2", command=command, environment=environment))
        for each in found:
            if each.name in names:
                clock = self.clock.environment if each.name.startswith(CLOCKED) else {}
                self.demo.supervisor.start(replace(each, environment={**each.environment, **clock}))

    def _write_settings(self) -> None:
        """Write the demo's settings with what is different here, and those of the second ones."""
        path = self.demo.write_config()
        content = yaml.safe_load(path.read_text())
        servers = ",".join(f"{_HOST}:{each.port}" for each in self._paths)
        content["clusters"][0]["bootstrap_servers"] = servers
        content |= {"connect": [], "rabbitmq": [], "lake": {"uri": DISK}}
        if self._store is not None:
            content["lake"] = self._store.lake()
        content["alerting"] |= {
            "state": f"{DISK}/alerts.sqlite",
            "shared": True,
            "group_interval_seconds": 10,
            "targets": [
                {
                    "name": "hook",
                    "kind": "webhook",
                    "url": self._webhook,
                    "severities": ["critical", "warning", "info"],
                    "max_per_minute": 600,
                }
            ],
        }
        path.write_text(yaml.safe_dump(content))
        path.with_name("collectors-2.yaml").write_text(yaml.safe_dump(content))
        content["alerting"]["state"] = "alerts-2.sqlite"
        path.with_name("alerting-2.yaml").write_text(yaml.safe_dump(content))

    def look_after(self) -> None:
        """Restart what ended; call it often."""
        self.demo.look_after()

    def pid(self, service: str) -> int | None:
        """Return a service's process, if it runs."""
        child = self.demo.supervisor.child(service)
        return child.pid if child.alive else None

    def begin(self, fault: Fault) -> None:
        """Break something."""
        broker, name = fault.target or "", fault.target or ""
        match fault.kind:
            case Kind.BROKER_KILLED:
                self.demo.cluster.kill(int(broker))
            case Kind.BROKER_FROZEN:
                self.demo.cluster.freeze(int(broker))
            case Kind.SLOW_NETWORK:
                for path in self._paths:
                    path.round_trip_seconds = SLOW_SECONDS
            case Kind.BROKER_CUT_OFF:
                self._paths[int(broker) - 1].freeze()
            case Kind.ALL_CUT_OFF:
                for path in self._paths:
                    path.cut()
            case Kind.GROUP_STOPPED:
                self._ask(Request(action="stop-consumers", group=name))
            case Kind.COLLECTORS_KILLED | Kind.ALERTING_KILLED:
                self._signal(name, signal.SIGKILL)
            case Kind.BOTH_COLLECTORS_KILLED:
                for each in ("collectors", "collectors-2"):
                    self._signal(each, signal.SIGKILL)
            case Kind.COLLECTORS_FROZEN | Kind.ALERTING_FROZEN:
                self._signal(name, signal.SIGSTOP)
            case Kind.SPARK_KILLED:
                self._signal("spark", signal.SIGKILL)
            case Kind.DASHBOARD_KILLED:
                self._signal("dashboard", signal.SIGKILL)
            case Kind.DISK_FULL:
                self._fill()
            case Kind.CURRENT_FILE_BROKEN:
                self._break_current()
            case Kind.SETTINGS_BROKEN:
                self._broken[self._folder.config] = self._folder.config.read_bytes()
                self._folder.config.write_text("clusters: [")
            case Kind.OBJECT_STORE_FAILS if self._store is not None:
                self._store.fail()
            case Kind.CLOCK_STEPPED:
                self.clock.set(STEP_SECONDS)

    def end(self, fault: Fault) -> None:
        """Mend what does not mend itself."""
        match fault.kind:
            case Kind.BROKER_KILLED | Kind.BROKER_FROZEN:
                self.demo.cluster.restore()
            case Kind.SLOW_NETWORK:
                for path in self._paths:
                    path.round_trip_seconds = 0.0
            case Kind.BROKER_CUT_OFF:
                self._paths[int(fault.target or "") - 1].thaw()
            case Kind.ALL_CUT_OFF:
                for path in self._paths:
                    path.mend()
            case Kind.GROUP_STOPPED:
                self._ask(Request(action="start-consumers", group=fault.target))
            case Kind.COLLECTORS_FROZEN | Kind.ALERTING_FROZEN:
                self._signal(fault.target or "", signal.SIGCONT)
            case Kind.DISK_FULL:
                (self._disk / "balloon").unlink()
            case Kind.SETTINGS_BROKEN:
                for path, content in self._broken.items():
                    path.write_bytes(content)
                self._broken.clear()
            case Kind.OBJECT_STORE_FAILS if self._store is not None:
                self._say(self._store.recover())
            case Kind.CLOCK_STEPPED:
                self.clock.set(0)

    def stop_services(self) -> None:
        """End Headroom's services in order, so that all that they polled is written."""
        self.demo.supervisor.end(*SERVICES)

    def complete_history(self) -> None:
        """Let history take in every sample."""
        command = [sys.executable, "-m", "spark_metrics", "once"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(
            [*command, "--config", str(self._folder.config)],
            env=environment,
            check=True,
            capture_output=True,
        )

    def close(self) -> list[str]:
        """End everything, and return the processes that are left."""
        self.demo.close()
        if self._store is not None:
            self._store.close()
        self._network.close()
        self._folder.release()
        deadline = time.monotonic() + 10
        while (left := _processes_of(self._folder.path)) and time.monotonic() < deadline:
            time.sleep(0.5)
        return left

    def _ask(self, request: Request) -> None:
        answer = self.demo.carry_out(request)
        if not answer.done:
            self._say(answer.message)

    def _signal(self, service: str, number: int) -> None:
        self.demo.supervisor.child(service).signal(number)

    def _fill(self) -> None:
        """Write until nothing more fits."""
        with (self._disk / "balloon").open("wb", buffering=0) as balloon:
            try:
                while True:
                    balloon.write(bytes(4096))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def _break_current(self) -> None:
        """Cut the files of the present in half: services write them anew."""
        folder = self._disk / "current"
        for path in sorted(folder.rglob("*.parquet")):
            content = path.read_bytes()
            path.write_bytes(content[: len(content) // 2])


def unmount(data: Path) -> None:
    """Let go of the disk of a run that has ended, and of what is on it."""
    subprocess.run(["umount", str(data / DISK)], capture_output=True, check=False)


def _mount(folder: Path) -> bool:
    """Give a folder a small disk in memory; only root can."""
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(["mount", *options], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _processes_of(folder: Path) -> list[str]:
    listed = subprocess.run(
        ["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
    )
    return [
        line
        for line in listed.stdout.splitlines()
        if str(folder) in line and line.split()[1][0] != "Z" and int(line.split()[0]) != os.getpid()
    ]
