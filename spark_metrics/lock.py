"""One history job a lake: a second one is refused."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deltalake.exceptions import DeltaError

from config.settings import LakeSettings
from lake.errors import one_line
from lake.store import Lake
from spark_metrics.errors import BusyError, HistoryError, LeaseLostError
from spark_metrics.lease import Lease, Rhythm

Release = Callable[[], None]


@contextmanager
def only_one(
    lake: Lake,
    settings: LakeSettings,
    *,
    lost: Callable[[LeaseLostError], None],
    notice: Callable[[str], None] | None = None,
    rhythm: Rhythm | None = None,
) -> Iterator[Release]:
    """Hold the right to write the lake's history.

    Of a folder it is a lock that the kernel frees when this process dies, of an object store a
    lease in the store itself.

    Args:
        lake: The lake.
        settings: Its address and the options of its store.
        lost: Called, in another thread, if another process has taken the lease: end at once.
        notice: Called with one line when taking it over needs a while.
        rhythm: How a lease is kept.

    Yields:
        What gives the right back early, for a process that ends without leaving the context.

    Raises:
        BusyError: Another process holds it.
        HistoryError: The object store cannot be used.
    """
    if settings.is_local:
        with _locked(Path(lake.checkpoints_uri) / "history.lock", settings.uri):
            yield lambda: None
        return
    lease = Lease(f"{lake.checkpoints_uri}/lease", settings.plain_storage_options(), rhythm)
    try:
        lease.acquire(notice)
    except (DeltaError, OSError) as error:
        raise HistoryError(f"{settings.uri} cannot be used: {one_line(error)}") from error
    lease.keep(lost)
    try:
        yield lease.release
    finally:
        lease.release()


@contextmanager
def _locked(path: Path, uri: str) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"another history job works on {uri}: stop it first (one at a time)"
            ) from None
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
