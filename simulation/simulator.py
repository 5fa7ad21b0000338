"""The simulation: queues a partition, consumers that work them off, and what one sees of both.

    simulation = Simulation(workload, seed=7)
    while simulation.now < end:
        simulation.run_until(simulation.now + 15)
        seen = simulation.observe()          # what collectors see: for policies and alerts
        simulation.scale(decide(seen))
    simulation.truth()                       # what really happened: for scoring only

It advances in small steps (one second by default), many at once; see ``queues``. Chunks
of steps end where something happens: an event, a member that joins or leaves, the end of a pause,
a deletion by retention, the end that the caller asked for.

Messages are whole when they arrive; a consumer may be in the middle of one. Observed offsets are
whole, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import ceil, inf
from typing import Literal

import numpy as np

from simulation.arrivals import Arrivals
from simulation.ends import begin
from simulation.group import NOBODY, Group
from simulation.model import Booleans, Floats, GroupObservation, SimulationOutcome, Steps, Workload
from simulation.model import partition_keys as keys_of
from simulation.queues import Serving, work
from simulation.service import Service

_ROUNDING = 1e-6
_LONGEST_CHUNK = 256
_PHASE = 7919  # a prime: neighbouring slots commit at different times


class Simulation:
    """One run of a workload."""

    def __init__(
        self,
        workload: Workload,
        seed: int,
        *,
        consumers: int | None = None,
        step_seconds: float = 1.0,
        on_steps: Callable[[Steps], None] | None = None,
    ) -> None:
        """Begin.

        Args:
            workload: What is simulated.
            seed: Of everything that is random.
            consumers: Consumers at the start, where not the workload's.
            step_seconds: Length of a step; commits, pauses and starts are rounded up to steps.
            on_steps: Told of all steps, some at a time; quicker than to observe each.
        """
        if consumers is not None:
            workload = replace(workload, consumers=replace(workload.consumers, count=consumers))
        self.workload = workload
        self._step = step_seconds
        self._on_steps = on_steps
        self._index = 0
        self._arrivals = Arrivals(workload, seed, step_seconds)
        self._service = Service(workload.consumers, seed, step_seconds)
        self._group = Group(workload.consumers, dict(workload.topics), self.now)
        self._keys = workload.keys
        count = workload.partitions
        self._ends = begin(workload.backlog, count, workload.starts_at, step_seconds)
        self._starts: Floats = np.zeros(count)
        self._position: Floats = np.zeros(count)
        self._committed: Floats = np.zeros(count)
        self._frozen: Booleans = np.zeros(count, dtype=np.bool_)
        self._serving = Serving.of(self._group.serving(self.now))
        self._commit_steps = max(1, round(workload.consumers.commit_seconds / step_seconds))
        self._events = sorted(workload.events, key=lambda event: event.at)
        self._retention_at = workload.starts_at
        self._truth = SimulationOutcome()
        self._processed = np.zeros(workload.consumers.maximum)
        self._possible = np.zeros(workload.consumers.maximum)

    # --- time

    @property
    def now(self) -> float:
        """Simulated time, seconds."""
        return self.workload.starts_at + self._index * self._step

    def step(self) -> None:
        """Advance one step."""
        self._run_to(self._index + 1)

    def run_until(self, time: float) -> None:
        """Advance to a time; nothing happens where that has passed."""
        self._run_to(ceil(round((time - self.workload.starts_at) / self._step, 6)))

    def _run_to(self, target: int) -> None:
        while self._index < target:
            self._happen()
            until = min(self._next_change(), target)
            self._advance(max(1, min(until - self._index, _LONGEST_CHUNK)))
        self._happen()

    def _next_change(self) -> int:
        soonest = min(
            self._events[0].at if self._events else inf,
            self._group.next_change(self.now),
            self._retention_at if self.workload.retention_seconds is not None else inf,
        )
        if soonest == inf:
            return self._index + _LONGEST_CHUNK
        return ceil(round((soonest - self.workload.starts_at) / self._step, 6))

    def _happen(self) -> None:
        """Let what is due now happen: deletions, events, members that come and go."""
        now = self.now + _ROUNDING
        if self.workload.retention_seconds is not None and self._retention_at <= now:
            self._delete_old(self.workload.retention_seconds)
            self._retention_at += self.workload.retention_check_seconds
        while self._events and self._events[0].at <= now:
            self._events.pop(0).action(self)
        stopped = self._group.settle(now)
        if stopped is not None:
            # Those that give partitions back, or stop for a rebalance, commit before.
            self._committed = np.where(stopped, self._position, self._committed)

    # --- what happens in steps

    def _advance(self, limit: int) -> None:
        arrived = self._arrivals.steps(self._index, limit)
        slots = self._group.serving(self.now + _ROUNDING)
        slots[self._frozen] = NOBODY
        if not np.array_equal(slots, self._serving.slots):
            self._serving = Serving.of(slots)
        working = self._serving.working
        capacity = self._service.steps(self._index, len(arrived), working)
        arrived = arrived[: len(capacity)]
        before = self._ends.last - self._position
        found = work(before, arrived, capacity, self._serving)
        self._truth.consumed += float(found.done.sum())
        self._processed[working] += found.done
        self._possible[working] += capacity.sum(axis=0)
        waiting = found.waiting
        ends = self._ends.last + arrived.cumsum(axis=0)
        positions = ends - waiting
        steps = len(arrived)
        times: Floats = self.now + np.arange(1, steps + 1, dtype=np.float64) * self._step
        needed = np.minimum(self._position, self._committed)
        self._ends.append(ends, needed, self.workload.retention_seconds)
        self._commit(positions)
        ages = self._ages(arrived, waiting, positions, times)
        self._score(arrived, ages, seconds=steps * self._step)
        if self._on_steps is not None:
            members = self._group.members
            self._on_steps(
                Steps(
                    times=times,
                    arrived=arrived,
                    log_end=ends,
                    position=positions,
                    age_seconds=ages,
                    members=members,
                )
            )
        self._position = positions[-1]
        self._index += steps

    def _commit(self, positions: Floats) -> None:
        """Each member commits at its own phase of the interval, if it holds the partition."""
        owner, last = self._group.owner, self._index + len(positions)
        holds = self._frozen | (self._serving.slots != NOBODY)
        phase = np.maximum(owner, 0) * _PHASE % self._commit_steps
        # How many of these steps were taken when it was last this partition's turn.
        turn = len(positions) - (last + phase) % self._commit_steps
        due = np.flatnonzero(holds & (owner != NOBODY) & (turn > 0))
        self._committed[due] = positions[turn[due] - 1, due]

    def _ages(self, arrived: Floats, waiting: Floats, positions: Floats, times: Floats) -> Floats:
        """Return the age of the oldest unread message after each step."""
        ages = np.zeros_like(waiting)
        # Where no more waits than has just arrived, nothing is older than the step.
        late = np.flatnonzero((waiting - arrived).max(axis=0) > _ROUNDING)
        if len(late):
            found = self._ends.ages(late, positions[:, late], times)
            ages[:, late] = np.where(waiting[:, late] > _ROUNDING, found, 0.0)
        return ages

    def _score(self, arrived: Floats, ages: Floats, *, seconds: float) -> None:
        truth, age = self._truth, ages.max(axis=1)
        truth.seconds += seconds
        truth.consumer_seconds += self._group.replicas * seconds
        truth.arrived += float(arrived.sum())
        late = float((age > self.workload.objective_seconds).sum())
        truth.violation_seconds += late * self._step
        truth.worst_time_lag_seconds = max(truth.worst_time_lag_seconds, float(age.max()))
        truth.time_lag_seconds = float(age[-1])

    def _delete_old(self, retention_seconds: float) -> None:
        kept_from = self._ends.at(self.now - retention_seconds)
        if kept_from is None:
            return
        self._starts = np.maximum(self._starts, kept_from)
        gone = np.maximum(self._starts - self._position, 0.0)
        self._truth.lost += float(gone.sum())
        self._position = self._position + gone

    # --- what is seen

    def observe(self) -> GroupObservation:
        """Return what collectors see now."""
        ends, now = self._ends.last.copy(), self.now
        committed = np.floor(self._committed + _ROUNDING)
        unread = np.maximum(committed, self._starts)
        age = np.where(np.isnan(committed), np.nan, 0.0)
        late = np.flatnonzero(committed < ends)
        age[late] = self._ends.ages(late, unread[None, late], np.array([now]))[0]
        return GroupObservation(
            at=now,
            keys=self._keys,
            log_start=self._starts.copy(),
            log_end=ends,
            committed=committed,
            member=self._group.assigned(now + _ROUNDING),
            time_lag_seconds=age,
            members=self._group.members,
            state=self._group.state(now + _ROUNDING),
            replicas=self._group.replicas,
        )

    @property
    def working_members(self) -> tuple[int, ...]:
        """Slots of the members that are there and well."""
        return self._group.working

    def busy_ratio(self) -> Floats:
        """Return the share of time in which each working member worked, since the last call.

        Only instruments inside the consumers tell that (CPU, "useful time"); collectors do not.
        """
        slots = np.flatnonzero(self._possible > 0)
        ratio: Floats = self._processed[slots] / self._possible[slots]
        self._processed[:] = 0.0
        self._possible[:] = 0.0
        return ratio

    def truth(self) -> SimulationOutcome:
        """Return what really happened so far."""
        return replace(
            self._truth,
            rebalances=self._group.rebalances,
            waiting=self._ends.last - self._position,
        )

    # --- what may be done to it, by a policy (scale) or an event (everything)

    def scale(self, count: int) -> None:
        """Ask for a number of consumers."""
        if self._group.scale(count, self.now):
            self._truth.rescales += 1

    def lose_member(self, slot: int, *, back_after_seconds: float | None = None) -> None:
        """Let a member vanish: what it has not committed is processed again by another.

        Args:
            slot: Which one.
            back_after_seconds: When another takes its place; None: nobody does.

        Raises:
            ValueError: The slot has no member.
        """
        held = self._group.lose(slot, self.now, back_after_seconds=back_after_seconds)
        self._move(np.where(held, np.fmin(self._committed, self._position), self._position))

    def restart_member(self, slot: int, *, back_after_seconds: float) -> None:
        """Let a member leave in order and come back.

        Raises:
            ValueError: The slot has no member.
        """
        self._group.restart(slot, self.now, back_after_seconds=back_after_seconds)

    def rebalance(self) -> None:
        """Share out partitions anew; stops the group where its assignor does."""
        self._group.require_rebalance()

    def set_capacity(self, factor: float) -> None:
        """Multiply the rate of every consumer, from now on, against the workload's."""
        self._service.factor = factor

    def set_member_capacity(self, slot: int, factor: float) -> None:
        """Multiply the rate of the consumer in one slot, from now on, against the workload's."""
        self._service.member_factor[slot] = factor

    def freeze(self, *partitions: int) -> None:
        """Let partitions stand still, as behind a message that cannot be processed."""
        self._frozen[list(partitions)] = True

    def thaw(self, *partitions: int) -> None:
        """Let frozen partitions go on."""
        self._frozen[list(partitions)] = False

    def reset_offsets(
        self, to: Literal["earliest", "latest"] | float, partitions: Iterable[int] | None = None
    ) -> None:
        """Set committed offsets and positions, as ``kafka-consumer-groups --reset-offsets`` does.

        Args:
            to: Where; a number is an offset, brought within the log.
            partitions: Which ones; None: all.
        """
        where = list(range(len(self._position)) if partitions is None else partitions)
        ends = self._ends.last
        targets = {"earliest": self._starts, "latest": ends}
        wanted = targets[to] if isinstance(to, str) else np.full(len(ends), float(to))
        moved = self._position.copy()
        moved[where] = np.clip(wanted, self._starts, ends)[where]
        self._move(moved)
        self._committed[where] = moved[where]

    def forget_offsets(self) -> None:
        """Let the group's committed offsets be gone, as when they expired or were deleted."""
        self._committed[:] = np.nan

    def cut_log(self, messages: float, partitions: Iterable[int] | None = None) -> None:
        """Take the newest messages away, as an unclean election of a leader does."""
        where = np.zeros(len(self._position), dtype=np.bool_)
        where[list(range(len(where)) if partitions is None else partitions)] = True
        ends = self._ends.last
        shorter = np.where(where, np.maximum(ends - messages, self._starts), ends)
        self._take_away(where, shorter)

    def recreate_topics(self) -> None:
        """Delete the topics and make them anew: offsets begin at 0, old commits stay a while."""
        everywhere = np.ones(len(self._position), dtype=np.bool_)
        self._starts[:] = 0.0
        self._take_away(everywhere, np.zeros(len(self._position)))

    def add_partitions(self, count: int) -> None:
        """Raise the only topic's number of partitions; what waits stays where it is.

        Raises:
            ValueError: There are several topics, or as many partitions already.
        """
        (topic,) = self._group.topics
        more = count - len(self._position)
        if more < 1:
            raise ValueError(f"there are {len(self._position)} partitions already")
        self._group.grow({topic: count}, self.now)
        self._keys = keys_of(self._group.topics)
        self._ends.grow(count)
        self._arrivals.grow(count)
        zeros = np.zeros(more)
        self._starts = np.append(self._starts, zeros)
        self._position = np.append(self._position, zeros)
        self._committed = np.append(self._committed, zeros)
        self._frozen = np.append(self._frozen, zeros.astype(np.bool_))

    def _take_away(self, where: Booleans, ends: Floats) -> None:
        gone = np.maximum(self._ends.last - np.maximum(self._position, ends), 0.0)
        self._truth.lost += float(gone.sum())
        self._ends.cut(where, ends)
        self._position = np.minimum(self._position, ends)

    def _move(self, position: Floats) -> None:
        """Continue from other offsets: processed messages wait again, skipped ones are lost."""
        back = np.maximum(self._position - position, 0.0)
        skipped = np.maximum(position - self._position, 0.0)
        self._truth.consumed -= float(back.sum())
        self._truth.lost += float(skipped.sum())
        self._position = position
