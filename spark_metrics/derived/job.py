"""Computing all that is derived from history, once an hour, and advice every ten minutes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial, reduce

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from config.settings import LakeSettings, Settings
from lake.errors import LakeError, one_line
from lake.schemas.model import Table
from lake.schemas.tables import (
    CAPACITY,
    CAPACITY_INTERVALS,
    CHANGES,
    CLUSTER_HISTORY,
    CONTRIBUTORS,
    FORECASTS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    LAG_ANOMALIES,
    SEASONALITY,
    SKEW,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake
from scaling.advice.stored_advice import ADVISE_EVERY
from spark_metrics.arrivals import SPARK_ERRORS, cause
from spark_metrics.derived import by_series, from_history, from_samples
from spark_metrics.derived.advice import given_lately, recommend
from spark_metrics.derived.changed_groups import ChangedGroups
from spark_metrics.derived.forecast import LONGEST_HISTORY
from spark_metrics.derived.intervals import NEEDED
from spark_metrics.derived.series import DAY, WEEK
from spark_metrics.derived.tables import HOUR, DerivedTables
from spark_metrics.errors import HistoryError
from spark_metrics.history_tables import first_sample
from spark_metrics.objectstore import give_credentials
from spark_metrics.progress import JobRecords, MicroBatch, Progress, TimeRange

log = logging.getLogger(__name__)

JOB = "derived"
LOOK_EVERY_SECONDS = 30.0
MOST_HOURS = 6
"""Of samples that nothing was derived from yet, not more hours than these are read."""
CAPACITY_DAYS = 14
SKEW_HOURS = 24
EARLY_EVERY = timedelta(minutes=10)
RETRY_AFTER = timedelta(minutes=10)
"""Time from the begin of a failed try to the next."""
MAX_TIME_FRACTION = 0.1
"""The share of the time that advice, or trying again, may take: on a large lake both come less
often."""
_HOURS_A_TASK = 250_000
LONGEST_SILENCE = timedelta(minutes=5)
"""An hour is over this long after its end, even if no sample came after it."""
YOUNG = timedelta(hours=3)
"""A lake whose first samples are no older does not wait for the end of an hour."""


def derived_tables(spark: SparkSession, lake: Lake, settings: LakeSettings) -> DerivedTables:
    """Return the lake as derivations see it, in a session of their own."""
    # Of a server's session there is a copy only, of one in this process a new one only.
    copy = getattr(spark, "cloneSession", None)
    session: SparkSession = spark.newSession() if copy is None else copy()
    give_credentials(session, settings)
    return DerivedTables(session, lake, settings)


class DerivedJob:
    """What is derived from the history of one lake."""

    def __init__(self, spark: SparkSession, lake: Lake, settings: Settings) -> None:
        self._lake = lake
        self._scaling = settings.scaling
        self._clusters = frozenset(one.name for one in settings.clusters)
        self._tables = derived_tables(spark, lake, settings.lake)
        self._records = JobRecords(lake, JOB)
        self._history = JobRecords(lake)
        self._done_until: datetime | None = None
        self._try_again = datetime.min.replace(tzinfo=UTC)
        self._early_again = datetime.min.replace(tzinfo=UTC)
        self._advise_again = datetime.min.replace(tzinfo=UTC)
        self._changed = ChangedGroups(lake, settings.scaling)
        self._changed_again = datetime.min.replace(tzinfo=UTC)

    def step(self, *, anew: bool = False) -> MicroBatch:
        """Derive everything if an hour of history was closed since the last time.

        What fails stops nothing else. Until all has been derived, all is tried again after a pause.

        Args:
            anew: Whether to do it even if none was.

        Returns:
            What was done; ``waiting`` if no hour was closed, or it is not yet time to try again.

        Raises:
            HistoryError: The history cannot be read.
            LakeError: The lake cannot be read or written.
        """
        started_at = datetime.now(UTC)
        until = self._closed_until(started_at)
        if anew:
            self._done_until = None
        elif self._done_until is None:
            last = self._records.last()
            self._done_until = None if last is None else last.newest
        if until is None or (self._done_until is not None and until <= self._done_until):
            return MicroBatch(started_at=started_at, status="waiting")
        if not anew and started_at < self._try_again:
            return MicroBatch(started_at=started_at, status="waiting")
        self._tables.tune(until)
        failures = self._derive(until, self._done_until)
        status, error = ("failed", "; ".join(failures)[:1000]) if failures else ("ok", None)
        delay = (datetime.now(UTC) - until).total_seconds()
        done = MicroBatch(
            started_at=started_at, status=status, delay_seconds=max(0.0, delay), error=error
        )
        if failures:
            self._try_again = _after(started_at, RETRY_AFTER)
            self._records.add(done, None)
        else:
            self._records.add(done, Progress(newest=until))
            self._done_until = until
        return done

    def _closed_until(self, now: datetime) -> datetime | None:
        """Return the end of the newest hour that is over and that the history has."""
        tables = (CLUSTER_HISTORY, GROUP_HISTORY, TOPIC_HISTORY)
        last = max((hour for one in tables if (hour := self._tables.last_hour(one))), default=None)
        if last is None:
            return None
        return closed_until(_hour_of(last) + HOUR, self._history.last(), now)

    def _derive(self, until: datetime, done_until: datetime | None) -> list[str]:
        """Do every derivation; return the failures, a line each."""
        works: list[Callable[[datetime], None]] = [self._forecasts, self._skew, self._contributors]
        if done_until is None or done_until.date() < until.date():
            works += [self._seasons, self._changes]
        start = max(done_until or until - MOST_HOURS * HOUR, until - MOST_HOURS * HOUR)
        works += [self._anomalies, partial(self._capacity, start)]
        works.append(self._advice)
        return _failures(works, until)

    def look_early(self, now: datetime) -> bool:
        """Derive capacity from the open hour too, while none is known.

        For a lake's first hours alone: who starts anew need not wait for an hour to end.

        Args:
            now: The moment.

        Returns:
            Whether there was reason to, and it was time.

        Raises:
            HistoryError: The samples' log cannot be read.
            LakeError: Capacity cannot be read.
        """
        if self._done_until is None or now < self._early_again:
            return False
        self._early_again = now + EARLY_EVERY
        first = first_sample(self._lake, GROUP_OFFSETS)
        if first is None or now - first > YOUNG or self._knows_capacity():
            return False
        start = max(self._done_until, first)
        self._tables.tune(now)
        _failures([partial(self._capacity, start)], now)
        self._advise_again = now
        return True

    def advise(self, now: datetime) -> bool:
        """Advise where it is time to.

        Args:
            now: The moment.

        Returns:
            Whether it was; what failed is tried again next time.
        """
        if now < self._advise_again:
            return False
        _failures([self._advice], now)
        return True

    def advise_changed(self, now: datetime) -> int:
        """Advise on the groups that changed since they were last advised on.

        Args:
            now: The moment.

        Returns:
            How many there were.

        Raises:
            LakeError: The lake cannot be read or written.
        """
        if now < self._changed_again:
            return 0
        begun = datetime.now(UTC)
        found = self._changed.advise(begun)
        self._changed_again = _after(begun, timedelta())
        return found

    def _knows_capacity(self) -> bool:
        identified = pl.col("status") == "identified"
        return not self._lake.read(CAPACITY, identified, columns=["status"]).is_empty()

    def _forecasts(self, until: datetime) -> None:
        self._of_series(until, FORECASTS, by_series.forecast_rows, "arrival_per_second")

    def _seasons(self, until: datetime) -> None:
        metrics = ("arrival_per_second", "lag_max")
        self._of_series(until, SEASONALITY, by_series.season_rows, *metrics)

    def _changes(self, until: datetime) -> None:
        metrics = ("arrival_per_second", "consumption_per_second")
        self._of_series(until, CHANGES, by_series.change_rows, *metrics)

    def _of_series(
        self, until: datetime, table: Table, work: by_series.OfSeries, arrival: str, *others: str
    ) -> None:
        """Derive a table from arrival at all groups, topics and clusters, and others of groups."""
        since = until - LONGEST_HISTORY * HOUR
        parts = [
            self._tables.hours(history, since, until).select(
                "cluster",
                F.lit(subject).alias("subject"),
                (F.lit("") if name is None else F.col(name)).alias("name"),
                "window_start",
                "generated",
                arrival,
                *(F.col(one) if subject == "group" else F.lit(None).alias(one) for one in others),
            )
            for history, subject, name in (
                (GROUP_HISTORY, "group", "group"),
                (TOPIC_HISTORY, "topic", "topic"),
                (CLUSTER_HISTORY, "cluster", None),
            )
        ]
        hours = reduce(DataFrame.unionByName, parts)
        rows = sum(self._tables.rows(one, since) for one in (GROUP_HISTORY, TOPIC_HISTORY))
        tasks = -(-rows // _HOURS_A_TASK) or 1
        made = by_series.of_series(hours, (arrival, *others), until, tasks, work, table)
        self._tables.replace(table, made, until)

    def _skew(self, until: datetime) -> None:
        since = until - SKEW_HOURS * HOUR
        partitions = self._tables.hours(GROUP_PARTITION_HISTORY, since, until)
        tasks = self._tables.tasks(since, until)
        self._tables.replace(SKEW, from_history.skewed(partitions, since, until, tasks), until)

    def _contributors(self, until: datetime) -> None:
        topics = self._tables.hours(TOPIC_HISTORY, until - 2 * WEEK * HOUR, until)
        self._tables.replace(CONTRIBUTORS, from_history.contributors(topics, until), until)

    def _anomalies(self, until: datetime) -> None:
        usual = self._tables.read(SEASONALITY, until - 2 * DAY * HOUR, until + HOUR)
        groups = self._tables.hours(GROUP_HISTORY, until - DAY * HOUR, until)
        self._tables.replace(LAG_ANOMALIES, from_history.anomalies(groups, usual), until)

    def _capacity(self, start: datetime, until: datetime) -> None:
        """Derive capacity from the samples since a moment, and from the evidence before it."""
        if not self._tables.exists(GROUP_OFFSETS):
            return
        tasks, hours = self._tables.tasks(start, until), -(-(until - start) // HOUR)
        offsets = self._tables.source(GROUP_OFFSETS, start, until, columns=NEEDED)
        written = offsets.written(self._tables.spark, self._lake)
        groups = self._tables.read(GROUPS, start, until).select(*GROUPS.identity, "members")
        found = from_samples.interval_rows(offsets, written, groups, tasks * hours)
        self._tables.replace_hours(CAPACITY_INTERVALS, found)
        evidence = self._tables.read(CAPACITY_INTERVALS, until - CAPACITY_DAYS * DAY * HOUR, until)
        rows = from_samples.capacities(evidence, until - HOUR, tasks)
        self._tables.replace(CAPACITY, rows, until)

    def _advice(self, until: datetime) -> None:
        begun = datetime.now(UTC)
        self._advise_again = begun + ADVISE_EVERY
        before = self._changed.doing(self._clusters | _clusters(given_lately(self._lake)), begun)
        recommend(self._tables, self._lake, begun, self._scaling)
        self._changed.after_round(given_lately(self._lake), before)
        self._advise_again = _after(begun, ADVISE_EVERY)


def closed_until(end: datetime, history: Progress | None, now: datetime) -> datetime:
    """Return the end of the newest hour of which the history has all samples.

    Args:
        end: The end of the newest hour that the history has rows of: it may be open.
        history: Where the history job stands; None where none ever worked.
        now: The moment.
    """
    until = min(end, _hour_of(now))
    if history is None:
        return until
    if (history.newest is None or history.newest < until) and now < until + LONGEST_SILENCE:
        until -= HOUR
    while until - HOUR in history.hours or any(
        one.overlaps(TimeRange(start=until - HOUR, end=until)) for one in history.pending
    ):
        until -= HOUR
    return until


def _after(begun: datetime, pause: timedelta) -> datetime:
    """Return when work that began then, and ends now, may be done again."""
    return begun + max(pause, (datetime.now(UTC) - begun) / MAX_TIME_FRACTION)


def _clusters(rows: pl.DataFrame) -> frozenset[str]:
    return frozenset(rows["cluster"])


def _failures(works: Sequence[Callable[[datetime], None]], until: datetime) -> list[str]:
    """Do works one after the other; return the failures, a line each."""
    failures = []
    for work in works:
        try:
            work(until)
        except (*SPARK_ERRORS, LakeError, HistoryError) as error:
            failures.append(one_line(cause(error) if isinstance(error, SPARK_ERRORS) else error))
            log.error("not everything could be derived: %s", failures[-1])
        except Exception as error:  # one derivation stops no other
            failures.append(f"{type(error).__name__}: {one_line(error)}")
            log.exception("not everything could be derived")
    return failures


def _hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def keep(job: DerivedJob, stop: threading.Event) -> None:
    """Derive after each hour, and advise in between, until stopped; what fails is tried again.

    Args:
        job: The job.
        stop: Set to end after the running step.
    """
    while not stop.is_set():
        try:
            done = job.step()
            if done.status != "waiting":
                log.info("derived from history: %s", done.error or "ok")
            elif job.look_early(datetime.now(UTC)):
                log.info("capacity derived from the hour that is not over yet")
            elif job.advise(datetime.now(UTC)):
                log.info("advised on what was measured in the last ten minutes")
            elif number := job.advise_changed(datetime.now(UTC)):
                log.info("advised anew on groups that changed: %d", number)
        except (HistoryError, LakeError) as error:
            log.error("nothing could be derived: %s", one_line(error))
        except Exception:  # history goes on beside this thread, and so must this
            log.exception("nothing could be derived")
        stop.wait(LOOK_EVERY_SECONDS)
