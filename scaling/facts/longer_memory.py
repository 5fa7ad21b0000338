"""What is known of groups from before the last ten minutes; no input or output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import polars as pl

from alerting.inputs.windows import GroupKey
from alerting.status.model import LATE, GroupStatus, Status

LEAVING = timedelta(minutes=5)
"""In so much time the members of a group leave it that is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStatus:
    """What a group is doing, by somebody who has watched it for longer than these ten minutes."""

    status: Status
    reason: str
    since: float | None = None  # when it began, Unix seconds; None where that is not known
    is_lasting: bool = False  # of one that falls behind: whether it is no passing peak
    partitions: Mapping[tuple[str, int], KnownPartition] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPartition:
    """What the alerting service found one partition of a group to be doing.

    Attributes:
        since: When it began, Unix seconds; None where that is not known.
        is_lasting: Where it falls behind: whether that is no passing peak.
        without_commit_seconds: How long there was no commit while messages waited.
    """

    status: Status
    reason: str
    since: float | None = None
    is_lasting: bool = False
    without_commit_seconds: float | None = None


Statuses = Mapping[GroupKey, KnownStatus]
"""The status of groups, where it is known; the others are classified by these ten minutes."""


def members_before(rebalances: pl.DataFrame) -> dict[GroupKey, int]:
    """Return how many members each group had before the last time that all left.

    They may leave one after the other: the most of the minutes before that count.
    """
    rows = rebalances.with_columns(
        pl.col("rebalanced_at")
        .filter(pl.col("members") == 0)
        .max()
        .over("cluster", "group")
        .alias("at")
    )
    of_leaving = rows.filter(
        pl.col("rebalanced_at").is_between(pl.col("at") - LEAVING, pl.col("at"))
    )
    most = of_leaving.group_by("cluster", "group").agg(pl.col("members_before").max())
    return {
        GroupKey(cluster, group): number
        for cluster, group, number in most.filter(pl.col("members_before") > 0).iter_rows()
    }


def as_known(status: GroupStatus, known: KnownStatus) -> GroupStatus:
    """Return what ten minutes show with the status that days of memory led to."""
    partitions = []
    for part in status.partitions:
        one = known.partitions.get((part.topic, part.partition))
        if one is not None:
            waited = replace(part.numbers, without_commit_seconds=one.without_commit_seconds)
            part = replace(
                part,
                status=one.status,
                reason=one.reason,
                since=one.since,
                numbers=waited,
                is_lasting=one.is_lasting,
            )
        elif known.status is Status.OK and part.status in LATE:
            # Of a group that is OK no partition is written: each keeps up.
            part = replace(part, status=Status.OK, reason=known.reason, since=known.since)
        partitions.append(part)
    return replace(
        status,
        status=known.status,
        reason=known.reason,
        since=known.since,
        is_lasting=known.is_lasting,
        partitions=tuple(partitions),
    )
