"""The services that make up Headroom, and keeping them running."""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtime.errors import ProcessError
from runtime.java import Java
from runtime.processes import Child, ProcessGroup, wait_until

ROOT = Path(__file__).resolve().parent.parent
"""Folder of the project: where the packages and app/main.py are."""

# Lake, state and logs hold names, addresses and what people wrote.
_NOT_FOR_OTHERS = 0o027
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
_HEALTHY_AFTER_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A program that should always run."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def services(
    config: Path,
    java: Java,
    *,
    port: int,
    address: str = "localhost",
    dashboard: bool = True,
) -> list[Service]:
    """Return the services for a configuration: collectors, alerting, Spark rollups, dashboard."""
    path = str(config.absolute())
    common = {"HEADROOM_CONFIG": path, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    java_home = {"JAVA_HOME": str(java.home)}
    found = [
        Service(name="collectors", command=_module("collectors", path), environment=common),
        Service(name="alerting", command=_module("alerting", path), environment=common),
        Service(
            name="spark",
            command=_module("spark_metrics", path),
            environment={**common, **java_home},
        ),
    ]
    if dashboard:
        command = (
            *(sys.executable, "-m", "app", "--config", path),
            *("--port", str(port), "--address", address),
        )
        found.append(Service(name="dashboard", command=command, environment=common))
    return found


def _module(name: str, config: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, "run", "--config", config)


def launch(processes: ProcessGroup, service: Service, logs: Path) -> Child:
    """Start a service, with its output in a file of its own."""
    return processes.start(
        service.name,
        service.command,
        log=logs / f"{service.name}.log",
        environment=service.environment,
        folder=ROOT,
        umask=_NOT_FOR_OTHERS,
    )


@dataclass(slots=True, kw_only=True)
class _Watched:
    """A service with its process and the history of its deaths."""

    service: Service
    child: Child
    started_at: float
    deaths: int = 0
    start_again_at: float | None = None


class Supervisor:
    """Starts services, and starts each again whenever it ends: one never ends the others."""

    def __init__(
        self,
        processes: ProcessGroup,
        logs: Path,
        on_progress: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._processes = processes
        self._logs = logs
        self._on_progress = on_progress
        self._clock = clock
        self._watched: dict[str, _Watched] = {}

    def start(self, service: Service) -> Child:
        """Start a service and watch it from now on."""
        child = launch(self._processes, service, self._logs)
        self._watched[service.name] = _Watched(
            service=service, child=child, started_at=self._clock()
        )
        return child

    def start_all(self, wanted: Iterable[Service]) -> None:
        """Start services side by side."""
        for service in wanted:
            self.start(service)

    def child(self, name: str) -> Child:
        """Return the present process of a service."""
        return self._watched[name].child

    def end(self, *names: str) -> None:
        """End services in order, and look after them no more."""
        ended = [self._watched.pop(name) for name in names if name in self._watched]
        self._processes.stop(*(watched.child for watched in ended))

    def check(self) -> None:
        """Look after every service once; call it about once a second.

        A service that ended is started again after 1 s, then 2 s, 4 s … at most 30 s, for as long
        as it takes; two healthy minutes begin the pauses anew.
        """
        now = self._clock()
        for watched in self._watched.values():
            try:
                self._look_after(watched, now)
            except (ProcessError, OSError) as error:
                self._start_later(watched, now, str(error))

    def _look_after(self, watched: _Watched, now: float) -> None:
        if watched.start_again_at is not None:
            if now >= watched.start_again_at:
                watched.child = launch(self._processes, watched.service, self._logs)
                watched.started_at = now
                watched.start_again_at = None
        elif not watched.child.alive:
            if now - watched.started_at >= _HEALTHY_AFTER_SECONDS:
                watched.deaths = 0
            exit_report = watched.child.exit_report()
            self._processes.stop(watched.child, grace_seconds=0)  # what it may have left behind
            self._start_later(watched, now, exit_report)

    def _start_later(self, watched: _Watched, now: float, why: str) -> None:
        watched.deaths += 1
        pause = pause_seconds(watched.deaths)
        watched.start_again_at = now + pause
        self._on_progress(f"{why}\n{watched.service.name} starts again in {pause:.0f} s")


def pause_seconds(deaths: int) -> float:
    """Return how long to wait before a service that has ended so often is started again."""
    doublings = min(deaths - 1, 10)  # thousands of them would be beyond every float
    return min(_FIRST_PAUSE_SECONDS * 2.0**doublings, _LONGEST_PAUSE_SECONDS)


def dashboard_answers(port: int) -> bool:
    """Return whether a dashboard on this machine says that it is healthy."""
    url = f"http://127.0.0.1:{port}/_stcore/health"
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def wait_for_dashboard(child: Child, port: int, timeout_seconds: float = 60.0) -> None:
    """Wait until the dashboard answers that it is healthy."""
    wait_until(
        lambda: dashboard_answers(port),
        timeout_seconds=timeout_seconds,
        waiting_for="answer of the dashboard",
        children=[child],
        interval_seconds=0.3,
    )
