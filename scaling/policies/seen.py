"""What a policy is shown, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scaling.intervals import Floats, Integers


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation of a group, as collectors (and, for two rules, instruments) make it.

    Attributes:
        at: Time, seconds.
        replicas: Consumers that were asked for last.
        members: Consumers that are in the group.
        rebalancing: Whether the group is just sharing out its partitions.
        log_start: Earliest offset of each partition.
        log_end: Next offset of each partition.
        committed: Committed offset of each partition.
        member: The member that holds each partition, from 0; -1: nobody.
        time_lag_seconds: Age of the oldest unread message; None is unknown.
        busy_ratio: Share of the last seconds in which each member worked. Only instruments inside
            the consumers tell it: HPA (as CPU), DS2 and Flink read it, no collector does.
    """

    at: float
    replicas: int
    members: int
    rebalancing: bool
    log_start: Floats
    log_end: Floats
    committed: Floats
    member: Integers
    time_lag_seconds: float | None
    busy_ratio: Floats

    @property
    def lag(self) -> Floats:
        """Messages that wait, by partition."""
        waiting: Floats = (self.log_end - self.committed).clip(min=0.0)
        return waiting


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds within which a policy may scale, and what it is meant to hold.

    Attributes:
        partitions: Partitions of the topic.
        assignor: Name of the group's assignor.
        objective_seconds: Time lag that is not to be exceeded.
        startup_seconds: From asking for a consumer until it joins.
        pause_seconds: How long a rebalance stops those whom it touches.
        commit_seconds: The group's commit interval.
        retention_seconds: How long messages are kept; None: for ever.
    """

    partitions: int
    assignor: str
    objective_seconds: float
    startup_seconds: float
    pause_seconds: float
    commit_seconds: float
    retention_seconds: float | None = None


class Policy(Protocol):
    """A rule that decides on a number of consumers; it may remember what it has seen."""

    name: str

    def decide(self, seen: Seen) -> int:
        """Return the consumers that there should be; at least one."""
        ...
