"""One process at a time does a job on a lake: a lock in a folder, a lease in an object store.

In a folder the kernel frees the lock when its holder dies, and only then. An object store has no
locks: there the right is a lease, which its holder renews.

The lease is a Delta table without rows, whose log is the register that an object store lacks. A
commit is a conditional put of the next version's file, so that of two who try one succeeds; the
holder's name and beat are properties of the table. No clocks are compared: a process that finds a
lease watches it for as long as its holder has said, and takes it over only if it was not renewed.
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
_EXPIRY, _PROCESS = "headroom.expiry_seconds", "headroom.process"
_TOKEN = "headroom.token"  # noqa: S105 (of fencing, no secret)
_HELD, _FREE = "held", "free"
_PROPERTIES = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 10 minutes",
    _STATE: _FREE,
}
_COMPARE_AND_SET = CommitProperties(max_commit_retries=0)
_WATCHES_A_BEAT = 4
_SURE_OF_EXPIRY = 0.5
"""Of the expiry: for this long after a renewal nobody can have taken the lease."""

# Goes on while the machine sleeps, where the system has such a clock.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _steady_seconds() -> float:
    return time.clock_gettime(_CLOCK)


def _process_mark(pid: int) -> str | None:
    """Return what no other process ever has: start of the machine, container, id, start; or None.

    None where there is no such process, or where the system does not tell.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        container = os.readlink("/proc/self/ns/pid")
        # Behind the name, which may hold anything, the start is the twentieth field.
        started = (
            Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        )
    except (OSError, IndexError):
        return None
    return f"{boot} {container} {pid} {started}"


def _is_dead(mark: str | None) -> bool:
    """Return whether a process is known to have ended: one of this machine and container."""
    own = _process_mark(os.getpid())
    if not mark or own is None or mark.split()[:2] != own.split()[:2]:
        return False
    return _process_mark(int(mark.split()[2])) != mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How a lease is kept."""

    beat_seconds: float = 10.0
    expiry_seconds: float = 45.0  # another one may take it


@dataclass(frozen=True, slots=True, kw_only=True)
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
            yield Hold(confirm=_nothing, release=_nothing)
        return
    lease = Lease(f"{place}.lease", settings.plain_storage_options(), job, rhythm)
    try:
        lease.acquire(on_progress)
    except (DeltaError, OSError) as error:
        raise LakeError(f"{settings.uri} cannot be used: {one_line(error)}") from error
    lease.keep(lost)
    try:
        yield Hold(confirm=lease.renew, release=lease.release)
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
        self,
        uri: str,
        options: dict[str, str] | None,
        job: str,
        rhythm: Rhythm | None = None,
        clock: Callable[[], float] = _steady_seconds,
    ) -> None:
        self._uri = uri
        self._job = job
        self._options = options
        self._rhythm = rhythm or Rhythm()
        self._holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        self._clock = clock
        self._beat = 0
        self._renewed_at = float("-inf")
        self._lost = False
        self._other: str | None = None
        self._token = 0
        self._handle: DeltaTable | None = None
        self._lock = threading.RLock()  # renewing and releasing never meet
        self._released = threading.Event()

    @property
    def other(self) -> str | None:
        """Host and process id of who held it when this process last looked; None: nobody did."""
        return self._other

    @property
    def token(self) -> int:
        """The fencing token: larger with each process that takes the lease."""
        return self._token

    @property
    def is_lost(self) -> bool:
        """Whether another process is known to have taken it from this one."""
        return self._lost

    def acquire(self, on_progress: Callable[[str], None] | None = None) -> None:
        """Take the lease, after a look whether its last holder still renews it.

        ``release`` in another thread ends the look.

        Raises:
            BusyError: Another process holds it, or was quicker.
            DeltaError, OSError: The store cannot be read or written.
        """
        handle = self._open()
        if handle.metadata().configuration.get(_STATE) == _HELD:
            self._other = _process(handle)
            if on_progress is not None:
                on_progress(
                    f"another {self._job} job worked on this lake and did not end properly: "
                    f"looking up to {self._rhythm.expiry_seconds:.0f} s whether it is still alive"
                )
            self._watch(handle)
        self._handle = handle
        # Of the time, too: they must grow even if somebody has deleted the lease.
        before = int(handle.metadata().configuration.get(_TOKEN, "0"))
        self._token = max(before + 1, int(time.time() * 1000))
        began = self._clock()
        try:
            self._put(_HELD)
        except CommitFailedError:
            self._handle = None
            raise self._busy(handle) from None
        self._renewed_at = began
        if self._released.is_set():  # meanwhile
            self._put(_FREE)
            raise self._busy(handle)

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
            began = self._clock()
            while not self._lost:
                try:
                    self._put(_HELD)
                    break
                except CommitFailedError:
                    self._lost = not self._is_mine()
            # For good: the next version that this process puts would take the lease back.
            if self._lost:
                raise LeaseLostError(
                    f"the lease {self._uri} was taken by another {self._job} job: this one must end"
                )
            # Not when it ended: the process may have been stopped in between.
            self._renewed_at = began

    def confirm(self) -> None:
        """Make sure that it is held; looks only where the last renewal is too old to tell.

        Raises:
            LeaseLostError: Another process has taken it.
            DeltaError, OSError: The store cannot be reached; nothing is known.
        """
        sure = self._rhythm.expiry_seconds * _SURE_OF_EXPIRY
        if self._lost or self._clock() - self._renewed_at > sure:
            self.renew()

    def release(self) -> None:
        """Give the lease back, so that the next one need not wait; never raises."""
        was_released = self._released.is_set()
        self._released.set()
        if was_released or self._lost or self._handle is None:
            return
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
        """Return once the lease may be taken: given back, not renewed, or of a dead process."""
        if _is_dead(handle.metadata().configuration.get(_PROCESS)):
            return
        seen = handle.version()
        # Its holder's, which may beat more slowly than this process would.
        said = handle.metadata().configuration.get(_EXPIRY)
        expiry = self._rhythm.expiry_seconds if said is None else float(said)
        until = self._clock() + expiry
        while self._clock() < until:
            if self._released.wait(self._rhythm.beat_seconds / _WATCHES_A_BEAT):
                raise self._busy(handle)
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
                {
                    _HOLDER: self._holder,
                    _STATE: state,
                    _BEAT: str(self._beat),
                    _EXPIRY: str(self._rhythm.expiry_seconds),
                    _TOKEN: str(self._token),
                    _PROCESS: _process_mark(os.getpid()) or "",
                },
                raise_if_not_exists=False,
                commit_properties=_COMPARE_AND_SET,
            )

    def _is_mine(self) -> bool:
        """Return whether the newest version is one of ours: an answer to a commit can be lost."""
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
                # Or it is committed onto the table of one that was quicker, and frees its lease.
                commit_properties=_COMPARE_AND_SET,
                raise_if_key_not_exists=False,
            )
        except DeltaError:  # another one was quicker
            return DeltaTable(self._uri, storage_options=self._options)

    def _busy(self, handle: DeltaTable) -> BusyError:
        handle.update_incremental()
        self._other = _process(handle)
        return BusyError(
            f"another {self._job} job works on this lake ({self._other}): one at a time"
        )


def _process(handle: DeltaTable) -> str:
    """Return host and process id of who holds a lease."""
    return handle.metadata().configuration.get(_HOLDER, "unknown").rsplit("/", 1)[0]
