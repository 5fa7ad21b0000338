"""What checks see of consumer groups: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from alerting.deadline import Backlog, DeadlineState, Retention, data_loss_deadline
from alerting.group_words import group_words
from alerting.rules import Observation
from alerting.samples import GroupStatus, PartitionStatus, Status
from alerting.windows import GroupKey
from alerting.words import duration, messages, plural

WATCH_RATIO = 0.5
"""A partition that is not late has a deadline once its backlog has used this much of retention."""

_LATE = frozenset({Status.FALLING_BEHIND, Status.STALLED, Status.STOPPED, Status.REWOUND})


_CHECKS: dict[Status, str] = {
    Status.LOSING_DATA: "losing_data",
    Status.STOPPED: "stopped",
    Status.STALLED: "stalled",
    Status.FALLING_BEHIND: "falling_behind",
    Status.REWOUND: "rewound",
    Status.UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True)
class GroupExtras:
    """What is known of a group beside its status.

    Attributes:
        members: Its members; None is unknown.
        idle_members: Members without a partition; None is unknown.
        retentions: What its topics keep, by name; a topic that lacks is unknown.
        bytes_per_message: Mean size on disk, by topic.
        kind: What the group is (``group_words``), where known.
    """

    members: int | None = None
    idle_members: int | None = None
    retentions: Mapping[str, Retention] | None = None
    bytes_per_message: Mapping[str, float] | None = None
    kind: str | None = None


_NOTHING = GroupExtras()


def group_observations(
    statuses: Mapping[GroupKey, GroupStatus],
    extras: Mapping[GroupKey, GroupExtras] | None = None,
    *,
    now: float,
) -> list[Observation]:
    """Return what there is to say of every group.

    Args:
        statuses: What each group is doing.
        extras: What else is known of it.
        now: The moment that the samples are of, in Unix seconds.
    """
    seen: list[Observation] = []
    for key, status in statuses.items():
        extra = extras.get(key, _NOTHING) if extras else _NOTHING
        seen += _of_group(key, status, extra, now)
    return seen


def _of_group(
    key: GroupKey, status: GroupStatus, extra: GroupExtras, now: float
) -> Iterable[Observation]:
    labels = {"cluster": key.cluster, "group": key.group}
    numbers = status.numbers
    if status.status is Status.UNKNOWN:
        # Nothing can be said of it: what fires goes on firing.
        for check in _CHECKS.values():
            if check != "unknown":
                yield Observation(check, labels, None)
    words_now = group_words(status.status, extra.kind)
    if status.status is Status.FALLING_BEHIND and not status.is_lasting:
        # Perhaps a peak that passes: no reason to begin, nor to end what was told before.
        words_now = None
        yield Observation("falling_behind", labels, None)
    topics = ",".join(sorted({p.topic for p in status.partitions if p.status is status.status}))
    related = {"topic": topics}
    if words_now is not None:
        value = max(1.0, float(numbers.lag or 0))
        if status.status is Status.LOSING_DATA:
            value = max(1.0, float(numbers.lost_messages or 0))
        if status.status is Status.UNKNOWN:
            value = 1.0
        yield Observation(
            _CHECKS[status.status],
            labels,
            value,
            f"{key.group} {words_now.verb}",
            status.reason,
            status.since,
            words_now.cause,
            words_now.step,
            "group",
            status.status.value,
            related,
        )
    yield Observation(
        "time_lag",
        labels,
        numbers.behind_seconds if numbers.lag else 0.0 if numbers.lag == 0 else None,
        f"{key.group} is {duration(numbers.behind_seconds or 0.0)} behind",
        status.reason,
        None,
        words_now.cause if words_now else "",
        words_now.step if words_now else "See the group's page for what arrives and what is read.",
        "group",
        status.status.value,
        related,
    )
    yield Observation(
        "lag",
        labels,
        None if numbers.lag is None else float(numbers.lag),
        f"{messages(numbers.lag or 0)} wait for {key.group}",
        status.reason,
        None,
        words_now.cause if words_now else "",
        words_now.step if words_now else "See the group's page for what arrives and what is read.",
        "group",
        status.status.value,
        related,
    )
    if extra.idle_members and extra.members is not None:
        shared = plural(len(status.partitions), "partition")
        yield Observation(
            "idle_consumers",
            labels,
            float(extra.idle_members),
            f"{key.group} has {plural(extra.idle_members, 'idle consumer')}",
            f"{plural(extra.members, 'member')} share {shared}.",
            None,
            "There are more consumers than partitions.",
            f"Run {extra.members - extra.idle_members} instead of {extra.members}.",
            "group",
        )
    if extra.retentions is not None:
        deadline = _deadline(status, extra)
        if deadline is not None:
            part, left, reason = deadline
            yield Observation(
                "data_loss_deadline",
                labels,
                left,
                f"{key.group} will lose data in {duration(left)}",
                f"Retention reaches the oldest unread message of {part.topic}-{part.partition} in "
                f"{duration(left)} at the present rates: {reason}.",
                None,
                words_now.cause if words_now else "It is nearly as late as retention is long.",
                "Raise the topic's retention until the group has caught up.",
                "group",
                status.status.value,
                related,
            )


def _deadline(status: GroupStatus, extra: GroupExtras) -> tuple[PartitionStatus, float, str] | None:
    """Return the partition that retention reaches first, how soon, and why.

    Only partitions that are late count, and those that have used half of their retention: else
    the difference of two nearly equal rates says nothing about the day on which the one will
    overtake the other.
    """
    first: tuple[PartitionStatus, float, str] | None = None
    for part in status.partitions:
        numbers = part.numbers
        retention = (extra.retentions or {}).get(part.topic)
        if not part.subscribed or retention is None or not numbers.lag:
            continue
        used = (
            (numbers.behind_seconds or 0.0) / retention.seconds if retention.seconds else 0.0
        ) >= WATCH_RATIO
        if part.status not in _LATE and not used:
            continue
        found = data_loss_deadline(
            Backlog(
                numbers.lag,
                numbers.behind_seconds,
                None,
                numbers.arrival_per_second,
                numbers.consumption_per_second,
                (extra.bytes_per_message or {}).get(part.topic),
            ),
            retention,
        )
        if found.state is DeadlineState.COMING and found.seconds is not None:
            if first is None or found.seconds < first[1]:
                first = (part, found.seconds, found.reason)
    return first


def group_extras(
    groups: pl.DataFrame, topics: pl.DataFrame, partitions: pl.DataFrame | None = None
) -> dict[GroupKey, GroupExtras]:
    """Return what is known of groups beside their status.

    Args:
        groups: The newest rows of ``groups``.
        topics: The newest row of each topic.
        partitions: The newest rows of ``partitions``, for the size of messages.
    """
    retentions = {
        (row["cluster"], row["topic"]): Retention(
            row["retention_seconds"],
            row["retention_bytes"],
            "delete" in (row["cleanup_policy"] or "delete"),
            row["unknown_reason"],
        )
        for row in topics.iter_rows(named=True)
    }
    sizes: dict[tuple[str, str], float] = {}
    if partitions is not None and not partitions.is_empty():
        held = pl.col("log_end") - pl.col("log_start")
        for cluster, topic, size in (
            partitions.group_by("cluster", "topic")
            .agg(pl.col("size_bytes").sum() / pl.when(held.sum() > 0).then(held.sum()))
            .iter_rows()
        ):
            if size:
                sizes[cluster, topic] = size
    by_cluster: dict[str, tuple[dict[str, Retention], dict[str, float]]] = {}
    for (cluster, topic), retention in retentions.items():
        by_cluster.setdefault(cluster, ({}, {}))[0][topic] = retention
    for (cluster, topic), size in sizes.items():
        by_cluster.setdefault(cluster, ({}, {}))[1][topic] = size
    found = {}
    for row in groups.iter_rows(named=True):
        kept, bytes_each = by_cluster.get(row["cluster"], ({}, {}))
        found[GroupKey(row["cluster"], row["group"])] = GroupExtras(
            row["members"], row["idle_members"], kept, bytes_each, row["kind"]
        )
    return found
