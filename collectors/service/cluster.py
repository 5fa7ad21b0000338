"""One cluster: of several processes that are to poll it, the one that holds its lease does.

The lease lies in the lake, because that is what must not be written twice. Rows are written only
while the lease is held, and what was polled before it was lost is given up: see
``collectors.service.writer``.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from collectors.service.poller import Poller
from collectors.service.rows import Stamp, own_name
from collectors.service.snapshot import Snapshots
from collectors.service.writer import FAULTS, LakeWriter
from collectors.source.model import SectionResult, Source
from collectors.source.repeat_filter import RepeatFilter
from collectors.source.rows import frame
from config.secret import hide
from lake.errors import BusyError, LakeError, LeaseLostError, one_line
from lake.maintenance.lease import Lease, Rhythm
from lake.schemas.tables import WAITING_COLLECTORS, WRITTEN_EVERY_SECONDS
from lake.storage.store import Lake

log = logging.getLogger(__name__)

_EXPIRY_INTERVALS = 1.25
_SHORTEST_EXPIRY_SECONDS, _LONGEST_EXPIRY_SECONDS = 10.0, 45.0
_BEATS = 3.0
_RETRY_SECONDS = 5.0
_WAITING_WRITTEN_SECONDS = WRITTEN_EVERY_SECONDS[WAITING_COLLECTORS.name]


def rhythm(interval_seconds: float) -> Rhythm:
    """Return how the lease of a cluster with that cadence is kept.

    With it a process that died is replaced within two polls, where a poll is not shorter than
    the time that a busy machine or store may need for a renewal.
    """
    expiry = min(
        max(_EXPIRY_INTERVALS * interval_seconds, _SHORTEST_EXPIRY_SECONDS),
        _LONGEST_EXPIRY_SECONDS,
    )
    return Rhythm(beat_seconds=expiry / _BEATS, expiry_seconds=expiry)


def lease_of(lake: Lake, cluster: str, interval_seconds: float) -> Lease:
    """Return the right to poll a cluster into a lake, not yet acquired."""
    address = f"{lake.checkpoints_uri}/collectors/{cluster}.lease"
    return Lease(address, lake.options, "collectors", rhythm(interval_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """Whether this process polls a cluster.

    Attributes:
        waits_for: Where it does not: host and process id of the one that does; None: unknown.
        problem: Why the lease cannot be taken; None where it is held, or somebody else's.
    """

    active: bool = False
    waits_for: str | None = None
    problem: str | None = None


class ClusterPolling:
    """Polls the sources of one cluster whenever this process holds its lease."""

    def __init__(
        self,
        cluster: str,
        sources: Sequence[Source],
        remake: Callable[[str], Sequence[Source]],
        lake: Lake,
        writer: LakeWriter,
        snapshots: Snapshots | None,
    ) -> None:
        """Prepare to poll.

        Args:
            cluster: Its name.
            sources: What is polled first.
            remake: Makes sources that remember nothing; for when another process has polled
                meanwhile.
            lake: Where the lease and what was polled before are.
            writer: Takes the rows.
            snapshots: Takes the newest rows.
        """
        self._cluster = cluster
        self._sources: dict[str, Source] | None = {source.name: source for source in sources}
        self._interval = min(source.interval_seconds for source in sources)
        self._remake = remake
        self._lake = lake
        self._writer = writer
        self._snapshots = snapshots
        self._repeats = RepeatFilter()
        self._waiting_written_at = -math.inf
        self._lock = threading.Lock()  # of the sources to come, the lease and the state
        self._lease: Lease | None = None
        self._state = ClusterState()
        self._pollers: dict[str, Poller] = {}
        self._stop = threading.Event()
        self._turn = threading.Event()  # stopped, lost, or other sources to poll
        self._thread = threading.Thread(target=self._run, name=f"cluster-{cluster}", daemon=True)

    @property
    def state(self) -> ClusterState:
        """Whether this process polls the cluster."""
        return self._state

    def start(self) -> None:
        """Begin to wait for the lease, and to poll."""
        self._thread.start()

    def replace(self, sources: Sequence[Source], changed: Collection[str]) -> None:
        """Poll other sources from the next poll on; the lease is kept.

        Args:
            sources: All there are to be.
            changed: The names of those to be polled anew; the others go on as they are.
        """
        with self._lock:
            known = self._sources
            if known is not None:  # else all of them will be made from the new settings
                self._sources = {
                    source.name: source
                    if source.name in changed
                    else known.get(source.name, source)
                    for source in sources
                }
            self._interval = min(source.interval_seconds for source in sources)
            used = set() if self._sources is None else {id(each) for each in self._sources.values()}
        _close(source for source in sources if id(source) not in used)
        self._turn.set()

    def record(self, result: SectionResult, stamp: Stamp) -> None:
        """Write down something about the service itself, if this process polls the cluster."""
        with self._lock:
            lease = self._lease if self._state.active else None
        if lease is not None:
            self._writer.put(result, stamp, None, lease)
            self._writer.flush()

    def stop(self) -> None:
        """Let running polls end, and then give the lease back behind their last row."""
        self._stop.set()
        self._turn.set()
        with self._lock:
            waiting = self._lease if not self._state.active else None
        if waiting is not None:
            waiting.release()

    def join(self, timeout_seconds: float) -> None:
        """Wait until nothing is polled any more."""
        self._thread.join(timeout_seconds)

    def dead_threads(self) -> list[str]:
        """Return which threads have ended although they were not stopped."""
        if self._stop.is_set() or self._thread.ident is None:
            return []
        threads = [self._thread, *(poller.thread for poller in self._pollers.values())]
        return [each.name for each in threads if each.ident is not None and not each.is_alive()]

    def _run(self) -> None:
        while not self._stop.is_set():
            lease = lease_of(self._lake, self._cluster, self._interval)
            with self._lock:
                self._lease = lease
                if self._stop.is_set():  # or nobody would end the wait
                    break
            if self._acquired(lease):
                lease.keep(self._lost)
                try:
                    self._poll_while_held(lease)
                finally:
                    self._writer.end_of_term(self._cluster, lease)
        _close((self._sources or {}).values())

    def _acquired(self, lease: Lease) -> bool:
        """Wait for the lease; False where the wait was ended."""
        try:
            lease.acquire(lambda _: self._wait_for(lease.other))
        except BusyError:
            self._wait_for(lease.other)
            return False
        except FAULTS as error:
            problem = f"the lease cannot be taken: {hide(one_line(error))}"
            self._state = ClusterState(problem=problem)
            if self._repeats.should_log((self._cluster, "lease"), problem):
                log.error("cluster=%s not polled: %s", self._cluster, problem)
            self._stop.wait(_RETRY_SECONDS)
            return False
        with self._lock:
            self._state = ClusterState(active=True)
            stopped = self._stop.is_set()
        if stopped:
            lease.release()
            return False
        before = f", as {lease.other} does no more" if lease.other else ""
        log.info("cluster=%s this process polls it%s", self._cluster, before)
        self._repeats.should_log((self._cluster, "lease"), None)
        return True

    def _wait_for(self, other: str | None) -> None:
        if self._stop.is_set():
            return
        before, self._state = self._state, ClusterState(waits_for=other)
        if before != self._state:
            log.info("cluster=%s waits: %s polls it", self._cluster, other or "another process")
        waiting_since_row = time.monotonic() - self._waiting_written_at
        if before != self._state or waiting_since_row >= _WAITING_WRITTEN_SECONDS:
            self._write_waiting(other)

    def _write_waiting(self, other: str | None) -> None:
        """Write that this process waits: it holds no lease, so there is nothing else to write."""
        self._waiting_written_at = time.monotonic()
        row = {"collector": own_name(), "waits_for": other}
        try:
            rows = frame(WAITING_COLLECTORS, [row])
            now = datetime.now(UTC)
            self._lake.append(WAITING_COLLECTORS, Stamp.new("", self._cluster, now).on(rows))
        except LakeError as error:
            log.warning("cluster=%s it is not written who waits: %s", self._cluster, error)

    def _poll_while_held(self, lease: Lease) -> None:
        while not (self._stop.is_set() or lease.is_lost):
            self._turn.clear()
            sources = self._wanted()
            if sources is None:
                break
            self._end([name for name in self._pollers if name not in sources])
            self._end(
                [name for name, each in self._pollers.items() if each.source is not sources[name]]
            )
            for name, source in sources.items():
                if name not in self._pollers:
                    self._begin(source, lease)
            if not (self._stop.is_set() or lease.is_lost):
                self._turn.wait()
        self._end(list(self._pollers))
        with self._lock:
            self._sources = None  # closed, and others may poll before they are polled again
        self._state = ClusterState()
        if self._snapshots is not None and lease.is_lost:
            self._snapshots.clear(self._cluster)

    def _begin(self, source: Source, lease: Lease) -> None:
        if self._snapshots is not None:
            self._snapshots.follow(source)
        poller = Poller(source, lease, self._lake, self._writer, self._snapshots, self._repeats)
        self._pollers = {**self._pollers, source.name: poller}
        poller.thread.start()

    def _end(self, names: Collection[str]) -> None:
        """Let running polls end, and wait for that."""
        ended = [self._pollers[name] for name in names]
        self._pollers = {name: each for name, each in self._pollers.items() if name not in names}
        for poller in ended:
            poller.stop()
        for poller in ended:
            poller.thread.join()

    def _wanted(self) -> dict[str, Source] | None:
        """Return what is to be polled now, made where that was not done; None if it cannot be."""
        with self._lock:
            sources = self._sources
        if sources is not None:
            return sources
        try:
            made = {source.name: source for source in self._remake(self._cluster)}
        except FAULTS as error:
            log.error("cluster=%s not polled: %s", self._cluster, hide(one_line(error)))
            self._stop.wait(_RETRY_SECONDS)
            return None
        with self._lock:
            self._sources = made
        return made

    def _lost(self, _: LeaseLostError) -> None:
        self._state = ClusterState()
        log.warning("cluster=%s not polled any more: another process has its lease", self._cluster)
        self._turn.set()


def _close(sources: Iterable[Source]) -> None:
    for source in sources:
        source.close()
