"""One process at a time does a job on a lake: a lock in a folder, a lease in an object store.

In a folder the kernel frees the lock when its holder dies, and only then. An object store has no
locks: there the right is a lease, which its holder renews.

The lease is a Delta table without rows, whose log is the register that an object store lacks. A
commit is a conditional put of the next version's file, so that of two who try one succeeds; the
holder's name and beat are properties of the table. No clocks are compared: a process that finds a
lease watches it for the whole time, and takes it over only if it was not renewed.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from config.settings import LakeSettings
from lake.errors import BusyError, LakeError, LeaseLostError, one_line

log = logging.getLogger(__name__)

_HOLDER, _STATE, _BEAT = "headroom.holder", "headroom.state", "headroom.beat"
_HELD, _FREE = "held", "free"
_PROPERTIES = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 1 hours",
    _STATE: _FREE,
}
_COMPARE_AND_SET = CommitProperties(max_commit_retries=0)
_WATCHES_A_BEAT = 4


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How a lease is kept.

    Attributes:
        expiry_seconds: After so long without a renewal another one may take it.
    """

    beat_seconds: float = 10.0
    expiry_seconds: float = 45.0


@dataclass(frozen=True, slots=True)
class Hold:
    """The right to do a job, while it is held.

    Attributes:
        confirm: Raises LeaseLostError if another process has taken the right meanwhile, DeltaError
            or OSError if that is unknown.
        release: Gives the right back early, for a process that ends without leaving the context.
    """

    confirm: Callable[[], None]
    release: Callable[[], None]


@contextmanager
def only_one(
    settings: LakeSettings,
    job: str,
    *,
    lost: Callable[[LeaseLostError], None],
    on_progress: Callable[[str], None] | None = None,
    rhythm: Rhythm | None = None,
) -> Iterator[Hold]:
    """Hold the right to do a job on a lake, which one process has at a time.

    Args:
        settings: The lake's address and the options of its store.
        job: The job, one word.
        lost: Called, in another thread, if another process has taken the lease.
        on_progress: Called with one line when taking it over needs a while.
        rhythm: How a lease is kept.

    Yields:
        The right.

    Raises:
        BusyError: Another process holds it.
        LakeError: The lake cannot be used.
    """
    place = f"{settings.uri.rstrip('/')}/_checkpoints/{job}"
    if settings.is_local:
        with _locked(Path(f"{place}.lock"), f"another {job} job works on {settings.uri}"):
            yield Hold(_nothing, _nothing)
        return
    lease = Lease(f"{place}.lease", settings.plain_storage_options(), job, rhythm)
    try:
        lease.acquire(on_progress)
    except (DeltaError, OSError) as error:
        raise LakeError(f"{settings.uri} cannot be used: {one_line(error)}") from error
    lease.keep(lost)
    try:
        yield Hold(lease.renew, lease.release)
    finally:
        lease.release()


@contextmanager
def _locked(path: Path, busy: str) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a")
    except OSError as error:
        raise LakeError(f"{path} cannot be written: {one_line(error)}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"{busy}: one at a time") from None
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def _nothing() -> None:
    """Do what a lock of the kernel needs: it is never lost."""


class Lease:
    """The right to do a job, as one process sees it."""

    def __init__(
        self, uri: str, options: dict[str, str] | None, job: str, rhythm: Rhythm | None = None
    ) -> None:
        self._uri = uri
        self._job = job
        self._options = options
        self._rhythm = rhythm or Rhythm()
        self._holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        self._beat = 0
        self._lost = False
        self._handle: DeltaTable | None = None
        self._lock = threading.RLock()  # renewing and releasing never meet
        self._released = threading.Event()

    def acquire(self, on_progress: Callable[[str], None] | None = None) -> None:
        """Take the lease, after a look whether its last holder still renews it.

        Raises:
            BusyError: Another process holds it, or was quicker.
            DeltaError, OSError: The store cannot be read or written.
        """
        handle = self._open()
        if handle.metadata().configuration.get(_STATE) == _HELD:
            if on_progress is not None:
                on_progress(
                    f"another {self._job} job worked on this lake and did not end properly: "
                    f"looking up to {self._rhythm.expiry_seconds:.0f} s whether it is still alive"
                )
            self._watch(handle)
        self._handle = handle
        try:
            self._put(_HELD)
        except CommitFailedError:
            raise self._busy(handle) from None

    def keep(self, lost: Callable[[LeaseLostError], None]) -> None:
        """Renew the lease again and again in a thread of its own, until it is released."""
        threading.Thread(target=self._keep, args=(lost,), name="lease", daemon=True).start()

    def renew(self) -> None:
        """Renew the lease once.

        Raises:
            LeaseLostError: Another process has taken it.
            DeltaError, OSError: The store cannot be reached; nothing is known.
        """
        with self._lock:
            try:
                if not self._lost:
                    self._put(_HELD)
            except CommitFailedError:
                self._lost = not self._is_mine()
            # For good: the next version that this process puts would take the lease back.
            if self._lost:
                raise LeaseLostError(
                    f"the lease {self._uri} was taken by another {self._job} job: this one must end"
                )

    def release(self) -> None:
        """Give the lease back, so that the next one need not wait; never raises."""
        if self._released.is_set() or self._lost:
            return
        self._released.set()
        try:
            self._put(_FREE)
        except (DeltaError, OSError) as error:
            log.warning("the lease was not given back, it will run out: %s", one_line(error))

    def _keep(self, lost: Callable[[LeaseLostError], None]) -> None:
        while not self._released.wait(self._rhythm.beat_seconds):
            try:
                self.renew()
            except LeaseLostError as error:
                if not self._released.is_set():
                    lost(error)
                return
            # Nobody can take what nobody can reach; afterwards the next renewal tells.
            except (DeltaError, OSError) as error:
                log.warning("the lease could not be renewed: %s", one_line(error))

    def _watch(self, handle: DeltaTable) -> None:
        """Return once the lease has not been renewed, or was given back, for long enough."""
        seen = handle.version()
        until = time.monotonic() + self._rhythm.expiry_seconds
        while time.monotonic() < until:
            time.sleep(self._rhythm.beat_seconds / _WATCHES_A_BEAT)
            handle.update_incremental()
            if handle.metadata().configuration.get(_STATE) == _FREE:
                return
            if handle.version() != seen:
                raise self._busy(handle)

    def _put(self, state: str) -> None:
        """Write the next version, if nobody else did since the last that is known here."""
        with self._lock:
            if self._handle is None:
                raise ValueError("the lease is not held")
            self._beat += 1
            self._handle.alter.set_table_properties(
                {_HOLDER: self._holder, _STATE: state, _BEAT: str(self._beat)},
                raise_if_not_exists=False,
                commit_properties=_COMPARE_AND_SET,
            )

    def _is_mine(self) -> bool:
        """Tell whether the newest version is one of ours: an answer to a commit can be lost."""
        with self._lock:
            if self._handle is None:
                return False
            self._handle.update_incremental()
            return self._handle.metadata().configuration.get(_HOLDER) == self._holder

    def _open(self) -> DeltaTable:
        try:
            return DeltaTable(self._uri, storage_options=self._options)
        except TableNotFoundError:
            pass
        schema = pa.schema([("nothing", pa.string())])
        try:
            return DeltaTable.create(
                self._uri,
                schema,
                configuration=dict(_PROPERTIES),
                storage_options=self._options,
                raise_if_key_not_exists=False,
            )
        except DeltaError:  # another one was quicker
            return DeltaTable(self._uri, storage_options=self._options)

    def _busy(self, handle: DeltaTable) -> BusyError:
        handle.update_incremental()
        holder = handle.metadata().configuration.get(_HOLDER, "unknown")
        return BusyError(
            f"another {self._job} job works on this lake ({holder.rsplit('/', 1)[0]}): "
            "one at a time"
        )
