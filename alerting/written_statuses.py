"""Reading back what the alerting service found groups to be doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alerting.frames import unix
from alerting.samples import GroupStatus, LagNumbers, PartitionStatus, Status
from alerting.windows import GroupKey
from lake.current import CLUSTER_STATUS, GROUP_PARTITION_STATUS, GROUP_STATUS
from lake.current_store import CurrentStore

LATELY_SECONDS = 300.0
"""What is older than this says nothing about now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStatuses:
    """What the newest evaluation of a cluster found its groups to be doing.

    Attributes:
        evaluated_at: When that was.
        age_seconds: How long ago.
        statuses: By group. The partitions of a group that is OK are not among them.
    """

    evaluated_at: datetime
    age_seconds: float
    statuses: Mapping[GroupKey, GroupStatus]


def read_group_statuses(store: CurrentStore, cluster: str, now: datetime) -> WrittenStatuses | None:
    """Return what the alerting service wrote of a cluster's groups; None: nothing lately.

    Args:
        store: Where the service writes.
        cluster: The cluster.
        now: The present.

    Raises:
        UnreadableTableError: What was written cannot be read.
    """
    groups = store.read(GROUP_STATUS, cluster)
    evaluated = store.read(CLUSTER_STATUS, cluster)
    if groups is None or evaluated is None or evaluated.is_empty():
        return None
    evaluated_at: datetime = evaluated["evaluated_at"][0]
    age = (now - evaluated_at).total_seconds()
    if age > LATELY_SECONDS:
        return None
    parts: dict[str, list[PartitionStatus]] = {}
    found = store.read(GROUP_PARTITION_STATUS, cluster)
    if found is not None:
        for row in found.iter_rows(named=True):
            parts.setdefault(row["group"], []).append(_partition(row))
    return WrittenStatuses(
        evaluated_at=evaluated_at,
        age_seconds=max(0.0, age),
        statuses={
            GroupKey(cluster, row["group"]): _group(row, tuple(parts.get(row["group"], ())))
            for row in groups.iter_rows(named=True)
        },
    )


def _group(row: Mapping[str, Any], partitions: tuple[PartitionStatus, ...]) -> GroupStatus:
    return GroupStatus(
        Status(row["status"]),
        row["reason"],
        unix(row["since"]),
        bool(row["since_at_least"]),
        _numbers(row),
        None if row["worst_topic"] is None else (row["worst_topic"], row["worst_partition"]),
        row["unknown_partitions"] or 0,
        partitions,
        bool(row["is_lasting"]),
    )


def _partition(row: Mapping[str, Any]) -> PartitionStatus:
    return PartitionStatus(
        row["topic"],
        row["partition"],
        Status(row["status"]),
        row["reason"],
        unix(row["since"]),
        bool(row["since_at_least"]),
        _numbers(row),
        subscribed=bool(row["is_subscribed"]),
        decides=bool(row["decides"]),
        is_lasting=bool(row["is_lasting"]),
    )


def _numbers(row: Mapping[str, Any]) -> LagNumbers:
    return LagNumbers(
        lag=row["lag"],
        behind_seconds=row["time_lag_seconds"],
        arrival_per_second=row["arrival_per_second"],
        consumption_per_second=row["consumption_per_second"],
        growth_per_second=row["growth_per_second"],
        drain_seconds=row["drain_seconds"],
        lost_messages=row["lost_messages"],
        frozen_seconds=row["stalled_seconds"],
        commit_period_seconds=row["commit_gap_seconds"],
        members=row.get("members"),
        samples=row["samples"] or 0,
    )
