"""When retention will delete messages that a group has not read yet: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from alerting.checks.retention_deadline import (
    DeadlineState,
    PartitionBacklog,
    Retention,
    data_loss_deadline,
    retention_of,
)
from alerting.inputs.frames import Frames
from alerting.status.model import GroupStatus, PartitionStatus, Status
from lake.schemas.tables import PARTITIONS, TOPICS

WATCH_RATIO = 0.5
"""A partition that is not late has a deadline once its backlog has used this much of retention."""

_LATE = frozenset({Status.FALLING_BEHIND, Status.STALLED, Status.STOPPED, Status.REWOUND})


@dataclass(frozen=True, slots=True, kw_only=True)
class Retentions:
    """What the topics of a cluster keep."""

    by_topic: Mapping[str, Retention]  # what each keeps; a topic that is missing is unknown
    bytes_per_message: Mapping[str, float]  # mean size of a message on disk, by topic, where known
    shortest_seconds: float | None


def retentions_of(frames: Frames) -> Retentions:
    """Return what the topics of a cluster keep."""
    columns = ("retention_seconds", "retention_bytes", "cleanup_policy", "unknown_reason")
    by_topic = {
        topic: retention_of(*kept)
        for topic, *kept in frames.last(TOPICS).select("topic", *columns).iter_rows()
    }
    held = pl.col("log_end") - pl.col("log_start")
    sizes = (
        frames.newest(PARTITIONS)
        .group_by("topic")
        .agg((pl.col("size_bytes").sum() / pl.when(held.sum() > 0).then(held.sum())).alias("size"))
    )
    return Retentions(
        by_topic=by_topic,
        bytes_per_message={topic: size for topic, size in sizes.iter_rows() if size},
        shortest_seconds=min(
            (one.seconds for one in by_topic.values() if one.seconds), default=None
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NextLoss:
    """The messages of a group that retention deletes first."""

    partition: PartitionStatus | None = None  # where; None: none are in sight
    seconds: float | None = None
    reason: str = ""
    is_unknown: bool = False  # whether of a partition that is late nobody can tell


def next_loss(found: GroupStatus, retentions: Retentions) -> NextLoss:
    """Return when retention will reach the first message that a group has not read.

    Only partitions that are late, or that have used half of their retention, count. For the others
    the difference of two nearly equal rates predicts nothing.
    """
    shortest, behind = retentions.shortest_seconds, found.numbers.behind_seconds or 0.0
    if found.status is Status.OK and (shortest is None or behind < WATCH_RATIO * shortest):
        return NextLoss()  # its partitions are classified only where somebody looks
    first = NextLoss()
    is_unknown = False
    for part in found.partitions:
        state, seconds, reason = _deadline(part, retentions)
        is_unknown |= state is DeadlineState.UNKNOWN
        if seconds is not None and (first.seconds is None or seconds < first.seconds):
            first = NextLoss(partition=part, seconds=seconds, reason=reason)
    return NextLoss(
        partition=first.partition,
        seconds=first.seconds,
        reason=first.reason,
        is_unknown=is_unknown,
    )


def _deadline(
    part: PartitionStatus, retentions: Retentions
) -> tuple[DeadlineState, float | None, str]:
    """Return whether retention will reach what is unread in a partition, how soon, and why."""
    numbers, retention = part.numbers, retentions.by_topic.get(part.topic)
    if not part.subscribed or (numbers.lag is None and not part.decides) or numbers.lag == 0:
        return DeadlineState.NONE, None, ""
    if retention is None or part.status is Status.UNKNOWN:
        is_late = part.status in _LATE or part.status is Status.UNKNOWN
        return DeadlineState.UNKNOWN if is_late else DeadlineState.NONE, None, ""
    used = bool(retention.seconds) and (
        (numbers.behind_seconds or 0.0) / (retention.seconds or 1.0) >= WATCH_RATIO
    )
    if part.status not in _LATE and not used:
        return DeadlineState.NONE, None, ""
    found = data_loss_deadline(
        PartitionBacklog(
            lag=numbers.lag,
            age_seconds=numbers.behind_seconds,
            arrival_per_second=numbers.arrival_per_second,
            consumption_per_second=numbers.consumption_per_second,
            bytes_per_message=retentions.bytes_per_message.get(part.topic),
        ),
        retention,
    )
    return found.state, found.seconds, found.reason
