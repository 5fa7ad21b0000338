"""What-if: the same group as it is and changed, in the simulator of the backtest. Pure.

    what_if(inputs, WhatIfChange(consumers=12, arrival_factor=2.0), hours=6.0)

Both runs begin with the same backlog and see the same arrivals, drawn from the seed: at the present
rates, or as they were measured (``scaling.whatif.replay``). New consumers take their time to start
and to rebalance; added partitions are empty, and what waits stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from alerting.status.phrases import plural
from simulation.assignors import Assignor
from simulation.interventions import Interventions
from simulation.model import Backlog, Consumers, Floats, Rate, SimulatedEvent, Workload
from simulation.rates import between, constant, times_factors
from simulation.simulator import Simulation

DRAINED_SECONDS = 10.0
"""A group is level with its topics when its oldest unread message is no older than that."""

_BACK_SECONDS = 3 * DRAINED_SECONDS
"""A backlog that was drained is back when its oldest message is older than that."""

_POINTS = 180
_SLOTS = 64
"""Consumers that noise is drawn for, at least: usual questions all see the same draw."""
_MOST_CONSUMERS = 2000
_REPLACED = 2
"""So many slots are free beside the consumers, for one that takes the place of another."""
_MOST_PARTITIONS = 10_000
_MOST_CAPACITY = 1e9
_STEPS = 40_000
_CELLS = 30_000_000
"""Steps times partitions of one run: seconds of work, and some hundred megabytes."""


class SimulationError(ValueError):
    """A what-if that cannot be simulated; says why in one line."""


ROUGH = "the number of deleted messages is rough: a percent more capacity changes it much"
"""What is to be known of the number of messages that a run lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfInputs:
    """A group as it is now.

    Arrays have one value a partition, in the order of topic and number.

    Attributes:
        arrival_per_second: Messages per second.
        time_lag_seconds: Age of the oldest unread message.
        capacity_per_second: Messages per second of one consumer that never waits.
        assignor: How partitions are shared out.
        shared_limit_per_second: What the group as a whole gets through at most; None: no limit.
        course: What arrives in all, by seconds from the begin; None: the present rates go on.
        course_seconds: How long ``course`` is.
        is_replay: Whether ``course`` is measured time that ends now; else it begins now.
    """

    topics: Mapping[str, int]
    arrival_per_second: Floats
    lag: Floats
    time_lag_seconds: Floats
    consumers: int
    capacity_per_second: float
    assignor: Assignor = Assignor.COOPERATIVE_STICKY
    objective_seconds: float = 300.0
    retention_seconds: float | None = None
    shared_limit_per_second: float | None = None
    course: Rate | None = None
    course_seconds: float | None = None
    is_replay: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """More arrives for a while."""

    factor: float
    start_seconds: float = 0.0
    seconds: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LostConsumer:
    """One consumer vanishes, and another takes its place later."""

    start_seconds: float = 0.0
    seconds: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfChange:
    """What would be different."""

    consumers: int | None = None
    partitions: int | None = None  # the new number of the only topic's; None: as now
    capacity_per_second: float | None = None  # of one consumer; None: as now
    arrival_factor: float = 1.0
    campaign: Campaign | None = None
    lost: LostConsumer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfOutcome:
    """How one run went.

    Attributes:
        seconds: Times of the points, seconds from now.
        lag: Messages that wait at each (processed, not committed, counts).
        time_lag_seconds: Age of the oldest of them at each.
        lag_peak: The most messages that waited at a point.
        drain_seconds: From the point at which most waited until the time lag is no more than
            ``DRAINED_SECONDS``; 0 where it was never above; None where that is not reached.
        is_back: Whether a backlog comes back after that.
    """

    seconds: Floats
    lag: Floats
    time_lag_seconds: Floats
    consumers: int
    partitions: int
    lag_peak: float
    lag_end: float
    time_lag_peak_seconds: float
    time_lag_end_seconds: float
    drain_seconds: float | None
    is_back: bool
    violation_minutes: float
    consumer_hours: float
    lost_messages: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A comparison.

    Attributes:
        most_useful: Consumers of which more change nothing, where more were asked for.
        is_replay: Whether it is of measured time that ends now; else it begins now.
    """

    now: WhatIfOutcome
    changed: WhatIfOutcome
    hours: float
    objective_seconds: float
    notes: tuple[str, ...]
    is_replay: bool = False
    most_useful: int | None = None

    @property
    def spare(self) -> str | None:
        """Say that consumers were asked for which change nothing; None: there are none."""
        if self.most_useful is None:
            return None
        most = plural(self.most_useful, "consumer")
        are = "is 1 partition" if self.most_useful == 1 else f"are {self.most_useful} partitions"
        return f"more than {most} change nothing: there {are}"


def what_if(
    inputs: WhatIfInputs, change: WhatIfChange, *, hours: float = 6.0, seed: int = 1
) -> WhatIf:
    """Simulate a group as it is and with a change.

    Args:
        inputs: The group as it is.
        change: What would be different.
        hours: How long; a measured course is as long as it was.
        seed: What arrivals and service times are drawn from.

    Raises:
        SimulationError: A number is impossible, or partitions of several topics were to change.
    """
    if inputs.course_seconds is not None:
        hours = inputs.course_seconds / 3600.0
    _check(inputs, change, hours)
    notes = list(inputs.notes)
    if inputs.course is None:
        notes.append("arrivals go on at the present rates")
    if change.partitions is not None:
        if change.partitions % sum(inputs.topics.values()):
            notes.append("arrivals are spread evenly over the new number of partitions")
        else:
            notes.append("each partition's keys are taken to be many: they split evenly")
        notes.append("what waits now stays in the partitions it is in")
    asked = inputs.consumers if change.consumers is None else change.consumers
    partitions = max(sum(inputs.topics.values()), change.partitions or 0)
    slots = _slots(inputs.consumers, asked)
    # The one that takes over from a lost consumer is of use, though it holds nothing before.
    is_spare = asked > max(partitions, 1) and change.lost is None
    now = _run(inputs, WhatIfChange(), hours, seed, slots)
    changed = _run(inputs, change, hours, seed, slots)
    if now.lost_messages or changed.lost_messages:
        notes.append(ROUGH)
    return WhatIf(
        now=now,
        changed=changed,
        hours=hours,
        objective_seconds=inputs.objective_seconds,
        notes=tuple(notes),
        is_replay=inputs.is_replay,
        most_useful=partitions if is_spare else None,
    )


def even_inputs(
    *,
    partitions: int,
    arrival_per_second: float,
    consumers: int,
    capacity_per_second: float,
    lag: float = 0.0,
) -> WhatIfInputs:
    """Return inputs with even load on one topic, from totals over its partitions.

    Raises:
        SimulationError: There is no partition.
    """
    if partitions < 1:
        raise SimulationError("there must be at least one partition")
    age = lag / arrival_per_second if arrival_per_second > 0 else 0.0
    return WhatIfInputs(
        topics={"topic": partitions},
        arrival_per_second=np.full(partitions, arrival_per_second / partitions),
        lag=np.array(
            [lag // partitions + (index < lag % partitions) for index in range(partitions)]
        ),
        time_lag_seconds=np.full(partitions, age),
        consumers=consumers,
        capacity_per_second=capacity_per_second,
    )


def _check(inputs: WhatIfInputs, change: WhatIfChange, hours: float) -> None:
    consumers = inputs.consumers if change.consumers is None else change.consumers
    if not 0 <= consumers <= _MOST_CONSUMERS or not 0 <= inputs.consumers <= _MOST_CONSUMERS:
        raise SimulationError(f"consumers: 0 to {_MOST_CONSUMERS} can be simulated")
    if not 0 < hours <= 24 * 31:
        raise SimulationError("hours: more than 0, at most 744 (31 days)")
    capacity = change.capacity_per_second
    for each in (inputs.capacity_per_second, 1.0 if capacity is None else capacity):
        if not 0 < each <= _MOST_CAPACITY:
            raise SimulationError(
                "the capacity of a consumer must be more than 0 messages per second, at most 1e9"
            )
    partitions = max(sum(inputs.topics.values()), change.partitions or 0)
    if partitions > _MOST_PARTITIONS:
        raise SimulationError(f"partitions: at most {_MOST_PARTITIONS} can be simulated")
    campaign = change.campaign
    if change.arrival_factor < 0 or (campaign is not None and campaign.factor < 0):
        raise SimulationError("arrivals cannot be multiplied by a negative number")
    if change.partitions is not None:
        if len(inputs.topics) != 1:
            raise SimulationError(
                f"partitions can be changed for a group of one topic; this one reads "
                f"{len(inputs.topics)}"
            )
        present = sum(inputs.topics.values())
        if change.partitions < present:
            raise SimulationError(
                f"partitions cannot shrink: there are {present}, asked for {change.partitions}"
            )
    if change.lost is not None and consumers < 1:
        raise SimulationError("there is no consumer that could be lost")


def _slots(*consumers: int) -> int:
    """Return for how many consumers noise is drawn: few numbers, as each is another draw."""
    slots = _SLOTS
    while slots < max(consumers) + _REPLACED:
        slots *= 2
    return slots


def _run(
    inputs: WhatIfInputs, change: WhatIfChange, hours: float, seed: int, slots: int
) -> WhatIfOutcome:
    seconds = hours * 3600.0
    asked = inputs.consumers if change.consumers is None else change.consumers
    partitions = sum(inputs.topics.values())
    most = max(1, partitions, change.partitions or 0)
    # A consumer without a partition does nothing; that it joins or leaves is no change, either.
    useful = _MOST_CONSUMERS if change.lost is not None else most
    consumers = min(asked, useful)
    begin = min(inputs.consumers, useful)
    idle_hours = (asked - consumers) * hours
    step = max(1.0, float(np.ceil(seconds / min(_STEPS, _CELLS / most))))
    simulation = Simulation(_workload(inputs, change, begin, slots), seed, step_seconds=step)
    if change.partitions is not None and change.partitions > partitions:
        partitions = change.partitions
        simulation.add_partitions(partitions)
    simulation.scale(consumers)
    times = np.unique(np.ceil(np.linspace(0.0, seconds, _POINTS + 1) / step)) * step
    lag, late = np.zeros(len(times)), np.zeros(len(times))
    lag[0] = inputs.lag.sum()
    late[0] = float(np.where(inputs.lag > 0, inputs.time_lag_seconds, 0.0).max(initial=0.0))
    for index, time in enumerate(times[1:], start=1):
        simulation.run_until(float(time))
        truth = simulation.truth()
        lag[index], late[index] = float(truth.waiting.sum()), truth.time_lag_seconds
    truth = simulation.truth()
    drained, is_back = _drained(times, lag, late)
    return WhatIfOutcome(
        seconds=times,
        lag=np.round(lag),
        time_lag_seconds=late,
        consumers=asked,
        partitions=partitions,
        lag_peak=float(np.round(lag.max())),
        lag_end=float(np.round(lag[-1])),
        time_lag_peak_seconds=max(truth.worst_time_lag_seconds, float(late[0])),
        time_lag_end_seconds=float(late[-1]),
        drain_seconds=drained,
        is_back=is_back,
        violation_minutes=truth.violation_minutes,
        consumer_hours=truth.consumer_hours + idle_hours,
        lost_messages=float(np.round(truth.lost)),
    )


def _drained(times: Floats, lag: Floats, late: Floats) -> tuple[float | None, bool]:
    """Return how long the peak takes to drain, and whether a backlog comes back after that."""
    if late.max() <= DRAINED_SECONDS:
        return 0.0, False
    peak = int(lag.argmax())
    level = np.flatnonzero(late[peak:] <= DRAINED_SECONDS)
    if not len(level):
        return None, False
    first = peak + int(level[0])
    return float(times[first] - times[peak]), bool(late[first:].max() > _BACK_SECONDS)


def _lose_one(simulation: Interventions, seconds: float) -> None:
    """Let the first consumer be away, where there is one to lose."""
    if simulation.working_members:
        simulation.lose_member(simulation.working_members[0], back_after_seconds=seconds)


def _workload(inputs: WhatIfInputs, change: WhatIfChange, consumers: int, slots: int) -> Workload:
    total = float(inputs.arrival_per_second.sum())
    factor = change.arrival_factor
    rate: Rate = constant(total * factor)
    if inputs.course is not None:
        rate = times_factors(inputs.course, lambda times: np.full(len(times), factor))
    campaign, lost = change.campaign, change.lost
    if campaign is not None:
        end = campaign.start_seconds + campaign.seconds
        rate = times_factors(rate, between(campaign.start_seconds, end, campaign.factor))
    events: tuple[SimulatedEvent, ...] = ()
    if lost is not None:
        away = lost.seconds
        events = (
            SimulatedEvent(
                at=lost.start_seconds, action=lambda simulation: _lose_one(simulation, away)
            ),
        )
    return Workload(
        name="what-if",
        topics=inputs.topics,
        rate=rate,
        weights=inputs.arrival_per_second if total > 0 else None,
        consumers=Consumers(
            count=consumers,
            rate_per_second=change.capacity_per_second or inputs.capacity_per_second,
            assignor=inputs.assignor,
            shared_limit_per_second=inputs.shared_limit_per_second,
            maximum=slots,
        ),
        burstiness=0.1,
        objective_seconds=inputs.objective_seconds,
        retention_seconds=inputs.retention_seconds,
        backlog=Backlog(messages=inputs.lag, age_seconds=inputs.time_lag_seconds),
        events=events,
    )
