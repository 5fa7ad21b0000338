"""Courses of a short time from the samples themselves, for charts whose marks are to the second.

A minute of history tells that something was so within it: beside the mark of its cause, it would
stand up to a minute later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app.data import present, recent_samples
from app.data.context import View
from app.data.history import AT_RISK, GROUP, SHORT, TIME, History, Measure, of_samples
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_OFFSETS, GROUPS, PARTITIONS, TABLES

_MOST_SAMPLES = 100_000
"""Of more partitions and polls, history by the minute is read."""


def at_risk(view: View) -> History | None:
    """Return how many partitions of the cluster were at risk; see ``app.data.history.AT_RISK``.

    Returns:
        None where the samples of the range are many, or not there.

    Raises:
        LakeError: A table cannot be read.
    """
    partitions = int(present.rows(view, CLUSTER_STATUS)["partitions"].sum())

    def read() -> pl.DataFrame:
        return recent_samples.at_risk(_samples(view, PARTITIONS))

    return _course(view, partitions, read, (), AT_RISK)


def of_groups(view: View, groups: Sequence[str]) -> History | None:
    """Return the same of groups; see ``app.data.history.GROUP``.

    Raises:
        LakeError: A table cannot be read.
    """
    names = tuple(sorted(groups))
    status = present.rows(view, GROUP_STATUS).filter(pl.col("group").is_in(names))

    def read() -> pl.DataFrame:
        offsets, members = (_samples(view, table, names) for table in (GROUP_OFFSETS, GROUPS))
        return recent_samples.of_groups(offsets, members, view.interval_seconds)

    return _course(view, int(status["partitions"].sum()), read, ("group",), GROUP)


def _course(
    view: View,
    partitions: int,
    read: Callable[[], pl.DataFrame],
    keys: tuple[str, ...],
    measures: tuple[Measure, ...],
) -> History | None:
    kept = view.settings.lake.retention.raw_days
    is_kept = kept is None or view.now - view.start < timedelta(days=kept)
    polls = view.range.length.total_seconds() / view.interval_seconds
    if not is_kept or view.range.length > SHORT or partitions * polls > _MOST_SAMPLES:
        return None
    rows = read().filter(pl.col(TIME).is_between(view.start, view.until))
    if rows.is_empty():
        return None
    return of_samples(rows, keys=keys, measures=measures, poll_seconds=view.interval_seconds)


def _samples(view: View, table: Table, groups: tuple[str, ...] = ()) -> pl.DataFrame:
    end = view.range.end
    stamp = present.stamp(view) if end is None else None  # what is over stays as it was
    return _read(view.cache_key, table.name, view.cluster, view.start, end, groups, stamp, view)


@st.cache_resource(ttl=60, max_entries=16, show_spinner=False)
def _read(
    uri: str,
    table: str,
    cluster: str,
    start: datetime,
    end: datetime | None,
    groups: tuple[str, ...],
    stamp: float | None,
    _view: View,
) -> pl.DataFrame:
    predicates = [pl.col("group").is_in(groups)] if groups else []
    return _view.lake.read(TABLES[table], *predicates, since=start, until=end, cluster=cluster)
