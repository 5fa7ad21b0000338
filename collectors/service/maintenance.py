"""Maintaining the lake beside the polls: see ``lake.maintenance.run``.

In a process of its own: some calls of delta-rs hold Python's lock while they wait for the store,
and no poll may wait for that. What it does not finish is done the next time.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from config.settings import LakeSettings
from lake.errors import BusyError, LakeError, one_line
from lake.maintenance.run import JOB, maintain, summary
from lake.schemas.tables import JOBS
from lake.storage.store import Lake

log = logging.getLogger(__name__)

EVERY_SECONDS = 1800.0
FIRST_SECONDS = 300.0
"""After a start: a process that is often started anew maintains the lake, too."""
_STOP_SECONDS = 3.0


def once(settings: LakeSettings) -> str:
    """Maintain a lake and write down in ``jobs`` how it went.

    Returns:
        What was done, in one line. Where another process maintains the lake, nothing is.
    """
    lake, started_at = Lake(settings), datetime.now(UTC)
    try:
        done = summary(maintain(lake, settings))
    except BusyError as busy:
        return f"skipped: {busy}"
    except LakeError as error:
        _write_down(lake, started_at, one_line(error))
        raise
    _write_down(lake, started_at, None)
    return done


@contextmanager
def maintaining(
    config: Path, first_seconds: float = FIRST_SECONDS, every_seconds: float = EVERY_SECONDS
) -> Iterator[None]:
    """Maintain the lake of a configuration every half hour, beside what is done in the context."""
    stop = threading.Event()
    command = (sys.executable, "-m", "collectors", "maintain", "--config", str(config))

    def work() -> None:
        pause = first_seconds
        while not stop.wait(pause):
            _run(command, stop)
            pause = every_seconds

    thread = threading.Thread(target=work, name="lake-maintenance", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(2 * _STOP_SECONDS)


def _run(command: Sequence[str], stop: threading.Event) -> None:
    """Run a command to its end, or until the service stops."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 (this program)
    except OSError as error:
        log.error("the lake is not maintained: %s", error)
        return
    while child.poll() is None:
        if stop.wait(0.2):
            child.terminate()
            try:
                child.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _write_down(lake: Lake, started_at: datetime, error: str | None) -> None:
    row = {
        "job": JOB,
        "started_at": started_at,
        "finished_at": datetime.now(UTC),
        "status": "ok" if error is None else "failed",
        "error": error,
    }
    try:
        lake.append(
            JOBS, pl.DataFrame([row], schema={name: JOBS.polars_schema[name] for name in row})
        )
    except LakeError as failure:
        log.error("maintenance could not be written down: %s", failure)
