"""The polling service: each source at its own cadence, none in the way of another."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from collectors.service.rows import Stamp
from collectors.service.snapshot import POLL, Snapshots
from collectors.service.writer import FAULTS, LakeWriter, WriterState
from collectors.source.model import SectionResult, Source
from lake.errors import LakeError
from lake.schemas.tables import TABLES
from lake.storage.store import Lake

log = logging.getLogger(__name__)

_RECALLED_SECONDS = 3600.0
_RECALLED = timedelta(seconds=_RECALLED_SECONDS)

STOP_SECONDS = 20.0
"""How long a stop waits for running polls and for the lake."""


class Service:
    """Polls sources until it is told to stop: one thread each, and one that writes.

    The n-th poll of a source begins ``n * interval`` after its first one, by the monotonic clock,
    however long polls take. A poll that is late because the one before took too long is not made
    up for: it is recorded as ``skipped``.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        lake: Lake,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._sources = sources
        self._lake = lake
        self._writer = LakeWriter(lake)
        self._snapshots = snapshots
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def run(self) -> None:
        """Poll until ``stop`` is called from a signal handler or another thread."""
        self._writer.start()
        threads = [
            threading.Thread(
                target=self._serve,
                args=(source,),
                name=f"poll-{source.cluster}-{source.name}",
                daemon=True,
            )
            for source in self._sources
        ]
        for thread in threads:
            thread.start()
        self._threads = [*threads, self._writer.thread]
        # With a time-out, or Python would not run signal handlers in this thread.
        while not self._stop.wait(0.5):
            pass
        until = time.monotonic() + STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if not self._writer.stop(max(1.0, until - time.monotonic())):
            log.error("stopped before all samples were written")
        log.info("stopped")

    def stop(self) -> None:
        """Let running polls end and then return from ``run``."""
        self._stop.set()

    def dead_threads(self) -> list[str]:
        """Return which of the service's threads have ended although it was not stopped."""
        if self._stop.is_set():
            return []
        return [thread.name for thread in self._threads if not thread.is_alive()]

    def writer_state(self) -> WriterState:
        """Return how the lake is written at this moment."""
        return self._writer.state()

    def _serve(self, source: Source) -> None:
        interval = source.interval_seconds
        try:
            self._recall(source)
        except FAULTS:  # what was known before is a help, and no condition
            log.exception("cluster=%s source=%s not recalled", source.cluster, source.name)
        begin, begin_at = time.monotonic(), datetime.now(UTC)
        turn = 0
        log.info("cluster=%s source=%s polling every %gs", source.cluster, source.name, interval)
        while not self._stop.is_set():
            self._poll(source)
            took = time.monotonic() - (begin + turn * interval)
            following = turn + max(1, math.ceil(took / interval))
            for late in range(turn + 1, following):
                self._skip(source, begin_at + timedelta(seconds=late * interval), took)
            turn = following
            self._stop.wait(max(0.0, begin + turn * interval - time.monotonic()))
        source.close()

    def _recall(self, source: Source) -> None:
        """Tell a source what its last polls before a restart saw."""
        tables = {}
        now = datetime.now(UTC)
        for wanted in source.recalls:
            table = TABLES[wanted.table]
            past = timedelta(seconds=min(wanted.polls * source.interval_seconds, _RECALLED_SECONDS))
            try:
                if wanted.polls == 1:
                    rows = self._lake.latest(
                        table, cluster=source.cluster, now=now, within=_RECALLED
                    )
                else:
                    rows = self._lake.read(
                        table,
                        since=now - past,
                        cluster=source.cluster,
                        columns=[*wanted.columns, table.time],
                    ).sort(table.time)
            except LakeError as error:
                log.warning("cluster=%s not recalled: %s", source.cluster, error)
                continue
            if not rows.is_empty():
                tables[wanted.table] = rows
        source.remember(tables)

    def _poll(self, source: Source) -> None:
        stamp = Stamp.new(source.name, source.cluster, datetime.now(UTC))
        start = time.monotonic()
        statuses = []
        rows = 0
        try:
            for result in source.poll(stamp.observed_at):
                self._take(source, result, stamp)
                statuses.append(f"{result.section}={result.status}")
                rows += result.rows
                if result.error is not None:
                    log.warning(
                        "cluster=%s source=%s section=%s status=%s: %s",
                        source.cluster,
                        source.name,
                        result.section,
                        result.status,
                        result.error,
                    )
        except FAULTS as error:  # one of ours in one source must not end its polling
            log.exception("cluster=%s source=%s poll failed", source.cluster, source.name)
            failure = f"{type(error).__name__}: {error}"
            at = stamp.observed_at
            self._take(source, SectionResult.without_rows(POLL, at, "failed", failure), stamp)
        self._writer.flush()
        if self._snapshots is not None:
            self._snapshots.poll_ended(source)
        log.info(
            "cluster=%s source=%s duration=%.3fs rows=%d %s",
            source.cluster,
            source.name,
            time.monotonic() - start,
            rows,
            " ".join(statuses),
        )

    def _skip(self, source: Source, due_at: datetime, took_seconds: float) -> None:
        error = f"the poll before took {took_seconds:.1f} s of {source.interval_seconds:g} s"
        log.warning("cluster=%s source=%s skipped: %s", source.cluster, source.name, error)
        stamp = Stamp.new(source.name, source.cluster, due_at)
        self._take(source, SectionResult.without_rows(POLL, due_at, "skipped", error), stamp)

    def _take(self, source: Source, result: SectionResult, stamp: Stamp) -> None:
        self._writer.put(result, stamp, source.interval_seconds)
        if self._snapshots is not None:
            self._snapshots.take(source, result)
