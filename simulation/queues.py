"""The queues of partitions, worked off by the members that hold them, over many steps at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulation.group import NOBODY
from simulation.model import Floats, Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Who works on which partition for a while.

    Attributes:
        slots: The slot that works on each partition; -1: nobody.
        shares: 1 where a partition (row) is a working slot's (column), else 0.
        idle: 1 for each partition that nobody works on, else 0.
    """

    slots: Integers
    working: Integers
    shares: Floats
    idle: Floats

    @classmethod
    def of(cls, slots: Integers) -> Serving:
        """Arrange the slots that work on the partitions."""
        working = np.unique(slots[slots != NOBODY])
        shares = (slots[:, None] == working[None, :]).astype(np.float64)
        return cls(
            slots=slots, working=working, shares=shares, idle=(slots == NOBODY).astype(np.float64)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What came of some steps.

    Attributes:
        waiting: Messages that wait after each step, of shape (steps, partitions).
        done: Messages that each working slot processed in all of them.
    """

    waiting: Floats
    done: Floats


def work(before: Floats, arrived: Floats, capacity: Floats, serving: Serving) -> Work:
    """Let messages arrive and members process them, step by step.

    In each step a member processes what waits in its partitions, of each the same share, up to its
    capacity. Its backlog follows Lindley's recursion max(0, backlog + arrivals - capacity). The
    solution is the sum of arrivals minus capacity, less the lowest value of that sum so far.

    Args:
        before: Messages that wait in each partition at first.
        arrived: What arrives, of shape (steps, partitions).
        capacity: What each working slot can process, of shape (steps, slots).
        serving: Who works on which partition.
    """
    first = before @ serving.shares
    come = arrived @ serving.shares
    walk = (come - capacity).cumsum(axis=0)
    backlog = walk - np.minimum(np.minimum.accumulate(walk, axis=0), -first)
    offered = come.copy()
    offered[0] += first
    offered[1:] += backlog[:-1]
    done = (offered - backlog).sum(axis=0)
    if not serving.idle.any() and not backlog.any():
        return Work(waiting=np.zeros_like(arrived), done=done)
    # Nothing stays where nothing was offered: any divisor will do.
    stays = (backlog / np.maximum(offered, 1e-300)) @ serving.shares.T + serving.idle
    waiting = np.empty_like(arrived)
    left = before
    for index, row in enumerate(arrived):
        left = (left + row) * stays[index]
        waiting[index] = left
    return Work(waiting=waiting, done=done)
