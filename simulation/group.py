"""A group's members: who starts, joins, leaves or vanishes, and who holds which partition."""

from __future__ import annotations

import numpy as np

from simulation.assignors import TopicPartition, reassign
from simulation.model import Booleans, Consumers, Integers, partition_keys

NOBODY = -1


class Group:
    """Members and assignment of a group over time.

    A member is a slot, from 0. It starts (asked for, not yet there), is joined, or has vanished
    (crashed: still a member for the group until its session ends, but it does nothing).
    """

    def __init__(self, consumers: Consumers, topics: dict[str, int], now: float) -> None:
        """Begin with all consumers joined and partitions shared out."""
        self.consumers = consumers
        self.topics = topics
        self.replicas = 0
        self.rebalances = 0
        self._starting: dict[int, float] = {}  # slot -> when it joins
        self._joined: set[int] = set()
        self._vanished: dict[int, float] = {}  # slot -> when its session ends
        self._must_rebalance = False
        self.owner: Integers = np.full(sum(topics.values()), NOBODY, dtype=np.int64)
        self.paused_until = np.full(len(self.owner), now)
        self._check(consumers.count)
        self.replicas = consumers.count
        self._joined = set(range(consumers.count))
        self._share_out(now)
        self.paused_until[:] = now
        self.rebalances = 0

    @property
    def members(self) -> int:
        """Members that the group's coordinator knows."""
        return len(self._joined) + len(self._vanished)

    @property
    def working(self) -> tuple[int, ...]:
        """Slots of the members that are there and well."""
        return tuple(sorted(self._joined))

    def next_change(self, now: float) -> float:
        """Return when something happens by itself; infinity: never."""
        paused = self.paused_until[self.paused_until > now]
        return min(
            min(self._starting.values(), default=np.inf),
            min(self._vanished.values(), default=np.inf),
            float(paused.min()) if len(paused) else np.inf,
        )

    def serving(self, now: float) -> Integers:
        """Return the slot that works on each partition now; -1: nobody."""
        owner: Integers = np.where(self.paused_until > now, NOBODY, self.owner)
        if self._vanished:
            owner[np.isin(owner, tuple(self._vanished))] = NOBODY
        return owner

    def scale(self, count: int, now: float) -> bool:
        """Ask for a number of consumers; return whether that is another one than before.

        New consumers take the lowest free slots and join after ``start_seconds``. Those in the
        highest slots leave first, in an orderly way.
        """
        self._check(count)
        if count == self.replicas:
            return False
        here = set(self._starting) | self._joined
        for slot in sorted(here, reverse=True)[: max(0, len(here) - count)]:
            if self._starting.pop(slot, None) is None:
                self._joined.discard(slot)
                self._must_rebalance = True
        free = (s for s in range(self.consumers.maximum) if s not in here | set(self._vanished))
        for _ in range(count - len(here)):
            self._starting[next(free)] = now + self.consumers.start_seconds
        self.replicas = count
        return True

    def lose(self, slot: int, now: float, *, back_after_seconds: float | None = None) -> Booleans:
        """Let a member vanish without a word, to be replaced after a time or not at all.

        Returns:
            Which partitions it held: what it had not committed is processed again.

        Raises:
            ValueError: The slot has no member.
        """
        if slot not in self._joined:
            raise ValueError(f"there is no member {slot}")
        self._joined.discard(slot)
        self._vanished[slot] = now + self.consumers.session_seconds
        if back_after_seconds is None:
            self.replicas -= 1
        else:
            taken = set(self._starting) | self._joined | set(self._vanished)
            free = min(set(range(self.consumers.maximum)) - taken)
            self._starting[free] = now + back_after_seconds
        held: Booleans = self.owner == slot
        return held

    def restart(self, slot: int, now: float, *, back_after_seconds: float) -> None:
        """Let a member leave in order and join again, as in a rolling restart.

        Raises:
            ValueError: The slot has no member.
        """
        if slot not in self._joined:
            raise ValueError(f"there is no member {slot}")
        self._joined.discard(slot)
        self._starting[slot] = now + back_after_seconds
        self._must_rebalance = True

    def grow(self, topics: dict[str, int], now: float) -> None:
        """Go on with more partitions in the one topic there is."""
        more = sum(topics.values()) - len(self.owner)
        self.topics = topics
        self.owner = np.append(self.owner, np.full(more, NOBODY, dtype=np.int64))
        self.paused_until = np.append(self.paused_until, np.full(more, now))
        self._must_rebalance = True

    def require_rebalance(self) -> None:
        """Share out partitions anew although nobody came or went."""
        self._must_rebalance = True

    def settle(self, now: float) -> Booleans | None:
        """Let what is due by now happen.

        Returns:
            Which partitions changed hands or were stopped by a rebalance, whose members commit
            what they have done; None where there was no rebalance.
        """
        for slot in [slot for slot, at in self._starting.items() if at <= now]:
            del self._starting[slot]
            self._joined.add(slot)
            self._must_rebalance = True
        for slot in [slot for slot, at in self._vanished.items() if at <= now]:
            del self._vanished[slot]
            self._must_rebalance = True
        if not self._must_rebalance:
            return None
        return self._share_out(now)

    def state(self, now: float) -> str:
        """Return the group's state as a broker tells it."""
        if not self.members:
            return "Empty"
        if (self.paused_until > now).any():
            return "PreparingRebalance" if self.consumers.eager else "Reconciling"
        return "Stable"

    def assigned(self, now: float) -> Integers:
        """Return the member that holds each partition, as a broker tells it; -1: nobody."""
        held: Integers = np.where(self.paused_until > now, NOBODY, self.owner)
        return held

    def _share_out(self, now: float) -> Booleans:
        self._must_rebalance = False
        self.rebalances += 1
        keys = partition_keys(self.topics)
        held: dict[TopicPartition, int] = {
            key: int(slot) for key, slot in zip(keys, self.owner, strict=True) if slot != NOBODY
        }
        members = sorted(self._joined | set(self._vanished))
        target = reassign(self.topics, self.consumers.assignor, members, held)
        owner = np.array([target.get(key, NOBODY) for key in keys], dtype=np.int64)
        stopped: Booleans = owner != self.owner
        if self.consumers.eager:
            stopped = np.ones(len(keys), dtype=np.bool_)
        self.owner = owner
        self.paused_until[stopped] = now + self.consumers.pause_seconds
        return stopped

    def _check(self, count: int) -> None:
        if not 0 <= count <= self.consumers.maximum:
            raise ValueError(f"{count} consumers: there may be 0 to {self.consumers.maximum}")
