"""One history job a lake: a second one is refused."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.settings import LakeSettings
from lake.store import Lake
from spark_metrics.errors import BusyError


@contextmanager
def only_one(lake: Lake, settings: LakeSettings) -> Iterator[None]:
    """Hold the lake's lock for history jobs; the kernel frees it when this process dies.

    A lake in an object store has no such lock: there, Delta refuses the second of two commits to
    the same rows, and the job that lost tries again.

    Raises:
        BusyError: Another process holds it.
    """
    if not settings.is_local:
        yield
        return
    path = Path(lake.checkpoints_uri) / "history.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"another history job works on {settings.uri}: stop it first (one at a time)"
            ) from None
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
