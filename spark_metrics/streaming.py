"""The job that keeps the history up to date: incremental, restartable, exactly once.

A step looks what was appended to bronze, notes the minutes that this touches, and computes
minutes that are due from all their samples. Where it stands is written down only after the
history has what it stands for; a step that was cut short is done again, with the same result.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from config.settings import Settings
from lake.change_encoding.expand import CARRIED_FOR
from lake.errors import one_line
from lake.storage.store import Lake
from spark_metrics.bronze import Appended
from spark_metrics.errors import HistoryError
from spark_metrics.files import Position
from spark_metrics.gold import hours
from spark_metrics.progress import (
    MINUTE,
    Journal,
    Progress,
    Round,
    Span,
    merge,
    minute_of,
    without,
)
from spark_metrics.stretch import Stretch

CHUNK_HOURS = 6
"""The longest stretch that is computed at once; what is newest comes first."""
GRACE = timedelta(seconds=5)
"""A minute is closed when a sample so much later has come."""
LONGEST_OPEN = timedelta(seconds=90)
"""A minute that began so long ago is closed even if no sample came after it."""
OPEN_HOUR_EVERY = timedelta(minutes=5)
"""How old the current hour and day may become, if computing them is quick."""
ROLL_UP_RESTS = 20.0
"""Open hours are computed again after so many times what it took."""
TRIES = 3
"""How often in a row a stretch is tried before files that cannot be read are left out of it."""
SIGN_OF_LIFE = timedelta(minutes=1)
"""How often the job says that it waits."""


class HistoryJob:
    """The history of one lake, step by step; one at a time works on a lake."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: Settings) -> None:
        """Prepare the job.

        Args:
            spark: The session.
            lake: Where samples come from and history goes.
            settings: The lake's address and the limit for late samples are used.
        """
        self._lake = lake
        self._late_after = timedelta(seconds=settings.spark.late_after_seconds)
        self._stretch = Stretch(spark, lake, settings)
        self._journal = Journal(lake)
        self._progress: Progress | None = None
        # Minutes from here on have no rows in the history for certain; None: nothing is certain.
        self._untouched_from: datetime | None = None
        self._rolled_up_at = -math.inf
        self._roll_up_took = 0.0
        self._kept_at = -math.inf
        self._rows_read = 0
        self._late_rows = 0
        self._failures = 0

    @property
    def is_done(self) -> bool:
        """Whether the history has all samples that the last step knew of."""
        return self._progress is not None and self._progress.is_done

    def step(self, *, everything: bool = False) -> Round:
        """Do one round: look, compute one stretch of minutes that are due, write down.

        Args:
            everything: Take minutes, hours and days that are still open too.

        Returns:
            What was done; ``waiting`` if nothing was due.

        Raises:
            HistoryError: The history cannot be computed.
            LakeError: The lake cannot be read or written.
        """
        certain, self._untouched_from = self._untouched_from, None
        started_at = datetime.now(UTC)
        first = self._progress is None
        progress = self._look(self._restored() if self._progress is None else self._progress)
        due = self._due(progress, everything=everything or first)
        if due is not None:
            certain = certain or self._stretch.written_until()
            self._compute(due, is_new=due.start >= certain)
            progress = replace(
                progress,
                pending=without(progress.pending, due),
                hours=progress.hours | set(hours(due.start, due.end)),
            )
            certain = max(due.end, certain)
        rolled_up = self._longer_windows_are_due(progress, everything=everything, first=first)
        if rolled_up:
            begun = time.monotonic()
            self._stretch.roll_up(progress.hours, progress.newest or started_at)
            progress = replace(progress, hours=frozenset())
            self._rolled_up_at = time.monotonic()
            self._roll_up_took = self._rolled_up_at - begun
        worked = due is not None or rolled_up
        done = Round(
            started_at,
            "ok" if worked else "waiting",
            self._rows_read,
            self._late_rows,
            _delay_seconds(progress),
        )
        if worked or time.monotonic() > self._kept_at + SIGN_OF_LIFE.total_seconds():
            self._journal.add(done, progress)
            self._kept_at = time.monotonic()
            self._rows_read = self._late_rows = 0
        self._progress = progress
        self._untouched_from = certain
        return done

    def _compute(self, span: Span, *, is_new: bool) -> None:
        """Compute a stretch; files that cannot be read again and again are left out.

        Otherwise one broken file would end all history: new minutes are computed together with
        those that it holds samples of.
        """
        try:
            self._stretch.compute(span, is_new=is_new)
        except HistoryError as error:
            self._failures += 1
            if self._failures < TRIES:
                raise
            broken = self._stretch.set_aside(span)
            if not broken:
                raise
            self._failures = 0
            raise HistoryError(
                f"{error}; from now on left out, so that other samples are not held up: "
                f"{', '.join(broken)}. If it can be restored, do so, stop this job, and compute "
                f"its time anew with backfill"
            ) from error
        self._failures = 0

    def failed(self, error: Exception, started_at: datetime) -> None:
        """Write down a step that failed, for the page that shows it.

        Raises:
            LakeError: The row could not be written either.
        """
        self._journal.add(Round(started_at, "failed", error=one_line(error)), None)

    def _restored(self) -> Progress:
        """Return where the last process left off; the beginning if its work is gone."""
        progress = self._journal.last()
        if progress is None or not self._stretch.exists():
            return Progress()
        return progress

    def _look(self, progress: Progress) -> Progress:
        """Note the minutes that new samples touch."""
        found: list[Appended] = []
        latest: datetime | None = None
        positions: dict[str, Position] = {}
        for table in self._stretch.bronze:
            position = table.position()
            if position is None:
                continue
            name = table.table.name
            files, is_all = table.appended(progress.positions.get(name), position)
            positions[name] = position
            for file in files:
                late = 0 if is_all else table.late(file, self._late_after)
                self._rows_read += file.rows
                self._late_rows += late
                if late and late == file.rows:
                    continue
                in_time = file.file.written_at - self._late_after
                first = max(file.first, in_time) if late else file.first
                # What a row says holds for later polls too, that did not write it again.
                holds = CARRIED_FOR if table.table.carried else timedelta()
                found.append(replace(file, first=first, last=file.last + holds))
                latest = max(file.last, latest or file.last)
        if latest is None:
            return replace(progress, positions=positions)
        newest = max(latest, progress.newest or latest)
        end = minute_of(newest) + MINUTE
        reach = self._stretch.reach(min(file.first for file in found), newest)
        touched = (Span.around(file.first, file.last + reach).before(end) for file in found)
        pending = merge([*progress.pending, *(span for span in touched if span is not None)])
        return replace(progress, positions=positions, pending=pending, newest=newest)

    def _due(self, progress: Progress, *, everything: bool) -> Span | None:
        """Return the newest minutes that are to be computed now, if any are."""
        pending = progress.pending
        if not everything and progress.newest is not None:
            closed = minute_of(max(progress.newest - GRACE, datetime.now(UTC) - LONGEST_OPEN))
            pending = tuple(span for one in pending if (span := one.before(closed)) is not None)
        if not pending:
            return None
        newest = pending[-1]
        whole_hours = hours(newest.start, newest.end)[-CHUNK_HOURS:]
        return Span(max(newest.start, whole_hours[0]), newest.end)

    def _longer_windows_are_due(self, progress: Progress, *, everything: bool, first: bool) -> bool:
        if not progress.hours or first:
            return everything and bool(progress.hours)
        pause = max(OPEN_HOUR_EVERY.total_seconds(), ROLL_UP_RESTS * self._roll_up_took)
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
