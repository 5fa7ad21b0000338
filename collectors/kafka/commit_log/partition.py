"""What one partition of ``__consumer_offsets`` tells: the last commit of each key, and how often.

Read to the high watermark, open transactions included, as the group coordinator itself does when
it loads: what a transaction commits counts once its end marker says so, what it aborts never does.
The result is what a read_committed reader sees, but an open transaction does not hold back the
commits of other groups behind it.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from collectors.kafka.commit_log.rebalances import GroupHistory
from collectors.kafka.commit_log.records import (
    MALFORMED,
    Commits,
    decode_key,
    ends_in_commit,
    read_commits,
)
from collectors.kafka.protocol.fetch.record_batches import CorruptBatchError, read_batches

WINDOW_SECONDS = 300.0
"""Over how long commits are counted."""

SHORTEST_WINDOW_SECONDS = 30.0
"""Below that, no rate is reported."""

MARK_EVERY_SECONDS = 30.0

COMMITS_SCHEMA = pl.Schema(
    {
        "group": pl.String(),
        "topic": pl.String(),
        "partition": pl.Int32(),
        "committed_at": pl.Datetime("us", "UTC"),
        "commits_per_second": pl.Float64(),
        "log_committed": pl.Int64(),
    }
)
_NAMES_SCHEMA = {"group": pl.String(), "topic": pl.String(), "partition": pl.Int32()}
_LATEST_TIME = 253_402_300_799_999  # the end of the year 9999; beyond it no clock is right
_FIRST_SIZE = 64

_Longs = npt.NDArray[np.int64]
_Counts = npt.NDArray[np.int32]


class PartitionCommits:
    """The last commits of one partition. One thread feeds it, others may ask it.

    Each key has a slot in a few arrays. Commits are counted up to moments at which the partition
    was read to its end (marks), so that a rate is the exact number of commits between two exact
    moments, whatever the clocks of the brokers say.

    Attributes:
        position: The offset to be read next; None before the log's start is known.
        groups: The generations of the groups whose commits these are.
        leader_epoch: Epoch of the last batch; -1 before the first.
        ended_at: When it was last read to its end (monotonic seconds); None before that.
    """

    def __init__(self, index: int) -> None:
        self.where = f"__consumer_offsets partition {index}"
        self.position: int | None = None
        self.leader_epoch = -1
        self.commits_read = 0
        self.groups = GroupHistory()
        self.ended_at: float | None = None
        self._fed_at = 0.0
        self._lock = threading.Lock()
        self._forget_all()

    def __len__(self) -> int:
        return len(self._slots)

    def restart(self) -> None:
        """Forget everything: the log is not the one that was read, and is read anew."""
        with self._lock:
            self.position = None
            self.leader_epoch = -1
            self.ended_at = None
            self._forget_all()

    def feed(self, data: bytes, at: float) -> None:
        """Take over records from the position on, and move the position behind them.

        Raises:
            CorruptBatchError: A batch is not understood. What was known before it is forgotten,
                since it may be outdated. The position is behind it, or has not moved over it where
                its end is not known.
        """
        assert self.position is not None  # noqa: S101 (the caller has found the log's start)
        self._fed_at = at
        plain = Commits()
        try:
            for batch in read_batches(data, self.position, self.where):
                try:
                    if batch.control:
                        self._apply(plain)
                        plain = Commits()
                        self._end_transaction(batch.producer_id, ends_in_commit(batch))
                    else:
                        commits = plain
                        if batch.producer_id is not None:
                            commits = self._open.setdefault(batch.producer_id, Commits())
                        before = len(commits.keys)
                        self.groups.take(read_commits(batch, commits))
                        self.commits_read += len(commits.keys) - before
                except MALFORMED as error:
                    raise CorruptBatchError(
                        self.where, batch.base_offset, str(error), batch.next_offset
                    ) from None
                self.position = batch.next_offset
                self.leader_epoch = batch.leader_epoch
            self._apply(plain)
        except CorruptBatchError as error:
            with self._lock:
                self._forget_all()
            if error.resume is not None:
                self.position = error.resume
            raise

    def reached_end(self, at: float) -> None:
        """Note that all records that existed at a moment have been fed."""
        with self._lock:
            self.ended_at = at
            if not self._marks or at - self._marks[-1][0] >= MARK_EVERY_SECONDS:
                self._marks.append((at, self._totals[: self._used].copy()))
                # One mark at or before the window's start stays.
                while len(self._marks) > 1 and self._marks[1][0] <= at - WINDOW_SECONDS:
                    self._marks.popleft()
            self._named()  # here, since a poll has less time

    def frame(self) -> pl.DataFrame:
        """Return the last commit of each key (``COMMITS_SCHEMA``); nothing before the first end.

        ``commits_per_second`` counts from the window's start, or from when the partition or the
        key was first seen, to when the partition was last read to its end; null where that is
        shorter than ``SHORTEST_WINDOW_SECONDS``.
        """
        with self._lock:
            if self.ended_at is None or not self._slots:
                return pl.DataFrame(schema=COMMITS_SCHEMA)
            names = self._named()
            slots = names["slot"].to_numpy()
            times, offsets = self._times[slots], self._offsets[slots]
            rates = self._rates(slots, self.ended_at)
        wrong = (times < 0) | (times > _LATEST_TIME)
        micros = pl.Series(np.where(wrong, 0, times) * 1000)
        if wrong.any():
            micros = micros.set(pl.Series(wrong), None)
        return names.select("group", "topic", "partition").with_columns(
            micros.cast(pl.Datetime("us", "UTC")).alias("committed_at"),
            pl.Series("commits_per_second", rates, nan_to_null=True),
            pl.Series("log_committed", offsets),
        )

    def _forget_all(self) -> None:
        self.groups.forget()
        self._slots: dict[bytes, int] = {}
        self._free: list[int] = []
        self._used = 0
        self._groups: list[str] = []
        self._topics: list[str] = []
        self._partitions: list[int] = []
        self._offsets: _Longs = np.zeros(_FIRST_SIZE, np.int64)
        self._times: _Longs = np.zeros(_FIRST_SIZE, np.int64)
        self._log_offsets: _Longs = np.zeros(_FIRST_SIZE, np.int64)
        self._totals: _Counts = np.zeros(_FIRST_SIZE, np.int32)
        self._since = np.zeros(_FIRST_SIZE, np.float64)
        self._names: pl.DataFrame | None = None
        self._open: dict[int, Commits] = {}
        self._marks: deque[tuple[float, _Counts]] = deque()
        if self.ended_at is not None:  # rates begin anew where a part of the log was lost
            self._marks.append((self.ended_at, np.zeros(0, np.int32)))

    def _end_transaction(self, producer_id: int | None, committed: bool) -> None:
        commits = self._open.pop(producer_id, None) if producer_id is not None else None
        if commits is not None and committed:
            self._apply(commits)

    def _apply(self, commits: Commits) -> None:
        if not commits.keys:
            return
        with self._lock:
            start = 0
            for deletion in commits.deletions:
                self._apply_range(commits, start, deletion)
                self._delete(commits.keys[deletion], commits.log_offsets[deletion])
                start = deletion + 1
            self._apply_range(commits, start, len(commits.keys))

    def _apply_range(self, commits: Commits, start: int, end: int) -> None:
        if start == end:
            return
        keys, log_offsets = commits.keys[start:end], commits.log_offsets[start:end]
        found = list(map(self._slots.get, keys))
        if None in found:
            self._add_keys(keys, found, log_offsets)
        slots = np.array(found, np.intp)
        log = np.array(log_offsets, np.int64)
        offsets = np.array(commits.offsets[start:end], np.int64)
        times = np.array(commits.times[start:end], np.int64)
        np.add.at(self._totals, slots, np.int32(1))
        # A transaction that ends late does not undo a commit that came after its own in the log.
        newer = log >= self._log_offsets[slots]
        if not newer.all():
            slots, log, offsets, times = slots[newer], log[newer], offsets[newer], times[newer]
        # Of several values for one slot, NumPy keeps the last.
        self._log_offsets[slots] = log
        self._offsets[slots] = offsets
        self._times[slots] = times

    def _add_keys(
        self, keys: Sequence[bytes], found: list[int | None], log_offsets: Sequence[int]
    ) -> None:
        """Give slots to the keys that have none."""
        first, reused = self._used, []
        known: bytes | None = None
        for place, key in enumerate(keys):
            if found[place] is not None:
                continue
            slot = self._slots.get(key)
            if slot is not None:  # twice among the new ones
                found[place] = slot
                continue
            if key[:-4] != known:  # the keys of a group and a topic mostly come together
                try:
                    group, topic, _ = decode_key(key)
                except MALFORMED as error:
                    at = log_offsets[place]
                    raise CorruptBatchError(self.where, at, str(error), self.position) from None
                group, topic = sys.intern(group), sys.intern(topic)
                known = key[:-4]
            partition = int.from_bytes(key[-4:], "big", signed=True)
            if self._free:
                slot = self._free.pop()
                reused.append(slot)
                self._groups[slot], self._topics[slot] = group, topic
                self._partitions[slot] = partition
            else:
                slot = self._used
                self._used += 1
                self._groups.append(group)
                self._topics.append(topic)
                self._partitions.append(partition)
            found[place] = self._slots[key] = slot
        while self._used > len(self._times):
            self._grow()
        self._names = None
        # A key that was there before the first mark counts from there; another one from its first
        # commit, which begins the interval and is not counted in it.
        new = np.array([*reused, *range(first, self._used)], np.intp)
        self._since[new] = -np.inf if self.ended_at is None else self._fed_at
        self._totals[new] = 0 if self.ended_at is None else -1
        self._log_offsets[new] = -1

    def _grow(self) -> None:
        more = len(self._times)
        self._offsets, self._times, self._log_offsets = (
            np.concatenate((each, np.zeros(more, np.int64)))
            for each in (self._offsets, self._times, self._log_offsets)
        )
        self._totals = np.concatenate((self._totals, np.zeros(more, np.int32)))
        self._since = np.concatenate((self._since, np.zeros(more, np.float64)))

    def _delete(self, key: bytes, log_offset: int) -> None:
        for producer_id, commits in self._open.items():
            if key in commits.keys:
                self._open[producer_id] = commits.without(key, log_offset)
        slot = self._slots.get(key)
        if slot is not None and self._log_offsets[slot] <= log_offset:
            del self._slots[key]
            self._free.append(slot)
            self._names = None

    def _named(self) -> pl.DataFrame:
        """Return group, topic, partition and slot of each key; made anew when the keys changed."""
        if self._names is None:
            slots = np.fromiter(self._slots.values(), np.uint32, len(self._slots))
            self._names = pl.DataFrame(
                [self._groups, self._topics, self._partitions],
                schema=_NAMES_SCHEMA,
            )[slots].with_columns(pl.Series("slot", slots))
        return self._names

    def _rates(self, slots: npt.NDArray[np.uint32], until: float) -> npt.NDArray[np.float64]:
        mark_at, mark = self._marks[0]
        before = np.zeros(self._used, np.int32)
        before[: len(mark)] = mark
        since = self._since[slots]
        later = since > mark_at  # the slot's key is younger than the mark
        counted = self._totals[slots] - np.where(later, 0, before[slots])
        elapsed = until - np.where(later, since, mark_at)
        enough = elapsed >= SHORTEST_WINDOW_SECONDS
        return np.where(enough, counted / np.where(enough, elapsed, 1.0), np.nan)
