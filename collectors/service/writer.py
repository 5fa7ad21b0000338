"""Appending samples to the lake beside the polls, which a slow or broken lake must not delay."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

import polars as pl
from deltalake.exceptions import DeltaError

from collectors.service.rows import Seldom, Stamp, rows_of
from collectors.source.model import SectionResult
from lake.change_encoding.compact import ChangeEncoder
from lake.errors import LakeError, LeaseLostError, one_line
from lake.maintenance.lease import Lease
from lake.schemas.model import Table
from lake.schemas.tables import TABLES
from lake.storage.store import Lake

log = logging.getLogger(__name__)

LAKE = "lake"
"""The section under which a loss of rows is recorded."""

WAITING_FRAMES = 500
"""Frames that may wait: about seventy polls of one cluster. What comes on top is given up."""

WAITING_BYTES = 256 * 1024 * 1024
"""What they may take together."""

FAULTS = (Exception, pl.exceptions.PanicException)
"""What a fault of ours raises: Polars' panics are no ``Exception``, and would end a thread."""

_TABLES_AT_ONCE = 4
_LARGE_BYTES = 8 * 1024 * 1024
"""A table's rows that take more are appended by themselves: two at once would take the double."""
_END_SECONDS = 10.0
_CONFIRM_SECONDS, _CONFIRM_AGAIN_SECONDS = 600.0, 1.0
"""How long rows wait for a lake that does not say whether they may be written; and the pause."""
_LINGER_SECONDS = 1.0
"""How long rows wait for those of polls that are under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterState:
    """How the lake is written.

    Attributes:
        losing_because: Why rows were lost since the last that could be appended; None where none
            was.
    """

    written_rows: int
    lost_rows: int
    waiting_bytes: int
    losing_because: str | None


@dataclass(slots=True, kw_only=True)
class _Loss:
    """What of a source's rows was lost and is not reported yet."""

    rows: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """Rows that wait."""

    table: Table
    rows: pl.DataFrame
    stamp: Stamp
    size_bytes: int
    lease: Lease

    @property
    def stream(self) -> str:
        """Whose polls the rows belong to."""
        return f"{self.stamp.cluster}/{self.stamp.source}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _EndOfTerm:
    """No more rows of a cluster follow under a lease."""

    cluster: str
    lease: Lease


class _Signal(Enum):
    """What the thread is sent between rows."""

    FLUSH = auto()
    STOP = auto()


class LakeWriter:
    """A thread that appends what it is given, in order."""

    def __init__(self, lake: Lake, waiting_bytes: int = WAITING_BYTES) -> None:
        self._lake = lake
        self._waiting_limit = waiting_bytes
        self._waiting: queue.Queue[_Item | _EndOfTerm | _Signal] = queue.Queue(WAITING_FRAMES)
        self._thread = threading.Thread(target=self._run, name="lake-writer", daemon=True)
        self._seldom = Seldom()  # each stream is put by one thread
        self._lock = threading.Lock()  # of what follows
        self._polls = 0
        self._waiting_bytes = 0
        self._written_rows = 0
        self._lost_rows = 0
        self._unreported: dict[tuple[str, str], _Loss] = {}
        # Of the thread that appends.
        self._encoders = {
            table.name: ChangeEncoder(table) for table in TABLES.values() if table.change_only
        }

    def start(self) -> None:
        """Begin to append."""
        self._thread.start()

    @property
    def thread(self) -> threading.Thread:
        """The thread that appends."""
        return self._thread

    def state(self) -> WriterState:
        """Return how the lake is written at this moment."""
        with self._lock:
            reasons = list(dict.fromkeys(loss.because for loss in self._unreported.values()))
            return WriterState(
                written_rows=self._written_rows,
                lost_rows=self._lost_rows,
                waiting_bytes=self._waiting_bytes,
                losing_because="; ".join(reasons) or None,
            )

    def put(
        self,
        result: SectionResult,
        stamp: Stamp,
        interval_seconds: float | None,
        lease: Lease,
    ) -> None:
        """Take over a section's rows, polled under a lease; never waits.

        They are written only if the lease is still held when their turn comes.
        """
        for table, rows in rows_of(result, stamp, interval_seconds):
            if rows.is_empty() or not self._seldom.is_due(table, stamp):
                continue
            item = _Item(
                table=table,
                rows=rows,
                stamp=stamp,
                size_bytes=int(rows.estimated_size()),
                lease=lease,
            )
            if not self._queued(item):
                self._lost([item], "the lake is too slow: too many rows wait for it")

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Let rows wait for those of the poll that is made in the context."""
        with self._lock:
            self._polls += 1
        try:
            yield
        finally:
            with self._lock:
                self._polls -= 1
            self.flush()

    def flush(self) -> None:
        """Append what waits unless a poll is under way. Never waits itself."""
        with self._lock:
            if self._polls:
                return
        with suppress(queue.Full):
            self._waiting.put_nowait(_Signal.FLUSH)

    def end_of_term(self, cluster: str, lease: Lease) -> None:
        """Give a lease back behind the last row that was polled under it."""
        try:
            self._waiting.put(_EndOfTerm(cluster=cluster, lease=lease), timeout=_END_SECONDS)
        except queue.Full:
            log.warning("cluster=%s the lease is not given back, it will run out", cluster)

    def stop(self, timeout_seconds: float) -> bool:
        """Append what waits and end.

        Returns:
            Whether everything was appended in time.
        """
        until = time.monotonic() + timeout_seconds
        try:
            self._waiting.put(_Signal.STOP, timeout=timeout_seconds)
        except queue.Full:
            return False
        self._thread.join(max(0.0, until - time.monotonic()))
        return not self._thread.is_alive()

    def _queued(self, item: _Item) -> bool:
        with self._lock:
            # The first is taken however large it is: nothing would ever fit otherwise.
            if self._waiting_bytes and self._waiting_bytes + item.size_bytes > self._waiting_limit:
                return False
            try:
                self._waiting.put_nowait(item)
            except queue.Full:
                return False
            self._waiting_bytes += item.size_bytes
        return True

    def _run(self) -> None:
        with ThreadPoolExecutor(_TABLES_AT_ONCE, thread_name_prefix="lake-append") as pool:
            is_last = False
            while not is_last:
                items, ended, is_last = self._gathered()
                by_table: dict[str, list[_Item]] = {}
                while items:  # and let go of them: what is written takes no memory any more
                    by_table.setdefault(items[0].table.name, []).append(items.pop(0))
                large = [name for name, same in by_table.items() if _size(same) > _LARGE_BYTES]
                done = [self._append(by_table.pop(name)) for name in large]
                if any([*done, *pool.map(self._append, by_table.values())]):
                    self._report_losses()
                if ended is not None:
                    self._end(ended)

    def _end(self, ended: _EndOfTerm) -> None:
        """Let go of a cluster: whoever polls it next begins streams of its own."""
        for encoder in self._encoders.values():
            encoder.forget_cluster(ended.cluster)
        ended.lease.release()

    def _gathered(self) -> tuple[list[_Item], _EndOfTerm | None, bool]:
        """Wait for rows; return those of a round of polls, what follows them, and whether it ends.

        A commit costs more than the few rows that most tables have. So rows wait for those of the
        other sections, and of sources that are polled at the same time: but not for long, and not
        where they are many.
        """
        items: list[_Item] = []
        until: float | None = None
        while _size(items) <= _LARGE_BYTES:
            try:
                found = self._waiting.get(
                    timeout=None if until is None else max(0.0, until - time.monotonic())
                )
            except queue.Empty:
                break
            if isinstance(found, _EndOfTerm):
                return items, found, False
            if found is _Signal.STOP:
                return items, None, True
            if isinstance(found, _Item):
                items.append(found)
                until = until or time.monotonic() + _LINGER_SECONDS
            elif items:
                break
        return items, None, False

    def _append(self, items: Sequence[_Item]) -> bool:
        """Append rows of one table in one commit; return whether that was possible."""
        table = items[0].table
        count = sum(item.rows.height for item in items)
        try:
            written = self._write(table, items)
        except LakeError as error:
            log.error("table=%s rows=%d lost: %s", table.name, count, error)
            self._not_written(items, str(error))
            return False
        except FAULTS as error:  # one of ours in one table must not end all writing
            log.exception("table=%s rows=%d lost", table.name, count)
            self._not_written(items, f"{type(error).__name__}: {error}")
            return False
        finally:
            with self._lock:
                self._waiting_bytes -= _size(items)
        with self._lock:
            self._written_rows += written
        return written > 0

    def _write(self, table: Table, items: Sequence[_Item]) -> int:
        """Append the rows whose lease is held, in one commit; return how many these are."""
        held = self._held(items)
        if held:
            try:
                self._lake.append(table, self._to_write(table, held), _tokens(held))
            except LeaseLostError:  # in a machine that was frozen together with its clocks
                held = self._held(held, look=True)
                if held:
                    self._lake.append(table, self._to_write(table, held), _tokens(held))
        return sum(item.rows.height for item in held)

    def _held(self, items: Sequence[_Item], *, look: bool = False) -> list[_Item]:
        """Return the rows whose lease is still held; the others are somebody else's to write.

        Args:
            items: Rows.
            look: Look even where the lease was renewed just now.

        Raises:
            LakeError: The lake does not say it for too long.
        """
        may_write = {lease: _is_held(lease, look) for lease in {item.lease for item in items}}
        for lost in {item.stamp.cluster for item in items if not may_write[item.lease]}:
            log.warning("cluster=%s rows not written: another process polls it now", lost)
        return [item for item in items if may_write[item.lease]]

    def _to_write(self, table: Table, items: Sequence[_Item]) -> pl.DataFrame:
        """Return the rows of one table together, without what readers fill in."""
        encoder = self._encoders.get(table.name)
        if encoder is None:
            return _together([item.rows for item in items])
        return _together([encoder.compact(item.stream, item.rows) for item in items])

    def _not_written(self, items: Sequence[_Item], why: str) -> None:
        encoder = self._encoders.get(items[0].table.name)
        if encoder is not None:
            for item in items:
                encoder.forget(item.stream)
        self._lost(items, why)

    def _lost(self, items: Sequence[_Item], why: str) -> None:
        with self._lock:
            for item in items:
                self._lost_rows += item.rows.height
                self._add(
                    (item.stamp.cluster, item.stamp.source),
                    _Loss(rows=item.rows.height, because=why),
                )

    def _add(self, key: tuple[str, str], loss: _Loss) -> None:
        known = self._unreported.setdefault(key, _Loss(rows=0, because=loss.because))
        known.rows += loss.rows
        known.because = loss.because

    def _report_losses(self) -> None:
        with self._lock:
            unreported, self._unreported = self._unreported, {}
        for (cluster, source), loss in unreported.items():
            self._report_loss(cluster, source, loss)

    def _report_loss(self, cluster: str, source: str, loss: _Loss) -> None:
        """Record what could not be written, as soon as something can be written again."""
        now = datetime.now(UTC)
        error = f"{loss.rows} rows were not written: {loss.because}"
        result = SectionResult.without_rows(LAKE, now, "failed", error)
        try:
            for table, rows in rows_of(result, Stamp.new(source, cluster, now), None):
                self._lake.append(table, rows)
        except LakeError:
            with self._lock:
                self._add((cluster, source), loss)


def _tokens(items: Sequence[_Item]) -> dict[str, int]:
    return {f"headroom/collectors/{item.stamp.cluster}": item.lease.token for item in items}


def _is_held(lease: Lease, look: bool) -> bool:
    """Return whether rows that were polled under a lease may still be written."""
    until = time.monotonic() + _CONFIRM_SECONDS
    while True:
        try:
            (lease.renew if look else lease.confirm)()
        except LeaseLostError:
            return False
        except (DeltaError, OSError) as error:
            if time.monotonic() > until:
                raise LakeError(f"the lease cannot be renewed: {one_line(error)}") from error
            time.sleep(_CONFIRM_AGAIN_SECONDS)
            continue
        return True


def _size(items: Sequence[_Item]) -> int:
    return sum(item.size_bytes for item in items)


def _together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put the rows of one table together; a frame may lack columns that another one has."""
    if len(frames) == 1:
        return frames[0]
    return pl.concat(frames, how="diagonal_relaxed")
