"""What the groups of each cluster did, poll after poll, fed from the lake."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import polars as pl

from alerting.evaluate.group_tracker import LagWatch
from alerting.evaluate.observations import unread_groups
from alerting.inputs.facts import same_polls
from alerting.inputs.frames import Frames
from alerting.inputs.polls import PARTITION_LAG
from alerting.inputs.windows import HISTORY_SECONDS, GroupKey, kept_of
from alerting.status.group_status import group_status
from alerting.status.model import (
    DEFAULT_STATUS_RULES,
    OBJECTIVE_SECONDS,
    GroupStatus,
    PartitionWindow,
)
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, GROUP_OFFSETS, GROUPS
from lake.storage.store import Lake

RECALL_SECONDS = 20.0
"""History is read for no longer than this at first: the first evaluation waits for it."""

READ_ON_SECONDS = 5.0
"""What is left is read for so long in each evaluation that follows."""

MOST_RECALLED_ROWS = 2_000_000
"""No more rows of history are held at once."""

_OFFSETS = (
    *("cluster", "observed_at", "poll_id", "group", "topic", "partition", "committed"),
    *("log_start", "log_end", "lag", "time_lag_seconds", "is_subscribed", "unknown_reason"),
    "member_id",
)
_log = logging.getLogger(__name__)


class GroupMemory:
    """Remembers polls, so that each evaluation reads the newest ones alone.

    At the first look at a cluster it reads its history: the polls that a long memory keeps, fewer
    of them the older they are. From a slow store that takes some evaluations.
    """

    def __init__(
        self, lake: Lake, objective: Callable[[str], float] = lambda _: OBJECTIVE_SECONDS
    ) -> None:
        self._lake = lake
        self._objective = objective
        self._watches: dict[str, LagWatch] = {}
        self._recalled: dict[str, _Recalled] = {}

    def newest_at(self, cluster: str) -> float | None:
        """Return the newest poll that is known of a cluster, in Unix seconds."""
        watch = self._watches.get(cluster)
        return None if watch is None else watch.newest_at

    def statuses(self, frames: Frames) -> dict[GroupKey, GroupStatus]:
        """Take over the newest polls and return what each group is doing."""
        cluster = frames.cluster
        offsets, groups = same_polls(
            (frames.rows(GROUP_OFFSETS), frames.rows(GROUPS)),
            timedelta(seconds=DEFAULT_STATUS_RULES.harmless_polls * frames.interval_seconds),
        )
        is_new = cluster not in self._watches
        if is_new:
            self._recalled[cluster] = _Recalled(self._lake)
        recalled = self._recalled.get(cluster)
        if recalled is not None:
            is_whole = recalled.read_on(frames, RECALL_SECONDS if is_new else READ_ON_SECONDS)
            if is_new or is_whole:
                self._watches[cluster] = LagWatch(cluster, self._objective)
                offsets = pl.concat([*recalled.offsets, offsets.select(_OFFSETS)])
                groups = pl.concat([*recalled.groups, groups])
            if is_whole:
                del self._recalled[cluster]
        watch = self._watches[cluster]
        watch.add(offsets, groups)
        found = watch.statuses(frames.now)
        for key in unread_groups(frames):
            found.setdefault(key, group_status((), now=frames.now))
        return found

    def windows(self, cluster: str, group: str) -> tuple[PartitionWindow, ...]:
        """Return the samples that a group is classified by; none where it is not known."""
        watch = self._watches.get(cluster)
        return () if watch is None else watch.windows(group)

    def clear_partitions(self, cluster: str) -> pl.DataFrame:
        """Return the partitions of groups that are OK; see ``LagWatch.clear_partitions``."""
        watch = self._watches.get(cluster)
        return pl.DataFrame(schema=PARTITION_LAG) if watch is None else watch.clear_partitions()


class _Recalled:
    """The history of one cluster, as far as it was read; its polls are in no order."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._read: set[datetime] = set()
        self.offsets: list[pl.DataFrame] = []
        self.groups: list[pl.DataFrame] = []

    def read_on(self, frames: Frames, seconds: float) -> bool:
        """Read what is left, as much as can be read in time; return whether nothing is left.

        The newest poll is read first. Each kept poll is read by itself, since the polls in between
        are far more than what is kept. What cannot be read is left out.
        """
        ends_at = time.monotonic() + seconds
        rows = sum(one.height for one in self.offsets)
        try:
            for at in self._wanted(frames):
                if rows > MOST_RECALLED_ROWS:
                    break
                if time.monotonic() > ends_at:
                    _log.warning("%s: the history of statuses is still being read", frames.cluster)
                    return False
                offsets = self._poll(GROUP_OFFSETS, at, frames, list(_OFFSETS))
                groups = self._poll(GROUPS, at, frames)
                self._read.add(at)
                self.offsets.append(offsets)
                self.groups.append(groups)
                rows += offsets.height
        except LakeError as error:
            _log.warning("%s: the history of statuses cannot be read: %s", frames.cluster, error)
        return True

    def _wanted(self, frames: Frames) -> list[datetime]:
        """Return the polls that a long memory keeps and that are not known, the newest first."""
        polls = self._lake.read(
            COLLECTIONS,
            pl.col("section") == GROUP_OFFSETS.name,
            (pl.col("rows") > 0).fill_null(True),
            since=frames.at - timedelta(seconds=HISTORY_SECONDS),
            until=frames.at,
            cluster=frames.cluster,
            columns=["observed_at"],
        )
        times: list[datetime] = polls["observed_at"].unique().sort().to_list()
        kept = kept_of([*(at.timestamp() for at in times), frames.now])[:-1]
        known = self._read.union(frames.rows(GROUP_OFFSETS)["observed_at"].unique())
        return [at for index in reversed(kept) if (at := times[index]) not in known]

    def _poll(
        self, table: Table, at: datetime, frames: Frames, columns: list[str] | None = None
    ) -> pl.DataFrame:
        after = at + timedelta(microseconds=1)
        return self._lake.read(
            table, since=at, until=after, cluster=frames.cluster, columns=columns
        )
