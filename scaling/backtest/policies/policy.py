"""What a policy is, and the bounds that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from scaling.facts.intervals import Floats
from simulation.assignors import Assignor
from simulation.model import GroupObservation, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds within which a policy may scale, and what it is meant to hold."""

    topics: Mapping[str, int]
    assignor: Assignor
    maximum: int
    objective_seconds: float
    startup_seconds: float
    pause_seconds: float  # how long a rebalance stops those whom it touches
    commit_seconds: float
    retention_seconds: float | None = None

    @property
    def partitions(self) -> int:
        """Partitions of all topics."""
        return sum(self.topics.values())

    @classmethod
    def of(cls, workload: Workload) -> Limits:
        """Return what the operators of a workload know of it."""
        consumers = workload.consumers
        return cls(
            topics=dict(workload.topics),
            assignor=consumers.assignor,
            maximum=consumers.maximum,
            objective_seconds=workload.objective_seconds,
            startup_seconds=consumers.start_seconds,
            pause_seconds=consumers.pause_seconds,
            commit_seconds=consumers.commit_seconds,
            retention_seconds=workload.retention_seconds,
        )


class Policy(Protocol):
    """A rule that decides on a number of consumers; it may remember what it has seen."""

    name: str

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        """Return the consumers that there should be; at least one.

        Args:
            seen: What collectors see.
            busy_ratio: Share of the time since the last call in which each running consumer
                worked. Only instruments inside the consumers tell it: HPA (as CPU), DS2 and Flink
                need it, no collector sees it and our rule does not look at it.
        """
        ...
