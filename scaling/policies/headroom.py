"""Our rule: the decision that the page and ``recommend`` give, followed at once."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import replace

import numpy as np

from scaling.capacity import Capacity, CapacityStatus, estimate_capacity
from scaling.demand import HOUR_SECONDS, LONG_SECONDS, Season, demand, peak_ahead, season
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
from scaling.shape import Shape
from scaling.sizing import Situation, Sizing, hot_partitions, size
from scaling.slowdown import slowdown
from simulation.model import Observation

_INTERVAL_SECONDS = 30.0
_ESTIMATE_SECONDS = 300.0
_MOST_ROWS = 1500
_RETENTION_USED = 0.25
_BLOCKED_POLLS = 8
_FROM_FULL = (CapacityStatus.IDENTIFIED, CapacityStatus.CONFLICT)
"""What follows from saturated intervals alone: without new ones it stays."""


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
        self._blocks: dict[int, deque[Intervals]] = defaultdict(deque)
        self._rows: Counter[int] = Counter()
        self._recent: list[Intervals] = []
        self._estimated_at = float("-inf")
        self._is_new = True
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


def _interval(before: Observation, now: Observation, blocked: Booleans) -> Intervals:
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

    def __init__(self, limits: Limits, rules: Rules = DEFAULT_RULES) -> None:
        self._limits = limits
        self._rules = rules
        self._shape = Shape(tuple(sorted(limits.topics.items())), limits.assignor)
        self._polls = _Polls(limits.partitions)
        self._evidence = _Evidence(CapacityRules(commit_seconds=limits.commit_seconds))
        self._slow = _Slow()
        self._memory = Memory()
        self._hours: dict[float, list[float]] = {}
        self._season: Season | None = None
        self._ages: list[tuple[float, float]] = []
        self.sizing: Sizing | None = None
        self.reason = ""

    @property
    def capacity(self) -> Capacity:
        """What one consumer can process, as far as it was seen."""
        return self._evidence.capacity

    def learn(self, seen: Observation) -> None:
        """Take in what was seen before: the lake's history."""
        blocked = np.zeros(len(seen.lag), dtype=np.bool_)
        self._evidence.add(seen, blocked)

    def learn_hours(self, starts: Floats, rates: Floats) -> None:
        """Take in the hourly arrival of the past, messages per second of all partitions."""
        for start, rate in zip(starts, rates, strict=True):
            self._hours[float(start)] = [float(rate)]

    def begin(self, at: float) -> None:
        """Begin to decide, with what was learnt."""
        self._evidence.estimate(at)

    def decide(self, seen: Observation, busy_ratio: Floats) -> int:
        """Return the consumers that there should be."""
        if len(seen.keys) != self._limits.partitions:
            self._restart(seen)
        self._polls.add(seen)
        at = self._polls.at
        if len(at) < 2:
            return seen.replicas
        blocked = self._blocked(seen)
        self._slow.look(seen, self._polls, self._evidence.capacity, blocked)
        if not self._slow.is_everybody:
            self._evidence.add(seen, blocked)
            self._evidence.estimate(seen.at)
        if seen.rebalancing or (seen.member < 0).all():
            return seen.replicas
        self.sizing = size(self._situation(seen, blocked))
        move = decide(
            self.sizing, self._memory, at=seen.at, current=seen.replicas, rules=self._rules
        )
        self._memory, self.reason = move.memory, move.reason
        return min(move.consumers, self._limits.maximum)

    def _restart(self, seen: Observation) -> None:
        """Begin anew with another number of partitions."""
        topics: dict[str, int] = {}
        for topic, _ in seen.keys:
            topics[topic] = topics.get(topic, 0) + 1
        self._limits = replace(self._limits, topics=topics)
        self._shape = Shape(tuple(sorted(topics.items())), self._limits.assignor)
        self._polls = _Polls(self._limits.partitions)

    def _situation(self, seen: Observation, blocked: Booleans) -> Situation:
        limits = self._limits
        lead = limits.startup_seconds + limits.pause_seconds + 30.0
        expected = demand(self._polls.at, self._polls.log_end, lead_seconds=lead)
        still = self._standing_still(seen) | blocked
        rate = self._slow.applied(self._evidence.capacity).low
        hopeless = hot_partitions(np.maximum(expected.now, expected.lasting), rate or np.inf)
        # A member with a hopeless partition is behind with its other partitions too.
        behind = np.isin(seen.member, seen.member[hopeless & (seen.member >= 0)])
        ages = seen.time_lag_seconds[~(still | behind)]
        age = float(np.nanmax(ages)) if len(ages) and not np.isnan(ages).all() else None
        return Situation(
            shape=self._shape,
            consumers=seen.replicas,
            arrival=expected.now,
            soon=expected.soon,
            lag=np.where(still | behind, 0.0, np.nan_to_num(seen.lag)),
            capacity=self._slow.applied(self._evidence.capacity),
            objective_seconds=limits.objective_seconds,
            slowed=self._slow.members,
            peak=self._expected_peak(seen, expected.now),
            lasting=expected.lasting,
            blocked=blocked,
            time_lag_seconds=age,
            is_growing=self._is_growing(seen.at, age),
            is_on_trial=self._is_on_trial(seen.at),
            startup_seconds=limits.startup_seconds,
            pause_seconds=limits.pause_seconds,
            commit_seconds=limits.commit_seconds,
            deadline_seconds=self._deadline(age),
        )

    def _blocked(self, seen: Observation) -> Booleans:
        committed = self._polls.committed[-_BLOCKED_POLLS - 1 :]
        log_end = self._polls.log_end[-_BLOCKED_POLLS - 1 :]
        return blocked_partitions(committed, log_end, seen.member, polls=_BLOCKED_POLLS)

    def _standing_still(self, seen: Observation) -> Booleans:
        """Tell which partitions may be blocked: not certain yet, but no reason to hurry."""
        committed, log_end = self._polls.committed[-2:], self._polls.log_end[-2:]
        return blocked_partitions(committed, log_end, seen.member, polls=1)

    def _deadline(self, age: float | None) -> float | None:
        keeps = self._limits.retention_seconds
        if keeps is None or age is None or age < _RETENTION_USED * keeps:
            return None
        return max(0.0, keeps - age)

    def _is_growing(self, at: float, age: float | None) -> bool:
        self._ages = [*(one for one in self._ages if one[0] >= at - 60.0), (at, age or 0.0)]
        return (age or 0.0) > self._ages[0][1]

    def _is_on_trial(self, at: float) -> bool:
        changes = self._memory.changes
        return (
            bool(changes) and changes[-1][1] < 0 and at - changes[-1][0] < self._rules.trial_seconds
        )

    def _expected_peak(self, seen: Observation, now: Floats) -> Floats | None:
        """Return the season's peak within the next hour, by partition."""
        hour = seen.at // HOUR_SECONDS * HOUR_SECONDS
        total = float(now.sum())
        if hour not in self._hours or self._season is None:
            starts = np.array(list(self._hours))
            rates = np.array([sum(of) / len(of) for of in self._hours.values()])
            self._season = season(starts, rates, now=seen.at)
        self._hours.setdefault(hour, []).append(total)
        high = peak_ahead(self._season, at=seen.at, horizon_seconds=HOUR_SECONDS, now=total)
        if high is None or total <= 0:
            return None
        peak: Floats = now * (high / total)
        return peak


class _Slow:
    """Members that were found to be slow, until they prove to be faster or are tried again.

    A slow member that gets less to do no longer shows what it can. The mark is therefore dropped
    after a while, and if that was wrong, the next time after twice as long.
    """

    _FIRST_SECONDS = 1800.0
    _LONGEST_SECONDS = 4 * 3600.0

    def __init__(self) -> None:
        self.members: dict[int, float] = {}
        self._everybody: float | None = None
        self._patience = self._FIRST_SECONDS
        self._seen_at = float("-inf")
        self._dropped_at = float("-inf")
        self._assigned_at = float("-inf")
        self._member = np.empty(0, dtype=np.int64)

    @property
    def is_everybody(self) -> bool:
        """Whether not single members but all of them are slow."""
        return self._everybody is not None

    @property
    def is_marked(self) -> bool:
        """Whether anybody is slow."""
        return bool(self.members) or self.is_everybody

    def applied(self, capacity: Capacity) -> Capacity:
        """Return the capacity as it is now."""
        if self._everybody is None:
            return capacity
        return replace(capacity, low=self._everybody, per_second=self._everybody)

    def look(self, seen: Observation, polls: _Polls, capacity: Capacity, blocked: Booleans) -> None:
        """Find slow members, and drop what is no longer so."""
        if seen.rebalancing or not np.array_equal(seen.member, self._member):
            self._member, self._assigned_at = seen.member, seen.at
            return
        if self.is_marked and seen.at - self._seen_at > self._patience:
            self.members, self._everybody = {}, None
            self._dropped_at = seen.at
        since = int(np.searchsorted(polls.at, self._assigned_at))
        member = np.where(blocked, -1, seen.member)
        found = slowdown(
            polls.at[since:], polls.log_end[since:], polls.committed[since:], member, capacity
        )
        for number in found.busy:
            if number in self.members and number not in found.members:
                del self.members[number]
        if not found.members and found.everybody is None:
            return
        if not self.is_marked:
            again = seen.at - self._dropped_at < self._patience
            longer = min(2 * self._patience, self._LONGEST_SECONDS)
            self._patience = longer if again else self._FIRST_SECONDS
        self._seen_at = seen.at
        self.members = {**self.members, **found.members}
        if found.everybody is not None:
            self._everybody = found.everybody
