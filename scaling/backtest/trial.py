"""One policy on one workload and one seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from scaling.backtest.policies.headroom import Headroom
from scaling.backtest.policies.policy import Policy
from scaling.facts.capacity import CapacityStatus
from scaling.facts.intervals import Floats
from scaling.sizing.assignment import Assignment
from scaling.sizing.demand import HOUR_SECONDS
from simulation.model import Backlog, Workload
from simulation.simulator import Simulation
from simulation.workloads import history

POLL_SECONDS = 30.0
"""Time between two observations; also KEDA's polling interval."""

DAY_SECONDS = 86400.0
_OUTAGE_SECONDS = 600.0
_RECOVERY_SECONDS = 1500.0
_RESTARTS = 4
_HISTORY_SECONDS = 21 * DAY_SECONDS
_COVERAGE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialScore:
    """What one policy did on one seed.

    Attributes:
        violation_minutes: Time in which the oldest unread message was older than the objective.
        vain_steps_up: Changes upwards while what the workload is about happens: from its first
            event to its last, or all the time where it has none.
        intervals: How often an interval for the capacity was given; only ours gives one.
    """

    days: float
    violation_minutes: float
    consumer_hours: float
    rescales: int
    lost_messages: float
    vain_steps_up: int = 0
    intervals: int = 0
    covering: int = 0


def run(workload: Workload, seed: int, policy: Policy, consumers: int) -> TrialScore:
    """Let a policy scale a workload from its start to its end."""
    simulation = Simulation(workload, seed, consumers=consumers)
    end = workload.starts_at + workload.duration_seconds
    ups = asked = covering = 0
    first, last = workload.starts_at, end
    if workload.events:
        first, last = workload.events[0].at, workload.events[-1].at
    next_check = workload.starts_at + _COVERAGE_SECONDS
    while simulation.now < end:
        simulation.run_until(min(end, simulation.now + POLL_SECONDS))
        seen = simulation.observe()
        wanted = policy.decide(seen, simulation.busy_ratio())
        ups += wanted > seen.replicas and first <= seen.at <= last
        if wanted != seen.replicas:
            simulation.scale(wanted)
        if isinstance(policy, Headroom) and simulation.now >= next_check:
            next_check += _COVERAGE_SECONDS
            found = policy.capacity
            if found.status is CapacityStatus.IDENTIFIED and found.low and found.high:
                asked += 1
                covering += found.low <= workload.consumers.rate_per_second <= found.high
    truth = simulation.truth()
    return TrialScore(
        days=truth.seconds / DAY_SECONDS,
        violation_minutes=truth.violation_minutes,
        consumer_hours=truth.consumer_seconds / 3600,
        rescales=truth.rescales,
        lost_messages=truth.lost,
        vain_steps_up=ups,
        intervals=asked,
        covering=covering,
    )


def run_static(workload: Workload, seed: int, consumers: int) -> TrialScore:
    """Let a workload run with a fixed number of consumers."""
    simulation = Simulation(workload, seed, consumers=consumers)
    simulation.run_until(workload.starts_at + workload.duration_seconds)
    truth = simulation.truth()
    return TrialScore(
        days=truth.seconds / DAY_SECONDS,
        violation_minutes=truth.violation_minutes,
        consumer_hours=truth.consumer_seconds / 3600,
        rescales=truth.rescales,
        lost_messages=truth.lost,
    )


def remember(workload: Workload, seed: int, policy: Headroom) -> None:
    """Show our rule what the lake would hold of the days before: some restarts.

    These are the hourly arrivals of three weeks and four restarts, twice with the present number of
    consumers and twice with the next useful one. In each restart the consumers were away for ten
    minutes and then drained the backlog. Every group that is ever deployed anew has such times, and
    only they show the capacity of a consumer.
    """
    assignment = Assignment(
        partitions=tuple(sorted(workload.topics.items())), assignor=workload.consumers.assignor
    )
    count = workload.consumers.count
    larger = next((n for n in assignment.counts if n > count), count)
    smaller = next((n for n in reversed(assignment.counts) if n < count), count)
    other = larger if larger > count else smaller
    usual = np.asarray(workload.rate(np.array([workload.starts_at])), dtype=np.float64)
    # Each workload has a history of its own: with one a seed, an interval that misses the truth by
    # chance would miss it in all of them.
    own = seed * 1000 + crc32(workload.name.encode())
    for number in range(_RESTARTS):
        begins = workload.starts_at - DAY_SECONDS * (_RESTARTS - number)
        warmed_up = replace(
            workload,
            rate=lambda times: np.broadcast_to(usual[0], (len(times), *usual.shape[1:])),
            starts_at=begins,
            events=(),
            retention_seconds=None,
            backlog=_outage(workload, usual),
        )
        simulation = Simulation(
            warmed_up, own + number + 1, consumers=other if number % 2 else count
        )
        while simulation.now < begins + _RECOVERY_SECONDS:
            simulation.run_until(simulation.now + POLL_SECONDS)
            policy.learn(simulation.observe())
    hourly = history(workload, seed, seconds=_HISTORY_SECONDS, grain_seconds=HOUR_SECONDS)
    ago = np.arange(len(hourly), 0, -1, dtype=np.float64)
    starts: Floats = workload.starts_at - HOUR_SECONDS * ago
    policy.learn_hours(starts, hourly)
    policy.begin(workload.starts_at)


def _outage(
    workload: Workload, usual: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> Backlog:
    partitions = workload.partitions
    if usual.ndim == 2:
        rates = usual[0]
    else:
        weights = np.ones(partitions) if workload.weights is None else np.asarray(workload.weights)
        rates = usual[0] * weights / weights.sum()
    return Backlog(
        messages=np.floor(rates * _OUTAGE_SECONDS), age_seconds=np.full(partitions, _OUTAGE_SECONDS)
    )
