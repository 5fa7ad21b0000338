"""Running the history job until it is stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from lake.errors import LakeError, one_line
from spark_metrics.errors import HistoryError
from spark_metrics.streaming import HistoryJob

log = logging.getLogger(__name__)

PAUSE_RATIO = 2.0
"""The pause after a micro-batch, as a multiple of its length: history takes at most
a third of the time of the machine that it shares with what it watches."""
LONGEST_REST_SECONDS = 30.0
"""A micro-batch that takes long because the machine is busy otherwise must not make history old."""
MOST_FAILURES = 10
"""The process ends after this many failures in a row; its supervisor starts it again."""
LONGEST_PAUSE_SECONDS = 60.0
AFTER_A_MINUTE_SECONDS = 20.0
"""By then a poll of every 15 s that began after the minute has been written."""
_MINUTE = 60.0
MAINTENANCE_SECONDS = 1800.0
FIRST_MAINTENANCE_SECONDS = 300.0
"""After a start: a process that is often started anew keeps up, too."""
UNREPORTED_FAILURES = 100


def serve(
    job: HistoryJob, stop: threading.Event, trigger_seconds: float, maintenance: Callable[[], None]
) -> None:
    """Do micro-batch after micro-batch.

    Args:
        job: The job.
        stop: Set to end after the running micro-batch.
        trigger_seconds: How often new samples are looked for.
        maintenance: Called between two micro-batches, every half hour.

    Raises:
        HistoryError, LakeError: Too many micro-batches in a row failed; the last one's failure.
    """
    failures = 0
    unreported: deque[tuple[Exception, datetime]] = deque(maxlen=UNREPORTED_FAILURES)
    maintenance_at = time.monotonic() + FIRST_MAINTENANCE_SECONDS
    while not stop.is_set():
        begun = time.monotonic()
        started_at = datetime.now(UTC)
        try:
            done = job.step()
            failures = 0
            _write_down(job, unreported)
        except (HistoryError, LakeError) as error:
            if stop.is_set():
                return
            failures += 1
            log.error("micro-batch failed (%d in a row): %s", failures, error)
            unreported.append((error, started_at))
            _write_down(job, unreported)
            if failures >= MOST_FAILURES:
                raise
            stop.wait(min(LONGEST_PAUSE_SECONDS, trigger_seconds * failures))
            continue
        took = time.monotonic() - begun
        rest = 0.0
        if done.status == "ok":
            log.info("duration=%.1fs delay=%.0fs", took, done.delay_seconds or 0.0)
            rest = min(PAUSE_RATIO * took, LONGEST_REST_SECONDS)
        stop.wait(max(rest, pause(time.time() - took, trigger_seconds) - took))
        if time.monotonic() > maintenance_at and not stop.is_set():
            maintenance()
            maintenance_at = time.monotonic() + MAINTENANCE_SECONDS


def work_until_stopped(
    work: Callable[[], None], stop: threading.Event, failures: list[Exception]
) -> None:
    """Do the work of a thread; however it ends, the process that waits for it is told.

    Args:
        work: What is done until ``stop`` is set.
        stop: Set when it has ended.
        failures: Gets the failure that ended it; a failure while stopping is none.
    """
    try:
        work()
    except (HistoryError, LakeError) as error:
        failures.append(error)
    except Exception as error:  # or the process would end as if it had been told to
        log.exception("the history job ended unexpectedly")
        if not stop.is_set():
            failures.append(HistoryError(f"{type(error).__name__}: {one_line(error)}"))
    finally:
        stop.set()


def pause(begun: float, trigger_seconds: float) -> float:
    """Return how long after its beginning a micro-batch is followed by the next.

    Where micro-batches are as long as minutes they begin when the minute's last samples have come.

    Args:
        begun: When the micro-batch began, in seconds since 1970.
        trigger_seconds: How often new samples are looked for.
    """
    if trigger_seconds < _MINUTE:
        return trigger_seconds
    return trigger_seconds - (begun - AFTER_A_MINUTE_SECONDS) % _MINUTE


def _write_down(job: HistoryJob, failures: deque[tuple[Exception, datetime]]) -> None:
    """Write failures down, as far as possible now: the store that failed is where they go."""
    while failures:
        try:
            job.failed(*failures[0])
        except LakeError as error:
            log.error("the failure could not be written down yet: %s", error)
            return
        failures.popleft()
