"""What the groups of each cluster did, poll after poll, fed from the lake."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

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
from lake.schemas.tables import COLLECTIONS, GROUP_OFFSETS, GROUPS
from lake.storage.store import Lake

RECALL_SECONDS = 20.0
"""History is read for no longer than this: the first evaluation waits for it."""

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
    of them the older they are.
    """

    def __init__(
        self, lake: Lake, objective: Callable[[str], float] = lambda _: OBJECTIVE_SECONDS
    ) -> None:
        self._lake = lake
        self._objective = objective
        self._watches: dict[str, LagWatch] = {}

    def newest_at(self, cluster: str) -> float | None:
        """Return the newest poll that is known of a cluster, in Unix seconds."""
        watch = self._watches.get(cluster)
        return None if watch is None else watch.newest_at

    def statuses(self, frames: Frames) -> dict[GroupKey, GroupStatus]:
        """Take over the newest polls and return what each group is doing."""
        watch = self._watches.get(frames.cluster)
        offsets, groups = same_polls(
            (frames.rows(GROUP_OFFSETS), frames.rows(GROUPS)),
            timedelta(seconds=DEFAULT_STATUS_RULES.harmless_polls * frames.interval_seconds),
        )
        if watch is None:
            watch = self._watches[frames.cluster] = LagWatch(frames.cluster, self._objective)
            before = self._recalled(frames)
            offsets = pl.concat([*before[0], offsets.select(_OFFSETS)])
            groups = pl.concat([*before[1], groups])
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

    def _recalled(self, frames: Frames) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
        """Return the history of offsets and groups, as many as can be read in time.

        The newest poll is read first. Each kept poll is read by itself, since the polls in between
        are far more than what is kept.
        """
        first = frames.at - timedelta(seconds=HISTORY_SECONDS)
        known = set(frames.rows(GROUP_OFFSETS)["observed_at"].unique().to_list())
        offsets: list[pl.DataFrame] = []
        groups: list[pl.DataFrame] = []
        ends_at = time.monotonic() + RECALL_SECONDS
        try:
            polls = self._lake.read(
                COLLECTIONS,
                pl.col("section") == GROUP_OFFSETS.name,
                since=first,
                until=frames.at,
                cluster=frames.cluster,
                columns=["observed_at"],
            )
            times = polls["observed_at"].unique().sort().to_list()
            kept = kept_of([*(at.timestamp() for at in times), frames.now])[:-1]
            wanted = [times[index] for index in kept if times[index] not in known]
            rows = 0
            for at in reversed(wanted):
                if time.monotonic() > ends_at or rows > MOST_RECALLED_ROWS:
                    break
                after = at + timedelta(microseconds=1)
                for table, found, columns in (
                    (GROUP_OFFSETS, offsets, list(_OFFSETS)),
                    (GROUPS, groups, list(GROUPS.polars_schema)),
                ):
                    found.insert(
                        0,
                        self._lake.read(
                            table, since=at, until=after, cluster=frames.cluster, columns=columns
                        ),
                    )
                rows += offsets[0].height
        except LakeError as error:
            _log.warning("%s: the history of statuses cannot be read: %s", frames.cluster, error)
        return offsets, groups[-len(offsets) :] if offsets else []
