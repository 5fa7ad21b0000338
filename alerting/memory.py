"""What the groups of each cluster did, poll after poll, fed from the lake."""

from __future__ import annotations

import logging
import time
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

OVERLAP_SECONDS = 120.0
"""Polls of this time are read again at each evaluation: sections are written one by one."""

RECALL_SECONDS = 20.0
"""The past is read for no longer than this: the first evaluation waits for it."""

_log = logging.getLogger(__name__)


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

    def offsets_since(self, cluster: str) -> float | None:
        """Return from when on offsets need to be read, in Unix seconds; None: all of them."""
        watch = self._watches.get(cluster)
        if watch is None or watch.newest_at is None:
            return None
        return watch.newest_at - OVERLAP_SECONDS

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
        """Read the past; what cannot be read, or not in time, is not remembered and learnt anew.

        The newest poll is read first. A poll of the past is read by itself: all between them would
        be far more than what is kept.
        """
        first = frames.at - timedelta(seconds=HISTORY_SECONDS)
        known = frames.rows(GROUP_OFFSETS)["observed_at"].min()
        until = known if isinstance(known, datetime) else frames.at
        offsets: list[pl.DataFrame] = []
        groups: list[pl.DataFrame] = []
        ends_at = time.monotonic() + RECALL_SECONDS
        try:
            polls = self._lake.read(
                COLLECTIONS,
                pl.col("section") == GROUP_OFFSETS.name,
                since=first,
                until=until,
                cluster=frames.cluster,
                columns=["observed_at"],
            )
            times = [at.timestamp() for at in polls["observed_at"].unique().sort().to_list()]
            for index in reversed(kept_of([*times, frames.now])[:-1]):
                if time.monotonic() > ends_at:
                    break
                at = datetime.fromtimestamp(times[index], UTC)
                after = at + timedelta(microseconds=1)
                for table, found in ((GROUP_OFFSETS, offsets), (GROUPS, groups)):
                    found.insert(
                        0, self._lake.read(table, since=at, until=after, cluster=frames.cluster)
                    )
        except LakeError as error:
            _log.warning("%s: the past cannot be read: %s", frames.cluster, error)
        if offsets:
            watch.add(pl.concat(offsets), pl.concat(groups[-len(offsets) :]))
