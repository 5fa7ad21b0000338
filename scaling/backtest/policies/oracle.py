"""The clairvoyant: knows what will arrive and how fast consumers are, and wastes nothing.

Not a policy that anybody could run, but the yardstick of cost: the cheapest plan of useful numbers
of consumers that carries the true load of every member in every slot of ten minutes, found by
dynamic programming, with a price on each change so that it does not change more often than twelve
times a day.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scaling.facts.intervals import Booleans, Floats, Integers
from scaling.sizing.assignment import Assignment
from scaling.sizing.utilisation import allowed_utilisation
from simulation.model import GroupObservation, Workload

SLOT_SECONDS = 600.0
_SAMPLES = 20
_CHANGES_A_DAY = 12
_PRICES = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Consumer-hours that a change may cost, lowest first."""


class Oracle:
    """Follows the plan that was made with everything known."""

    name = "oracle"

    def __init__(self, workload: Workload) -> None:
        """Plan ahead, with the utilisation that the true variation of the service rate allows."""
        consumers = workload.consumers
        # Autoregressive noise: twice its variance times the time that it lasts.
        variability = 2 * consumers.noise**2 * consumers.noise_seconds
        utilisation = allowed_utilisation(
            variability, consumers.count, workload.objective_seconds - 2 * consumers.commit_seconds
        )
        self._starts_at = workload.starts_at
        self._lead = workload.consumers.start_seconds + workload.consumers.pause_seconds
        self._plan = plan(workload, utilisation)

    @property
    def first(self) -> int:
        """The number to begin with."""
        return int(self._plan[0])

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        """Return the planned number, early by what a start takes, late by what is still needed."""
        slot = int((seen.at - self._starts_at) // SLOT_SECONDS)
        soon = int((seen.at - self._starts_at + self._lead) // SLOT_SECONDS)
        last = len(self._plan) - 1
        return int(max(self._plan[min(slot, last)], self._plan[min(soon, last)]))


def plan(workload: Workload, utilisation: float) -> Floats:
    """Return the consumers of each slot of ten minutes."""
    assignment = Assignment(
        partitions=tuple(sorted(workload.topics.items())), assignor=workload.consumers.assignor
    )
    counts = np.array([n for n in assignment.counts if n <= workload.consumers.maximum])
    slots = max(1, int(np.ceil(workload.duration_seconds / SLOT_SECONDS)))
    rate = workload.consumers.rate_per_second
    limit = workload.consumers.shared_limit_per_second or np.inf
    feasible = np.array(
        [
            _feasible(workload, assignment, slots, int(n), utilisation * min(rate, limit / n))
            for n in counts
        ]
    ).T
    # Where no number does, the one that gets most through, and of those the smallest.
    best = int(np.argmax(np.minimum(counts * rate, limit)))
    feasible[:, best] |= ~feasible.any(axis=1)
    hours = counts * SLOT_SECONDS / 3600
    allowed = _CHANGES_A_DAY * max(1.0, workload.duration_seconds / 86400)
    chosen: Floats = np.empty(0)
    for price in _PRICES:
        chosen = counts[_cheapest(feasible, hours, price)].astype(np.float64)
        if np.count_nonzero(np.diff(chosen)) <= allowed:
            break
    return chosen


def _feasible(
    workload: Workload, assignment: Assignment, slots: int, consumers: int, most: float
) -> Booleans:
    """Return for each slot whether this many consumers carry it; a partition alone is not asked."""
    holders = assignment.holders(consumers)
    offsets = np.arange(slots * _SAMPLES, dtype=np.float64) * (SLOT_SECONDS / _SAMPLES)
    times: Floats = workload.starts_at + offsets
    rates: Floats = partition_rates(workload)(times)
    # A partition that no consumer carries alone is nobody's fault and changes nothing.
    rates = np.where(rates > most, 0.0, rates)
    loads = np.zeros((len(times), consumers))
    for partition, holder in enumerate(holders):
        loads[:, holder] += rates[:, partition]
    busiest = loads.max(axis=1).reshape(slots, _SAMPLES)
    # A short excess waits in the queue: half a minute's mean counts, not its peak.
    result: Booleans = busiest.max(axis=1) <= most
    return result


def _cheapest(feasible: Floats, hours: Floats, price: float) -> Integers:
    """Return the index of the count of each slot (Viterbi)."""
    slots, counts = feasible.shape
    cost = np.where(feasible[0], hours, np.inf)
    came_from = np.zeros((slots, counts), dtype=np.int64)
    for slot in range(1, slots):
        best = int(np.argmin(cost))
        stay = cost
        change = cost[best] + price
        came_from[slot] = np.where(stay <= change, np.arange(counts), best)
        cost = np.minimum(stay, change) + np.where(feasible[slot], hours, np.inf)
    path = np.zeros(slots, dtype=np.int64)
    path[-1] = int(np.argmin(cost))
    for slot in range(slots - 1, 0, -1):
        path[slot - 1] = came_from[slot, path[slot]]
    return path


def partition_rates(workload: Workload) -> Callable[[Floats], Floats]:
    """Return the arrival rate of each partition over time, of shape (times, partitions)."""
    weights = (
        np.full(workload.partitions, 1.0)
        if workload.weights is None
        else np.asarray(workload.weights, dtype=np.float64)
    )

    def rates(times: Floats) -> Floats:
        found = np.asarray(workload.rate(times), dtype=np.float64)
        if found.ndim == 1:
            found = found[:, None] * (weights / weights.sum())
        return found

    return rates
