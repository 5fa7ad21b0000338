"""What the groups of one cluster are doing, poll after poll: a memory, and a first pass.

Polls are kept as columns over all partitions, fewer of them the older they are
(``alerting.windows.thinned``). A first pass over the newest columns finds the groups that the
rules of ``alerting.lag_status`` would call OK without a doubt; the others are judged by those rules
in full, on the samples that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alerting.lag_status import group_status
from alerting.learn import is_empty
from alerting.samples import (
    DEFAULT_RULES,
    GroupStatus,
    LagNumbers,
    PartitionStatus,
    PartitionWindow,
    Sample,
    Status,
    StatusRules,
)
from alerting.windows import GroupKey, kept_of, polls_of, unread_since
from alerting.words import duration, messages

_KEY = ("group", "topic", "partition")
_NONE = -1

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Poll:
    """One poll; arrays over partitions, or over groups for the last two; -1 and NaN are unknown."""

    at: float
    present: Booleans
    committed: Integers
    log_start: Integers
    log_end: Integers
    lag: Integers
    time_lag: NDArray[np.float64]
    assigned: Integers
    members: Integers
    states: tuple[str | None, ...]

    def has_any(self, partitions: Sequence[int]) -> bool:
        """Tell whether one of some partitions was there."""
        return any(one < len(self.present) and self.present[one] for one in partitions)

    def sample(self, partition: int, group: int) -> Sample | None:
        """Return what was seen of a partition; None where it was not there."""
        if partition >= len(self.present) or not self.present[partition]:
            return None
        time_lag = float(self.time_lag[partition])
        assigned = int(self.assigned[partition])
        return Sample(
            self.at,
            _known(self.committed[partition]),
            _known(self.log_start[partition]),
            _known(self.log_end[partition]),
            _known(self.lag[partition]),
            None if np.isnan(time_lag) else time_lag,
            None if assigned == _NONE else bool(assigned),
            _known(self.members[group]),
            self.states[group],
        )


class LagWatch:
    """The groups of one cluster; its memory grows with their partitions, not with time."""

    def __init__(self, cluster: str, rules: StatusRules = DEFAULT_RULES) -> None:
        """Begin without a memory.

        Args:
            cluster: Its name.
            rules: Thresholds.
        """
        self._cluster = cluster
        self._rules = rules
        self._keys = pl.DataFrame(
            schema={"group": pl.String, "topic": pl.String, "partition": pl.Int32}
        )
        self._groups: dict[str, int] = {}
        self._group_of: Integers = np.zeros(0, dtype=np.int64)
        self._members_of: list[list[int]] = []
        self._polls: list[_Poll] = []
        self._unread: dict[int, tuple[float, str]] = {}
        self._reasons: dict[int, str] = {}
        self._seen_at: dict[int, float] = {}
        self._dirty_at = np.zeros(0)
        self._advanced_at = np.zeros(0)
        self._first_end: Integers = np.zeros(0, dtype=np.int64)
        self._ever_committed: Booleans = np.zeros(0, dtype=np.bool_)

    @property
    def newest_at(self) -> float | None:
        """Time of the newest poll, in Unix seconds; None before the first."""
        return self._polls[-1].at if self._polls else None

    def add(self, offsets: pl.DataFrame, groups: pl.DataFrame | None = None) -> None:
        """Take over the polls that are newer than those known.

        Args:
            offsets: Rows of ``group_offsets`` of the cluster, in any order.
            groups: Rows of ``groups`` of the same polls.
        """
        for at, rows in polls_of(offsets, groups, self.newest_at):
            self._add_poll(at, rows)
        self._unread = {
            self._groups[key.group]: found
            for key, found in unread_since(offsets, groups).items()
            if key.group in self._groups
        }

    def statuses(self, now: float | None = None) -> dict[GroupKey, GroupStatus]:
        """Return what every group of the last ten minutes is doing.

        Args:
            now: The present in Unix seconds; where given, polls that are too old say nothing.
        """
        if not self._polls:
            return {}
        newest = self._polls[-1]
        step = newest.at - self._polls[-2].at if len(self._polls) > 1 else self._rules.trend_seconds
        age = 0.0 if now is None else now - newest.at
        included = newest.present
        settled, behind = self._first_pass(newest)
        undecided = included & ~settled & self._untouched(newest)
        count = len(self._groups)
        every = np.bincount(self._group_of[included], minlength=count)
        fine = np.bincount(self._group_of[settled & included], minlength=count)
        quiet = np.bincount(self._group_of[undecided], minlength=count)
        lags = np.bincount(
            self._group_of[settled & included],
            weights=newest.lag[settled & included],
            minlength=count,
        )
        worst = np.zeros(count)
        np.maximum.at(worst, self._group_of[settled & included], behind[settled & included])
        is_ok = (fine > 0) & (fine + quiet == every)
        found: dict[GroupKey, GroupStatus] = {}
        for group, index in self._groups.items():
            if newest.at - self._seen_at[index] > self._rules.window_seconds:
                continue
            key = GroupKey(self._cluster, group)
            if age > self._rules.stale_polls * step:
                found[key] = _stale(age, newest.at)
            elif is_ok[index] and index not in self._unread:
                found[key] = self._ok(
                    index, int(lags[index]), float(worst[index]), int(quiet[index]), now
                )
            else:
                found[key] = self.judge(group, now)
        return found

    def judge(self, group: str, now: float | None = None) -> GroupStatus:
        """Return what a group is doing, by the rules in full.

        Args:
            group: Its name.
            now: The present in Unix seconds.
        """
        return group_status(self.windows(group), now=now, rules=self._rules)

    def windows(self, group: str) -> tuple[PartitionWindow, ...]:
        """Return the samples of a group's partitions, sorted by topic and partition."""
        index = self._groups[group]
        mine = self._members_of[index]
        newest = next(
            (poll for poll in reversed(self._polls) if poll.has_any(mine)), self._polls[-1]
        )
        windows = []
        for partition in mine:
            if not newest.has_any([partition]):
                continue
            seen = (
                poll.sample(partition, index) for poll in self._polls if index < len(poll.members)
            )
            samples = tuple(sample for sample in seen if sample is not None)
            reason = self._reasons.get(partition)
            if index in self._unread:
                unread_at, reason = self._unread[index]
                samples = (*samples, Sample(unread_at))
            _, topic, number = self._keys.row(partition)
            windows.append(PartitionWindow(topic, number, samples, reason))
        return tuple(sorted(windows, key=lambda window: (window.topic, window.partition)))

    # --- a poll is added

    def _add_poll(self, at: float, rows: pl.DataFrame) -> None:
        self._learn_keys(rows)
        placed = rows.join(self._keys.with_row_index("index"), on=_KEY, how="left")
        where = placed["index"].to_numpy()
        partitions, groups = len(self._group_of), len(self._groups)

        def column(name: str) -> Integers:
            values = np.full(partitions, _NONE, dtype=np.int64)
            values[where] = placed[name].cast(pl.Int64).fill_null(_NONE).to_numpy()
            return values

        present = np.zeros(partitions, dtype=np.bool_)
        present[where] = True
        time_lag = np.full(partitions, np.nan)
        time_lag[where] = placed["time_lag_seconds"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        facts = rows.group_by("group").agg(pl.col("members", "state").first())
        members = np.full(groups, _NONE, dtype=np.int64)
        states: list[str | None] = [None] * groups
        for group, count, state in facts.iter_rows():
            self._seen_at[self._groups[group]] = at
            members[self._groups[group]] = _NONE if count is None else count
            states[self._groups[group]] = state
        poll = _Poll(
            at,
            present,
            column("committed"),
            column("log_start"),
            column("log_end"),
            column("lag"),
            time_lag,
            column("assigned"),
            members,
            tuple(states),
        )
        unknown = placed.filter(pl.col("unknown_reason").is_not_null())
        self._reasons = dict(unknown.select("index", "unknown_reason").iter_rows())
        self._note_changes(poll)
        self._polls.append(poll)
        kept = kept_of([one.at for one in self._polls])
        self._polls = [self._polls[index] for index in kept]

    def _learn_keys(self, rows: pl.DataFrame) -> None:
        new = rows.select(_KEY).join(self._keys, on=_KEY, how="anti").unique().sort(_KEY)
        if new.is_empty():
            return
        first = len(self._group_of)
        self._keys = pl.concat([self._keys, new.cast(self._keys.schema)])
        owners = []
        for offset, group in enumerate(new["group"]):
            index = self._groups.setdefault(group, len(self._groups))
            if index == len(self._members_of):
                self._members_of.append([])
            self._members_of[index].append(first + offset)
            owners.append(index)
        more = len(owners)
        self._group_of = np.append(self._group_of, np.array(owners, dtype=np.int64))
        self._dirty_at = np.append(self._dirty_at, np.full(more, -np.inf))
        self._advanced_at = np.append(self._advanced_at, np.full(more, -np.inf))
        self._first_end = np.append(self._first_end, np.full(more, _NONE, dtype=np.int64))
        self._ever_committed = np.append(self._ever_committed, np.zeros(more, dtype=np.bool_))

    def _note_changes(self, poll: _Poll) -> None:
        """Note since when nothing odd was seen of a partition, and when it advanced last."""
        is_odd = poll.present & (
            (poll.committed == _NONE)
            | (poll.log_end == _NONE)
            | (poll.log_start == _NONE)
            | (poll.lag == _NONE)
            | (poll.committed > poll.log_end)
            | (poll.log_start > poll.committed)
        )
        if self._polls:
            before = self._polls[-1]
            size = len(before.present)
            both = before.present & poll.present[:size]
            is_odd[:size] |= both & (
                (poll.committed[:size] < before.committed) | (poll.log_end[:size] < before.log_end)
            )
            is_odd[:size] |= before.present != poll.present[:size]
            advanced = (
                both & (before.committed != _NONE) & (poll.committed[:size] > before.committed)
            )
            self._advanced_at[:size][advanced] = poll.at
        self._dirty_at[is_odd] = poll.at
        self._ever_committed |= poll.committed != _NONE
        first = (self._first_end == _NONE) & (poll.log_end != _NONE)
        self._first_end[first] = poll.log_end[first]

    # --- what is evident

    def _untouched(self, newest: _Poll) -> Booleans:
        """Find partitions of which nothing was ever committed and nothing arrived."""
        untouched: Booleans = (
            ~self._ever_committed
            & (newest.log_end != _NONE)
            & (newest.log_end == self._first_end)
            & (newest.lag == _NONE)
        )
        return untouched

    def _first_pass(self, newest: _Poll) -> tuple[Booleans, NDArray[np.float64]]:
        """Return which partitions are OK without a doubt, and how far behind those are, seconds.

        Nothing odd was seen within the window, and either everything is read, or the committed
        offset advanced just now, or messages began to wait just now; and what waits is little.
        """
        rules = self._rules
        clean = newest.present & (newest.at - self._dirty_at > rules.window_seconds)
        behind = np.where(newest.lag == 0, 0.0, newest.time_lag)
        if len(self._polls) < 2:
            return clean & (newest.lag == 0), behind
        before = self._polls[-2]
        size, step = len(before.present), newest.at - before.at
        ends = np.full(len(newest.present), np.iinfo(np.int64).max)
        ends[:size] = np.where(before.present, before.log_end, ends[:size])
        was_read = np.zeros(len(newest.present), dtype=np.bool_)
        was_read[:size] = before.present & (before.lag == 0)
        # The log end passed the committed offset between the last two polls: that is its age.
        between = (newest.committed >= ends) & (newest.log_end > ends)
        share = np.zeros(len(ends))
        share[between] = (newest.committed[between] - ends[between]) / (
            newest.log_end[between] - ends[between]
        )
        untold = np.isnan(behind) & between
        behind[untold] = (step * (1 - share))[untold]
        members = newest.members[self._group_of]
        away = np.array([is_empty(state) for state in newest.states], dtype=np.bool_)
        someone = (members != 0) & ~((members == _NONE) & away[self._group_of])
        moves = (self._advanced_at == newest.at) | (
            was_read & (newest.at - self._advanced_at < rules.window_seconds)
        )
        little = (newest.lag <= rules.minimum_messages) | (behind < rules.material_seconds)
        # One that nobody holds may be of a topic that is no longer subscribed.
        held = newest.assigned != 0
        return clean & ((newest.lag == 0) | (moves & someone & little & held)), behind

    def _ok(
        self, index: int, lag: int, behind: float, unknown: int, now: float | None
    ) -> GroupStatus:
        group = self._keys.row(self._members_of[index][0])[0]
        members = _known(self._polls[-1].members[index])
        is_behind_known = not np.isnan(behind)
        return GroupStatus(
            Status.OK,
            f"Keeps up: {messages(lag)} wait{'s' if lag == 1 else ''}.",
            None,
            False,
            LagNumbers(
                lag=lag,
                behind_seconds=behind if is_behind_known else None,
                lost_messages=0,
                members=members,
                samples=len(self._polls),
            ),
            None,
            unknown,
            _Partitions(self, group, now),
        )


class _Partitions(Sequence[PartitionStatus]):
    """The partitions of a group that is OK, judged only where somebody looks at them."""

    def __init__(self, watch: LagWatch, group: str, now: float | None) -> None:
        self._windows = watch.windows
        self._judge = watch.judge
        self._group = group
        self._now = now
        self._judged: Sequence[PartitionStatus] | None = None

    def _found(self) -> Sequence[PartitionStatus]:
        if self._judged is None:
            self._judged = self._judge(self._group, self._now).partitions
        return self._judged

    @overload
    def __getitem__(self, index: int) -> PartitionStatus: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[PartitionStatus]: ...

    def __getitem__(self, index: int | slice) -> PartitionStatus | Sequence[PartitionStatus]:
        return self._found()[index]

    def __len__(self) -> int:
        return len(self._found())

    def __iter__(self) -> Iterator[PartitionStatus]:
        return iter(self._found())


def _stale(age: float, at: float) -> GroupStatus:
    reason = f"Unknown: the newest sample is {duration(age)} old."
    return GroupStatus(Status.UNKNOWN, reason, at, False, LagNumbers(), None, 0, ())


def _known(value: np.int64) -> int | None:
    return None if value == _NONE else int(value)
