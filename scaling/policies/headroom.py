"""Our rule: the decision that the page and ``recommend`` give, followed at once."""

from __future__ import annotations

import numpy as np

from scaling.capacity import Capacity, CapacityStatus, estimate_capacity
from scaling.demand import LONG_SECONDS, demand, peak_ahead
from scaling.hysteresis import DEFAULT_RULES, Memory, Rules, decide
from scaling.intervals import (
    INTERVAL_COLUMNS,
    Booleans,
    CapacityRules,
    Floats,
    Intervals,
    blocked_partitions,
    saturated,
)
from scaling.policies.policy import Limits
from scaling.sizing import Shape, Situation, Sizing, size
from simulation.assignors import Assignor
from simulation.model import Observation

_INTERVAL_SECONDS = 30.0
_ESTIMATE_SECONDS = 300.0
_MOST_ROWS = 4000
_RETENTION_USED = 0.25
_BLOCKED_POLLS = 8


class _Polls:
    """The polls of the last quarter of an hour, in one block that slides."""

    def __init__(self, partitions: int, most: int = 256) -> None:
        self._at = np.empty(2 * most)
        self._log_end = np.empty((2 * most, partitions))
        self._committed = np.empty((2 * most, partitions))
        self._first = self._next = 0
        self._most = most

    def add(self, seen: Observation) -> None:
        if self._next == len(self._at):
            kept = slice(self._next - self._most, self._next)
            for block in (self._at, self._log_end, self._committed):
                block[: self._most] = block[kept]
            self._next = self._most
        self._at[self._next] = seen.at
        self._log_end[self._next] = seen.log_end
        self._committed[self._next] = seen.committed
        self._next += 1

    @property
    def _kept(self) -> slice:
        now = self._at[self._next - 1]
        first = int(np.searchsorted(self._at[: self._next], now - LONG_SECONDS - 1))
        return slice(first, self._next)

    @property
    def at(self) -> Floats:
        return self._at[self._kept]

    @property
    def log_end(self) -> Floats:
        return self._log_end[self._kept]

    @property
    def committed(self) -> Floats:
        return self._committed[self._kept]


class _Evidence:
    """Intervals of the members, and what capacity follows from them."""

    def __init__(self, rules: CapacityRules) -> None:
        self._rules = rules
        self._anchor: Observation | None = None
        self._blocks: list[Intervals] = []
        self._recent: list[Intervals] = []
        self._estimated_at = float("-inf")
        self.capacity = Capacity(CapacityStatus.UNKNOWN, "Nothing was seen yet.")

    def add(self, seen: Observation, blocked: Booleans) -> None:
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
            self._blocks.append(block.where(full))
            while sum(len(one) for one in self._blocks) > _MOST_ROWS:
                self._blocks.pop(0)

    def estimate(self, at: float, blocked: Booleans) -> None:
        if at - self._estimated_at < _ESTIMATE_SECONDS:
            return
        self._estimated_at = at
        blocks = self._blocks + [one.where(~saturated(one, self._rules)) for one in self._recent]
        if blocks:
            self.capacity = estimate_capacity(_joined(blocks), rules=self._rules)


def _interval(before: Observation, now: Observation, blocked: Booleans) -> Intervals:
    held = now.member >= 0
    member = now.member[held]
    names, index = np.unique(member, return_inverse=True)
    advancing = (~blocked).astype(np.float64)

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

    def __init__(self, limits: Limits, rules: Rules = DEFAULT_RULES) -> None:
        self._limits = limits
        self._rules = rules
        self._shape = Shape(
            (("topic", limits.partitions),), Assignor.of(limits.assignor) or Assignor.RANGE
        )
        self._polls = _Polls(limits.partitions)
        self._evidence = _Evidence(CapacityRules(commit_seconds=limits.commit_seconds))
        self._memory = Memory()
        self._hours: dict[int, list[float]] = {}
        self._peak: tuple[int, float | None] = (-1, None)
        self.sizing: Sizing | None = None
        self.reason = ""

    @property
    def capacity(self) -> Capacity:
        """What one consumer can process, as far as it was seen."""
        return self._evidence.capacity

    def decide(self, seen: Observation, busy_ratio: Floats) -> int:
        """Return the consumers that there should be."""
        self._polls.add(seen)
        at = self._polls.at
        if len(at) < 2:
            return seen.replicas
        blocked = self._blocked(seen)
        self._evidence.add(seen, blocked)
        self._evidence.estimate(seen.at, blocked)
        if seen.rebalancing or (seen.member < 0).all():
            return seen.replicas
        self.sizing = size(self._situation(seen, blocked))
        move = decide(
            self.sizing, self._memory, at=seen.at, current=seen.replicas, rules=self._rules
        )
        self._memory, self.reason = move.memory, move.reason
        return move.consumers

    def _situation(self, seen: Observation, blocked: Booleans) -> Situation:
        limits = self._limits
        lead = limits.startup_seconds + limits.pause_seconds + 30.0
        expected = demand(self._polls.at, self._polls.log_end, lead_seconds=lead)
        ages = seen.time_lag_seconds[~blocked]
        age = float(np.nanmax(ages)) if len(ages) and not np.isnan(ages).all() else None
        return Situation(
            shape=self._shape,
            consumers=seen.replicas,
            arrival=expected.now,
            soon=expected.soon,
            lag=seen.lag,
            capacity=self._evidence.capacity,
            objective_seconds=limits.objective_seconds,
            peak=self._expected_peak(seen, expected.now),
            blocked=blocked,
            time_lag_seconds=age,
            startup_seconds=limits.startup_seconds,
            pause_seconds=limits.pause_seconds,
            commit_seconds=limits.commit_seconds,
            deadline_seconds=self._deadline(age),
        )

    def _blocked(self, seen: Observation) -> Booleans:
        committed = self._polls.committed[-_BLOCKED_POLLS - 1 :]
        log_end = self._polls.log_end[-_BLOCKED_POLLS - 1 :]
        return blocked_partitions(committed, log_end, seen.member, polls=_BLOCKED_POLLS)

    def _deadline(self, age: float | None) -> float | None:
        keeps = self._limits.retention_seconds
        if keeps is None or age is None or age < _RETENTION_USED * keeps:
            return None
        return max(0.0, keeps - age)

    def _expected_peak(self, seen: Observation, now: Floats) -> Floats | None:
        """Return the season's peak within the window of a step down, by partition."""
        hour = int(seen.at // 3600)
        total = float(now.sum())
        self._hours.setdefault(hour, []).append(total)
        if hour != self._peak[0]:
            starts = np.array([one * 3600.0 for one in self._hours])
            rates = np.array([float(np.quantile(of, 0.95)) for of in self._hours.values()])
            found = peak_ahead(
                starts, rates, now=seen.at, horizon_seconds=self._rules.down_window_seconds
            )
            self._peak = (hour, found.high)
        high = self._peak[1]
        if high is None or total <= 0:
            return None
        peak: Floats = now * (high / total)
        return peak
