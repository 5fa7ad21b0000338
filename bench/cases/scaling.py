"""How long the sizing of many groups takes: capacity, demand and number of consumers of each.

Pure functions alone, one process: the job in Spark shares groups out over the cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from bench.support.figures import Figure
from scaling.facts.capacity import estimate_capacity
from scaling.facts.intervals import Intervals
from scaling.sizing.assignment import Assignment
from scaling.sizing.demand import demand
from scaling.sizing.size import SizeInputs, size
from simulation.assignors import Assignor

PARTITIONS = 15
MEMBERS = 5
_POLLS = 60
_POLL_SECONDS = 15.0
_INTERVALS = 60
_CORES = 2
_GOAL_SECONDS = 60.0


def measure(groups: int, goal_groups: int, progress: Callable[[int], None]) -> list[Figure]:
    """Size groups of 15 partitions and 5 members, with 15 minutes of polls each."""
    rng = np.random.default_rng(1)
    assignment = Assignment((("orders", PARTITIONS),), Assignor.COOPERATIVE_STICKY)
    at = np.arange(_POLLS, dtype=np.float64) * _POLL_SECONDS
    needed = []
    for done in range(groups):
        arrived = rng.poisson(rng.uniform(5, 40) * _POLL_SECONDS, (_POLLS, PARTITIONS))
        ends = np.cumsum(arrived, axis=0).astype(np.float64)
        intervals = _intervals(rng)
        started = time.process_time()
        expected = demand(at, ends, lead_seconds=70.0)
        size(
            SizeInputs(
                assignment=assignment,
                consumers=MEMBERS,
                arrival=expected.now,
                soon=expected.soon,
                lag=rng.uniform(0, 500, PARTITIONS),
                capacity=estimate_capacity(intervals),
                objective_seconds=60.0,
            )
        )
        needed.append(time.process_time() - started)
        if done % 500 == 0:
            progress(done)
    goal = _GOAL_SECONDS if groups == goal_groups else None
    return [
        Figure(f"sizes of {groups:,} groups, CPU over two cores", sum(needed) / _CORES, "s", goal),
        Figure("size of one group, median CPU", float(np.median(needed)) * 1000, "ms"),
    ]


def _intervals(rng: np.random.Generator) -> Intervals:
    """Return intervals of five members, every second of them without waiting."""
    count = _INTERVALS * MEMBERS
    backlog = np.where(rng.random(count) < 0.5, 10_000.0, 10.0)
    return Intervals(
        member=np.tile(np.arange(MEMBERS), _INTERVALS).astype(np.str_),
        members=np.full(count, MEMBERS),
        started_at=np.repeat(np.arange(_INTERVALS) * 400.0, MEMBERS),
        seconds=np.full(count, 30.0),
        consumed=rng.normal(3000.0, 300.0, count).clip(min=0.0),
        arrived=np.full(count, 3000.0),
        lag_start=backlog,
        lag_end=backlog,
        throttled=np.zeros(count, dtype=np.bool_),
    )
