"""How a group's partitions can be shared out over its consumers: pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scaling.facts.intervals import Integers
from simulation.assignors import Assignor, assign, useful_group_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """How a group's partitions can be shared out.

    Attributes:
        partitions: Topics, by name in ascending order, with their partitions. Every array of
            partitions is in this order.
    """

    partitions: tuple[tuple[str, int], ...]
    assignor: Assignor

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of consumers that make a difference, ascending."""
        return useful_counts_of(self)

    def holders(self, consumers: int) -> Integers:
        """Return the member, from 0, that holds each partition."""
        return holders_of(self, consumers)


@lru_cache(maxsize=1024)
def useful_counts_of(assignment: Assignment) -> tuple[int, ...]:
    """Return the numbers of consumers that make a difference, ascending."""
    return useful_group_counts(dict(assignment.partitions), assignment.assignor)


@lru_cache(maxsize=8192)
def holders_of(assignment: Assignment, consumers: int) -> Integers:
    """Return the member, from 0, that holds each partition of an assignment."""
    index, start = {}, 0
    for topic, number in assignment.partitions:
        index[topic] = start
        start += number
    holders = np.empty(start, dtype=np.int64)
    for member, share in enumerate(
        assign(dict(assignment.partitions), assignment.assignor, consumers)
    ):
        for topic, number in share:
            holders[index[topic] + number] = member
    holders.setflags(write=False)
    return holders
