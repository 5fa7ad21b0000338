"""What the members of a group did in intervals, and in which of them they never waited: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

INTERVAL_COLUMNS = (
    "member",
    "members",
    "started_at",
    "seconds",
    "consumed",
    "arrived",
    "lag_start",
    "lag_end",
    "throttled",
)
"""The columns of ``Intervals.of``; ``throttled`` may be absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRules:
    """What counts as evidence.

    Attributes:
        commit_seconds: The group's commit interval; Kafka's default of auto.commit.interval.ms.
        max_poll_records: Messages that a consumer may hold without having committed them.
        backlog_seconds: Backlog that a saturated member has at least, in seconds of its arrival:
            less may be a slow moment of a member that has time to spare, and picking slow moments
            would make the capacity look smaller than it is.
        minimum_commits: Commit intervals that an interval lasts at least.
        minimum_samples: Saturated intervals below which there is no figure.
        minimum_episodes: Episodes below which there is no figure.
        gap_seconds: A pause in saturation that ends an episode.
        widest_half_width: Half the interval's width, as a share of the figure, at most.
        sustained_seconds: Time over which the best rate of a member that waits is taken.
    """

    commit_seconds: float = 5.0
    max_poll_records: float = 500.0
    backlog_seconds: float = 30.0
    minimum_commits: float = 5.0
    minimum_samples: int = 8
    minimum_episodes: int = 2
    episode_seconds: float = 900.0
    gap_seconds: float = 300.0
    widest_half_width: float = 0.25
    sustained_seconds: float = 600.0


DEFAULT_CAPACITY_RULES = CapacityRules()

QUICK = 1.25
"""How much faster than usual a member may be over the minutes of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """What the members of one group did, one entry per member and interval, in columns.

    Attributes:
        members: Members of the group at that time, those without partitions included.
        started_at: Start, Unix seconds.
        seconds: Length, seconds.
        consumed: Messages committed, over the member's partitions.
        arrived: Messages that came, over the member's partitions.
        lag_start: Messages that waited at the start, over those of the member's partitions that
            advance (a blocked partition's backlog does not keep a member busy).
    """

    member: NDArray[np.str_]
    members: Integers
    started_at: Floats
    seconds: Floats
    consumed: Floats
    arrived: Floats
    lag_start: Floats
    lag_end: Floats
    throttled: Booleans

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Intervals:
        """Make intervals from columns: a Polars or Pandas frame, or lists by name.

        Args:
            columns: ``INTERVAL_COLUMNS``. A row in which a number is missing is left out.

        Raises:
            KeyError: A column is absent.
            ValueError: The columns differ in length.
        """
        numbers = {
            name: np.asarray(columns[name], dtype=np.float64) for name in INTERVAL_COLUMNS[1:-1]
        }
        member = np.asarray(columns["member"]).astype(np.str_)
        has_throttled = "throttled" in tuple(columns)
        throttled = (
            np.asarray(columns["throttled"]).astype(np.bool_)
            if has_throttled
            else np.zeros(member.shape, dtype=np.bool_)
        )
        if len({len(member), len(throttled), *(len(one) for one in numbers.values())}) != 1:
            raise ValueError("the columns of intervals differ in length")
        known = np.all([np.isfinite(one) for one in numbers.values()], axis=0)
        known &= (numbers["seconds"] > 0) & (numbers["consumed"] >= 0)
        kept = {name: one[known] for name, one in numbers.items()}
        return cls(
            member=member[known],
            members=kept.pop("members").astype(np.int64),
            throttled=throttled[known],
            **kept,
        )

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.member)

    def where(self, mask: Booleans) -> Intervals:
        """Return the entries that a mask picks."""
        return Intervals(
            member=self.member[mask],
            members=self.members[mask],
            started_at=self.started_at[mask],
            seconds=self.seconds[mask],
            consumed=self.consumed[mask],
            arrived=self.arrived[mask],
            lag_start=self.lag_start[mask],
            lag_end=self.lag_end[mask],
            throttled=self.throttled[mask],
        )


def saturated(intervals: Intervals, rules: CapacityRules = DEFAULT_CAPACITY_RULES) -> Booleans:
    """Return which entries show a member that never waited.

    Its backlog exceeds, at both ends, what it may hold uncommitted: the larger of max.poll.records
    and what arrives in two commit intervals (or in ``rules.backlog_seconds``). The interval lasts
    five commit intervals, since the committed offset moves in steps, and no quota slowed it.
    """
    arrival = intervals.arrived / intervals.seconds
    least = np.maximum(
        rules.max_poll_records,
        arrival * max(2 * rules.commit_seconds, rules.backlog_seconds),
    )
    mask: Booleans = (
        (intervals.seconds >= rules.minimum_commits * rules.commit_seconds)
        & (np.minimum(intervals.lag_start, intervals.lag_end) >= least)
        & ~intervals.throttled
    )
    return mask


def foreseeable(full: Intervals, rate: float) -> Booleans:
    """Return which saturated entries were sure to be saturated when their run of them began.

    A run ends when the member's backlog is gone: early if the member was quick, late if it was
    slow, so that counting all of it counts slow moments too often. A run therefore counts for as
    long only as its first backlog lasts a member that is ``QUICK`` times as fast as usual, which is
    known when it begins and does not depend on what is measured.

    Args:
        full: Saturated entries.
        rate: What a member processes about, messages per second.
    """
    names = np.unique(full.member, return_inverse=True)[1]
    order = np.lexsort((full.started_at, names))
    member, start, seconds = names[order], full.started_at[order], full.seconds[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (member[1:] != member[:-1]) | (
        start[1:] > start[:-1] + seconds[:-1] + 0.5 * seconds[1:]
    )
    run = np.cumsum(is_new) - 1
    arrival = np.bincount(run, full.arrived[order]) / np.bincount(run, seconds)
    shrinks = np.maximum(QUICK * rate - arrival, 1e-9)
    lasts = full.lag_start[order][is_new] / shrinks
    found = np.empty(len(order), dtype=np.bool_)
    found[order] = start + seconds <= start[is_new][run] + lasts[run]
    return found


def episodes(started_at: Floats, seconds: Floats, rules: CapacityRules) -> Integers:
    """Number the episodes: runs without a longer gap, cut where they last too long.

    Returns:
        The number of each interval's episode, from 0.
    """
    order = np.argsort(started_at, kind="stable")
    start = started_at[order]
    end = np.maximum.accumulate(start + seconds[order])
    is_new = np.concatenate([[True], start[1:] > end[:-1] + rules.gap_seconds])
    run = np.cumsum(is_new) - 1
    first = start[is_new][run]
    part = ((start - first) // rules.episode_seconds).astype(np.int64)
    numbers = np.unique(run * (int(part.max()) + 1) + part, return_inverse=True)[1]
    found = np.empty(len(order), dtype=np.int64)
    found[order] = numbers
    return found


def blocked_partitions(
    committed: Floats, log_end: Floats, member: Integers, *, polls: int = 4
) -> Booleans:
    """Return which partitions are blocked: a poison message, not too little capacity.

    Args:
        committed: Committed offsets, one row a poll, oldest first, one column a partition.
        log_end: Log ends, the same shape.
        member: The member that holds each partition, as a number; negative: nobody.
        polls: Polls without a commit that make a blockage.

    Returns:
        One entry a partition: the committed offset stood still over the last ``polls`` polls while
        messages waited and the end moved, and another partition of the same member advanced.
    """
    if len(committed) <= polls:
        return np.zeros(committed.shape[1], dtype=np.bool_)
    before, now = committed[-1 - polls], committed[-1]
    stalled = (now == before) & (before < log_end[-1 - polls]) & (log_end[-1] > log_end[-1 - polls])
    if not stalled.any():
        return np.zeros(committed.shape[1], dtype=np.bool_)
    moving = (now > before) & (member >= 0)
    of_moving = np.isin(member, np.unique(member[moving]))
    result: Booleans = stalled & of_moving & (member >= 0)
    return result
