"""Courses over the chosen range for the pages: history of the lake, and what came after it.

Each raises ``LakeError`` where a table cannot be read; a history only where there are no samples
either. Answers are kept for a moment and shared as those of ``queries`` are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

import polars as pl
import streamlit as st

from app.data import present, recent_samples
from app.data.context import View
from app.data.history import (
    CLUSTER,
    DEAD_LETTER,
    GROUP,
    PARTITION,
    TIME,
    TOPIC,
    History,
    Measure,
    behind,
    generated_until,
    in_steps,
    merge,
    observed,
    rates_of,
)
from app.data.queries import SAMPLES_LENGTH, recent, recent_of, version
from app.data.time_range import LAST_DAY, TimeRange
from lake.errors import LakeError
from lake.schemas.current import CLUSTER_COURSE, CLUSTER_STATUS, GROUP_COURSE, GROUP_STATUS
from lake.schemas.grain import Grain
from lake.schemas.model import Table, moment
from lake.schemas.tables import (
    BROKERS,
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    PARTITIONS,
    TABLES,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake

_SMALL_PARTITIONS = 3000
"""Above this many partitions, samples of more than one series are not read."""

_YOUNG = timedelta(minutes=5)
"""A history by the minute that began later has too few points for a line."""

_MOST_LOOKS = 4
"""While history is late, samples are read so many times as far back, of few partitions."""

_MINUTE = timedelta(minutes=1)

_COVERED = ("samples", "samples_expected", "arrived_seconds")
"""How much of a window its rates are of."""
_DRAWN: Mapping[str, tuple[str, ...]] = {
    table.name: (
        *("window_start", "generated", *also),
        *(one.gold for one in measures),
        *(_COVERED if rates_of(measures) else ()),
    )
    for table, also, measures in (
        (CLUSTER_HISTORY, ("lag_last",), CLUSTER),
        (GROUP_HISTORY, ("group", "lag_last", "unknown_samples"), GROUP),
        (GROUP_PARTITION_HISTORY, ("group", "topic", "partition"), PARTITION),
        (TOPIC_HISTORY, ("topic",), TOPIC),
        (DEAD_LETTER_HISTORY, ("source", "name"), DEAD_LETTER),
    )
}
"""What charts need of each history table."""


def history(
    view: View, table: Table, key: str | None = None, names: Sequence[str] = ()
) -> pl.DataFrame:
    """Return what charts need of a history table: the chosen range at its grain."""
    start = view.start
    wanted = tuple(sorted(names))
    return _read(view, table, view.range, key, wanted, start).filter(
        pl.col("window_start") >= moment(start)
    )


def _read(
    view: View,
    table: Table,
    chosen: TimeRange,
    key: str | None,
    names: tuple[str, ...],
    start: datetime,
) -> pl.DataFrame:
    found = version(view, table)
    return _history(
        view.cache_key, table.name, view.cluster, found, chosen, key, names, start, view.lake
    )


@st.cache_resource(ttl=300, max_entries=64, show_spinner=False)
def _history(
    uri: str,
    table: str,
    cluster: str,
    version: int | None,
    chosen: TimeRange,
    key: str | None,
    names: tuple[str, ...],
    _start: datetime,
    _lake: Lake,
) -> pl.DataFrame:
    predicates = [pl.col("grain_seconds") == chosen.grain.seconds]
    if key is not None:
        predicates.append(pl.col(key).is_in(names))
    if chosen.end is not None:
        predicates.append(pl.col("window_start") < chosen.end)
    return _lake.read(
        TABLES[table],
        *predicates,
        since=_start,
        until=chosen.end,
        cluster=cluster,
        columns=list(_DRAWN[table]),
    )


def earlier(
    view: View, table: Table, key: str, name: str, measure: Measure, before: timedelta
) -> tuple[pl.DataFrame, bool]:
    """Return what a value of a series was as long before the chosen range, moved into it.

    Returns:
        Rows of ``time`` and ``value``, and whether any was generated.

    Raises:
        LakeError: The table cannot be read.
    """
    until = (view.until - before).replace(second=0, microsecond=0)
    chosen = replace(view.range, end=until)
    start = chosen.start(until)
    rows = _read(view, table, chosen, key, (name,), start)
    rows = rows.filter(pl.col("window_start") >= start)
    points = rows.select(
        pl.col("window_start").alias(TIME), pl.col(measure.gold).alias(measure.name)
    )
    steps = in_steps(points, (), (measure,), chosen.step_seconds)
    moved = steps.select(pl.col(TIME) + before, pl.col(measure.name).alias("value"))
    return moved, bool(rows["generated"].fill_null(value=False).any())


def past_day(view: View, table: Table, key: str, name: str) -> History:
    """Return by the hour what arrived for a series in the last day, as ``value``.

    Raises:
        LakeError: The table cannot be read.
    """
    day = replace(view, range=LAST_DAY)
    rows = history(day, table, key, [name]).sort("window_start")
    return History(
        frame=rows.select(
            pl.col("window_start").alias(TIME), pl.col("arrival_per_second").alias("value")
        ),
        step_seconds=Grain.HOUR.seconds,
        generated_until=generated_until(rows, Grain.HOUR.seconds),
    )


def cluster_history(view: View) -> History:
    """Return the cluster's history; see ``app.data.history.CLUSTER``."""

    def raw(length: timedelta) -> pl.DataFrame:
        return recent_samples.of_cluster(
            recent(view, GROUP_OFFSETS, length),
            recent(view, GROUPS, length),
            recent(view, PARTITIONS, length),
            recent(view, BROKERS, length),
            view.interval_seconds,
        )

    gold = history(view, CLUSTER_HISTORY)
    last = recent_samples.point(_last(view, CLUSTER_COURSE), CLUSTER)
    return _merged(view, gold, _late(view, gold, raw), (), CLUSTER, last)


def group_history(view: View, groups: Sequence[str]) -> History:
    """Return the history of some groups; see ``app.data.history.GROUP``.

    That of one alone ends with its samples where the last evaluations tell too little of it.
    """
    raw = _raw_groups(view, groups)
    gold = history(view, GROUP_HISTORY, "group", groups)
    named = _last(view, GROUP_COURSE).filter(pl.col("group").is_in(list(groups)))
    last = recent_samples.point(named, GROUP, "group")
    is_one_alone = len(groups) == 1 and _is_cut(view, gold, last)
    newest = raw if is_one_alone else _late(view, gold, raw)
    return _merged(view, gold, newest, ("group",), GROUP, last)


def group_rates(view: View, group: str) -> History:
    """Return the same of one group up to its last full minute, with the rates of that."""
    gold = history(view, GROUP_HISTORY, "group", [group])
    return _merged(view, gold, _raw_groups(view, [group]), ("group",), GROUP)


def _raw_groups(view: View, groups: Sequence[str]) -> Callable[[timedelta], pl.DataFrame]:
    """Return how the samples of some groups are read."""

    def raw(length: timedelta) -> pl.DataFrame:
        offsets, members = (
            _samples(view, table, "group", groups, length) for table in (GROUP_OFFSETS, GROUPS)
        )
        return recent_samples.of_groups(offsets, members, view.interval_seconds)

    return raw


def partition_history(view: View, group: str) -> History:
    """Return the history of a group's partitions; see ``app.data.history.PARTITION``."""

    def raw(length: timedelta) -> pl.DataFrame:
        rows = recent_of(view, GROUP_OFFSETS, "group", group, length)
        return recent_samples.of_partitions(rows)

    keys = ("group", "topic", "partition")
    gold = history(view, GROUP_PARTITION_HISTORY, "group", [group])
    return _merged(view, gold, raw, keys, PARTITION)


def topic_history(view: View, topics: Sequence[str]) -> History:
    """Return the history of some topics; see ``app.data.history.TOPIC``.

    That of one alone ends with its samples.
    """

    def raw(length: timedelta) -> pl.DataFrame:
        rows = _samples(view, PARTITIONS, "topic", topics, length)
        return recent_samples.of_topics(rows, view.interval_seconds)

    gold = history(view, TOPIC_HISTORY, "topic", topics)
    newest = raw if len(topics) == 1 else _late(view, gold, raw)
    return _merged(view, gold, newest, ("topic",), TOPIC)


def dead_letter_history(view: View) -> History:
    """Return the history of all dead letters; see ``app.data.history.DEAD_LETTER``."""

    def raw(length: timedelta) -> pl.DataFrame:
        rows = recent(view, DEAD_LETTERS, length)
        return recent_samples.of_dead_letters(rows, view.interval_seconds)

    keys = ("source", "name")
    gold = history(view, DEAD_LETTER_HISTORY)
    if lags(view, gold):
        return _merged(view, gold, raw, keys, DEAD_LETTER)
    return _merged(view, gold, None, keys, DEAD_LETTER)


def _late(
    view: View, gold: pl.DataFrame, raw: Callable[[timedelta], pl.DataFrame]
) -> Callable[[timedelta], pl.DataFrame] | None:
    """Return how samples are read, where they tell more than history and are few."""
    return raw if lags(view, gold) and is_small(view) else None


def _last(view: View, course: Table) -> pl.DataFrame:
    """Return what the last evaluations found, for a chart of the present."""
    if view.until >= view.now - _MINUTE:
        with suppress(LakeError):  # a history without its end is better than none
            return present.rows(view, course)
    return course.empty


def _is_cut(view: View, gold: pl.DataFrame, last: pl.DataFrame) -> bool:
    """Return whether there is a hole between history and what the last evaluations found."""
    if lags(view, gold):
        return True
    times = observed(gold, view.range)["window_start"]
    end = times.max() if view.range.grain is Grain.MINUTE else None
    if not isinstance(end, datetime):
        return False  # by the hour, samples are not drawn
    begin = last[TIME].min()
    return (begin if isinstance(begin, datetime) else view.until) >= end + 2 * _MINUTE


def _samples(
    view: View, table: Table, key: str, names: Sequence[str], length: timedelta
) -> pl.DataFrame:
    """Return the samples of some series; of one alone little is read, see ``KeptSeries``."""
    if len(names) == 1:
        return recent_of(view, table, key, names[0], length)
    return recent(view, table, length).filter(pl.col(key).is_in(names))


def lags(view: View, gold: pl.DataFrame) -> bool:
    """Return whether the samples of the last minutes tell more than a history does.

    So it is where the history job is away or has only begun. Else it is a minute behind, and the
    samples, in hundreds of files, would be read at each refresh for that minute: with 15 groups
    polled every 5 s, that is three quarters of what a page takes.
    """
    times = observed(gold, view.range)["window_start"]
    first, end = times.min(), times.max()
    if not (isinstance(first, datetime) and isinstance(end, datetime)):
        return True
    is_late = view.range.grain is Grain.MINUTE and behind(end, view.until) is not None
    return is_late or view.now - first < _YOUNG


def is_small(view: View) -> bool:
    """Return whether all samples of the last minutes can be read in a moment."""
    return _partitions(view) <= _SMALL_PARTITIONS


def _partitions(view: View) -> int:
    tables = (GROUP_STATUS, CLUSTER_STATUS)
    return sum(int(present.rows(view, table)["partitions"].sum()) for table in tables)


def _looks(view: View, end: datetime | None) -> int:
    """Return how many times as far back samples are read: to a history's end, if they are few."""
    if end is None:
        return 1
    wanted = ceil((view.now - end) / SAMPLES_LENGTH)
    most = min(_MOST_LOOKS, _SMALL_PARTITIONS // max(1, _partitions(view)))
    return max(1, min(wanted, most))


def _merged(
    view: View,
    gold: pl.DataFrame,
    newest: Callable[[timedelta], pl.DataFrame] | None,
    keys: tuple[str, ...],
    measures: tuple[Measure, ...],
    course: pl.DataFrame | None = None,
) -> History:
    """Put history and what came after it together.

    Args:
        view: The frame of the page.
        gold: The history.
        newest: How samples are read, so many minutes back; None: they are not.
        keys: Columns that tell series apart.
        measures: The values.
        course: What the last evaluations found, where samples are not read.
    """
    samples, unreadable, gap = nothing_yet(measures, keys), None, None
    if newest is not None:
        end = observed(gold, view.range)["window_start"].max()
        end = end if isinstance(end, datetime) else None
        try:
            samples = newest(_looks(view, end) * SAMPLES_LENGTH)
        except LakeError as error:
            if gold.is_empty():
                raise
            unreadable = error
        samples = samples.filter(pl.col(TIME).is_between(view.start, view.until))
        first = samples[TIME].min()
        if end is not None and isinstance(first, datetime) and first >= end + 2 * _MINUTE:
            gap = (end + _MINUTE, first)
    elif course is not None:
        course = course.filter(pl.col(TIME).is_between(view.start, view.until))
    found = merge(
        gold,
        samples,
        keys=keys,
        measures=measures,
        chosen=view.range,
        poll_seconds=view.interval_seconds,
        now=view.until,
        course=course if newest is None else None,
    )
    if unreadable is None:
        return replace(found, gap=gap)
    return replace(found, note="The newest samples cannot be read: this is the history alone.")


def nothing_yet(measures: tuple[Measure, ...], keys: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return a history of these measures without a row."""
    texts = {key: pl.Int32() if key == "partition" else pl.String() for key in keys}
    values = {measure.name: pl.Float64() for measure in measures}
    return pl.DataFrame(schema={"time": pl.Datetime("us", "UTC"), **texts, **values})
