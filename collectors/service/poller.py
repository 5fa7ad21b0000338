"""Polling one source at its cadence, in a thread of its own."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import polars as pl

from collectors.service.recalled import RECALLED, Recalled
from collectors.service.rows import Stamp
from collectors.service.snapshot import POLL, Snapshots
from collectors.service.writer import FAULTS, LakeWriter
from collectors.source.model import SectionResult, Source
from collectors.source.repeat_filter import RepeatFilter
from config.secret import hide
from lake.change_encoding.expand import REWRITTEN_AFTER
from lake.errors import LakeError
from lake.maintenance.lease import Lease
from lake.schemas.tables import TABLES
from lake.storage.store import Lake

log = logging.getLogger(__name__)


class Poller:
    """Polls one source until it is stopped.

    The n-th poll of a source begins ``n * interval`` after its first one, by the monotonic clock,
    however long polls take. A poll that is late because the one before took too long is not made
    up for: it is recorded as ``skipped``.
    """

    def __init__(
        self,
        source: Source,
        lease: Lease,
        lake: Lake,
        writer: LakeWriter,
        snapshots: Snapshots | None,
        repeats: RepeatFilter,
    ) -> None:
        self.source = source
        self._lease = lease
        self._lake = lake
        self._writer = writer
        self._snapshots = snapshots
        self._repeats = repeats
        self._where = f"cluster={source.cluster} source={source.name}"
        self._stop = threading.Event()
        self.thread = threading.Thread(
            target=self._run, name=f"poll-{source.cluster}-{source.name}", daemon=True
        )

    def stop(self) -> None:
        """Let a running poll end, and begin no other."""
        self._stop.set()

    def _run(self) -> None:
        source = self.source
        interval = source.interval_seconds
        try:
            self._recall()
        except FAULTS:  # what was known before is a help, and no condition
            log.exception("%s not recalled", self._where)
        begin = time.monotonic()
        turn = 0
        log.info("%s polling every %gs", self._where, interval)
        while not self._stop.is_set():
            with self._writer.polling():
                self._poll()
            took = time.monotonic() - (begin + turn * interval)
            following = turn + max(1, math.ceil(took / interval))
            for late in range(turn + 1, following):
                # By the clock as it is now: it may have been set since the first poll.
                ago = time.monotonic() - (begin + late * interval)
                self._skip(datetime.now(UTC) - timedelta(seconds=ago), took)
            turn = following
            self._stop.wait(max(0.0, begin + turn * interval - time.monotonic()))
        source.close()

    def _recall(self) -> None:
        """Give the source what its last polls before a restart saw."""
        now = datetime.now(UTC)
        try:
            self.source.remember(Recalled(self._lake, self.source, now), self._polls(now))
        except LakeError as error:
            log.warning("cluster=%s not recalled: %s", self.source.cluster, error)

    def _polls(self, now: datetime) -> Iterable[pl.DataFrame]:
        for wanted in self.source.recalls:
            if wanted.polls > 1:
                past = timedelta(seconds=wanted.polls * self.source.interval_seconds)
                yield from self._lake.written(
                    TABLES[wanted.table],
                    # In that time every row is written at least once.
                    since=now - min(max(past, REWRITTEN_AFTER), RECALLED),
                    until=now,
                    cluster=self.source.cluster,
                    columns=wanted.columns,
                )

    def _poll(self) -> None:
        source = self.source
        stamp = Stamp.new(source.name, source.cluster, datetime.now(UTC))
        start = time.monotonic()
        statuses = []
        rows = 0
        try:
            for result in source.poll(stamp.observed_at):
                if self._lease.is_lost:
                    return
                self._take(result, stamp)
                statuses.append(f"{result.section}={result.status}")
                rows += result.rows
                self._complain(result)
        except FAULTS as error:  # one of ours in one source must not end its polling
            failure = hide(f"{type(error).__name__}: {error}")
            if self._repeats.should_log((source.cluster, source.name, POLL), failure):
                log.exception("%s poll failed", self._where)
            at = stamp.observed_at
            self._take(SectionResult.without_rows(POLL, at, "failed", failure), stamp)
        if self._snapshots is not None:
            self._snapshots.poll_ended(source)
        became = " ".join(statuses)
        if self._repeats.should_log((source.cluster, source.name, "polled"), became):
            took = time.monotonic() - start
            log.info("%s duration=%.3fs rows=%d %s", self._where, took, rows, became)

    def _complain(self, result: SectionResult) -> None:
        """Log what is wrong with a section when that changes, and once an hour."""
        about = (self.source.cluster, self.source.name, result.section)
        if not self._repeats.should_log(about, result.error):
            return
        where = f"{self._where} section={result.section}"
        if result.error is None:
            log.info("%s status=%s again", where, result.status)
        else:
            log.warning("%s status=%s: %s", where, result.status, result.error)

    def _skip(self, due_at: datetime, took_seconds: float) -> None:
        source = self.source
        error = f"the poll before took {took_seconds:.1f} s of {source.interval_seconds:g} s"
        if self._repeats.should_log((source.cluster, source.name, "skipped"), error):
            log.warning("%s skipped: %s", self._where, error)
        stamp = Stamp.new(source.name, source.cluster, due_at)
        self._take(SectionResult.without_rows(POLL, due_at, "skipped", error), stamp)

    def _take(self, result: SectionResult, stamp: Stamp) -> None:
        self._writer.put(result, stamp, self.source.interval_seconds, self._lease)
        if self._snapshots is not None:
            self._snapshots.take(self.source, result)
