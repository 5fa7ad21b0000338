"""The job that keeps the history up to date: incremental, restartable, exactly once.

A step reads what is new (``arrivals``), which notes the minutes that it touches; computes minutes
that are due from all their samples; and writes down that they are done only after the history has
them. A step that was cut short is done again, with the same result.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pyspark.sql import SparkSession

from config.settings import Settings
from lake.errors import one_line
from lake.storage.store import Lake
from spark_metrics.arrivals import (
    LostStreamError,
    UnreadableFileError,
    late_before,
    read_new,
    tables_of,
)
from spark_metrics.broken_files import BrokenFiles
from spark_metrics.errors import HistoryError
from spark_metrics.gold import hours
from spark_metrics.history_tables import CHUNK_HOURS, HistoryTables
from spark_metrics.progress import (
    JobRecords,
    MicroBatch,
    Progress,
    TimeRange,
    minute_of,
    without,
)
from spark_metrics.rollups.passes import SOURCES
from spark_metrics.session import SMALL_ROWS, tune

log = logging.getLogger(__name__)

GRACE = timedelta(seconds=5)
"""A minute is closed when a sample has come that is this much later than its end."""
LONGEST_OPEN = timedelta(seconds=90)
"""A minute is closed this long after its begin, even if no sample came after it."""
OPEN_HOUR_EVERY = timedelta(minutes=30)
"""How old the current hour and day may become, if computing them is quick."""
ROLL_UP_PAUSE_RATIO = 20.0
"""The pause between two computations of open hours, as a multiple of the last one's length."""
TRIES = 3
"""How often in a row is tried what meets a file that cannot be read, before it is passed over."""
WAITING_LOG_INTERVAL = timedelta(minutes=1)
"""How often the job says that it waits."""

_T = TypeVar("_T")


class HistoryJob:
    """The history of one lake, step by step; one at a time works on a lake."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: Settings) -> None:
        """Prepare the job.

        Args:
            spark: The session.
            lake: Where samples come from and history goes.
            settings: The lake's address and the limit for late samples are used.
        """
        self._spark = spark
        self._lake = lake
        self._settings = settings.lake
        self._late_after = timedelta(seconds=settings.spark.late_after_seconds)
        self._tables = HistoryTables(spark, lake, settings)
        self._records = JobRecords(lake)
        self._progress: Progress | None = None
        self._rolled_up_at = -math.inf
        self._roll_up_took = 0.0
        self._kept_at = -math.inf
        self._failures = 0
        self._broken = BrokenFiles(spark, lake)
        self._look_again = False
        self._look_ended = False
        self._stream_is_lost = False

    @property
    def is_done(self) -> bool:
        """Whether the history has all samples that the last step knew of."""
        return self._progress is not None and self._progress.is_done

    def step(self, *, everything: bool = False) -> MicroBatch:
        """Do one micro-batch: look, compute one range of minutes that are due, write down.

        Args:
            everything: Take minutes, hours and days that are still open too.

        Returns:
            What was done; ``waiting`` if nothing was due.

        Raises:
            HistoryError: The history cannot be computed.
            LakeError: The lake cannot be read or written.
        """
        started_at = datetime.now(UTC)
        first = self._progress is None
        progress = self._trying(self._look, lenient=self._look_again)
        self._look_again = False
        due = self._due(progress, everything=everything or first)
        if due is not None:
            time_range = due
            # Only there: what cannot be read elsewhere, the store being away, must not be left out.
            lenient = self._broken.are_near(due)
            self._trying(lambda: self._tables.compute(time_range), lenient=lenient)
            progress = replace(
                progress,
                pending=without(progress.pending, due),
                hours=progress.hours | set(hours(due.start, due.end)),
            )
        rolled_up = self._longer_windows_are_due(progress, everything=everything, first=first)
        if rolled_up:
            begun = time.monotonic()
            self._tables.roll_up(progress.hours)
            progress = replace(progress, hours=frozenset())
            self._rolled_up_at = time.monotonic()
            self._roll_up_took = self._rolled_up_at - begun
        worked = due is not None or rolled_up
        done = MicroBatch(
            started_at=started_at,
            status="ok" if worked else "waiting",
            delay_seconds=_delay_seconds(progress),
        )
        if worked or time.monotonic() > self._kept_at + WAITING_LOG_INTERVAL.total_seconds():
            self._records.add(done, progress)
            self._kept_at = time.monotonic()
        self._progress = progress
        self._failures = 0
        return done

    def failed(self, error: Exception, started_at: datetime) -> None:
        """Write down a step that failed, for the page that shows it.

        Raises:
            LakeError: The row could not be written either.
        """
        self._records.add(
            MicroBatch(started_at=started_at, status="failed", error=one_line(error)), None
        )

    def _look(self) -> Progress:
        """Have new samples noted; return what is to be done."""
        tables = tables_of(self._lake)
        last = self._records.last()
        anew = Progress(tables=tables, number=0 if last is None else last.number)
        stands = last is not None and last.tables == tables and self._tables.exists()
        known = last if last is not None and stands and not self._stream_is_lost else anew
        # A look that was cut short goes on with its own limit.
        if self._look_ended or known.late_before is None:
            known = replace(known, late_before=late_before(known.newest, self._late_after))
        self._look_ended = False
        if self._progress is None:  # all that is there may be new
            rows = sum(int(files["num_records"].sum()) for files in map(self._lake.files, SOURCES))
            tune(self._spark, is_small=rows <= SMALL_ROWS)
        try:
            read_new(self._spark, self._lake, self._settings, known)
        except LostStreamError as error:
            log.warning("all samples are looked at again: %s", one_line(error))
            known = replace(anew, late_before=late_before(None, self._late_after))
            self._stream_is_lost = True
            read_new(self._spark, self._lake, self._settings, known)
        self._stream_is_lost = False
        self._look_ended = True
        noted = self._records.last()
        found = noted if noted is not None and noted.stream == known.stream else known
        return replace(found, late_before=None)

    def _trying(self, work: Callable[[], _T], *, lenient: bool) -> _T:
        """Do a part of a step; a file that cannot be read again and again is passed over.

        Otherwise one broken file would end all history: new minutes are computed together with
        those that it holds samples of.
        """
        try:
            with self._broken.passed_over() if lenient else nullcontext():
                return work()
        except UnreadableFileError as error:
            self._failures += 1
            if self._failures < TRIES:
                raise
            self._broken.add(error)
            self._failures = 0
            self._look_again = True
            raise HistoryError(
                f"{error}: from now on left out, so that other samples are not held up: "
                f"{error.path}. If it can be restored, do so, stop this job, and compute its time "
                f"anew with backfill"
            ) from error

    def _due(self, progress: Progress, *, everything: bool) -> TimeRange | None:
        """Return the newest minutes that are to be computed now, if any are."""
        pending = progress.pending
        if not everything and progress.newest is not None:
            closed = minute_of(max(progress.newest - GRACE, datetime.now(UTC) - LONGEST_OPEN))
            pending = tuple(
                time_range for one in pending if (time_range := one.before(closed)) is not None
            )
        if not pending:
            return None
        newest = pending[-1]
        whole_hours = hours(newest.start, newest.end)[-CHUNK_HOURS:]
        return TimeRange(start=max(newest.start, whole_hours[0]), end=newest.end)

    def _longer_windows_are_due(self, progress: Progress, *, everything: bool, first: bool) -> bool:
        if not progress.hours or first:
            return everything and bool(progress.hours)
        pause = max(OPEN_HOUR_EVERY.total_seconds(), ROLL_UP_PAUSE_RATIO * self._roll_up_took)
        if everything or time.monotonic() > self._rolled_up_at + pause:
            return True
        hour = timedelta(hours=1)
        return progress.newest is not None and min(progress.hours) + hour <= progress.newest - GRACE


def _delay_seconds(progress: Progress) -> float | None:
    """Return the age of the newest sample that the history has."""
    newest = progress.newest
    if newest is None:
        return None
    if progress.pending and progress.pending[-1].end > newest:
        newest = min(newest, progress.pending[-1].start)
    return max(0.0, (datetime.now(UTC) - newest).total_seconds())
