"""Reading the lake for the pages: through ``lake.Lake`` only, each answer kept for a moment.

Each raises ``LakeError`` where a table cannot be read; a history only where there are no samples
either. The pages of all viewers share these caches and the frames in them, which are never altered:
to copy a frame takes longer than most of what is done with it. Their keys begin with the lake's
address, so that two lakes in one process never mix.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime, timedelta
from math import ceil

import polars as pl
import streamlit as st

from alerting.inputs.facts import dead_letter_rows
from app.data import lake_tables, present
from app.data.context import View
from app.data.viewer import Viewer
from app.data.visible_lake import VisibleLake
from config.settings import LakeSettings
from lake.schemas.current import TOPIC_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKER_METRICS,
    CLUSTER_EVENTS,
    CLUSTER_SETTINGS,
    COLLECTIONS,
    DEAD_LETTERS,
    JOBS,
    REBALANCES,
    TABLES,
    TOPICS,
    TRANSACTIONS,
    WAITING_COLLECTORS,
    WRITTEN_EVERY_SECONDS,
)
from lake.storage.store import CLOCKS_DIFFER, Lake

SAMPLES_LENGTH = timedelta(minutes=15)
"""How far back raw samples are read where history has nothing yet."""

DAY = timedelta(hours=24)
"""How far back samples of dead letters are read at most, and what is seldom written."""
_TRANSACTIONS_STAND = timedelta(minutes=2)
"""They are read every minute, and have no row where there is none."""
_METRICS_STAND = timedelta(minutes=5)
_LOOK_BACK = (timedelta(minutes=15), timedelta(hours=26), timedelta(days=8))


def open_lake(settings: LakeSettings, viewer: Viewer) -> VisibleLake:
    """Return the one handle on what a viewer sees of the lake, shared by all who see the same."""
    return _open_lake(settings.uri, viewer.key, settings, viewer)


@st.cache_resource(max_entries=64, show_spinner=False)
def _open_lake(uri: str, key: str, _settings: LakeSettings, _viewer: Viewer) -> VisibleLake:
    return VisibleLake(_settings, _viewer)


_WAITING_SHOWN = timedelta(seconds=2.2 * WRITTEN_EVERY_SECONDS[WAITING_COLLECTORS.name])

_FEW_POLLS, _FEW_SECONDS = 3, 60.0
_BESIDE_SECONDS = 15.0
"""How often the polls of sources around the cluster are looked for."""

KAFKA = "kafka"
"""The source of a Kafka cluster's own rows."""


def version(view: View, table: Table) -> int | None:
    """Return what changes when rows are added to a table; None where there is no table.

    Raises:
        LakeError: It cannot be read.
    """
    return _version(view.cache_key, table.name, view.lake)


@st.cache_data(ttl=2, max_entries=64, show_spinner=False)
def _version(uri: str, table: str, _lake: Lake) -> int | None:
    handle = _lake.handle(TABLES[table])
    return None if handle is None else handle.version()


def newest(view: View, table: Table) -> pl.DataFrame:
    """Return the newest poll's rows of a bronze table; no rows if there was no poll for days."""
    stamp = present.stamp(view)
    return _newest(view.cache_key, table.name, view.cluster, stamp, view.lake, view.now)


@st.cache_resource(ttl=15, max_entries=128, show_spinner=False)
def _newest(
    uri: str, table: str, cluster: str, stamp: float, _lake: Lake, _now: datetime
) -> pl.DataFrame:
    # Sources around the cluster are polled at moments of their own.
    own = [pl.col("source").fill_null(KAFKA) == KAFKA] if table == COLLECTIONS.name else []
    for within in _LOOK_BACK:
        rows = _lake.latest(TABLES[table], *own, cluster=cluster, now=_now, within=within)
        if not rows.is_empty():
            break
    return rows


def recent(view: View, table: Table, length: timedelta = SAMPLES_LENGTH) -> pl.DataFrame:
    """Return a bronze table's rows of the last minutes."""
    return _kept(view, table, length)


def recent_of(
    view: View, table: Table, key: str, name: str, length: timedelta = SAMPLES_LENGTH
) -> pl.DataFrame:
    """Return the rows of one series of a bronze table of the last minutes."""
    return _kept(view, table, length, (key, name))


def recent_of_several(view: View, table: Table, key: str, names: Collection[str]) -> pl.DataFrame:
    """Return the rows of some series of a bronze table of the last minutes."""
    if not names:
        return table.empty
    return _kept(view, table, SAMPLES_LENGTH, (key, *sorted(names)))


def _kept(
    view: View,
    table: Table,
    length: timedelta,
    only: tuple[str, ...] | None = None,
    *,
    every_cluster: bool = False,
) -> pl.DataFrame:
    cluster = None if every_cluster else view.cluster
    return _read(view.cache_key, table.name, cluster, length, only, present.stamp(view), view)


@st.cache_resource(ttl=15, max_entries=128, show_spinner=False)
def _read(
    uri: str,
    table: str,
    cluster: str | None,
    length: timedelta,
    only: tuple[str, ...] | None,
    stamp: float,
    _view: View,
) -> pl.DataFrame:
    predicates = []
    if only is not None:
        key, *names = only
        predicates = [pl.col(key).is_in(names)]
    since = _view.now - length
    return _view.lake.read(TABLES[table], *predicates, since=since, cluster=cluster)


def topic_settings(view: View, topic: str) -> pl.DataFrame:
    """Return the newest row of ``topics`` of a topic: collectors write it on change and hourly."""
    length = timedelta(hours=26)
    rows = recent_of(view, TOPICS, "topic", topic, length)
    return rows.sort("observed_at").tail(1)


def cluster_events(view: View) -> pl.DataFrame:
    """Return what changed in the cluster in the chosen range, as far back as samples are kept.

    Raises:
        LakeError: The table cannot be read.
    """
    return changes_between(view, view.start, view.until)


def rebalances(view: View, group: str) -> pl.DataFrame:
    """Return a group's rebalances in the chosen range, as far back as samples are kept.

    Raises:
        LakeError: The table cannot be read.
    """
    return rebalances_between(view, group, view.start, view.until)


def rebalances_between(view: View, group: str, start: datetime, end: datetime) -> pl.DataFrame:
    """Return a group's rebalances between two moments, as far back as samples are kept.

    Raises:
        LakeError: The table cannot be read.
    """
    rows = recent_of(view, REBALANCES, "group", group, _whole_hours(view.now - start))
    return rows.filter(pl.col("rebalanced_at").is_between(start, end)).sort("rebalanced_at")


def changes_between(view: View, start: datetime, end: datetime) -> pl.DataFrame:
    """Return what changed in the cluster between two moments, as far back as samples are kept.

    Raises:
        LakeError: The table cannot be read.
    """
    rows = recent(view, CLUSTER_EVENTS, _whole_hours(view.now - start))
    return rows.filter(pl.col("observed_at").is_between(start, end))


def forget() -> None:
    """Read anew what is next asked for: something was added from here, or somebody wants to see."""
    for kept in (_newest, _newest_collections, _read, _derived):
        kept.clear()


def whole_minutes(length: timedelta) -> timedelta:
    """Round up, so that the next viewer finds the answer kept."""
    return timedelta(minutes=ceil(length / timedelta(minutes=1)))


def _whole_hours(length: timedelta) -> timedelta:
    """Round up, so that the next refresh finds the answer kept."""
    return timedelta(hours=ceil(length / timedelta(hours=1)))


def open_transactions(view: View, topic: str) -> pl.DataFrame:
    """Return the transactions on a topic that were open for more than a minute when last read.

    Raises:
        LakeError: The table cannot be read.
    """
    rows = recent(view, TRANSACTIONS, _TRANSACTIONS_STAND)
    newest = rows.filter(pl.col("observed_at") == pl.col("observed_at").max())
    return newest.filter(pl.col("topics").list.contains(topic)).sort("started_at")


def cluster_settings(view: View) -> pl.DataFrame:
    """Return what administrators have set, as it was last read.

    Raises:
        LakeError: The table cannot be read.
    """
    return newest(view, CLUSTER_SETTINGS)


def broker_metrics(view: View) -> pl.DataFrame:
    """Return what each Prometheus told of the brokers at its newest poll of the last minutes.

    Raises:
        LakeError: The table cannot be read.
    """
    rows = recent(view, BROKER_METRICS, _METRICS_STAND).filter(~pl.col("is_backfilled"))
    newest = pl.col("observed_at") == pl.col("observed_at").max().over("prometheus")
    return rows.filter(newest)


def dead_letters(view: View) -> pl.DataFrame:
    """Return the newest row of each dead-letter topic.

    See ``alerting.inputs.facts.dead_letter_rows`` for the columns.
    """
    return dead_letter_rows(recent(view, DEAD_LETTERS), present.rows(view, TOPIC_STATUS))


def dead_letter_samples(view: View, source: str, name: str) -> pl.DataFrame:
    """Return the rows of a dead-letter topic in the chosen range: of its last day at most.

    Raises:
        LakeError: The table cannot be read.
    """
    start = max(view.start, view.until - DAY)
    rows = recent_of(view, DEAD_LETTERS, "name", name, _whole_hours(view.now - start))
    within = pl.col("observed_at").is_between(start, view.until)
    return rows.filter(pl.col("source") == source, within)


def newest_collections(view: View) -> pl.DataFrame:
    """Return what the newest poll of each source around the cluster and of itself said.

    Returns:
        Rows of ``collections``, source never null, section with the source's name where it is
        not Kafka itself.
    """
    # Every page asks: what lies far back, in many files, is read again now and then only.
    step = time.monotonic() // _BESIDE_SECONDS
    return _newest_collections(view.cache_key, view.cluster, present.stamp(view), step, view)


@st.cache_resource(ttl=15, max_entries=64, show_spinner=False)
def _newest_collections(
    uri: str, cluster: str, stamp: float, step: float, _view: View
) -> pl.DataFrame:
    view, is_own = _view, pl.col("source") == KAFKA
    few = timedelta(seconds=max(_FEW_SECONDS, _FEW_POLLS * view.interval_seconds))
    beside = _read(view.cache_key, COLLECTIONS.name, view.cluster, SAMPLES_LENGTH, None, step, view)
    own = _named(recent(view, COLLECTIONS, few)).filter(is_own)
    # A poll of the future, by a clock that was wrong, is none of them.
    rows = pl.concat([own, _named(beside).filter(~is_own)]).filter(
        pl.col("observed_at") <= view.now + CLOCKS_DIFFER
    )
    found = rows.filter(pl.col("observed_at") == pl.col("observed_at").max().over("source"))
    if not found.filter(pl.col("source") == KAFKA).is_empty():
        return found
    return pl.concat([_named(newest(view, COLLECTIONS)), found])


def was_read(view: View, section: str) -> bool:
    """Return whether the newest poll of the cluster could read one of Kafka's sections."""
    rows = newest_collections(view).filter(pl.col("source") == KAFKA, pl.col("section") == section)
    return bool((rows["status"] != "failed").all())


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    source = pl.col("source").fill_null(KAFKA)
    return rows.with_columns(
        source,
        pl.when(source == KAFKA)
        .then("section")
        .otherwise(pl.concat_str(source, pl.lit(": "), "section"))
        .alias("section"),
    )


def waiting_collectors(view: View) -> pl.DataFrame:
    """Return the newest row of each collector that waits: they write one every five minutes."""
    rows = recent(view, WAITING_COLLECTORS, _WAITING_SHOWN)
    return rows.sort("observed_at").unique("collector", keep="last", maintain_order=True)


def collections(view: View) -> pl.DataFrame:
    """Return every attempt to collect of the last day; see ``newest_collections`` for the rows."""
    return _named(recent(view, COLLECTIONS, DAY))


def derived(view: View, table: Table, **values: str) -> pl.DataFrame:
    """Return rows of a table that Spark derives from history, by values of their columns."""
    wanted = tuple(sorted(values.items()))
    return _derived(view.cache_key, table.name, view.cluster, wanted, view.lake, view.now)


@st.cache_resource(ttl=60, max_entries=32, show_spinner=False)
def _derived(
    uri: str,
    table: str,
    cluster: str,
    wanted: tuple[tuple[str, str], ...],
    _lake: Lake,
    _now: datetime,
) -> pl.DataFrame:
    # They are replaced as a whole, hourly: two days leave room for a job that was away.
    predicates = [pl.col(name) == value for name, value in wanted]
    return _lake.read(TABLES[table], *predicates, since=_now - timedelta(days=2), cluster=cluster)


def jobs(view: View) -> pl.DataFrame:
    """Return the runs of the background jobs of the last day, of all clusters."""
    if not view.viewer.sees_all:
        return JOBS.empty  # their errors are about all
    return _kept(view, JOBS, DAY, every_cluster=True)


def lake_state(view: View) -> pl.DataFrame:
    """Return what each table of the lake consists of; see ``app.data.lake_tables.lake_rows``."""
    return _lake_state(view.cache_key, view.lake, view.now)


@st.cache_data(ttl=10, max_entries=8, show_spinner=False)
def _lake_state(uri: str, _lake: Lake, _now: datetime) -> pl.DataFrame:
    return lake_tables.lake_rows(_lake, _now)
