"""The one reader of what advice is based on: which rows of the lake, and how far back.

The command and the page read through ``read_groups``. The job's workers read the files themselves,
some groups at a time, by the same ``GROUP_READS``. Both make facts of the rows by ``facts_of``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import polars as pl

from alerting.inputs.windows import WINDOW_SECONDS, GroupKey
from alerting.status.model import Status
from config.scaling import ScalingSettings
from config.storage import ADVICE_STATE_KEPT
from lake.schemas.current import GROUP_PARTITION_STATUS, GROUP_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import (
    ADVICE_STATE,
    CAPACITY,
    FORECASTS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    REBALANCES,
    TOPICS,
)
from lake.storage.current_store import read_statuses
from lake.storage.store import Lake
from scaling.facts.group_facts import GroupFacts, group_facts, newest
from scaling.facts.longer_memory import KnownPartition, KnownStatus

WINDOW = timedelta(seconds=WINDOW_SECONDS)
"""How much history advice looks at."""

_SETTINGS_AGE = timedelta(days=1)  # topics are written when they change, and hourly
_REBALANCES_AGE = timedelta(days=1)  # who stopped earlier is no news
_DERIVED_AGE = timedelta(days=2)  # capacity and forecasts are derived hourly
_MOMENT = timedelta(seconds=1)
_OF_PARTITIONS = [
    *("cluster", "topic", "partition", "observed_at"),
    *("log_start", "log_end", "size_bytes"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Rows of one table about groups.

    Attributes:
        columns: What advice needs; ten minutes of all columns of all groups are gigabytes.
        back: How far back.
    """

    table: Table
    columns: tuple[str, ...]
    back: timedelta = WINDOW
    named: str = "group"
    wanted: pl.Expr | None = None


GROUP_READS: Mapping[str, Read] = {
    "offsets": Read(
        table=GROUP_OFFSETS,
        columns=(
            *("cluster", "observed_at", "poll_id", "group", "topic", "partition"),
            *("committed", "log_start", "log_end", "lag", "time_lag_seconds"),
            *("is_subscribed", "open_since", "member_id", "unknown_reason"),
        ),
    ),
    "groups": Read(
        table=GROUPS,
        columns=(
            *("cluster", "observed_at", "poll_id", "group", "state", "type", "protocol"),
            *("kind", "members", "idle_members", "static_members", "unknown_reason"),
        ),
    ),
    "rebalances": Read(
        table=REBALANCES,
        columns=("cluster", "group", "observed_at", "rebalanced_at", "members", "members_before"),
        back=_REBALANCES_AGE,
    ),
    "capacity": Read(
        table=CAPACITY,
        columns=(
            *("cluster", "group", "member", "status", "reason", "per_second", "low", "high"),
            *("samples", "episodes", "limit_per_second", "helpful_members", "variability_seconds"),
        ),
        back=_DERIVED_AGE,
    ),
    "forecasts": Read(
        table=FORECASTS,
        columns=(
            *("cluster", "subject", "name", "metric", "window_start"),
            *("high_90", "status", "reason", "generated"),
        ),
        back=_DERIVED_AGE,
        named="name",
        wanted=pl.col("subject") == "group",
    ),
    "states": Read(
        table=ADVICE_STATE,
        columns=("cluster", "group", "state", "evaluated_at"),
        back=ADVICE_STATE_KEPT,
    ),
}
"""What is read about groups, by the fields of ``GroupFrames``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFrames:
    """Rows of the lake about a set of whole groups, of one or more clusters.

    Attributes:
        offsets: ``group_offsets`` of the last ten minutes.
        groups: ``groups`` of the same time.
        rebalances: ``rebalances`` of these groups of the last day; may be empty.
        topics: The newest row of each topic of the clusters, or at least of those that are read.
        partitions: ``partitions`` of the newest poll, the same topics.
        capacity: ``capacity`` of these groups; may be empty.
        forecasts: ``forecasts`` of these groups' arrival_per_second; may be empty.
        states: ``advice_state`` of these groups; may be empty.
        statuses: ``group_status`` of these groups, if it was written lately; may be empty.
        partition_statuses: ``group_partition_status`` of these groups, like it.
    """

    offsets: pl.DataFrame = field(default_factory=lambda: GROUP_OFFSETS.empty)
    groups: pl.DataFrame = field(default_factory=lambda: GROUPS.empty)
    rebalances: pl.DataFrame = field(default_factory=lambda: REBALANCES.empty)
    topics: pl.DataFrame = field(default_factory=lambda: TOPICS.empty)
    partitions: pl.DataFrame = field(default_factory=lambda: PARTITIONS.empty)
    capacity: pl.DataFrame = field(default_factory=lambda: CAPACITY.empty)
    forecasts: pl.DataFrame = field(default_factory=lambda: FORECASTS.empty)
    states: pl.DataFrame = field(default_factory=lambda: ADVICE_STATE.empty)
    statuses: pl.DataFrame = field(default_factory=lambda: GROUP_STATUS.empty)
    partition_statuses: pl.DataFrame = field(default_factory=lambda: GROUP_PARTITION_STATUS.empty)

    def known_statuses(self) -> dict[GroupKey, KnownStatus]:
        """Return what the alerting service found each group to be doing."""
        partitions: dict[GroupKey, dict[tuple[str, int], KnownPartition]] = {}
        for row in self.partition_statuses.iter_rows(named=True):
            of_group = partitions.setdefault(GroupKey(row["cluster"], row["group"]), {})
            of_group[row["topic"], row["partition"]] = KnownPartition(
                status=Status(row["status"]),
                reason=row["reason"],
                since=_seconds(row["since"]),
                is_lasting=bool(row["is_lasting"]),
                without_commit_seconds=row["stalled_seconds"],
            )
        columns = ("cluster", "group", "status", "reason", "since", "is_lasting")
        return {
            (key := GroupKey(cluster, group)): KnownStatus(
                status=Status(status),
                reason=reason,
                since=_seconds(since),
                is_lasting=bool(is_lasting),
                partitions=partitions.get(key, {}),
            )
            for cluster, group, status, reason, since, is_lasting in self.statuses.select(
                columns
            ).iter_rows()
        }

    def state_texts(self) -> dict[GroupKey, str]:
        """Return what was remembered of each group."""
        rows = self.states.sort("evaluated_at").select("cluster", "group", "state")
        return {GroupKey(cluster, group): state for cluster, group, state in rows.iter_rows()}


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def read_topics(
    lake: Lake,
    now: datetime,
    cluster: str | None = None,
    names: Collection[str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the newest row of each topic, and the rows of ``partitions`` of the last minutes."""
    until = now + _MOMENT
    wanted = [] if names is None else [pl.col("topic").is_in(list(names))]
    topics = lake.read(TOPICS, *wanted, since=now - _SETTINGS_AGE, until=until, cluster=cluster)
    partitions = lake.read(
        PARTITIONS,
        *wanted,
        since=now - WINDOW,
        until=until,
        cluster=cluster,
        columns=_OF_PARTITIONS,
    )
    return newest(topics, "topic"), partitions


def read_groups(
    lake: Lake,
    now: datetime,
    topics: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    *,
    cluster: str | None = None,
    names: Collection[str] | None = None,
) -> GroupFrames:
    """Return the rows about groups, and about the topics that they read.

    Args:
        lake: The lake.
        now: The present, UTC; what was written later says nothing about it.
        topics: What ``read_topics`` returned; None: read those that the groups read.
        cluster: Only this cluster; None: all of them.
        names: Only the groups of these names; None: all of them, and all topics.
    """

    def rows(read: Read) -> pl.DataFrame:
        wanted = [] if read.wanted is None else [read.wanted]
        if names is not None:
            wanted.append(pl.col(read.named).is_in(list(names)))
        since, until = now - read.back, now + _MOMENT
        columns = list(read.columns)
        return lake.read(
            read.table, *wanted, since=since, until=until, cluster=cluster, columns=columns
        )

    read = {name: rows(one) for name, one in GROUP_READS.items()}
    if topics is None:
        of_groups = None if names is None else read["offsets"]["topic"].unique().to_list()
        topics = read_topics(lake, now, cluster, of_groups)
    clusters = read["groups"]["cluster"].unique().to_list() if cluster is None else [cluster]

    def statuses(table: Table) -> pl.DataFrame:
        found = read_statuses(lake.current, clusters, now, table=table)
        return found if names is None else found.filter(pl.col("group").is_in(list(names)))

    return GroupFrames(
        **read,
        topics=topics[0],
        partitions=topics[1],
        statuses=statuses(GROUP_STATUS),
        partition_statuses=statuses(GROUP_PARTITION_STATUS),
    )


def read_group(
    lake: Lake, cluster: str, group: str, now: datetime, settings: ScalingSettings
) -> GroupFacts | None:
    """Return the facts of one group; None where the newest poll does not know it."""
    frames = read_groups(lake, now, cluster=cluster, names=[group])
    facts = facts_of(frames, now=now, objective=settings.objective_seconds)
    return facts.get(GroupKey(cluster, group))


def facts_of(
    frames: GroupFrames,
    *,
    now: datetime,
    objective: Callable[[str], float],
) -> dict[GroupKey, GroupFacts]:
    """Return the facts of every group of the newest polls."""
    return group_facts(
        frames.offsets,
        frames.groups,
        frames.topics,
        frames.partitions,
        now=now.timestamp(),
        capacity=frames.capacity,
        forecasts=frames.forecasts,
        rebalances=frames.rebalances,
        objective=objective,
        statuses=frames.known_statuses(),
    )
