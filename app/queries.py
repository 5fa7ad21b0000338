"""Reading the lake for the pages: through ``lake.Lake`` only, each answer kept for a moment.

The pages of all viewers share these caches. Their keys begin with the lake's address, so that two
lakes in one process never mix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app import healthpage, samples
from app.history import (
    CLUSTER,
    DEAD_LETTER,
    GROUP,
    PARTITION,
    TOPIC,
    History,
    Measure,
    merge,
)
from app.ranges import TimeRange
from app.view import View
from config.settings import LakeSettings
from lake.errors import LakeError
from lake.schema import Table
from lake.store import Lake
from lake.tables import (
    BROKERS,
    CLUSTER_HISTORY,
    COLLECTIONS,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    JOBS,
    PARTITIONS,
    TABLES,
    TOPIC_HISTORY,
    TOPICS,
)

SAMPLES_LENGTH = timedelta(minutes=15)
"""How far back raw samples are read where history has nothing yet."""

_STATUS_ROWS = 150_000
"""Most rows of offsets that the status of groups is decided from; beyond it polls are skipped."""

_LOOK_BACK = (timedelta(minutes=15), timedelta(hours=26), timedelta(days=8))


@st.cache_resource(max_entries=8, show_spinner=False)
def open_lake(uri: str, _settings: LakeSettings) -> Lake:
    """Return the one handle on the lake that all sessions share."""
    return Lake(_settings)


KAFKA = "kafka"
"""The source of a Kafka cluster's own rows."""


def newest(view: View, table: Table) -> pl.DataFrame:
    """Return the newest poll's rows of a bronze table; no rows if there was no poll for days.

    Raises:
        LakeError: The table cannot be read.
    """
    return _newest(view.lake_uri, table.name, view.cluster, view.lake, view.now)


@st.cache_data(ttl=2, max_entries=128, show_spinner=False)
def _newest(uri: str, table: str, cluster: str, _lake: Lake, _now: datetime) -> pl.DataFrame:
    # Sources around the cluster are polled at moments of their own.
    own = [pl.col("source").fill_null(KAFKA) == KAFKA] if table == COLLECTIONS.name else []
    for within in _LOOK_BACK:
        rows = _lake.latest(TABLES[table], *own, cluster=cluster, now=_now, within=within)
        if not rows.is_empty():
            break
    return rows


def recent(view: View, table: Table, length: timedelta = SAMPLES_LENGTH) -> pl.DataFrame:
    """Return a bronze table's rows of the last minutes.

    Raises:
        LakeError: The table cannot be read.
    """
    return _recent(view.lake_uri, table.name, view.cluster, length, view.lake, view.now)


@st.cache_data(ttl=4, max_entries=64, show_spinner=False)
def _recent(
    uri: str, table: str, cluster: str, length: timedelta, _lake: Lake, _now: datetime
) -> pl.DataFrame:
    return _lake.read(TABLES[table], since=_now - length, cluster=cluster)


def status_rows(view: View, length: timedelta) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of ``group_offsets`` and ``groups`` that a status is decided from.

    Raises:
        LakeError: One of the tables cannot be read.
    """
    return _status_rows(view.lake_uri, view.cluster, length, view.lake, view.now)


@st.cache_data(ttl=4, max_entries=16, show_spinner=False)
def _status_rows(
    uri: str, cluster: str, length: timedelta, _lake: Lake, _now: datetime
) -> tuple[pl.DataFrame, pl.DataFrame]:
    offsets = _lake.read(GROUP_OFFSETS, since=_now - length, cluster=cluster)
    groups = _lake.read(GROUPS, since=_now - length, cluster=cluster)
    return thin_out(offsets, _STATUS_ROWS), groups


def thin_out(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Keep every n-th poll, the newest among them, so that at most about ``limit`` rows stay."""
    every = -(-rows.height // limit)
    if every <= 1:
        return rows
    polls = rows.select(pl.col("observed_at").unique().sort(descending=True))
    return rows.join(polls.gather_every(every), on="observed_at", how="semi")


def topics(view: View) -> pl.DataFrame:
    """Return the newest row of each topic: its kind, retention and settings.

    Collectors write a topic when it changes and once an hour, so the newest poll lacks most.

    Raises:
        LakeError: The table cannot be read.
    """
    return _topics(view.lake_uri, view.cluster, view.lake, view.now)


@st.cache_data(ttl=10, max_entries=16, show_spinner=False)
def _topics(uri: str, cluster: str, _lake: Lake, _now: datetime) -> pl.DataFrame:
    rows = _lake.read(TOPICS, since=_now - timedelta(hours=26), cluster=cluster)
    return rows.sort("observed_at").unique("topic", keep="last", maintain_order=True)


def history(view: View, table: Table, *, series: tuple[str, str] | None = None) -> pl.DataFrame:
    """Return a gold table's rows of the chosen range at the range's grain.

    Args:
        view: The frame of the page.
        table: A gold table.
        series: A column and its value, to read one group or topic only.

    Raises:
        LakeError: The table cannot be read.
    """
    start = view.range.start(view.now)
    return _history(
        view.lake_uri, table.name, view.cluster, view.range, series, start, view.lake
    ).filter(pl.col("window_start") >= start)


@st.cache_data(ttl=10, max_entries=64, show_spinner=False)
def _history(
    uri: str,
    table: str,
    cluster: str,
    chosen: TimeRange,
    series: tuple[str, str] | None,
    _start: datetime,
    _lake: Lake,
) -> pl.DataFrame:
    predicates = [pl.col("grain_seconds") == chosen.grain_seconds]
    if series is not None:
        predicates.append(pl.col(series[0]) == series[1])
    return _lake.read(TABLES[table], *predicates, since=_start, cluster=cluster)


def cluster_history(view: View) -> History:
    """Return the cluster's history; see ``app.history.CLUSTER``.

    Raises:
        LakeError: The history cannot be read, or there is none and the samples cannot.
    """

    def raw() -> pl.DataFrame:
        return samples.of_cluster(
            recent(view, GROUP_OFFSETS),
            recent(view, GROUPS),
            recent(view, PARTITIONS),
            recent(view, BROKERS),
        )

    return _merged(view, CLUSTER_HISTORY, raw, (), CLUSTER)


def group_history(view: View, group: str | None = None) -> History:
    """Return the history of one group or of all; see ``app.history.GROUP``.

    Raises:
        LakeError: The history cannot be read, or there is none and the samples cannot.
    """

    def raw() -> pl.DataFrame:
        return samples.of_groups(
            _only(recent(view, GROUP_OFFSETS), "group", group),
            _only(recent(view, GROUPS), "group", group),
        )

    return _merged(view, GROUP_HISTORY, raw, ("group",), GROUP, group)


def partition_history(view: View, group: str) -> History:
    """Return the history of a group's partitions; see ``app.history.PARTITION``.

    Raises:
        LakeError: The history cannot be read, or there is none and the samples cannot.
    """

    def raw() -> pl.DataFrame:
        return samples.of_partitions(_only(recent(view, GROUP_OFFSETS), "group", group))

    keys = ("group", "topic", "partition")
    return _merged(view, GROUP_PARTITION_HISTORY, raw, keys, PARTITION, group)


def topic_history(view: View, topic: str | None = None) -> History:
    """Return the history of one topic or of all; see ``app.history.TOPIC``.

    Raises:
        LakeError: The history cannot be read, or there is none and the samples cannot.
    """

    def raw() -> pl.DataFrame:
        return samples.of_topics(_only(recent(view, PARTITIONS), "topic", topic))

    return _merged(view, TOPIC_HISTORY, raw, ("topic",), TOPIC, topic)


def dead_letter_history(view: View) -> History:
    """Return the history of all dead letters; see ``app.history.DEAD_LETTER``.

    Raises:
        LakeError: The history cannot be read, or there is none and the samples cannot.
    """

    def raw() -> pl.DataFrame:
        return samples.of_dead_letters(recent(view, DEAD_LETTERS))

    return _merged(view, DEAD_LETTER_HISTORY, raw, ("source", "name"), DEAD_LETTER)


def _only(rows: pl.DataFrame, column: str, value: str | None) -> pl.DataFrame:
    return rows if value is None else rows.filter(pl.col(column) == value)


def _merged(
    view: View,
    table: Table,
    raw: Callable[[], pl.DataFrame],
    keys: tuple[str, ...],
    measures: tuple[Measure, ...],
    name: str | None = None,
) -> History:
    gold = history(view, table, series=(keys[0], name) if name is not None else None)
    unreadable = None
    try:
        newest_samples = raw()
    except LakeError as error:
        if gold.is_empty():
            raise
        newest_samples, unreadable = nothing_yet(measures, keys), error
    found = merge(
        gold,
        newest_samples,
        keys=keys,
        measures=measures,
        chosen=view.range,
        poll_seconds=view.interval_seconds,
        now=view.now,
    )
    if unreadable is None:
        return found
    return replace(found, note="The newest samples cannot be read: this is the history alone.")


def newest_collections(view: View) -> pl.DataFrame:
    """Return what the newest poll of each source around the cluster and of itself said.

    Returns:
        Rows of ``collections``, source never null, section with the source's name where it is
        not Kafka itself.

    Raises:
        LakeError: The table cannot be read.
    """
    own = _newest(view.lake_uri, COLLECTIONS.name, view.cluster, view.lake, view.now)
    rows = collections(view).filter(pl.col("source") != KAFKA)
    others = rows.filter(pl.col("observed_at") == pl.col("observed_at").max().over("source"))
    return pl.concat([_named(own), others])


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    source = pl.col("source").fill_null(KAFKA)
    return rows.with_columns(
        source,
        pl.when(source == KAFKA)
        .then("section")
        .otherwise(pl.concat_str(source, pl.lit(": "), "section"))
        .alias("section"),
    )


def collections(view: View) -> pl.DataFrame:
    """Return every attempt to collect of the last day; see ``newest_collections`` for the rows.

    Raises:
        LakeError: The table cannot be read.
    """
    return _collections(view.lake_uri, view.cluster, view.lake, view.now)


@st.cache_data(ttl=4, max_entries=16, show_spinner=False)
def _collections(uri: str, cluster: str, _lake: Lake, _now: datetime) -> pl.DataFrame:
    return _named(_lake.read(COLLECTIONS, since=_now - timedelta(hours=24), cluster=cluster))


def derived(view: View, table: Table) -> pl.DataFrame:
    """Return the rows of a table that Spark derives from history, such as ``forecasts``.

    Raises:
        LakeError: The table cannot be read.
    """
    return _derived(view.lake_uri, table.name, view.cluster, view.lake, view.now)


@st.cache_data(ttl=60, max_entries=32, show_spinner=False)
def _derived(uri: str, table: str, cluster: str, _lake: Lake, _now: datetime) -> pl.DataFrame:
    # They are replaced as a whole, hourly: two days leave room for a job that was away.
    return _lake.read(TABLES[table], since=_now - timedelta(days=2), cluster=cluster)


def no_rows(table: Table) -> pl.DataFrame:
    """Return a frame of the table's columns without a row."""
    return pl.DataFrame(schema=table.polars_schema)


def jobs(view: View) -> pl.DataFrame:
    """Return the rounds of the background jobs of the last day, of all clusters.

    Raises:
        LakeError: The table cannot be read.
    """
    return _jobs(view.lake_uri, view.lake, view.now)


@st.cache_data(ttl=10, max_entries=8, show_spinner=False)
def _jobs(uri: str, _lake: Lake, _now: datetime) -> pl.DataFrame:
    return _lake.read(JOBS, since=_now - timedelta(hours=24))


def lake_state(view: View) -> pl.DataFrame:
    """Return what each table of the lake consists of; see ``app.healthpage.lake_rows``."""
    return _lake_state(view.lake_uri, view.lake, view.now)


@st.cache_data(ttl=10, max_entries=8, show_spinner=False)
def _lake_state(uri: str, _lake: Lake, _now: datetime) -> pl.DataFrame:
    return healthpage.lake_rows(_lake, _now)


def nothing_yet(measures: tuple[Measure, ...], keys: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return a history of these measures without a row."""
    texts = {key: pl.Int32() if key == "partition" else pl.String() for key in keys}
    values = {measure.name: pl.Float64() for measure in measures}
    return pl.DataFrame(schema={"time": pl.Datetime("us", "UTC"), **texts, **values})
