"""Running the history job until it is told to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from lake.errors import LakeError
from spark_metrics.errors import HistoryError
from spark_metrics.streaming import HistoryJob

log = logging.getLogger(__name__)

RESTS = 2.0
"""A round is followed by a rest of so many times its own length, so that history takes a third of
the time at most of the machine that it shares with what it watches."""
LONGEST_REST_SECONDS = 30.0
"""A round that takes long because the machine is busy otherwise must not make history old."""
MOST_FAILURES = 10
"""After so many failed rounds in a row the process ends, for its supervisor to start it anew."""
LONGEST_PAUSE_SECONDS = 60.0
AFTER_A_MINUTE_SECONDS = 20.0
"""By then a poll of every 15 s that began after the minute has been written."""
_MINUTE = 60.0
UPKEEP_SECONDS = 1800.0
FIRST_UPKEEP_SECONDS = 300.0
"""After a start: a process that is often started anew keeps up, too."""
UNTOLD_FAILURES = 100


def serve(
    job: HistoryJob, stop: threading.Event, trigger_seconds: float, upkeep: Callable[[], None]
) -> None:
    """Do round after round.

    Args:
        job: The job.
        stop: Set to end after the running round.
        trigger_seconds: How often new samples are looked for.
        upkeep: Called between two rounds, every half hour.

    Raises:
        HistoryError, LakeError: Too many rounds in a row failed; the last one's failure.
    """
    failures = 0
    untold = _Untold(job)
    upkeep_at = time.monotonic() + FIRST_UPKEEP_SECONDS
    while not stop.is_set():
        begun = time.monotonic()
        started_at = datetime.now(UTC)
        try:
            done = job.step()
            failures = 0
            untold.tell()
        except (HistoryError, LakeError) as error:
            if stop.is_set():
                return
            failures += 1
            log.error("round failed (%d in a row): %s", failures, error)
            untold.add(error, started_at)
            untold.tell()
            if failures >= MOST_FAILURES:
                raise
            stop.wait(min(LONGEST_PAUSE_SECONDS, trigger_seconds * failures))
            continue
        took = time.monotonic() - begun
        if done.status == "ok":
            log.info(
                "rows=%d late=%d duration=%.1fs delay=%.0fs",
                done.rows_read,
                done.late_rows,
                took,
                done.delay_seconds or 0.0,
            )
            rest = min(RESTS * took, LONGEST_REST_SECONDS)
            stop.wait(max(rest, pause(time.time() - took, trigger_seconds) - took))
        else:
            stop.wait(max(0.0, pause(time.time() - took, trigger_seconds) - took))
        if time.monotonic() > upkeep_at and not stop.is_set():
            upkeep()
            upkeep_at = time.monotonic() + UPKEEP_SECONDS


def pause(begun: float, trigger_seconds: float) -> float:
    """Return how long after its beginning a round is followed by the next.

    Where rounds are as long as minutes they begin when the minute's last samples have come.

    Args:
        begun: When the round began, in seconds since 1970.
        trigger_seconds: How often new samples are looked for.
    """
    if trigger_seconds < _MINUTE:
        return trigger_seconds
    return trigger_seconds - (begun - AFTER_A_MINUTE_SECONDS) % _MINUTE


class _Untold:
    """Failures until they are written down: the store that failed is where they are written."""

    def __init__(self, job: HistoryJob) -> None:
        self._job = job
        self._failures: deque[tuple[Exception, datetime]] = deque(maxlen=UNTOLD_FAILURES)

    def add(self, error: Exception, started_at: datetime) -> None:
        self._failures.append((error, started_at))

    def tell(self) -> None:
        """Write down what waits, as far as that is possible now."""
        while self._failures:
            try:
                self._job.failed(*self._failures[0])
            except LakeError as error:
                log.error("the failure could not be written down yet: %s", error)
                return
            self._failures.popleft()
