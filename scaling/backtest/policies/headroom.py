"""Our rule in the backtest: ``scaling.sizing.decide`` on what the simulation shows."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import replace

import numpy as np

from scaling.backtest.policies.policy import Limits
from scaling.facts.capacity import Capacity, CapacityStatus, estimate_capacity
from scaling.facts.intervals import (
    INTERVAL_COLUMNS,
    Booleans,
    CapacityRules,
    Floats,
    Intervals,
    saturated,
)
from scaling.sizing.assignment import Assignment
from scaling.sizing.decide import BLOCKED_SECONDS, DecisionHistory, SizeFacts, decide
from scaling.sizing.demand import HOUR_SECONDS, LONG_SECONDS, Season, peak_ahead, season
from scaling.sizing.polls import Polls
from scaling.sizing.stability import DEFAULT_STABILITY_RULES, StabilityRules
from simulation.model import GroupObservation

_INTERVAL_SECONDS = 30.0
_ESTIMATE_SECONDS = 300.0
_MOST_ROWS = 1500
_RETENTION_USED = 0.25
_FROM_FULL = (CapacityStatus.IDENTIFIED, CapacityStatus.CONFLICT)
"""What follows from saturated intervals alone: without new ones it stays."""


class _Polls:
    """The polls of the last quarter of an hour, in one block that slides."""

    def __init__(self, partitions: int, most: int = 256) -> None:
        self._at = np.empty(2 * most)
        self._values = np.empty((3, 2 * most, partitions))
        self._next = 0
        self._most = most

    def add(self, seen: GroupObservation) -> None:
        if self._next == len(self._at):
            kept = slice(self._next - self._most, self._next)
            self._at[: self._most] = self._at[kept]
            self._values[:, : self._most] = self._values[:, kept]
            self._next = self._most
        self._at[self._next] = seen.at
        for values, newest in zip(
            self._values, (seen.log_end, seen.committed, seen.time_lag_seconds), strict=True
        ):
            values[self._next] = newest
        self._next += 1

    @property
    def kept(self) -> Polls:
        now = self._at[self._next - 1]
        first = int(np.searchsorted(self._at[: self._next], now - LONG_SECONDS - 1))
        kept = slice(first, self._next)
        log_end, committed, ages = self._values[:, kept]
        return Polls(at=self._at[kept], log_end=log_end, committed=committed, time_lag_seconds=ages)


class _Evidence:
    """Intervals of the members, and what capacity follows from them."""

    def __init__(self, rules: CapacityRules) -> None:
        self._rules = rules
        self._anchor: GroupObservation | None = None
        self._blocks: dict[int, deque[Intervals]] = defaultdict(deque)
        self._rows: Counter[int] = Counter()
        self._recent: list[Intervals] = []
        self._estimated_at = float("-inf")
        self._is_new = True
        self.capacity = Capacity(status=CapacityStatus.UNKNOWN, reason="Nothing was seen yet.")

    def add(self, seen: GroupObservation, blocked: Booleans) -> None:
        before = self._anchor
        if (
            before is None
            or seen.rebalancing
            or before.members != seen.members
            or not np.array_equal(before.member, seen.member)
        ):
            self._anchor = None if seen.rebalancing else seen
            return
        seconds = seen.at - before.at
        if seconds < _INTERVAL_SECONDS:
            return
        self._anchor = seen
        self._keep(_interval(before, seen, blocked))

    def _keep(self, block: Intervals) -> None:
        self._recent = [*self._recent[-19:], block]
        full = saturated(block, self._rules)
        if full.any():
            self._is_new = True
            # Of each number of members: comparing them is what shows a limit downstream.
            number = int(block.members[0])
            blocks = self._blocks[number]
            blocks.append(block.where(full))
            self._rows[number] += len(blocks[-1])
            while self._rows[number] > _MOST_ROWS:
                self._rows[number] -= len(blocks.popleft())

    def estimate(self, at: float) -> None:
        if at - self._estimated_at < _ESTIMATE_SECONDS:
            return
        self._estimated_at = at
        if not self._is_new and self.capacity.status in _FROM_FULL:
            return
        self._is_new = False
        blocks = [one for of_number in self._blocks.values() for one in of_number]
        blocks += [one.where(~saturated(one, self._rules)) for one in self._recent]
        if blocks:
            self.capacity = estimate_capacity(_joined(blocks), rules=self._rules)


def _interval(before: GroupObservation, now: GroupObservation, blocked: Booleans) -> Intervals:
    held = now.member >= 0
    member = now.member[held]
    names, index = np.unique(member, return_inverse=True)
    # What stands still does not keep its member busy.
    advancing = ((now.committed > before.committed) & ~blocked).astype(np.float64)

    def of(values: Floats) -> Floats:
        sums: Floats = np.bincount(index, values[held], minlength=len(names)).astype(np.float64)
        return sums

    return Intervals(
        member=names.astype(np.str_),
        members=np.full(len(names), now.members),
        started_at=np.full(len(names), before.at),
        seconds=np.full(len(names), now.at - before.at),
        consumed=of(now.committed - before.committed),
        arrived=of(now.log_end - before.log_end),
        lag_start=of(before.lag * advancing),
        lag_end=of(now.lag * advancing),
        throttled=np.zeros(len(names), dtype=np.bool_),
    )


def _joined(blocks: list[Intervals]) -> Intervals:
    return Intervals.of(
        {name: np.concatenate([getattr(one, name) for one in blocks]) for name in INTERVAL_COLUMNS}
    )


class Headroom:
    """Sizes the group from what collectors see, and follows its own advice."""

    name = "headroom"

    def __init__(self, limits: Limits, rules: StabilityRules = DEFAULT_STABILITY_RULES) -> None:
        self._limits = limits
        self._rules = rules
        self._assignment = Assignment(
            partitions=tuple(sorted(limits.topics.items())), assignor=limits.assignor
        )
        self._polls = _Polls(limits.partitions)
        self._evidence = _Evidence(CapacityRules(commit_seconds=limits.commit_seconds))
        self._hours: dict[float, list[float]] = {}
        self._season: Season | None = None
        self.history = DecisionHistory()

    @property
    def capacity(self) -> Capacity:
        """What one consumer can process, as far as it was seen."""
        return self._evidence.capacity

    def learn(self, seen: GroupObservation) -> None:
        """Take in what was seen before: the lake's history."""
        blocked = np.zeros(len(seen.lag), dtype=np.bool_)
        self._evidence.add(seen, blocked)

    def learn_hours(self, starts: Floats, rates: Floats) -> None:
        """Take in the history of the hourly arrival, messages per second of all partitions."""
        for start, rate in zip(starts, rates, strict=True):
            self._hours[float(start)] = [float(rate)]

    def begin(self, at: float) -> None:
        """Begin to decide, with what is known."""
        self._evidence.estimate(at)

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        """Return the consumers that there should be."""
        if len(seen.keys) != self._limits.partitions:
            self._restart(seen)
        self._polls.add(seen)
        polls = self._polls.kept
        self._learn(seen, polls)
        found = decide(self._facts(seen, polls), self.history, rules=self._rules)
        self.history = found.history
        if found.inputs is not None:
            hour = seen.at // HOUR_SECONDS * HOUR_SECONDS
            self._hours.setdefault(hour, []).append(float(found.inputs.arrival.sum()))
        return min(found.consumers, self._limits.maximum)

    def _restart(self, seen: GroupObservation) -> None:
        """Begin anew with another number of partitions."""
        topics: dict[str, int] = {}
        for topic, _ in seen.keys:
            topics[topic] = topics.get(topic, 0) + 1
        self._limits = replace(self._limits, topics=topics)
        self._assignment = Assignment(
            partitions=tuple(sorted(topics.items())), assignor=self._limits.assignor
        )
        self._polls = _Polls(self._limits.partitions)

    def _facts(self, seen: GroupObservation, polls: Polls) -> SizeFacts:
        limits = self._limits
        return SizeFacts(
            assignment=self._assignment,
            polls=polls,
            member=seen.member,
            assignment_id=str(seen.member.tobytes()),
            consumers=seen.replicas,
            is_rebalancing=seen.rebalancing,
            capacity=self._evidence.capacity,
            objective_seconds=limits.objective_seconds,
            forecast_peak=lambda now: self._forecast_peak(seen.at, now),
            startup_seconds=limits.startup_seconds,
            pause_seconds=limits.pause_seconds,
            commit_seconds=limits.commit_seconds,
            deadline_seconds=self._deadline(seen),
        )

    def _learn(self, seen: GroupObservation, polls: Polls) -> None:
        """Take in what this poll tells of capacity, unless all members are slower than usual."""
        if len(polls) > 1 and self.history.slow.everybody is None:
            self._evidence.add(seen, polls.blocked(seen.member, seconds=BLOCKED_SECONDS))
            self._evidence.estimate(seen.at)

    def _deadline(self, seen: GroupObservation) -> float | None:
        keeps, age = self._limits.retention_seconds, seen.worst_time_lag_seconds
        if keeps is None or age is None or age < _RETENTION_USED * keeps:
            return None
        return max(0.0, keeps - age)

    def _forecast_peak(self, at: float, now: float) -> float | None:
        """Return the season's peak within the next hour."""
        if at // HOUR_SECONDS * HOUR_SECONDS not in self._hours or self._season is None:
            starts = np.array(list(self._hours))
            rates = np.array([sum(of) / len(of) for of in self._hours.values()])
            self._season = season(starts, rates, now=at)
        return peak_ahead(self._season, at=at, horizon_seconds=HOUR_SECONDS, now=now)
