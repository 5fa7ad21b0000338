"""When retention will reach the oldest message that a group has not read.

Kafka deletes whole segments, and only closed ones, so that the loss comes at the deadline or
later, never before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from alerting.status.phrases import count, duration, rate, share

HORIZON_SECONDS = 10 * 365 * 86400.0
"""A deadline further away than ten years is none."""


class DeadlineState(StrEnum):
    """What is known about a deadline."""

    LOST = "lost"
    COMING = "coming"
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """When unread messages will be deleted."""

    state: DeadlineState
    seconds: float | None  # time left, never negative; None unless one is coming
    limit: Literal["time", "size"] | None  # which limit comes first; None unless one is coming
    reason: str
    lost_messages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBacklog:
    """What one partition holds for a group, and how it moves; None is unknown."""

    lag: int | None
    age_seconds: float | None = None  # age of the oldest waiting message
    lost_messages: int | None = None  # messages that retention deleted before they were read
    arrival_per_second: float | None = None
    consumption_per_second: float | None = None
    bytes_per_message: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What a topic keeps."""

    seconds: float | None = None  # by age; None: no limit
    bytes_per_partition: int | None = None  # by size; None: no limit
    deletes: bool = True  # whether its cleanup policy deletes at all; compaction alone does not
    unknown_reason: str | None = None


def retention_of(
    seconds: float | None,
    bytes_per_partition: int | None,
    cleanup_policy: str | None,
    unknown_reason: str | None,
) -> Retention:
    """Return what a row of ``topics`` says about how long messages are kept.

    Kafka's -1 stands for no limit.
    """
    return Retention(
        seconds=None if seconds is None or seconds < 0 else seconds,
        bytes_per_partition=(
            None if bytes_per_partition is None or bytes_per_partition < 0 else bytes_per_partition
        ),
        deletes="delete" in (cleanup_policy or "delete"),
        unknown_reason=unknown_reason,
    )


def data_loss_deadline(backlog: PartitionBacklog, retention: Retention) -> Deadline:
    """Return the earlier of the deadlines by time and by size.

    Where only one of the two is known, it is returned as an upper bound, and its reason says so.
    """
    if backlog.lost_messages:
        return Deadline(
            state=DeadlineState.LOST,
            seconds=None,
            limit=None,
            reason=f"{count(backlog.lost_messages)} messages were deleted before they were read",
            lost_messages=backlog.lost_messages,
        )
    if backlog.lag is None:
        return _unknown("the lag is unknown")
    if backlog.lag == 0:
        return _none("nothing waits")
    if retention.unknown_reason:
        return _unknown(f"the topic's retention is unknown: {retention.unknown_reason}")
    if not retention.deletes:
        return _none("the topic is compacted, not deleted")
    found = [
        by(backlog, retention)
        for by, limit in (
            (deadline_by_time, retention.seconds),
            (deadline_by_size, retention.bytes_per_partition),
        )
        if limit is not None
    ]
    if not found:
        return _none("the topic keeps everything")
    coming = [one for one in found if one.seconds is not None]
    unknown = [one for one in found if one.state is DeadlineState.UNKNOWN]
    if coming:
        first = min(coming, key=lambda one: one.seconds or 0.0)
        if unknown:
            return Deadline(
                state=first.state,
                seconds=first.seconds,
                limit=first.limit,
                reason=f"{first.reason}; it may come earlier: {unknown[0].reason}",
            )
        return first
    return unknown[0] if unknown else found[0]


def deadline_by_time(backlog: PartitionBacklog, retention: Retention) -> Deadline:
    """Return when the oldest waiting message becomes older than the topic keeps.

    (retention - age) / (1 - consumed / produced): while the group reads c of every p messages
    that arrive, the age of its oldest unread message grows by 1 - c/p seconds a second. Where
    nothing arrives now, the rate at which the backlog arrived, lag / age, takes its place.
    """
    limit, age = retention.seconds, backlog.age_seconds
    if limit is None:
        return _none("the topic does not delete by age")
    if age is None:
        return _unknown("the age of the oldest unread message is unknown")
    consumed, produced = backlog.consumption_per_second, backlog.arrival_per_second
    if consumed is None or produced is None:
        return _unknown("the rates of arrival and consumption are unknown")
    left = max(0.0, limit - age)
    if produced <= 0 and consumed > 0 and age > 0 and backlog.lag:
        produced = backlog.lag / age
    read_ratio = consumed / produced if produced > 0 else 0.0
    if read_ratio >= 1:
        return _none(
            f"consumption of {rate(consumed)} keeps up; the oldest unread message is "
            f"{duration(age)} old of {duration(limit)} kept"
        )
    return _coming(
        left,
        1 - read_ratio,
        "time",
        f"the oldest unread message is {duration(age)} old of {duration(limit)} kept, "
        f"{rate(produced)} arrive and {rate(consumed)} are read",
    )


def deadline_by_size(backlog: PartitionBacklog, retention: Retention) -> Deadline:
    """Return when more bytes wait than the topic keeps.

    (retention.bytes - unread bytes) / growth, where growth = (produced - consumed) x bytes per
    message; for a group that reads nothing that is the topic's own byte rate.
    """
    limit, size = retention.bytes_per_partition, backlog.bytes_per_message
    if limit is None:
        return _none("the topic does not delete by size")
    if size is None or backlog.lag is None:
        return _unknown("the size of the unread messages is unknown")
    consumed, produced = backlog.consumption_per_second, backlog.arrival_per_second
    if consumed is None or produced is None:
        return _unknown("the rates of arrival and consumption are unknown")
    unread = backlog.lag * size
    growth = (produced - consumed) * size
    if growth <= 0:
        return _none(f"the unread messages do not grow; {_share(unread, limit)}")
    return _coming(
        max(0.0, limit - unread),
        growth,
        "size",
        f"{_share(unread, limit)}, growing by {count(round(growth))} bytes/s",
    )


def _coming(left: float, rate: float, limit: Literal["time", "size"], reason: str) -> Deadline:
    if left > HORIZON_SECONDS * rate:
        return _none(f"the deadline is more than ten years away: {reason}")
    return Deadline(state=DeadlineState.COMING, seconds=left / rate, limit=limit, reason=reason)


def _share(unread: float, limit: int) -> str:
    if limit <= 0:
        return "the topic keeps no bytes"
    return f"unread messages take {share(unread / limit)} of the bytes that a partition keeps"


def _none(reason: str) -> Deadline:
    return Deadline(state=DeadlineState.NONE, seconds=None, limit=None, reason=reason)


def _unknown(reason: str) -> Deadline:
    return Deadline(state=DeadlineState.UNKNOWN, seconds=None, limit=None, reason=reason)
