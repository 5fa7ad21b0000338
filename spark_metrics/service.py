"""Running the history job until it is told to stop."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime

from lake.errors import LakeError, one_line
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
TIDY_SECONDS = 3600.0


def serve(job: HistoryJob, stop: threading.Event, trigger_seconds: float) -> None:
    """Do round after round.

    Args:
        job: The job.
        stop: Set to end after the running round.
        trigger_seconds: How often new samples are looked for.

    Raises:
        HistoryError, LakeError: Too many rounds in a row failed; the last one's failure.
    """
    failures = 0
    tidied_at = time.monotonic()
    while not stop.is_set():
        begun = time.monotonic()
        started_at = datetime.now(UTC)
        try:
            done = job.step()
            if time.monotonic() > tidied_at + TIDY_SECONDS:
                job.tidy()
                tidied_at = time.monotonic()
            failures = 0
        except (HistoryError, LakeError) as error:
            if stop.is_set():
                return
            failures += 1
            log.error("round failed (%d in a row): %s", failures, error)
            _tell(job, error, started_at)
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
            stop.wait(max(rest, trigger_seconds - took))
        else:
            stop.wait(max(0.0, trigger_seconds - took))


def _tell(job: HistoryJob, error: Exception, started_at: datetime) -> None:
    try:
        job.failed(error, started_at)
    except LakeError as another:
        log.error("the failure could not be written down: %s", one_line(another))
