"""How many consumers a group needs, and which need binds: pure, the same for everybody who asks.

Loads are those of the group's real assignor with each number of consumers that makes a
difference, never the mean. A need is the smallest such number that meets it:

* steady: no member gets more than it can process with the utilisation that its own variation
  allows;
* catch-up: what waits, and what comes while consumers start and partitions move, is worked off
  in time;
* forecast: steady, at what is expected at the end of the lead time and at the next peak;
* retention: what waits is read before it is deleted, or as little of it is deleted as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

import numpy as np

from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.intervals import Booleans, Floats, Integers
from scaling.sizing.assignment import Assignment
from scaling.sizing.utilisation import HIGHEST_UTILISATION, allowed_utilisation

_LATE = 0.4
LATE_ON_TRIAL = 0.25
_TOO_LATE = 0.75
_CATCH_UP_OBJECTIVES = 4.0
_NEARLY = 1.1
_MOST_HOT = 0.5
"""Share of the partitions up to which those that exceed a consumer are hot; more are overload."""


class LimitingFactor(StrEnum):
    """What a group needs consumers for."""

    STEADY = "steady"
    CATCH_UP = "catch-up"
    FORECAST = "forecast"
    RETENTION = "retention"


class SizeDecision(StrEnum):
    """Whether a number follows, and if not, why."""

    SIZED = "sized"
    UNKNOWN_CAPACITY = "unknown capacity"
    PARTITION_BOUND = "partition bound"
    DOWNSTREAM = "downstream bottleneck"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeInputs:
    """What is known of a group when its size is asked for.

    Attributes:
        arrival: Messages per second by partition.
        soon: The same at the end of the lead time, upper end.
        slowed: What members that are slower than the others process now, messages per second, by
            number of the member.
        peak: Messages per second by partition at the next peak, upper end; None: too little
            history.
        lasting: Messages per second by partition over a longer time, which tells a hot partition
            apart from a moment; None: ``arrival`` is that.
        blocked: Partitions that a message blocks: consumers do not help them.
        time_lag_seconds: Age of the oldest unread message that is not in a blocked partition.
        is_growing: Whether that age is higher than it was a minute ago.
        is_on_trial: Whether consumers were just taken away, so that a growing backlog is a bad
            sign early.
        pause_seconds: How long a rebalance stops those whom it touches.
        deadline_seconds: Time until retention reaches an unread message; None: none is coming.
    """

    assignment: Assignment
    consumers: int
    arrival: Floats
    soon: Floats
    lag: Floats
    capacity: Capacity
    objective_seconds: float
    slowed: Mapping[int, float] = field(default_factory=dict)
    peak: Floats | None = None
    lasting: Floats | None = None
    blocked: Booleans | None = None
    time_lag_seconds: float | None = None
    is_growing: bool = False
    is_on_trial: bool = False
    startup_seconds: float = 30.0
    pause_seconds: float = 10.0
    commit_seconds: float = 5.0
    deadline_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One need."""

    limiting_factor: LimitingFactor
    consumers: int | None  # the smallest useful number that meets it; None: no number does


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSize:
    """How many consumers a group needs.

    Attributes:
        consumers: The number; where none follows the one that is best kept.
        utilisation: Load of the busiest member with that number, as a share of its capacity;
            None where the capacity is unknown.
        is_late: Whether the backlog endangers the objective; waiting for agreement would cost it.
        is_too_late: Whether retention deletes part of what waits with any number of consumers.
        hopeless: Partitions, by position, that exceed a consumer of their own.
        utilisations: Load of the busiest member with each useful number; empty where the capacity
            is unknown.
    """

    decision: SizeDecision
    consumers: int
    limiting_factor: LimitingFactor
    needs: tuple[Need, ...]
    utilisation: float | None
    allowed_utilisation: float
    is_late: bool
    is_too_late: bool
    hopeless: tuple[int, ...]
    reason: str
    utilisations: Mapping[int, float] = field(default_factory=dict)


def size(inputs: SizeInputs) -> GroupSize:
    """Return how many consumers a group needs."""
    return _SizeCalculation(inputs).size()


def hot_partitions(loads: Floats, rate: float) -> Booleans:
    """Return which partitions exceed a consumer of their own; none where most do (overload)."""
    hot: Booleans = loads > rate
    if hot.sum() > max(1.0, _MOST_HOT * len(hot)):
        hot = np.zeros(len(hot), dtype=np.bool_)
    return hot


def _busiest(holders: Integers, loads: Floats) -> float:
    return float(np.bincount(holders, loads).max()) if len(loads) else 0.0


class _SizeCalculation:
    """The figures that the needs share."""

    def __init__(self, inputs: SizeInputs) -> None:
        self.now = inputs
        self.counts = inputs.assignment.counts or (1,)
        self.rate = usable_rate(inputs.capacity)
        self.allowed = allowed_utilisation(
            inputs.capacity.variability_seconds,
            inputs.consumers,
            max(1.0, inputs.objective_seconds - 2 * inputs.commit_seconds),
        )
        helped = np.ones(len(inputs.lag), dtype=np.bool_)
        if inputs.blocked is not None:
            helped &= ~inputs.blocked
        self.hopeless = np.zeros(len(inputs.lag), dtype=np.bool_)
        arrival, soon, peak = inputs.arrival, inputs.soon, inputs.peak
        if self.rate is not None:
            lasting = arrival if inputs.lasting is None else inputs.lasting
            self.hopeless = helped & hot_partitions(np.maximum(arrival, lasting), self.rate)
            helped &= ~self.hopeless
            if self.hopeless.any():
                # The objective is missed whatever is done: the others are to keep up in the long
                # run, no more. Moments and expectations call for nobody.
                self.allowed = HIGHEST_UTILISATION
                arrival = soon = lasting
                peak = None
        # What no consumer can help must not make the number larger.
        self.arrival = np.where(helped, arrival, 0.0)
        self.soon = np.where(helped, soon, 0.0)
        self.lag = np.where(helped, inputs.lag, 0.0)
        self.peak = None if peak is None else np.where(helped, peak, 0.0)
        self.utilisations = (
            {}
            if self.rate is None
            else {number: self._utilisation(number, self.arrival) for number in self.counts}
        )

    def size(self) -> GroupSize:
        late, contradicted = self._lateness()
        if self.rate is None:
            return self._without_capacity(late)
        needs = [
            Need(
                limiting_factor=LimitingFactor.STEADY,
                consumers=self._smallest(lambda n: self.utilisations[n] <= self.allowed),
            ),
            Need(
                limiting_factor=LimitingFactor.CATCH_UP,
                consumers=self._catch_up(contradicted) if late else self.counts[0],
            ),
            Need(limiting_factor=LimitingFactor.FORECAST, consumers=self._forecast()),
        ]
        is_too_late = False
        if self.now.deadline_seconds is not None:
            in_time = self._drained_in(self.now.deadline_seconds / 2)
            is_too_late = in_time is None
            needs.append(
                Need(
                    limiting_factor=LimitingFactor.RETENTION,
                    consumers=in_time or self._nearly_fastest(self.counts),
                )
            )
        most = self.counts[-1]
        largest = max(needs, key=lambda need: need.consumers or most + 1)
        wanted = largest.consumers or most
        decision = (
            SizeDecision.SIZED if largest.consumers is not None else SizeDecision.PARTITION_BOUND
        )
        limit = self.now.capacity.helpful_members
        if limit is not None and wanted > limit:
            decision, wanted = SizeDecision.DOWNSTREAM, min(wanted, self._useful(limit))
        return self._group_size(
            decision, wanted, largest.limiting_factor, tuple(needs), late, is_too_late
        )

    def _lateness(self) -> tuple[bool, bool]:
        """Return whether the backlog endangers the objective, and whether it does so regardless."""
        if self.hopeless.any():
            # Its neighbours are late with it, and their old messages move about with them in every
            # rebalance: the load of the others still counts, their age tells nothing.
            return False, False
        objective = self.now.objective_seconds
        age = self.now.time_lag_seconds or 0.0
        waiting = 0.0
        if self.rate is not None:
            waiting = self._utilisation(self.now.consumers, self.lag)
        if self.now.is_on_trial and self.now.is_growing and age > LATE_ON_TRIAL * objective:
            return True, True
        return (
            max(age, waiting) > _LATE * objective,
            age > _TOO_LATE * objective and self.now.is_growing,
        )

    def _smallest(self, is_met: Callable[[int], bool]) -> int | None:
        return next((number for number in self.counts if is_met(number)), None)

    def _utilisation(self, number: int, loads: Floats) -> float:
        """Return the load of the busiest member as a share of what it can process."""
        held = np.bincount(self.now.assignment.holders(number), loads, minlength=number)
        if not self.now.slowed:
            return float(held.max()) / (self.rate or inf)
        return float((held / member_rates(self.now, number)).max())

    def _forecast(self) -> int | None:
        """Size for the near future; the season's next peak keeps what is there and adds nothing.

        Expected load may use a member up to its limit, since advice is corrected when the load
        comes.
        """
        soon = self._smallest(lambda n: self._utilisation(n, self.soon) <= HIGHEST_UTILISATION)
        if self.peak is None or soon is None:
            return soon
        peak = self.peak
        later = self._smallest(lambda n: self._utilisation(n, peak) <= HIGHEST_UTILISATION)
        return max(soon, min(later or self.counts[-1], self._useful(self.now.consumers)))

    def _drain_seconds(self, number: int) -> float:
        """Return how long ``number`` consumers need for what waits once they have started."""
        consumers = self.now.consumers
        present = self.now.assignment.holders(consumers)
        load = np.bincount(present, self.arrival, minlength=consumers)
        excess = np.maximum(0.0, 1 - member_rates(self.now, consumers) / np.maximum(load, 1e-9))
        startup = self.now.startup_seconds if number > consumers else 0.0
        pause = self.now.pause_seconds if number != consumers else 0.0
        lag = self.lag + self.arrival * (excess[present] * startup + pause)
        holders = self.now.assignment.holders(number)
        waiting = np.bincount(holders, lag, minlength=number)
        spare = member_rates(self.now, number) - np.bincount(
            holders, self.arrival, minlength=number
        )
        if (spare[waiting > 0] <= 0).any():
            return inf
        return float(np.max(np.where(waiting > 0, waiting / np.maximum(spare, 1e-9), 0.0)))

    def _drained_in(self, seconds: float) -> int | None:
        return self._smallest(lambda n: self._drain_seconds(n) <= seconds)

    def _catch_up(self, contradicted: bool) -> int | None:
        """Return the smallest number that drains in time, else one that is nearly the fastest.

        Where the group is about to miss the objective although it should not, the assumed capacity
        is wrong, and the present number is not enough.
        """
        least = self.now.consumers if contradicted else 0
        return self._nearly_fastest(
            [number for number in self.counts if number > least],
            _CATCH_UP_OBJECTIVES * self.now.objective_seconds,
        )

    def _nearly_fastest(self, numbers: Sequence[int], enough: float = 0.0) -> int | None:
        """Return the smallest of some numbers that drains about as fast as any of them, or enough.

        Returns:
            None where none of them ever drains.
        """
        needed = {number: self._drain_seconds(number) for number in numbers}
        fastest = min(needed.values(), default=inf)
        if fastest == inf:
            return None
        most = max(enough, fastest * _NEARLY)
        return next(number for number, seconds in needed.items() if seconds <= most)

    def _useful(self, limit: int) -> int:
        """Return the smallest useful number that is no less than one."""
        return next((n for n in self.counts if n >= limit), self.counts[-1])

    def _without_capacity(self, late: bool) -> GroupSize:
        """Keep what is there; one useful step up where the group is late all the same."""
        consumers = self.now.consumers
        if late:
            consumers = next((n for n in self.counts if n > consumers), consumers)
        low = self.now.capacity.low
        steady = None
        if low is not None:
            most = low
            steady = self._smallest(
                lambda n: _busiest(self.now.assignment.holders(n), self.arrival) <= most
            )
        needs = (Need(limiting_factor=LimitingFactor.STEADY, consumers=steady),)
        return self._group_size(
            SizeDecision.UNKNOWN_CAPACITY,
            consumers,
            LimitingFactor.CATCH_UP if late else LimitingFactor.STEADY,
            needs,
            late,
        )

    def _group_size(
        self,
        decision: SizeDecision,
        consumers: int,
        limiting_factor: LimitingFactor,
        needs: tuple[Need, ...],
        late: bool,
        is_too_late: bool = False,
    ) -> GroupSize:
        return GroupSize(
            decision=decision,
            consumers=consumers,
            limiting_factor=limiting_factor,
            needs=needs,
            utilisation=self._utilisation(consumers, self.arrival) if self.rate else None,
            allowed_utilisation=self.allowed,
            is_late=late,
            is_too_late=is_too_late,
            hopeless=tuple(int(number) for number in np.flatnonzero(self.hopeless)),
            reason=_REASONS[decision],
            utilisations=self.utilisations,
        )


def member_rates(inputs: SizeInputs, number: int) -> Floats:
    """Return what each of ``number`` members can process."""
    rates = np.full(number, usable_rate(inputs.capacity) or inf)
    for member, rate in inputs.slowed.items():
        if member < number:
            rates[member] = min(rates[member], rate)
    return rates


def usable_rate(capacity: Capacity) -> float | None:
    """Return the rate that sizing may count on: the lower end of a measured interval."""
    if capacity.per_second is None or capacity.low is None:
        return None
    if capacity.status is CapacityStatus.CONFLICT and capacity.by_members:
        # What one member can do is seen where few share the limit.
        return max(one.low for one in capacity.by_members.values())
    return capacity.low if capacity.low > 0 else None


_REASONS = {
    SizeDecision.SIZED: "The smallest number of consumers that meets every need.",
    SizeDecision.UNKNOWN_CAPACITY: "What one consumer can process is not known.",
    SizeDecision.PARTITION_BOUND: "Even a consumer for each partition does not meet the need.",
    SizeDecision.DOWNSTREAM: "The consumers share a limit downstream: more of them do not help.",
}
