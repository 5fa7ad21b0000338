"""From an evaluation and its alerts to the rows of all tables of the present: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from alerting.current.changes import recent_changes
from alerting.current.cluster import broker_rows, cluster_row, risk_rows
from alerting.current.course import cluster_course, group_course
from alerting.current.dead_letters import with_deletion
from alerting.current.flows import cluster_flows
from alerting.current.groups import (
    group_rows,
    partition_lag,
    partition_rows,
    reader_rows,
    with_silent_readers,
)
from alerting.current.topics import newest_partitions, topic_rows
from alerting.current.unread import briefly_unread, with_rows_of
from alerting.evaluate.evaluation import ClusterEvaluation
from alerting.inputs.facts import dead_letter_rows
from alerting.inputs.frames import Frames
from alerting.inputs.sources import no_data, section_states
from alerting.rules.folding import as_listed
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import SEVERITIES
from alerting.status.model import Status
from lake.schemas.current import (
    BROKER_STATUS,
    CLUSTER_COURSE,
    CLUSTER_STATUS,
    GROUP_COURSE,
    GROUP_PARTITION_STATUS,
    GROUP_STATUS,
    OPEN_ALERTS,
    PARTITIONS_AT_RISK,
    READERS,
    RECENT_CHANGES,
    TOPIC_STATUS,
)
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    TOPICS,
)

_EPOCH = datetime.fromtimestamp(0, UTC)

CurrentRows = Mapping[Table, pl.DataFrame]
"""Rows by table of ``lake.schemas.current``."""

_SOURCES: dict[Table, Table] = {
    READERS: GROUP_OFFSETS,
    TOPIC_STATUS: PARTITIONS,
    PARTITIONS_AT_RISK: PARTITIONS,
    BROKER_STATUS: BROKERS,
}
"""Tables that stay as they were while nothing is known of what they tell."""

_OF_KAFKA = (GROUPS, GROUP_OFFSETS, PARTITIONS, BROKERS, TOPICS)

REMEMBERED: tuple[Table, ...] = (
    GROUP_STATUS,
    GROUP_PARTITION_STATUS,
    CLUSTER_STATUS,
    RECENT_CHANGES,
    CLUSTER_COURSE,
    GROUP_COURSE,
    *_SOURCES,
)
"""The tables whose rows of the evaluation before are needed for the next one."""


def current_rows(
    found: ClusterEvaluation, alerts: Iterable[Alert], previous: CurrentRows
) -> dict[Table, pl.DataFrame]:
    """Return the rows of all tables of the present."""
    frames = found.frames
    if _is_without_kafka(found, previous):
        return _rows_without_kafka(frames, alerts)
    lag = partition_lag(found)
    groups = group_rows(found, lag, previous.get(GROUP_STATUS))
    held = briefly_unread(groups, previous.get(GROUP_STATUS), frames)
    groups = with_rows_of(groups, held, held)
    partitions = newest_partitions(frames)
    readers = with_silent_readers(
        reader_rows(lag, found.losses, frames.now), groups, previous.get(READERS)
    )
    readers = with_rows_of(readers, previous.get(READERS), held)
    of_partitions = partition_rows(found, previous.get(GROUP_PARTITION_STATUS))
    topics = topic_rows(frames, partitions, readers)
    brokers = broker_rows(frames, partitions)
    rows = {
        GROUP_STATUS: groups,
        GROUP_PARTITION_STATUS: with_rows_of(
            of_partitions, previous.get(GROUP_PARTITION_STATUS), held
        ),
        READERS: readers,
        TOPIC_STATUS: topics,
        BROKER_STATUS: brokers,
        PARTITIONS_AT_RISK: risk_rows(partitions),
        CLUSTER_STATUS: cluster_row(
            frames, groups=groups, topics=topics, brokers=brokers, partitions=partitions
        ),
        OPEN_ALERTS: alert_rows(alerts, groups, readers, frames),
    }
    for table, source in _SOURCES.items():
        before = previous.get(table)
        if before is not None and not _is_seen(frames, source):
            rows[table] = before
    whole = {table: _whole(table, frame, frames) for table, frame in rows.items()}
    at, status = frames.at, whole[GROUP_STATUS]
    followed = {
        RECENT_CHANGES: recent_changes(
            _of(previous, RECENT_CHANGES), _of(previous, GROUP_STATUS), status, at
        ),
        GROUP_COURSE: group_course(_of(previous, GROUP_COURSE), status, at),
        CLUSTER_COURSE: cluster_course(
            _of(previous, CLUSTER_COURSE),
            whole[CLUSTER_STATUS],
            status,
            at,
            cluster_flows(frames, whole[CLUSTER_STATUS]["newest_poll_at"].item()),
        ),
    }
    for table, frame in followed.items():
        whole[table] = _whole(table, frame, frames)
    return whole


def _is_without_kafka(found: ClusterEvaluation, previous: CurrentRows) -> bool:
    """Return whether there is nothing of Kafka, and was nothing at the evaluation before."""
    frames = found.frames
    return (
        not found.statuses
        and not frames.errors
        and all(frames.rows(table).is_empty() for table in _OF_KAFKA)
        and all(_of(previous, table).is_empty() for table in REMEMBERED if table != CLUSTER_STATUS)
    )


def _rows_without_kafka(frames: Frames, alerts: Iterable[Alert]) -> dict[Table, pl.DataFrame]:
    """Return the rows of a cluster of other sources: of most tables it has none."""
    row = cluster_row(
        frames,
        groups=GROUP_STATUS.empty,
        topics=TOPIC_STATUS.empty,
        brokers=BROKER_STATUS.empty,
        partitions=newest_partitions(frames),
    )
    listed = alert_rows(alerts, GROUP_STATUS.empty, READERS.empty, frames)
    return {table: table.empty for table in (GROUP_STATUS, *REMEMBERED)} | {
        CLUSTER_STATUS: _whole(CLUSTER_STATUS, row, frames),
        OPEN_ALERTS: _whole(OPEN_ALERTS, listed, frames),
    }


def _of(rows: CurrentRows, table: Table) -> pl.DataFrame:
    return rows.get(table, table.empty)


def _is_seen(frames: Frames, source: Table) -> bool:
    """Return whether there are rows of a table, or the section that writes it had none to write."""
    if not frames.rows(source).is_empty():
        return True
    if not frames.is_fresh(frames.rows(COLLECTIONS)):
        return False
    return all(one.since is not None for one in no_data(frames, source, section_states(frames)))


def alert_rows(
    alerts: Iterable[Alert], groups: pl.DataFrame, readers: pl.DataFrame, frames: Frames
) -> pl.DataFrame:
    """Return the rows of ``open_alerts``, the worst and oldest first.

    Args:
        alerts: All alerts.
        groups: Rows of ``group_status``.
        readers: Rows of ``readers``.
        frames: What was read of the cluster.
    """
    mending = groups.filter(pl.col("status") == Status.CATCHING_UP.value)["group"]
    listed = as_listed(alerts, {(frames.cluster, group): frames.sampled_at for group in mending})
    explaining = {alert.inhibited_by for alert in listed if alert.state is not State.RESOLVED}
    waiting = sorted(
        (
            alert
            for alert in listed
            # What was resolved a moment ago still explains the symptoms that go on.
            if alert.state is not State.RESOLVED or alert.fingerprint in explaining
        ),
        key=lambda a: (SEVERITIES.index(a.severity), a.began_at, a.fingerprint),
    )
    concerned = {alert.labels.get("group") for alert in waiting}
    status_of = {
        row["group"]: row
        for row in groups.filter(pl.col("group").is_in([*filter(None, concerned)])).iter_rows(
            named=True
        )
    }
    deleted_at = _dead_letter_deadlines(frames, readers) if waiting else {}
    return pl.DataFrame(
        [
            _alert_row(alert, status_of.get(alert.labels.get("group")), deleted_at)
            for alert in waiting
        ],
        schema=OPEN_ALERTS.polars_schema,
    )


def _alert_row(
    alert: Alert,
    group: Mapping[str, Any] | None,
    deleted_at: Mapping[tuple[str | None, str | None], datetime],
) -> dict[str, Any]:
    labels = alert.labels
    return {
        "fingerprint": alert.fingerprint,
        "rule": alert.rule,
        "check": alert.check,
        "severity": alert.severity.value,
        "state": alert.state.value,
        "labels": [{"key": key, "value": value} for key, value in labels.items()],
        "what": alert.what,
        "detail": alert.detail,
        "cause": alert.cause,
        "step": alert.step,
        "page": alert.page,
        "value": alert.value,
        "status": alert.status,
        "since": _moment(alert.began_at),
        "since_at_least": alert.began_before,
        "first_since": _moment(alert.first_at),
        "first_since_at_least": None if alert.first_at is None else alert.first_before,
        "started_at": _moment(alert.started_at),
        "fired_at": _moment(alert.fired_at),
        "last_true_at": _moment(alert.last_true_at),
        "recovering_since": _moment(alert.recovering_since),
        # Its own stays through an evaluation that knows none.
        "deadline_at": _deadline(alert, group)
        or deleted_at.get((labels.get("source"), labels.get("name"))),
        "last_lost_at": group and group["last_lost_at"],
        "loses_now": group and group["loses_now"],
        "inhibited_by": alert.inhibited_by,
        "runbook": alert.runbook or None,
        "flaps": alert.flaps,
    }


def _deadline(alert: Alert, group: Mapping[str, Any] | None) -> datetime | None:
    if group is None:
        return _moment(alert.deadline)
    if group["status"] == Status.LOSING_DATA.value and group["loses_now"] is not False:
        return None  # no future time
    return _moment(alert.deadline) or group["data_loss_at"]


def _dead_letter_deadlines(
    frames: Frames, readers: pl.DataFrame
) -> dict[tuple[str | None, str | None], datetime]:
    """Return when retention deletes the oldest that waits in dead-letter topics, where it will."""
    rows = dead_letter_rows(frames.rows(DEAD_LETTERS), frames.last(TOPICS))
    deleted = with_deletion(rows, readers).drop_nulls("deleted_at")
    return {
        (source, name): at
        for source, name, at in deleted.select("source", "name", "deleted_at").iter_rows()
    }


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC)


def _whole(table: Table, rows: pl.DataFrame, frames: Frames) -> pl.DataFrame:
    """Return rows with all columns of their table."""
    # A number: Polars needs ten times as long for a time.
    at = (frames.at - _EPOCH) // timedelta(microseconds=1)
    filled = {"cluster": pl.lit(frames.cluster), "evaluated_at": pl.lit(at)}
    types, found = table.polars_schema, rows.schema
    return rows.select(
        pl.col(name)
        if name not in filled and found.get(name) == type_
        else filled.get(name, pl.col(name) if name in found else pl.lit(None))
        .cast(type_)
        .alias(name)
        for name, type_ in types.items()
    )
