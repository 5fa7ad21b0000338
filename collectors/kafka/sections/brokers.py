"""Brokers: those alive, and those that were known and are missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.cluster.broker_reads import (
    REASSIGNMENTS_SCHEMA,
    LogDirectories,
    with_reassignments,
)
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.replication import IS_UNDER_REPLICATED
from lake.schemas.tables import BROKERS


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``brokers``.

    A dead broker vanishes from the cluster's metadata. It is known nevertheless: from earlier
    polls, as long as it is registered, and as a replica of partitions.
    """
    metadata = reads.metadata.value
    replicas = metadata.partitions.select(pl.col("replicas").explode()).to_series().drop_nulls()
    replica_counts = dict(replicas.value_counts().iter_rows())
    leader_counts = dict(metadata.partitions["leader"].drop_nulls().value_counts().iter_rows())
    alive = {broker.broker_id for broker in metadata.brokers}
    behind = _under_replicated(reads)
    disks = _disks(reads, alive)
    controller = reads.controller.value
    registrations = _registrations(reads)
    versions = reads.settings.value.versions
    rows = []
    for broker_id in sorted(alive | replica_counts.keys() | reads.known_brokers.keys()):
        known = reads.known_brokers.get(broker_id)
        silent = reads.failures.get(broker_id)
        version = versions.get(broker_id)
        row: dict[str, Any] = {
            "broker_id": broker_id,
            "host": known.host if known else None,
            "port": known.port if known else None,
            "rack": known.rack if known else None,
            "is_controller": None if controller is None else broker_id == controller,
            "is_alive": broker_id in alive,
            "leaders": leader_counts.get(broker_id, 0),
            "replicas": replica_counts.get(broker_id, 0),
            "under_replicated": behind.get(broker_id, 0),
            "registration": _registration(registrations, broker_id),
            "certificate_expires_at": reads.certificates.get(broker_id),
            "version": version.release if version else None,
            "throttled_seconds": reads.throttled_seconds.get(broker_id),
        }
        if broker_id not in alive:
            row["unknown_reason"] = "the broker is missing from the cluster"
        elif silent is not None:
            row["unknown_reason"] = silent
            reads.problems.append(silent)
        else:
            disk = disks.get(broker_id, "its log directories were not read yet")
            if isinstance(disk, LogDirectories):
                row["log_bytes"] = disk.log_bytes
                row["disk_total_bytes"] = disk.total_bytes
                row["disk_free_bytes"] = disk.free_bytes
                row["unknown_reason"] = "; ".join(disk.problems) or None
            else:
                row["unknown_reason"] = f"disk: {disk}"
        rows.append(row)
    return {"brokers": frame(BROKERS, rows)}


def _under_replicated(reads: ClusterReads) -> Mapping[int, int]:
    """Return which replicas under-replicated partitions lack, by the broker that should hold them.

    Where reassignments are unknown, a replica that one is just adding is among them.
    """
    try:
        moving = reads.reassignments.value
    except CollectorError:
        moving = pl.DataFrame(schema=REASSIGNMENTS_SCHEMA)
    lacking = (
        with_reassignments(reads.metadata.value.partitions, moving)
        .filter(IS_UNDER_REPLICATED)
        .select(
            pl.col("replicas")
            .list.set_difference("in_sync_replicas")
            .list.set_difference("adding_replicas")
            .explode()
        )
        .to_series()
        .drop_nulls()
    )
    return dict(lacking.value_counts().iter_rows())


def _registrations(reads: ClusterReads) -> Mapping[int, bool] | None:
    try:
        return reads.registrations.value
    except UnsupportedError:
        pass
    except CollectorError as error:
        reads.report("which brokers are registered is unknown", error)
    return None


def _registration(registrations: Mapping[int, bool] | None, broker: int) -> str | None:
    if registrations is None:
        return None
    if broker not in registrations:
        return "none"
    return "fenced" if registrations[broker] else "active"


def _disks(reads: ClusterReads, alive: Collection[int]) -> Mapping[int, LogDirectories | str]:
    try:
        return reads.disks.value.by_broker
    except CollectorError as error:
        return dict.fromkeys(alive, str(error))
