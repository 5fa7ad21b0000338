"""Courses of a short time from the samples themselves, for charts whose marks are to the second.

A minute of history tells that something was so within it: beside the mark of its cause, it would
stand up to a minute later, and a zoom of minutes would have few points. Each course is None where
the samples of the time are many, or not there: then history is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app.data import present, recent_samples
from app.data.context import View
from app.data.history import (
    AT_RISK,
    CLUSTER,
    GROUP,
    PARTITION,
    SHORT,
    TIME,
    TOPIC,
    ZOOM,
    History,
    Measure,
    fine_step,
    of_samples,
)
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS, TOPIC_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, GROUP_OFFSETS, GROUPS, PARTITIONS, TABLES

_MOST_SAMPLES = 100_000
"""Of more partitions and polls, history by the minute is read."""


def at_risk(view: View) -> History | None:
    """Return how many partitions of the cluster were at risk; see ``app.data.history.AT_RISK``.

    Of an hour at most: the marks of brokers stand to the second beside it.

    Raises:
        LakeError: A table cannot be read.
    """
    partitions = int(present.rows(view, CLUSTER_STATUS)["partitions"].sum())

    def read() -> pl.DataFrame:
        return recent_samples.at_risk(_samples(view, PARTITIONS))

    return _course(view, partitions, read, (), AT_RISK, SHORT)


def of_cluster(view: View) -> History | None:
    """Return the same of the whole cluster; see ``app.data.history.CLUSTER``.

    Raises:
        LakeError: A table cannot be read.
    """
    of_all = (present.rows(view, table)["partitions"] for table in (CLUSTER_STATUS, GROUP_STATUS))
    partitions = sum(int(one.sum()) for one in of_all)

    def read() -> pl.DataFrame:
        tables = (GROUP_OFFSETS, GROUPS, PARTITIONS, BROKERS)
        offsets, groups, topics, brokers = (_samples(view, table) for table in tables)
        return recent_samples.of_cluster(offsets, groups, topics, brokers, view.interval_seconds)

    return _course(view, partitions, read, (), CLUSTER, ZOOM)


def of_groups(view: View, groups: Sequence[str], longest: timedelta = ZOOM) -> History | None:
    """Return the same of groups, of which alone samples are read; see ``app.data.history.GROUP``.

    Raises:
        LakeError: A table cannot be read.
    """
    names = tuple(sorted(groups))

    def read() -> pl.DataFrame:
        offsets, members = (
            _samples(view, table, "group", names) for table in (GROUP_OFFSETS, GROUPS)
        )
        return recent_samples.of_groups(offsets, members, view.interval_seconds)

    return _course(view, _read_by(view, names), read, ("group",), GROUP, longest)


def of_partitions(view: View, group: str) -> History | None:
    """Return the same of the partitions of a group; see ``app.data.history.PARTITION``.

    Raises:
        LakeError: A table cannot be read.
    """

    def read() -> pl.DataFrame:
        return recent_samples.of_partitions(_samples(view, GROUP_OFFSETS, "group", (group,)))

    keys = ("group", "topic", "partition")
    return _course(view, _read_by(view, (group,)), read, keys, PARTITION, ZOOM)


def of_topic(view: View, topic: str) -> History | None:
    """Return the same of a topic; see ``app.data.history.TOPIC``.

    Raises:
        LakeError: A table cannot be read.
    """
    status = present.rows(view, TOPIC_STATUS).filter(topic=topic)

    def read() -> pl.DataFrame:
        rows = _samples(view, PARTITIONS, "topic", (topic,))
        return recent_samples.of_topics(rows, view.interval_seconds)

    return _course(view, int(status["partitions"].sum()), read, ("topic",), TOPIC, ZOOM)


def _read_by(view: View, groups: tuple[str, ...]) -> int:
    """Return how many partitions groups read."""
    status = present.rows(view, GROUP_STATUS).filter(pl.col("group").is_in(groups))
    return int(status["partitions"].sum())


def _course(
    view: View,
    partitions: int,
    read: Callable[[], pl.DataFrame],
    keys: tuple[str, ...],
    measures: tuple[Measure, ...],
    longest: timedelta,
) -> History | None:
    kept = view.settings.lake.retention.raw_days
    is_kept = kept is None or view.now - view.start < timedelta(days=kept)
    polls = view.range.length.total_seconds() / view.interval_seconds
    if not is_kept or view.range.length > longest or partitions * polls > _MOST_SAMPLES:
        return None
    rows = read().filter(pl.col(TIME).is_between(_since(view), view.until))
    if rows.is_empty():
        return None
    return of_samples(rows, keys=keys, measures=measures, poll_seconds=view.interval_seconds)


def _since(view: View) -> datetime:
    """Return since when samples are drawn: the value of a step stands where it ends."""
    return view.start - timedelta(seconds=fine_step(view.interval_seconds))


def _samples(view: View, table: Table, key: str = "", names: tuple[str, ...] = ()) -> pl.DataFrame:
    end = view.range.end
    stamp = present.stamp(view) if end is None else None  # what is over stays as it was
    return _read(
        view.cache_key, table.name, view.cluster, _since(view), end, key, names, stamp, view
    )


@st.cache_resource(ttl=60, max_entries=16, show_spinner=False)
def _read(
    uri: str,
    table: str,
    cluster: str,
    start: datetime,
    end: datetime | None,
    key: str,
    names: tuple[str, ...],
    stamp: float | None,
    _view: View,
) -> pl.DataFrame:
    predicates = [pl.col(key).is_in(names)] if key else []
    return _view.lake.read(TABLES[table], *predicates, since=start, until=end, cluster=cluster)
