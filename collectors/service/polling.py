"""The polling service: each cluster under its lease, each source at its own cadence."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from collectors.service.cluster import ClusterPolling, ClusterState
from collectors.service.rows import Stamp
from collectors.service.snapshot import Snapshots, by_cluster
from collectors.service.writer import LakeWriter, WriterState
from collectors.source.model import SectionResult, Source
from lake.storage.store import Lake

log = logging.getLogger(__name__)

STOP_SECONDS = 20.0
"""How long a stop waits for running polls and for the lake."""

COLLECTORS, SETTINGS = "collectors", "settings"
"""The source and the section under which a change of settings is recorded."""

LOOK_SECONDS = 2.0
"""Between two looks whether something else is to be polled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be polled.

    Attributes:
        make: Makes every source. Raises SettingsError where one cannot work.
        specs: Cluster and name of a source: what it is made from. One with another is polled anew.
    """

    make: Callable[[], Sequence[Source]]
    specs: Mapping[tuple[str, str], object] = field(default_factory=dict)


class Service:
    """Polls sources until it is stopped: a thread each, and one that writes."""

    def __init__(
        self,
        plan: Plan,
        lake: Lake,
        snapshots: Snapshots | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the sources.

        Args:
            plan: What is polled first.
            lake: Where rows and leases are.
            snapshots: Takes the newest rows.
            look: Called every two seconds; may ``apply`` another plan.

        Raises:
            SettingsError: A source cannot work with its settings.
        """
        self._plan = plan
        self._lake = lake
        self._look = look
        self._writer = LakeWriter(lake)
        self._snapshots = snapshots
        self._stop = threading.Event()
        self._lock = threading.Lock()  # of the clusters, which scrapes look at
        self._clusters: dict[str, ClusterPolling] = {}
        self._ending: list[ClusterPolling] = []
        made = plan.make()
        if snapshots is not None:
            snapshots.keep_only(made)
        for name, sources in by_cluster(made).items():
            self._add(name, sources)

    def run(self) -> None:
        """Poll until ``stop`` is called from a signal handler or another thread."""
        self._writer.start()
        for cluster in self._clusters.values():
            cluster.start()
        look_at = time.monotonic() + LOOK_SECONDS
        # With a time-out, or Python would not run signal handlers in this thread.
        while not self._stop.wait(0.5):
            if time.monotonic() >= look_at:
                self._look()
                look_at = time.monotonic() + LOOK_SECONDS
        until = time.monotonic() + STOP_SECONDS
        for cluster in self._clusters.values():
            cluster.stop()
        for cluster in (*self._clusters.values(), *self._ending):
            cluster.join(max(0.0, until - time.monotonic()))
        if not self._writer.stop(max(1.0, until - time.monotonic())):
            log.error("stopped before all samples were written")
        log.info("stopped")

    def stop(self) -> None:
        """Let running polls end and then return from ``run``."""
        self._stop.set()

    def dead_threads(self) -> list[str]:
        """Return which of the service's threads have ended although it was not stopped."""
        writer = self._writer.thread
        if self._stop.is_set() or writer.ident is None:
            return []
        with self._lock:
            clusters = list(self._clusters.values())
        dead = [name for cluster in clusters for name in cluster.dead_threads()]
        return dead if writer.is_alive() else [*dead, writer.name]

    def writer_state(self) -> WriterState:
        """Return how the lake is written at this moment."""
        return self._writer.state()

    def clusters(self) -> dict[str, ClusterState]:
        """Return whether this process polls each cluster at this moment."""
        with self._lock:
            return {name: cluster.state for name, cluster in self._clusters.items()}

    def apply(self, plan: Plan) -> None:
        """Poll something else, and leave alone what has not changed.

        Raises:
            SettingsError: A source cannot work with its settings; nothing has changed.
        """
        made = plan.make()
        before, self._plan = self._plan.specs, plan
        if self._snapshots is not None:
            self._snapshots.keep_only(made)
        found = by_cluster(made)
        for name in self._clusters.keys() - found.keys():
            with self._lock:
                gone = self._clusters.pop(name)
            gone.stop()
            self._ending.append(gone)
            log.info("cluster=%s is not in the settings any more", name)
        for name, sources in found.items():
            if name not in self._clusters:
                self._add(name, sources)
                self._clusters[name].start()
                log.info("cluster=%s is new in the settings", name)
                continue
            changed = {
                source.name
                for source in sources
                if before.get((name, source.name)) != plan.specs.get((name, source.name))
            }
            for source in sorted(changed):
                log.info("cluster=%s source=%s has other settings", name, source)
            self._clusters[name].replace(sources, changed)

    def report(self, problem: str | None) -> None:
        """Record in each cluster that this process polls what is wrong with its settings."""
        now = datetime.now(UTC)
        result = SectionResult(
            section=SETTINGS,
            started_at=now,
            duration_seconds=0.0,
            status="ok" if problem is None else "failed",
            error=problem,
        )
        for name, cluster in self._clusters.items():
            cluster.record(result, Stamp.new(COLLECTORS, name, now))

    def _add(self, name: str, sources: Sequence[Source]) -> None:
        with self._lock:
            self._clusters[name] = ClusterPolling(
                name, sources, self._remake, self._lake, self._writer, self._snapshots
            )

    def _remake(self, cluster: str) -> Sequence[Source]:
        """Make the sources of a cluster once more."""
        made = by_cluster(self._plan.make())
        for name, sources in made.items():
            if name != cluster:
                for source in sources:
                    source.close()
        return made.get(cluster, ())
