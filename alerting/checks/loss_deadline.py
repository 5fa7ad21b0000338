"""When retention will delete messages that a group has not read yet: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import polars as pl

from alerting.checks.retention_deadline import (
    Deadline,
    DeadlineState,
    PartitionBacklog,
    Retention,
    data_loss_deadline,
    retention_of,
)
from alerting.inputs.frames import Frames
from alerting.status.model import GroupStatus, PartitionStatus, Status
from alerting.status.phrases import duration
from lake.schemas.tables import PARTITIONS, TOPICS

WATCH_RATIO = 0.5
"""A partition that is not late has a deadline once its backlog has used this much of retention."""

NEAR_SECONDS = 4 * 3600.0
"""A loss that is as near is told of, although the backlog may shrink again before."""

_CALM = frozenset({Status.OK, Status.NO_MEMBERS})
_LATE = frozenset({Status.FALLING_BEHIND, Status.STALLED, Status.STOPPED, Status.REWOUND})


def expected_deadline(
    part: PartitionStatus, backlog: PartitionBacklog, retention: Retention
) -> Deadline:
    """Return when retention will reach what waits in a partition, where its rates foretell that.

    They do where it is late, or has used half of its retention. Where it keeps up, the difference
    of two nearly equal rates predicts nothing. A backlog that may pass with a peak of arrivals
    (``PartitionStatus.is_lasting``) has a deadline only where the loss is near: over a whole wave a
    group reads what arrives, and a deadline hours ahead would come and go with each.
    """
    used = (backlog.age_seconds or 0.0) / retention.seconds if retention.seconds else 0.0
    if part.status not in _LATE and used < WATCH_RATIO:
        return Deadline(state=DeadlineState.NONE, seconds=None, limit=None, reason="it is not late")
    found = data_loss_deadline(backlog, retention)
    may_pass = part.status is Status.FALLING_BEHIND and not part.is_lasting and used < WATCH_RATIO
    if may_pass and found.seconds is not None and found.seconds > NEAR_SECONDS:
        return Deadline(
            state=DeadlineState.NONE, seconds=None, limit=None, reason="its backlog may pass"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Retentions:
    """What the topics of a cluster keep."""

    by_topic: Mapping[str, Retention]  # what each keeps; a topic that is missing is unknown
    bytes_per_message: Mapping[str, float]  # mean size of a message on disk, by topic, where known
    shortest_seconds: float | None


def retentions_of(frames: Frames) -> Retentions:
    """Return what the topics of a cluster keep."""
    by_topic = kept_by_topic(frames.last(TOPICS))
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


def kept_by_topic(topics: pl.DataFrame) -> dict[str, Retention]:
    """Return what each topic keeps, from rows of ``topics`` or ``topic_status``.

    Only of the former the reason why something is unknown is always that of the limits.
    """
    columns = ("retention_seconds", "retention_bytes", "cleanup_policy", "unknown_reason")
    return {
        topic: retention_of(*kept) for topic, *kept in topics.select("topic", *columns).iter_rows()
    }


def shortest_kept(
    by_topic: Mapping[str, Retention], topics: Iterable[str]
) -> tuple[str, float] | None:
    """Return which of some topics deletes its messages first by their age, and after how long.

    None where none does, or none is known to.
    """
    kept = [
        (one.seconds, topic)
        for topic in topics
        if (one := by_topic.get(topic)) is not None and one.deletes and one.seconds is not None
    ]
    if not kept:
        return None
    seconds, topic = min(kept)
    return topic, seconds


def deleted_within_objective(
    objective_seconds: float | None, by_topic: Mapping[str, Retention], topics: Iterable[str]
) -> str:
    """Say that a group's objective is longer than a topic of it keeps messages; nothing otherwise.

    Its messages are then deleted before it misses its objective, which so promises nothing.

    Args:
        objective_seconds: The time lag that the group is not to exceed; None: not known.
        by_topic: What each topic keeps.
        topics: The topics that the group reads.
    """
    found = _kept_within(objective_seconds, by_topic, topics)
    if found is None:
        return ""
    topic, seconds, objective = found
    return (
        f"{topic} keeps messages for {duration(seconds)}, less than the group's objective of "
        f"{duration(objective)}: messages are deleted before the group misses its "
        "objective. Keep them longer, or set a shorter objective."
    )


def keep_longer(
    objective_seconds: float | None, by_topic: Mapping[str, Retention], topics: Iterable[str]
) -> str:
    """Say as a step that a topic is to keep messages longer than a group's objective.

    Nothing where that is so; see :func:`deleted_within_objective`.
    """
    found = _kept_within(objective_seconds, by_topic, topics)
    if found is None:
        return ""
    topic, seconds, objective = found
    return (
        f"Keep messages of {topic} longer than {duration(seconds)}: the group's objective is "
        f"{duration(objective)}."
    )


def _kept_within(
    objective_seconds: float | None, by_topic: Mapping[str, Retention], topics: Iterable[str]
) -> tuple[str, float, float] | None:
    """Return the topic that keeps its messages for less than the objective, and both times."""
    shortest = shortest_kept(by_topic, topics)
    if shortest is None or objective_seconds is None or shortest[1] >= objective_seconds:
        return None
    return *shortest, objective_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NextLoss:
    """The messages of a group, or of one topic of it, that retention deletes first."""

    partition: PartitionStatus | None = None  # where; None: none are in sight
    seconds: float | None = None
    reason: str = ""
    is_unknown: bool = False  # whether of a partition that is late nobody can tell
    is_lost: bool = False  # whether retention deletes unread messages already

    @property
    def state(self) -> DeadlineState:
        """What is known: what is lost already has no time to come."""
        if self.is_lost:
            return DeadlineState.LOST
        if self.seconds is not None:
            return DeadlineState.COMING
        return DeadlineState.UNKNOWN if self.is_unknown else DeadlineState.NONE

    def before(self, other: NextLoss) -> NextLoss:
        """Return the earlier of two, with what is lost or unknown of either."""
        is_later = other.seconds is not None and (
            self.seconds is None or other.seconds < self.seconds
        )
        return replace(
            other if is_later else self,
            is_unknown=self.is_unknown or other.is_unknown,
            is_lost=self.is_lost or other.is_lost,
        )


GroupLosses = Mapping[str, Mapping[str, NextLoss]]
"""What retention deletes unread next, by group and topic; see ``next_losses``."""

_NO_LOSS = NextLoss()

_LOSING_SECONDS, _LOSING_POLLS = 60.0, 2
"""A loss that a poll saw within the longer of both is one of now."""


def next_losses(found: GroupStatus, retentions: Retentions) -> dict[str, NextLoss]:
    """Return when retention will reach the first message that a group has not read, by topic.

    Only partitions count that have an ``expected_deadline``. A topic that lacks has none in sight.
    """
    shortest, behind = retentions.shortest_seconds, found.numbers.behind_seconds or 0.0
    if found.status in _CALM and (shortest is None or behind < WATCH_RATIO * shortest):
        return {}  # its partitions are classified only where somebody looks
    first: dict[str, NextLoss] = {}
    for part in found.partitions:
        loss = _loss(part, retentions)
        if loss.state is not DeadlineState.NONE:
            first[part.topic] = first.get(part.topic, _NO_LOSS).before(loss)
    return first


def is_losing(found: GroupStatus, frames: Frames) -> bool:
    """Return whether the newest polls saw a loss: a status is that of the last ten minutes."""
    last_at = found.numbers.last_lost_at
    if found.status is not Status.LOSING_DATA or last_at is None:
        return False
    longest = max(_LOSING_SECONDS, _LOSING_POLLS * frames.interval_seconds)
    return frames.sampled_at - last_at <= longest


def next_loss(losses: Mapping[str, NextLoss]) -> NextLoss:
    """Return the first of the losses of a group's topics."""
    return reduce(NextLoss.before, losses.values(), _NO_LOSS)


def _loss(part: PartitionStatus, retentions: Retentions) -> NextLoss:
    """Return whether retention will reach what is unread in a partition, how soon, and why."""
    numbers, retention = part.numbers, retentions.by_topic.get(part.topic)
    is_lost = part.subscribed and part.status is Status.LOSING_DATA
    if not part.subscribed or (numbers.lag is None and not part.decides) or numbers.lag == 0:
        return NextLoss(is_lost=is_lost)
    if retention is None or part.status is Status.UNKNOWN:
        is_late = part.status in _LATE or part.status is Status.UNKNOWN
        return NextLoss(is_unknown=is_late, is_lost=is_lost)
    found = expected_deadline(
        part,
        PartitionBacklog(
            lag=numbers.lag,
            age_seconds=numbers.behind_seconds,
            arrival_per_second=numbers.arrival_per_second,
            consumption_per_second=numbers.consumption_per_second,
            bytes_per_message=retentions.bytes_per_message.get(part.topic),
        ),
        retention,
    )
    return NextLoss(
        partition=None if found.seconds is None else part,
        seconds=found.seconds,
        reason=found.reason,
        is_unknown=found.state is DeadlineState.UNKNOWN,
        is_lost=is_lost,
    )
