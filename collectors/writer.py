"""Appending samples to the lake beside the polls, which a slow or broken lake must not delay."""

from __future__ import annotations

import logging
import queue
import threading
import time
from datetime import UTC, datetime, timedelta

import polars as pl

from collectors.samples import Stamp, rows_of
from collectors.source import SectionResult
from lake.errors import LakeError
from lake.schema import Table
from lake.store import Lake
from lake.tables import TABLES

log = logging.getLogger(__name__)

_LIMIT = 500
"""Frames that may wait: about seventy polls of one cluster. What comes on top is given up."""

_COMPACTED_DAYS = 1


class LakeWriter:
    """A thread that appends what it is given, in order, and compacts when asked to."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._waiting: queue.Queue[tuple[Table, pl.DataFrame] | None] = queue.Queue(_LIMIT)
        self._thread = threading.Thread(target=self._run, name="lake-writer", daemon=True)
        self._compaction: threading.Thread | None = None
        self._lost_rows = 0
        self._lost_because = ""

    def start(self) -> None:
        """Begin to append."""
        self._thread.start()

    def put(self, result: SectionResult, stamp: Stamp, interval_seconds: float | None) -> None:
        """Take over a section's rows; never waits."""
        for table, rows in rows_of(result, stamp, interval_seconds):
            try:
                self._waiting.put_nowait((table, rows))
            except queue.Full:
                self._lost(rows.height, "the lake is too slow: too many rows wait for it")

    def compact(self) -> None:
        """Begin to put small files together, unless that is still going on; never waits."""
        if self._compaction is None or not self._compaction.is_alive():
            self._compaction = threading.Thread(
                target=self._compact, name="lake-compaction", daemon=True
            )
            self._compaction.start()

    def stop(self, timeout_seconds: float) -> bool:
        """Append what waits and end.

        Returns:
            Whether everything was appended in time.
        """
        until = time.monotonic() + timeout_seconds
        try:
            self._waiting.put(None, timeout=timeout_seconds)
        except queue.Full:
            return False
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._compaction is not None:
            self._compaction.join(max(0.0, until - time.monotonic()))
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            table, rows = item
            if rows.is_empty():
                continue
            try:
                self._lake.append(table, rows)
            except LakeError as error:
                log.error("table=%s rows=%d lost: %s", table.name, rows.height, error)
                self._lost(rows.height, str(error))
                continue
            if self._lost_rows:
                self._tell_loss(rows["cluster"][0])

    def _lost(self, rows: int, why: str) -> None:
        self._lost_rows += rows
        self._lost_because = why

    def _tell_loss(self, cluster: str) -> None:
        """Record what could not be written, as soon as something can be written again."""
        now = datetime.now(UTC)
        count, self._lost_rows = self._lost_rows, 0
        result = SectionResult(
            "lake", now, 0.0, "failed", f"{count} rows were not written: {self._lost_because}"
        )
        for table, rows in rows_of(result, Stamp.new("kafka", cluster, now), None):
            try:
                self._lake.append(table, rows)
            except LakeError:
                self._lost_rows += count

    def _compact(self) -> None:
        since = datetime.now(UTC) - timedelta(days=_COMPACTED_DAYS)
        start = time.monotonic()
        for table in TABLES.values():
            if table.layer != "bronze":
                continue
            try:
                self._lake.compact(table, since=since)
            except LakeError as error:
                log.warning("table=%s not compacted: %s", table.name, error)
        log.info("compacted duration=%.2fs", time.monotonic() - start)
