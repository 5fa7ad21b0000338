"""When each message arrived: the history of log ends."""

from __future__ import annotations

import numpy as np

from simulation.model import Backlog, Booleans, Floats, Integers

_FIRST_CAPACITY = 4096


class Ends:
    """Log end of each partition at each step, from which the age of any message follows.

    Messages of one step carry the time of the step's end.
    """

    def __init__(self, starts_at: float, step_seconds: float, backlog: Floats, age: Floats) -> None:
        """Begin with a backlog that arrived evenly within ``age`` seconds."""
        self._step = step_seconds
        before = int(np.ceil(age.max(initial=0.0) / step_seconds))
        self._size = before + 1
        self._first_at = starts_at - before * step_seconds
        capacity = max(_FIRST_CAPACITY, 2 * self._size)
        self._ends: Floats = np.zeros((len(backlog), capacity))
        if before:
            seconds_ago = np.arange(before, -1, -1) * step_seconds
            share = np.ones((len(backlog), self._size))
            aged = age > 0
            # The oldest message arrived ``age`` ago: nothing was there a step before that.
            spread = np.maximum(np.floor(age[aged] / step_seconds), 1.0)[:, None]
            share[aged] = np.clip(1.0 - (seconds_ago / step_seconds)[None, :] / (spread + 1), 0, 1)
            share[~aged, :-1] = 0.0
            self._ends[:, : self._size] = np.ceil(share * backlog[:, None])
        self._ends[:, self._size - 1] = backlog

    @property
    def last(self) -> Floats:
        """The present log ends."""
        last: Floats = self._ends[:, self._size - 1]
        return last

    def append(self, rows: Floats, needed: Floats, retention_seconds: float | None) -> None:
        """Add the ends of some steps, of shape (steps, partitions).

        Args:
            rows: The ends.
            needed: The lowest offset of each partition whose age may still be asked for.
            retention_seconds: How far back ``at`` may be asked; None: not at all.
        """
        steps = len(rows)
        if self._size + steps > self._ends.shape[1]:
            self._make_room(steps, needed, retention_seconds)
        self._ends[:, self._size : self._size + steps] = rows.T
        self._size += steps

    def ages(self, partitions: Integers, offsets: Floats, times: Floats) -> Floats:
        """Return how old the messages at some offsets are at some times.

        Args:
            partitions: Which partitions.
            offsets: Offsets of shape (times, partitions); of each partition they never decrease.
            times: Times, seconds.

        Returns:
            Ages in seconds, of the same shape; 0 where a message is yet to come.
        """
        index = np.empty(offsets.shape)
        for column, partition in enumerate(partitions):
            known = self._ends[partition, : self._size]
            index[:, column] = known.searchsorted(offsets[:, column], side="right")
        ages: Floats = np.maximum(times[:, None] - (self._first_at + index * self._step), 0.0)
        return ages

    def at(self, time: float) -> Floats | None:
        """Return the ends at a time; None where that is before the first that is known."""
        index = int(np.floor((time - self._first_at) / self._step + 1e-9))
        if index < 0:
            return None
        ends: Floats = self._ends[:, min(index, self._size - 1)].copy()
        return ends

    def cut(self, where: Booleans, to: Floats) -> None:
        """Let logs end earlier than they did: records lost, or a topic made anew."""
        history = self._ends[where, : self._size]
        self._ends[where, : self._size] = np.minimum(history, to[where, None])

    def grow(self, partitions: int) -> None:
        """Add empty partitions."""
        more = np.zeros((partitions - len(self._ends), self._ends.shape[1]))
        self._ends = np.vstack([self._ends, more])

    def _make_room(self, steps: int, needed: Floats, retention_seconds: float | None) -> None:
        """Forget what is older than any message that is asked for, or double the room."""
        size = self._size
        first = size - 1
        for partition, offset in enumerate(needed):
            history = self._ends[partition, :size]
            first = min(first, int(np.searchsorted(history, offset, side="right")) - 1)
        if retention_seconds is not None:
            first = min(first, size - 2 - int(np.ceil(retention_seconds / self._step)))
        first = max(first, 0)
        kept = self._ends[:, first:size]
        capacity = max(self._ends.shape[1], 2 * (kept.shape[1] + steps))
        ends = np.zeros((len(self._ends), capacity))
        ends[:, : kept.shape[1]] = kept
        self._ends, self._size = ends, kept.shape[1]
        self._first_at += first * self._step


def begin(backlog: Backlog | None, partitions: int, starts_at: float, step_seconds: float) -> Ends:
    """Return the history that a simulation begins with."""
    if backlog is None:
        nothing = np.zeros(partitions)
        return Ends(starts_at, step_seconds, nothing, nothing)
    messages = np.asarray(np.floor(backlog.messages), dtype=np.float64)
    return Ends(starts_at, step_seconds, messages, np.where(messages > 0, backlog.age_seconds, 0.0))
