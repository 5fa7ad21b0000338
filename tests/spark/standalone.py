"""A real Spark standalone cluster on this machine: a master and workers, each a process."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from runtime.java import Java
from runtime.processes import Child, ProcessGroup, free_ports, wait_until

HOST = "127.0.0.1"
_DAEMON_MEMORY = "128m"
_START_SECONDS = 120


class Standalone:
    """The cluster; a context manager that leaves no process behind."""

    def __init__(self, java: Java, folder: Path, *, worker_memory: str = "600m") -> None:
        self._folder = folder
        self._worker_memory = worker_memory
        self._port, self._page = free_ports(2)
        self._processes = ProcessGroup(grace_seconds=2)
        self._environment = {
            "JAVA_HOME": str(java.home),
            "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "SPARK_LOCAL_IP": HOST,
            "PYSPARK_PYTHON": sys.executable,
        }
        self.workers: list[Child] = []

    def __enter__(self) -> Standalone:
        master = self._start(
            "Spark master",
            "org.apache.spark.deploy.master.Master",
            *("--host", HOST, "--port", str(self._port), "--webui-port", str(self._page)),
        )
        wait_until(
            lambda: self._alive_workers() is not None,
            timeout_seconds=_START_SECONDS,
            waiting_for="a Spark master",
            children=[master],
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    @property
    def master(self) -> str:
        """The master's URL."""
        return f"spark://{HOST}:{self._port}"

    def properties(self, executor_memory: str = "512m") -> dict[str, str]:
        """Return the properties of a driver on this machine."""
        return {
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.memory": executor_memory,
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        }

    def add_workers(self, count: int) -> None:
        """Start workers with a core each, and wait until the master knows them."""
        for _ in range(count):
            number = len(self.workers)
            worker = self._start(
                f"Spark worker {number}",
                "org.apache.spark.deploy.worker.Worker",
                *("--host", HOST, "--webui-port", "0", "--cores", "1"),
                *("--memory", self._worker_memory),
                *("--work-dir", str(self._folder / f"worker-{number}"), self.master),
            )
            self.workers.append(worker)
        wanted = sum(worker.alive for worker in self.workers)
        wait_until(
            lambda: (self._alive_workers() or 0) >= wanted,
            timeout_seconds=_START_SECONDS,
            waiting_for=f"{wanted} Spark workers",
            children=[worker for worker in self.workers if worker.alive],
        )

    def kill(self, worker: Child) -> None:
        """End a worker and its executors without a word."""
        self._processes.stop(worker, grace_seconds=0)

    def _alive_workers(self) -> int | None:
        """Ask the master how many workers it has; None while it does not answer."""
        try:
            with urlopen(f"http://{HOST}:{self._page}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (URLError, OSError, ValueError):
            return None

    def _start(self, name: str, main_class: str, *arguments: str) -> Child:
        spec = find_spec("pyspark")
        if spec is None or spec.origin is None:
            raise RuntimeError("pyspark is not installed")
        home = Path(spec.origin).parent
        log = self._folder / f"{name.replace(' ', '-').lower()}.log"
        return self._processes.start(
            name,
            [str(home / "bin" / "spark-class"), main_class, *arguments],
            log=log,
            environment={**self._environment, "SPARK_HOME": str(home)},
            folder=_made(self._folder),
        )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
