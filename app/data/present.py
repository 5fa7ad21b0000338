"""What the newest evaluation of the cluster found, as the pages read it.

The alerting service writes it (``lake.schemas.current``). Where that service does not run, this
process evaluates the cluster in the background, with the same functions; see
``app.data.evaluation``. What cannot be read raises ``LakeError``.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import polars as pl
import streamlit as st

from app.data import evaluation
from app.data.context import View
from app.data.visible_lake import VisibleCurrentStore
from lake.errors import LakeError
from lake.schemas.current import (
    BROKER_STATUS,
    CHANGED_ADVICE,
    CLUSTER_STATUS,
    GROUP_PARTITION_STATUS,
    GROUP_STATUS,
    OPEN_ALERTS,
    TOPIC_STATUS,
)
from lake.schemas.model import Table
from lake.storage.current_store import CurrentStore

STALE_EVALUATIONS = 4.0
"""The service counts as stopped after this many polls without an evaluation."""
_LEAST_STALE_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 2.0
_READ_AGAIN_SECONDS = 4.0


_TOGETHER = (
    *(CLUSTER_STATUS, OPEN_ALERTS, GROUP_STATUS, GROUP_PARTITION_STATUS),
    *(TOPIC_STATUS, BROKER_STATUS),
)
_LOOKS = 3
_WRITING_SECONDS = 0.05
"""About what it takes to replace all tables, one after the other."""


def hold(view: View) -> None:
    """Read in one go what the parts of a page compare: while it runs, an evaluation may follow.

    What is read while an evaluation is written is of two: it is read again.
    """
    for look in range(_LOOKS):
        if look:
            time.sleep(_WRITING_SECONDS)
            view.held.clear()
        moments = set()
        for table in _TOGETHER:
            with suppress(LakeError):  # whoever needs it says so
                moments.add(_newest(rows(view, table)))
        if len(moments - {None}) <= 1:
            return


def rows(view: View, table: Table) -> pl.DataFrame:
    """Return the cluster's rows of a table of the present; none before the first evaluation."""
    if not runs(view) and (own := _evaluated_here(view)) is not None:
        store = _store(view)
        return store.visible(table, own[table].lazy(), view.cluster).collect()
    service = _written(view, table)
    return table.empty if service is None else service


def changed_advice(view: View) -> pl.DataFrame:
    """Return the history service's advice on groups that changed since its newest round."""
    found = _written(view, CHANGED_ADVICE)
    return CHANGED_ADVICE.empty if found is None else found


def open_alerts(view: View) -> pl.DataFrame:
    """Return the open alerts of the cluster and of the sources that belong to no Kafka cluster.

    One list for all pages that count what needs somebody. Those sources are evaluated by the
    alerting service only.
    """
    found = rows(view, OPEN_ALERTS)
    if not runs(view):
        return found
    beside = (_written(replace(view, cluster=name), OPEN_ALERTS) for name in view.sources_beside)
    return pl.concat([found, *(one for one in beside if one is not None)])


def every_open_alert(view: View) -> pl.DataFrame:
    """Return the open alerts of all clusters and sources that the viewer sees."""
    others = [replace(view, cluster=name) for name in view.clusters if name != view.cluster]
    return pl.concat([open_alerts(view), *(rows(one, OPEN_ALERTS) for one in others)])


def evaluated_at(view: View) -> datetime | None:
    """Return when the cluster was last evaluated; None: never."""
    return _newest(rows(view, CLUSTER_STATUS))


def is_known(view: View) -> bool:
    """Return whether the cluster was ever evaluated, as far as can be read."""
    try:
        return evaluated_at(view) is not None
    except LakeError:
        return True  # each page says what cannot be read


def unreadable(view: View) -> list[LakeError]:
    """Return the tables that the newest evaluation could not read: what needs them is unknown."""
    entries = rows(view, CLUSTER_STATUS)["unreadable"].to_list()
    return [LakeError(one["value"]) for found in entries for one in found or ()]


def runs(view: View) -> bool:
    """Return whether the alerting service evaluated the cluster of late."""
    return _of_service(view) is not None


def stamp(view: View) -> float:
    """Return what changes when the cluster was evaluated again: what was read before is old then.

    Where the alerting service does not run, and of sources that belong to no Kafka cluster, it
    changes every few seconds.
    """
    at = _of_service(view) if view.cluster in view.clusters else None
    if at is not None:
        return at.timestamp()
    return view.once("stamp", lambda: time.monotonic() // _READ_AGAIN_SECONDS)


def _of_service(view: View) -> datetime | None:
    """Return when the alerting service evaluated the cluster; None where that was not of late."""
    try:
        written = _written(view, CLUSTER_STATUS)
    except LakeError:
        return None
    at = None if written is None else _newest(written)
    patience = max(_LEAST_STALE_SECONDS, STALE_EVALUATIONS * view.interval_seconds)
    return at if at is not None and (view.now - at).total_seconds() <= patience else None


def _evaluated_here(view: View) -> evaluation.Rows | None:
    return view.once(("evaluated here", view.cluster), lambda: evaluation.tables(view))


def _newest(found: pl.DataFrame) -> datetime | None:
    at = found["evaluated_at"].max()
    return at if isinstance(at, datetime) else None


def _written(view: View, table: Table) -> pl.DataFrame | None:
    store = _store(view)
    uri = store.uri(table, view.cluster)
    return view.once(
        uri,
        lambda: _read(view.cache_key, uri, _version(uri), store, table, view.cluster),
    )


def _store(view: View) -> VisibleCurrentStore:
    return view.lake.current


def _version(uri: str) -> float:
    """Return what changes when a file is replaced; of an object store, the time in steps."""
    try:
        return Path(uri).stat().st_mtime_ns
    except OSError:
        return time.monotonic() // _LOOK_AGAIN_SECONDS


# Frames are never altered: all sessions share one, without a copy.
@st.cache_resource(max_entries=128, show_spinner=False)
def _read(
    key: str, uri: str, version: float, _store: CurrentStore, _table: Table, _cluster: str
) -> pl.DataFrame | None:
    return _store.read(_table, _cluster)
