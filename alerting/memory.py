"""What the groups of each cluster did, poll after poll, fed from the lake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from alerting.facts import same_polls
from alerting.frames import Frames
from alerting.lag_status import group_status
from alerting.observe import unread_groups
from alerting.samples import GroupStatus
from alerting.watch import LagWatch
from alerting.windows import HISTORY_SECONDS, GroupKey, kept_of
from lake.errors import LakeError
from lake.store import Lake
from lake.tables import COLLECTIONS, GROUP_OFFSETS, GROUPS

OVERLAP_POLLS = 4
"""So many polls are read again each time: sections are written one by one."""


class GroupMemory:
    """Remembers polls, so that each evaluation reads the newest ones alone.

    At the first look at a cluster it reads its past: the polls that a long memory keeps, fewer of
    them the older they are.
    """

    def __init__(self, lake: Lake) -> None:
        """Begin without a memory.

        Args:
            lake: Where the past is.
        """
        self._lake = lake
        self._watches: dict[str, LagWatch] = {}

    def newest_at(self, cluster: str) -> float | None:
        """Return the newest poll that is known of a cluster, in Unix seconds."""
        watch = self._watches.get(cluster)
        return None if watch is None else watch.newest_at

    def statuses(self, frames: Frames) -> dict[GroupKey, GroupStatus]:
        """Take over the newest polls and return what each group is doing."""
        watch = self._watches.get(frames.cluster)
        if watch is None:
            watch = LagWatch(frames.cluster)
            self._recall(watch, frames)
            self._watches[frames.cluster] = watch
        offsets, groups = same_polls(
            (frames.rows(GROUP_OFFSETS), frames.rows(GROUPS)),
            timedelta(seconds=2 * frames.interval_seconds),
        )
        watch.add(offsets, groups)
        found = watch.statuses(frames.now)
        for key in unread_groups(frames):
            found.setdefault(key, group_status((), now=frames.now))
        return found

    def _recall(self, watch: LagWatch, frames: Frames) -> None:
        """Read the past; what cannot be read is not remembered, and learnt anew."""
        first = frames.at - timedelta(seconds=HISTORY_SECONDS)
        try:
            polls = self._lake.read(
                COLLECTIONS,
                pl.col("section") == GROUP_OFFSETS.name,
                since=first,
                until=frames.at,
                cluster=frames.cluster,
                columns=["observed_at"],
            )
            times = sorted(
                moment.timestamp()
                for moment in polls["observed_at"].unique().to_list()
                if isinstance(moment, datetime)
            )
            kept = [datetime.fromtimestamp(times[index], UTC) for index in kept_of(times)]
            if not kept:
                return
            wanted = pl.col("observed_at").is_in(kept)
            offsets, groups = (
                self._lake.read(
                    table, wanted, since=kept[0], until=frames.at, cluster=frames.cluster
                )
                for table in (GROUP_OFFSETS, GROUPS)
            )
        except LakeError:
            return
        watch.add(offsets, groups)
