"""History of groups, topics, the cluster and dead letters in one shape, whatever it came from.

Minutes, hours and days come from the gold tables. What those do not cover yet, the last minutes or
everything on the first day, is computed from the raw samples in the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

import polars as pl

from app.data.time_range import TimeRange
from lake.schemas.grain import Grain

TIME = "time"

_MINUTE = timedelta(minutes=1)
_WHOLE_MINUTE = 57.0
"""Seconds of a minute that is covered: polls are not to the second."""

USUAL_DELAY = timedelta(minutes=5)
"""A history by the minute whose newest minute began earlier is late: on a busy machine three
minutes are usual, of which the minute itself is one, and another is waited for late samples."""


def behind(newest: datetime, until: datetime) -> timedelta | None:
    """Return how late a history by the minute is; None where that is usual.

    Args:
        newest: When its newest minute began.
        until: Up to when there are samples.
    """
    late = until - newest
    return late - timedelta(minutes=1) if late > USUAL_DELAY else None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Values over time."""

    frame: pl.DataFrame  # rows with ``time``, the keys and the values, in order of time
    step_seconds: float
    note: str | None = None  # where the values come from, if not from the history tables
    generated_until: datetime | None = None  # what lies before was generated, not measured
    gap: tuple[datetime, datetime] | None = None  # of which there is neither
    newest: datetime | None = None  # of the step that goes on, where that is drawn, too

    @property
    def first(self) -> datetime | None:
        """The first moment with a value."""
        moment = self.frame[TIME].min()
        return moment if isinstance(moment, datetime) else None

    @property
    def measured(self) -> pl.DataFrame:
        """The rows that were measured, not generated: for lines that cannot show the difference."""
        if self.generated_until is None:
            return self.frame
        return self.frame.filter(pl.col(TIME) >= self.generated_until)

    def of(self, column: str, value: str) -> History:
        """Return the rows of one series."""
        return replace(self, frame=self.frame.filter(pl.col(column) == value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A value of a history: its column in the gold table, and how rows are merged."""

    name: str  # its column in ``History.frame``
    gold: str
    worst: bool = True  # true takes the highest of several rows, False their mean
    last: bool = False  # true takes the last row's value instead

    def combined(self) -> pl.Expr:
        """Return the expression that merges several rows."""
        column = pl.col(self.name)
        if self.last:
            return column.last()
        return column.max() if self.worst else column.mean()


GROUP = (
    Measure(name="lag", gold="lag_max"),
    Measure(name="time_lag_seconds", gold="time_lag_seconds_max"),
    Measure(name="arrival_per_second", gold="arrival_per_second", worst=False),
    Measure(name="consumption_per_second", gold="consumption_per_second", worst=False),
    Measure(name="members", gold="members_last", last=True),
)
PARTITION = (
    Measure(name="lag", gold="lag_max"),
    Measure(name="time_lag_seconds", gold="time_lag_seconds_max"),
)
TOPIC = (
    Measure(name="arrival_per_second", gold="arrival_per_second", worst=False),
    Measure(name="retained", gold="retained_last", last=True),
)
AT_RISK = (
    Measure(name="under_replicated", gold="under_replicated_max"),
    Measure(name="under_min_isr", gold="under_min_isr_max"),
    Measure(name="offline", gold="offline_max"),
)
"""How many partitions of a cluster."""
CLUSTER = (
    Measure(name="lag", gold="lag_max"),
    Measure(name="time_lag_seconds", gold="time_lag_seconds_max"),
    Measure(name="arrival_per_second", gold="arrival_per_second", worst=False),
    Measure(name="consumption_per_second", gold="consumption_per_second", worst=False),
    *AT_RISK,
    Measure(name="brokers_alive", gold="brokers_alive_min", last=True),
    Measure(name="brokers_known", gold="brokers_known_max", last=True),
    Measure(name="topics", gold="topics_last", last=True),
    Measure(name="groups", gold="groups_last", last=True),
)
DEAD_LETTER = (
    Measure(name="unprocessed", gold="unprocessed_last", last=True),
    Measure(name="retained", gold="retained_last", last=True),
    Measure(name="arrival_per_second", gold="arrival_per_second", worst=False),
)
QUEUE = (Measure(name="ready", gold="ready"),)
"""Of samples: of queues there is no gold table."""


NOT_WRITTEN = "No history of this time has been written yet"
"""Older history there may be, and what was derived of it stands on the same page."""


def merge(
    gold: pl.DataFrame,
    samples: pl.DataFrame,
    *,
    keys: tuple[str, ...],
    measures: tuple[Measure, ...],
    chosen: TimeRange,
    poll_seconds: float,
    now: datetime,
    course: pl.DataFrame | None = None,
) -> History:
    """Put history and what came after it together.

    Of samples only complete steps are returned, so that a figure changes once a step and not at
    each refresh. A course is there to tell the present: behind minutes each poll of it is a row
    whose step ends at the poll; in longer steps the one that goes on is returned, too, and behind
    hours and days the newest poll, as the last row: means of a longer step are not of it.

    Args:
        gold: Rows of a gold table at the range's grain; see ``observed``.
        samples: The last minutes' raw samples, with ``time``, keys and measures.
        keys: Columns that tell series apart.
        measures: The values.
        chosen: The range: its grain and its steps.
        poll_seconds: The cadence of the samples.
        now: The present.
        course: As ``samples``, of what the last evaluations found; where there are no samples.
            The rates of groups are not of it: they are null.

    Returns:
        History in steps of the range. While the samples reach back as far as the history does,
        the samples alone, in steps of a few seconds.
    """
    is_unwritten = gold.is_empty()
    gold = observed(gold, chosen)
    after, newest = samples, None
    if samples.is_empty() and course is not None:
        after, newest = course, _latest(course)
    first = gold["window_start"].min()
    if first is None or _covers(after[TIME].min(), first):
        note = None
        if is_unwritten and not after.is_empty():
            note = f"{NOT_WRITTEN}: these are the samples of the last minutes."
        step = fine_step(poll_seconds)
        return History(
            frame=_over(in_steps(after, keys, measures, step), step, now, newest),
            step_seconds=step,
            note=note,
            newest=newest,
        )
    if chosen.grain is Grain.MINUTE:
        gold = with_whole_rates(gold, keys, measures)
    past = gold.select(
        pl.col("window_start").alias(TIME),
        *keys,
        *(pl.col(measure.gold).alias(measure.name) for measure in measures),
    )
    step, polls = chosen.step_seconds, past.clear()
    if chosen.grain is Grain.MINUTE and not after.is_empty():
        if newest is not None and step == _MINUTE.total_seconds():
            polls = _polls_after(past, after, keys, measures).cast(past.schema)
        else:
            tail = after.filter(pl.col(TIME) >= _ended(past))
            past = pl.concat([past, in_steps(tail, keys, measures, 60).cast(past.schema)])
    elif newest is not None:
        goes_on = after.with_columns(
            pl.lit(None).alias(one.name) for one in measures if not (one.worst or one.last)
        ).select(past.columns)
        goes_on = goes_on.cast(past.schema)
        past = pl.concat([past, goes_on])
        polls = goes_on.filter(pl.col(TIME) == newest)
    frame = pl.concat([in_steps(past, keys, measures, step), polls])
    frame = _over(frame, step, now, newest)
    until = generated_until(gold, chosen.grain.seconds)
    return History(frame=frame, step_seconds=step, generated_until=until, newest=newest)


def rates_of(measures: tuple[Measure, ...]) -> list[str]:
    """Return the columns of a gold table that are means of a window: its rates."""
    return [one.gold for one in measures if not (one.worst or one.last)]


def with_whole_rates(
    gold: pl.DataFrame, keys: tuple[str, ...], measures: tuple[Measure, ...]
) -> pl.DataFrame:
    """Leave out the rates of minutes of which too little is known.

    Those are the one in which a series began to be watched, unless all of it is covered: what
    starts then looks like a dip or a peak. Of a later one, half of the polls are enough.

    Args:
        gold: Rows of a gold table by the minute.
        keys: Columns that tell series apart.
        measures: The values.
    """
    rates = rates_of(measures)
    if not rates:
        return gold
    begin = pl.col("window_start")
    began = begin.filter(~pl.col("generated").fill_null(value=False)).min()
    is_first = begin == (began.over(keys) if keys else began)
    is_part = is_first & (pl.col("arrived_seconds") < _WHOLE_MINUTE)
    is_part |= 2 * pl.col("samples") < pl.col("samples_expected")
    return gold.with_columns(
        pl.when(~is_part.fill_null(value=False)).then(name).alias(name) for name in rates
    )


def of_samples(
    samples: pl.DataFrame,
    *,
    keys: tuple[str, ...],
    measures: tuple[Measure, ...],
    poll_seconds: float,
) -> History:
    """Return a history of samples alone, in steps of a few seconds, the one that goes on included.

    Args:
        samples: Rows with ``time``, keys and measures.
        keys: Columns that tell series apart.
        measures: The values.
        poll_seconds: The cadence of the samples.
    """
    step = fine_step(poll_seconds)
    frame = in_steps(samples, keys, measures, step).sort(TIME)
    return History(frame=frame, step_seconds=step, newest=_latest(samples))


def _ended(minutes: pl.DataFrame) -> datetime:
    """Return when the last of these minutes ended; there is one."""
    last = minutes[TIME].max()
    assert isinstance(last, datetime)  # noqa: S101 (the frame is not empty)
    return last + _MINUTE


def _polls_after(
    minutes: pl.DataFrame, polls: pl.DataFrame, keys: tuple[str, ...], measures: tuple[Measure, ...]
) -> pl.DataFrame:
    """Return polls since the last minute as rows of steps that end at the poll.

    The highest of a minute stands at its end. Where a value falls, the polls just behind it are
    left out: the line would fall by what it fell in a whole minute, at one place. Means are of the
    minute up to the poll, as those before them are: what a few seconds bring is no course.
    """
    means = [one.name for one in measures if not (one.worst or one.last)]
    rolling = (pl.col(name).rolling_mean_by(TIME, window_size="60s") for name in means)
    known = (pl.col(name).is_not_null() for name in means)
    polls = polls.sort(TIME).with_columns(
        pl.when(is_known).then(one.over(keys) if keys else one)
        for is_known, one in zip(known, rolling, strict=True)
    )
    worst = [one.name for one in measures if one.worst and not one.last]
    end = _ended(minutes)
    before = minutes.filter(pl.col(TIME) == end - _MINUTE).select(
        *keys, *(pl.col(name).alias(f"{name} before") for name in worst)
    )
    later = polls.filter(pl.col(TIME) >= end)
    is_apart = (pl.col(TIME) >= end + _MINUTE / 2) | (pl.col(TIME) == pl.col(TIME).max())
    is_higher = pl.any_horizontal(
        (pl.col(name) > pl.col(f"{name} before")).fill_null(value=False) for name in worst
    )
    joined = (
        later.join(before, on=list(keys), how="left") if keys else later.join(before, how="cross")
    )
    return (
        joined.filter(is_apart | is_higher)
        .select(pl.col(TIME) - _MINUTE, *keys, *(measure.name for measure in measures))
        .sort(TIME)
    )


def generated_until(gold: pl.DataFrame, grain_seconds: int) -> datetime | None:
    """Return the end of the last row that was generated; None where all were measured."""
    last = gold.filter(pl.col("generated"))["window_start"].max()
    return last + timedelta(seconds=grain_seconds) if isinstance(last, datetime) else None


def observed(gold: pl.DataFrame, chosen: TimeRange) -> pl.DataFrame:
    """Return what a range shows of a history: of generated rows, a short one shows none.

    They are there for seasons, comparisons and long ranges: in a short one, nearly all would be
    they, and what was measured a small rest. One of the past that has nothing else shows them.
    """
    if chosen.length > WITHOUT_GENERATED:
        return gold
    measured = gold.filter(~pl.col("generated").fill_null(value=False))
    return gold if measured.is_empty() and chosen.end is not None else measured


WITHOUT_GENERATED = timedelta(hours=6)
"""Ranges up to this long are drawn of what was measured; the axis begins where that does."""


SHORT = timedelta(hours=1)
"""Incidents up to this long are drawn from raw samples."""

ZOOM = timedelta(minutes=30)
"""So are other charts of ranges up to this long: of a zoom of minutes, few points would be left."""


FINE_SECONDS = 15
"""The steps of what is drawn from raw samples; two polls at the least fall into one."""


def fine_step(poll_seconds: float) -> int:
    """Return the steps in which raw samples are drawn."""
    return max(FINE_SECONDS, ceil(2 * poll_seconds))


def _latest(frame: pl.DataFrame) -> datetime | None:
    at = frame[TIME].max()
    return at if isinstance(at, datetime) else None


def _covers(first_sample: object, first: object) -> bool:
    return (
        isinstance(first_sample, datetime)
        and isinstance(first, datetime)
        and first_sample < first + timedelta(seconds=60)
    )


def _over(
    frame: pl.DataFrame, step_seconds: int, now: datetime, newest: datetime | None
) -> pl.DataFrame:
    """Leave out the incomplete step, unless it is longer than a minute or told up to ``newest``."""
    if newest is None:
        frame = frame.filter(pl.col(TIME) <= now - timedelta(seconds=min(step_seconds, 60)))
    return frame.sort(TIME)


def in_steps(
    frame: pl.DataFrame, keys: tuple[str, ...], measures: tuple[Measure, ...], step_seconds: int
) -> pl.DataFrame:
    """Put the rows of each step together."""
    return (
        frame.sort(TIME)
        .with_columns(pl.col(TIME).dt.truncate(f"{step_seconds}s"))
        .group_by(TIME, *keys, maintain_order=True)
        .agg(measure.combined() for measure in measures)
        .select(TIME, *keys, *(measure.name for measure in measures))
    )


def evenly(found: History, keys: tuple[str, ...], measures: tuple[Measure, ...]) -> pl.DataFrame:
    """Return one row a step of what was measured, for trends: they know no time between points."""
    return in_steps(found.measured, keys, measures, int(found.step_seconds))
