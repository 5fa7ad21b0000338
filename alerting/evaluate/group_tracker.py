"""What the groups of one cluster are doing, poll after poll: a memory, and a first pass.

Polls are kept as columns over all partitions, fewer of them the older they are
(``alerting.inputs.windows.downsampled``). A first pass over the newest columns finds the groups
that the rules of ``alerting.status.group_status`` would call OK without a doubt; the others are
classified by those rules in full, on the samples that are kept. The first pass is what makes large
clusters possible: at 10,000 groups of 15 partitions, classifying every group in full takes more
processor time than a core has between two polls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import polars as pl

from alerting.evaluate.deferred import PartitionsClassifiedLater, stale, surely_ok
from alerting.inputs.polls import (
    NONE,
    PARTITION_LAG,
    Booleans,
    Floats,
    Integers,
    Poll,
    Rates,
    finite,
    rates_of,
)
from alerting.inputs.windows import GroupKey, kept_of, polls_of, unread_since
from alerting.status.baseline import is_empty
from alerting.status.group_status import group_status
from alerting.status.model import (
    DEFAULT_STATUS_RULES,
    OBJECTIVE_SECONDS,
    GroupStatus,
    LagNumbers,
    PartitionWindow,
    Sample,
)
from lake.change_encoding.expand import series_ids

_KEY = ("group", "topic", "partition")
_READ = (
    *("observed_at", "poll_id", *_KEY, "committed", "log_start", "log_end", "lag"),
    *("time_lag_seconds", "is_subscribed", "unknown_reason", "member_id"),
)


class LagWatch:
    """The groups of one cluster; its memory grows with their partitions, not with time."""

    def __init__(
        self, cluster: str, objective: Callable[[str], float] = lambda _: OBJECTIVE_SECONDS
    ) -> None:
        self._cluster = cluster
        self._rules = DEFAULT_STATUS_RULES
        self._objective = objective
        self._rules_for = cache(lambda seconds: replace(self._rules, objective_seconds=seconds))
        self._keys = pl.DataFrame(
            schema={"group": pl.String, "topic": pl.String, "partition": pl.Int32}
        )
        self._ids = series_ids(self._keys, _KEY)
        self._groups: dict[str, int] = {}
        self._group_of: Integers = np.zeros(0, dtype=np.int64)
        self._members_of: list[list[int]] = []
        self._polls: list[Poll] = []
        self._unread: dict[int, tuple[float, str]] = {}
        self._reasons: dict[int, str] = {}
        self._seen_at = np.zeros(0)
        self._read_at: dict[str, int] = {}
        self._dirty_at = np.zeros(0)
        self._advanced_at = np.zeros(0)
        self._first_end: Integers = np.zeros(0, dtype=np.int64)
        self._ever_committed: Booleans = np.zeros(0, dtype=np.bool_)
        self._clear: _Clear | None = None
        # Of the partitions that are classified in full, poll after poll.
        self._samples: dict[int, dict[float, Sample | None]] = {}

    @property
    def newest_at(self) -> float | None:
        """Time of the newest poll, in Unix seconds; None before the first."""
        return self._polls[-1].at if self._polls else None

    def add(self, offsets: pl.DataFrame, groups: pl.DataFrame | None = None) -> None:
        """Take over the polls that are newer than those known."""
        new, of_groups = offsets.select(_READ), groups
        if self.newest_at is not None:
            is_new = pl.col("observed_at").dt.epoch("us") > round(self.newest_at * 1e6)
            new = new.filter(is_new)
            of_groups = None if groups is None else groups.filter(is_new)
        for at, rows, facts in polls_of(new, of_groups):
            self._add_poll(at, rows, facts)
        self._read_at.update(
            new.group_by("group").agg(pl.col("observed_at").max().dt.epoch("us")).iter_rows()
        )
        read = pl.DataFrame(
            list(self._read_at.items()), schema={"group": pl.String, "at": pl.Int64}, orient="row"
        ).select(
            pl.lit(self._cluster).alias("cluster"),
            "group",
            pl.col("at").cast(pl.Datetime("us", "UTC")).alias("read_at"),
        )
        self._unread = {
            self._groups[key.group]: found
            for key, found in unread_since(read, groups).items()
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
        clear, behind = self._first_pass(newest)
        clear &= included
        undecided = included & ~clear & self._untouched(newest)
        count = len(self._groups)
        every = np.bincount(self._group_of[included], minlength=count)
        fine = np.bincount(self._group_of[clear], minlength=count)
        quiet = np.bincount(self._group_of[undecided], minlength=count)
        worst = np.zeros(count)
        np.maximum.at(worst, self._group_of[clear], behind[clear])
        rates = self._rates()

        def summed(values: Floats) -> Floats:
            sums = np.bincount(self._group_of[clear], weights=values[clear], minlength=count)
            return sums.astype(np.float64, copy=False)

        lags = summed(newest.lag.astype(np.float64)).astype(np.int64).tolist()
        arrival, consumption = finite(summed(rates.arrival)), finite(summed(rates.consumption))
        growth, late = finite(summed(rates.growth)), finite(worst)
        members, unknown = newest.members.tolist(), quiet.tolist()
        is_ok = (fine > 0) & (fine + quiet == every)
        found: dict[GroupKey, GroupStatus] = {}
        for group, index in self._groups.items():
            if newest.at - self._seen_at[index] > self._rules.window_seconds:
                continue
            key = GroupKey(self._cluster, group)
            if age > self._rules.missed_polls * step:
                is_ok[index] = False
                found[key] = stale(age, newest.at)
            elif is_ok[index] and index not in self._unread:
                numbers = LagNumbers(
                    lag=lags[index],
                    behind_seconds=late[index],
                    arrival_per_second=arrival[index],
                    consumption_per_second=consumption[index],
                    growth_per_second=growth[index],
                    lost_messages=0,
                    members=None if members[index] == NONE else members[index],
                    samples=len(self._polls),
                )
                parts = PartitionsClassifiedLater(partial(self.classify, group, now))
                found[key] = surely_ok(numbers, unknown[index], parts, self._rules)
            else:
                is_ok[index] = False
                found[key] = self.classify(group, now)
        without_trouble = is_ok[self._group_of]
        self._samples = {
            one: made for one, made in self._samples.items() if not without_trouble[one]
        }
        self._clear = _Clear(without_trouble & included, behind)
        return found

    def clear_partitions(self) -> pl.DataFrame:
        """Return the partitions of the groups that the first pass last found to be OK.

        Returns:
            Rows of ``PARTITION_LAG``.
        """
        if self._clear is None:
            return pl.DataFrame(schema=PARTITION_LAG)
        where = np.flatnonzero(self._clear.which)
        lags, behind = self._polls[-1].lag[where], self._clear.behind[where]
        return self._keys[where].with_columns(
            pl.Series("lag", lags).replace(NONE, None),
            pl.Series("time_lag_seconds", behind).fill_nan(None),
        )

    def _rates(self) -> Rates:
        """Return each partition's rates over the recent half of the window, as ``measure`` does."""
        rules, newest = self._rules, self._polls[-1].at
        recent = [poll for poll in self._polls if poll.at >= newest - rules.window_seconds]
        middle = newest - max(rules.trend_seconds, (newest - recent[0].at) / 2)
        return rates_of(
            [poll for poll in recent if poll.at >= middle],
            shortest_seconds=rules.trend_seconds,
            most_polls=rules.fitted_points,
        )

    def classify(self, group: str, now: float | None = None) -> GroupStatus:
        """Return what a group is doing, by the rules in full."""
        rules = self._rules_for(self._objective(group))
        return group_status(self.windows(group), now=now, rules=rules)

    def windows(self, group: str) -> tuple[PartitionWindow, ...]:
        """Return the samples of a group's partitions, sorted; none where no poll had the group."""
        if group not in self._groups:
            return ()
        index = self._groups[group]
        mine = self._members_of[index]
        polls = reversed(self._polls)
        newest = next((poll for poll in polls if poll.has_any(mine)), self._polls[-1])
        windows = []
        for partition in mine:
            if not newest.has_any([partition]):
                continue
            samples = self._samples_of(partition, index)
            why = self._reasons.get(partition)
            if index in self._unread:
                unread_at, why = self._unread[index]
                samples = (*samples, Sample(unread_at))
            _, topic, number = self._keys.row(partition)
            windows.append(
                PartitionWindow(topic=topic, partition=number, samples=samples, unknown_reason=why)
            )
        return tuple(sorted(windows, key=lambda window: (window.topic, window.partition)))

    def _samples_of(self, partition: int, group: int) -> tuple[Sample, ...]:
        """Return a partition's samples; those that were asked for before are not made again."""
        made = self._samples.setdefault(partition, {})
        for poll in self._polls:
            if poll.at not in made:
                is_known = group < len(poll.members)
                made[poll.at] = poll.sample(partition, group) if is_known else None
        if len(made) > 2 * len(self._polls):
            made = {poll.at: made[poll.at] for poll in self._polls}
            self._samples[partition] = made
        return tuple(seen for poll in self._polls if (seen := made[poll.at]) is not None)

    # --- a poll is added

    def _add_poll(self, at: float, rows: pl.DataFrame, facts: pl.DataFrame) -> None:
        where = self._places(rows)
        partitions, groups = len(self._group_of), len(self._groups)

        def column(name: str) -> Integers:
            values = np.full(partitions, NONE, dtype=np.int64)
            values[where] = rows[name].fill_null(NONE).to_numpy()
            return values

        present = np.zeros(partitions, dtype=np.bool_)
        present[where] = True
        time_lag = np.full(partitions, np.nan)
        time_lag[where] = rows["time_lag_seconds"].fill_null(np.nan).to_numpy()
        members = np.full(groups, NONE, dtype=np.int64)
        states: list[str | None] = [None] * groups
        for group, count, state in facts.select("group", "members", "state").iter_rows():
            if group in self._groups:
                members[self._groups[group]] = NONE if count is None else count
                states[self._groups[group]] = state
        # Of a group whose members could not be read, nobody knows that none of them holds it.
        assigned = np.full(partitions, NONE, dtype=np.int8)
        assigned[where] = np.where(members[self._group_of[where]] == NONE, NONE, 0)
        assigned[where[rows["member_id"].is_not_null().to_numpy()]] = 1
        self._seen_at[self._group_of[where]] = at
        poll = Poll(
            at=at,
            present=present,
            committed=column("committed"),
            log_start=column("log_start"),
            log_end=column("log_end"),
            lag=column("lag"),
            time_lag=time_lag,
            assigned=assigned,
            members=members,
            states=tuple(states),
        )
        reasons = rows.select(pl.Series("index", where), "unknown_reason").drop_nulls()
        self._reasons = dict(reasons.iter_rows())
        self._note_changes(poll)
        self._polls.append(poll)
        kept = kept_of([one.at for one in self._polls])
        self._polls = [self._polls[index] for index in kept]

    def _places(self, rows: pl.DataFrame) -> Integers:
        """Return the index of each row's partition; one that is new gets the next."""
        # Numbers instead of names: that finds them in a fifth of the time.
        found = self._index_of(rows)
        if found.null_count():
            self._learn_keys(rows.filter(found.is_null()).select(_KEY).unique().sort(_KEY))
            found = self._index_of(rows)
        return found.cast(pl.Int64).to_numpy()

    def _index_of(self, rows: pl.DataFrame) -> pl.Series:
        known = self._ids.to_frame().with_row_index("index")
        ids = series_ids(rows, _KEY).to_frame()
        return ids.join(known, on="_series", how="left", maintain_order="left")["index"]

    def _learn_keys(self, new: pl.DataFrame) -> None:
        first = len(self._group_of)
        self._keys = pl.concat([self._keys, new])
        self._ids = pl.concat([self._ids, series_ids(new, _KEY)])
        owners = []
        for offset, group in enumerate(new["group"]):
            index = self._groups.setdefault(group, len(self._groups))
            if index == len(self._members_of):
                self._members_of.append([])
            self._members_of[index].append(first + offset)
            owners.append(index)
        more, unseen = len(owners), len(self._groups) - len(self._seen_at)
        self._seen_at = np.append(self._seen_at, np.full(unseen, -np.inf))
        self._group_of = np.append(self._group_of, np.array(owners, dtype=np.int64))
        self._dirty_at = np.append(self._dirty_at, np.full(more, -np.inf))
        self._advanced_at = np.append(self._advanced_at, np.full(more, -np.inf))
        self._first_end = np.append(self._first_end, np.full(more, NONE, dtype=np.int64))
        self._ever_committed = np.append(self._ever_committed, np.zeros(more, dtype=np.bool_))

    def _note_changes(self, poll: Poll) -> None:
        """Note since when nothing odd was seen of a partition, and when it advanced last."""
        is_odd = poll.present & (
            (poll.committed == NONE)
            | (poll.log_end == NONE)
            | (poll.log_start == NONE)
            | (poll.lag == NONE)
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
                both & (before.committed != NONE) & (poll.committed[:size] > before.committed)
            )
            self._advanced_at[:size][advanced] = poll.at
        self._dirty_at[is_odd] = poll.at
        self._ever_committed |= poll.committed != NONE
        first = (self._first_end == NONE) & (poll.log_end != NONE)
        self._first_end[first] = poll.log_end[first]

    # --- what is evident

    def _untouched(self, newest: Poll) -> Booleans:
        """Find partitions of which nothing was ever committed and nothing arrived."""
        untouched: Booleans = (
            ~self._ever_committed
            & (newest.log_end != NONE)
            & (newest.log_end == self._first_end)
            & (newest.lag == NONE)
        )
        return untouched

    def _first_pass(self, newest: Poll) -> tuple[Booleans, Floats]:
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
        interpolated = np.isnan(behind) & between
        behind[interpolated] = (step * (1 - share))[interpolated]
        members = newest.members[self._group_of]
        away = np.array([is_empty(state) for state in newest.states], dtype=np.bool_)
        someone = (members != 0) & ~((members == NONE) & away[self._group_of])
        moves = (self._advanced_at == newest.at) | (
            was_read & (newest.at - self._advanced_at < rules.window_seconds)
        )
        little = (newest.lag <= rules.minimum_messages) | (behind < rules.slight_seconds)
        # One that nobody holds may be of a topic that is no longer subscribed.
        held = newest.assigned != 0
        return clean & ((newest.lag == 0) | (moves & someone & little & held)), behind


class _Clear(NamedTuple):
    """Partitions of groups that are OK without a doubt, and how far behind each one is."""

    which: Booleans
    behind: Floats
