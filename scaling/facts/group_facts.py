"""What is known of a group or a topic, taken from the rows of the lake; no input or output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import polars as pl

from alerting.checks.retention_deadline import PartitionBacklog, Retention, retention_of
from alerting.inputs.frames import BRIEF_INTERVALS
from alerting.inputs.windows import GroupKey, build_windows
from alerting.status.group_status import (
    DEFAULT_STATUS_RULES,
    GroupStatus,
    PartitionStatus,
    PartitionWindow,
    Status,
    group_status,
)
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.longer_memory import Statuses, as_known, members_before

OBJECTIVE_SECONDS = 300.0
"""The time lag that is not to be exceeded, where nothing else was agreed."""

HORIZON_SECONDS = 86400.0
"""How far ahead the next peak is looked for."""

_OF_TEN_MINUTES = replace(
    DEFAULT_STATUS_RULES, unknown_period_seconds=DEFAULT_STATUS_RULES.window_seconds
)
"""More than ten minutes are not looked at: what has not committed in them, while other partitions
have, is reported, as an alert would be that remembers when it last did."""
_NO_COMMIT = (
    "No commit in ten minutes, and the alerting service, which remembers how often this group "
    "commits, does not run."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """One partition of a group.

    Attributes:
        member_id: The member that holds it; None where nobody does, or it is unknown.
        is_transactional: Whether a transaction was open on it, so that its writers use them.
    """

    status: PartitionStatus
    member_id: str | None = None
    bytes_per_message: float | None = None
    is_transactional: bool = False

    @property
    def backlog(self) -> PartitionBacklog:
        """What waits in it."""
        numbers = self.status.numbers
        return PartitionBacklog(
            lag=numbers.lag,
            age_seconds=numbers.behind_seconds,
            lost_messages=numbers.lost_messages,
            arrival_per_second=numbers.arrival_per_second,
            consumption_per_second=numbers.consumption_per_second,
            bytes_per_message=self.bytes_per_message,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLimits:
    """What a group must know of a topic that it reads.

    Attributes:
        kind: ``application``, ``changelog``, ``repartition`` and so on; None is unknown.
    """

    partitions: int
    retention: Retention
    kind: str | None = None
    is_compacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The highest arrival that is expected within ``HORIZON_SECONDS``.

    Attributes:
        per_second: Upper end of the forecast's 90 % interval at the peak; None where there is too
            little history.
        at: When, Unix seconds.
    """

    per_second: float | None = None
    at: float | None = None
    reason: str = "no forecast was made yet"
    generated: bool = False

    @property
    def source(self) -> str:
        """Say what its figure is, which no chart of what arrives has."""
        of_history = ", from generated history" if self.generated else ""
        return f"the forecast's upper end for that hour{of_history}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """What is known of a consumer group; None is unknown.

    Attributes:
        partitions: Its partitions, in the order of ``status.partitions``.
        kind: ``plain``, ``connect``, ``streams``, ``ksqldb``, ``ditto`` and so on.
        type: ``classic``, ``consumer`` (KIP-848) or ``share``.
        assignor: Its protocol, for example ``range``; None is unknown.
        static_members: Members with a group.instance.id; None is unknown.
        members_before: How many it had before all left; None where some are there, or unknown.
        capacity: What one of its members can process; None where it was not estimated.
        at_most_once: Whether it is known to commit before it handles.
        subscribed: Partitions of each topic that the group still reads.
    """

    cluster: str
    group: str
    status: GroupStatus
    partitions: tuple[PartitionFacts, ...] = ()
    topics: Mapping[str, TopicLimits] = field(default_factory=dict)
    kind: str = "plain"
    type: str | None = None
    assignor: str | None = None
    members: int | None = None
    idle_members: int | None = None
    static_members: int | None = None
    members_before: int | None = None
    capacity: Capacity | None = None
    forecast: Forecast = field(default_factory=Forecast)
    at_most_once: bool = False
    objective_seconds: float = OBJECTIVE_SECONDS
    windows: tuple[PartitionWindow, ...] = field(default=(), repr=False)
    subscribed: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Count the partitions once: every piece of advice asks for them."""
        object.__setattr__(self, "subscribed", self._subscribed())

    def _subscribed(self) -> dict[str, int]:
        read = {part.status.topic for part in self.partitions if part.status.subscribed}
        seen: dict[str, int] = {}
        for part in self.partitions:
            if part.status.topic in read:
                seen[part.status.topic] = seen.get(part.status.topic, 0) + 1
        return {
            topic: self.topics[topic].partitions if topic in self.topics else seen[topic]
            for topic in sorted(read)
        }


def group_facts(
    offsets: pl.DataFrame,
    groups: pl.DataFrame,
    topics: pl.DataFrame,
    partitions: pl.DataFrame,
    *,
    now: float | None = None,
    capacity: pl.DataFrame | None = None,
    forecasts: pl.DataFrame | None = None,
    rebalances: pl.DataFrame | None = None,
    objective: Callable[[str], float] | None = None,
    statuses: Statuses = MappingProxyType({}),
) -> dict[GroupKey, GroupFacts]:
    """Gather what is known of every group.

    Args:
        offsets: Rows of ``group_offsets`` of about the last ten minutes.
        groups: Rows of ``groups`` of the same time.
        topics: The newest rows of ``topics``, however old.
        partitions: The newest rows of ``partitions``.
        now: The present in Unix seconds; where given, old samples say nothing.
        capacity: Rows of ``capacity``.
        forecasts: Rows of ``forecasts`` of the groups' arrival.
        rebalances: Rows of ``rebalances`` of the last day.
        objective: The time lag that a group is not to exceed, seconds, by its name.
        statuses: What is known of the groups' status already.
    """
    windows = build_windows(offsets, without_brief_gap(offsets, groups))
    limits = _limits(topics, partitions)
    sizes = bytes_per_message(partitions)
    holders, transactional = _holders(offsets), _transactional(offsets)
    capacities = {} if capacity is None else _capacities(capacity)
    forecast = {} if forecasts is None else _forecasts(forecasts, now)
    left = {} if rebalances is None else members_before(rebalances)
    facts = {}
    for row in of_newest_poll(groups).iter_rows(named=True):
        key = GroupKey(row["cluster"], row["group"])
        of_group = windows.get(key, ())
        status = group_status(of_group, now=now, rules=_OF_TEN_MINUTES)
        known = statuses.get(key)
        status = _unsure(status, of_group) if known is None else as_known(status, known)
        read = {part.topic for part in status.partitions}
        facts[key] = GroupFacts(
            cluster=key.cluster,
            group=key.group,
            status=status,
            partitions=tuple(
                PartitionFacts(
                    status=part,
                    member_id=holders.get((*key, part.topic, part.partition)),
                    bytes_per_message=sizes.get((key.cluster, part.topic, part.partition)),
                    is_transactional=(key.cluster, part.topic) in transactional,
                )
                for part in status.partitions
            ),
            topics={
                topic: limits[key.cluster, topic]
                for topic in read
                if (key.cluster, topic) in limits
            },
            kind=row["kind"] or "plain",
            type=row["type"],
            assignor=row["protocol"],
            members=row["members"],
            idle_members=row["idle_members"],
            static_members=row["static_members"],
            members_before=left.get(key) if row["members"] == 0 else None,
            capacity=capacities.get(key),
            forecast=forecast.get(key, Forecast()),
            objective_seconds=OBJECTIVE_SECONDS if objective is None else objective(key.group),
            windows=of_group,
        )
    return facts


def without_brief_gap(offsets: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return rows of ``groups`` without the newest one or two polls that have no offsets yet.

    A poll that is being written has groups before it has their offsets, and one that failed tells
    nothing new: what a group was measured to do stands until it is measured anew.
    """
    polls = groups.select("cluster", "observed_at").unique()
    read = offsets.group_by("cluster", "group").agg(pl.col("observed_at").max().alias("read_at"))
    gaps = (
        read.join(polls, on="cluster")
        .filter(pl.col("observed_at") > pl.col("read_at"))
        .group_by("cluster", "group", "read_at")
        .len("missed")
        .filter(pl.col("missed") < BRIEF_INTERVALS)
    )
    marked = groups.join(gaps, on=["cluster", "group"], how="left", maintain_order="left")
    is_of_gap = (pl.col("observed_at") > pl.col("read_at")).fill_null(value=False)
    return marked.filter(~is_of_gap).select(groups.columns)


def _unsure(status: GroupStatus, windows: Sequence[PartitionWindow]) -> GroupStatus:
    """Return the status, without a stall where no commit was seen: one an hour may be usual."""
    if any(len({one.committed for one in window.samples} - {None}) > 1 for window in windows):
        return status
    partitions = tuple(
        replace(part, status=Status.UNKNOWN, reason=_NO_COMMIT, since=None)
        if part.status is Status.STALLED
        else part
        for part in status.partitions
    )
    if status.status is Status.STALLED:
        status = replace(status, status=Status.UNKNOWN, reason=_NO_COMMIT, since=None)
    return replace(status, partitions=partitions)


def newest(rows: pl.DataFrame, *key: str) -> pl.DataFrame:
    """Return the newest row of each key in each cluster."""
    return rows.sort("observed_at").unique(["cluster", *key], keep="last", maintain_order=True)


def of_newest_poll(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of each cluster's newest poll."""
    return rows.filter(pl.col("observed_at") == pl.col("observed_at").max().over("cluster"))


def retention(row: Mapping[str, Any]) -> Retention:
    """Return what a row of ``topics`` says about how long messages are kept."""
    return retention_of(
        row["retention_seconds"],
        row["retention_bytes"],
        row["cleanup_policy"],
        row["unknown_reason"],
    )


def _limits(topics: pl.DataFrame, partitions: pl.DataFrame) -> dict[tuple[str, str], TopicLimits]:
    counts = partition_counts(partitions)
    return {
        (row["cluster"], row["topic"]): TopicLimits(
            partitions=counts.get((row["cluster"], row["topic"])) or row["partitions"] or 0,
            retention=retention(row),
            kind=row["kind"],
            is_compacted="compact" in (row["cleanup_policy"] or ""),
        )
        for row in newest(topics, "topic").iter_rows(named=True)
    }


def partition_counts(partitions: pl.DataFrame) -> dict[tuple[str, str], int]:
    """Return the partitions of each topic, by cluster and topic."""
    return {
        (cluster, topic): number
        for cluster, topic, number in of_newest_poll(partitions)
        .group_by("cluster", "topic")
        .agg(pl.col("partition").n_unique())
        .iter_rows()
    }


def bytes_per_message(partitions: pl.DataFrame) -> dict[tuple[str, str, int], float]:
    """Return the mean size of a partition's messages on one replica's disk, in bytes."""
    held = pl.col("log_end") - pl.col("log_start")
    rows = (
        newest(partitions, "topic", "partition")
        .filter(held > 0, pl.col("size_bytes").is_not_null())
        .select("cluster", "topic", "partition", (pl.col("size_bytes") / held).alias("size"))
    )
    return {(cluster, topic, number): size for cluster, topic, number, size in rows.iter_rows()}


def _holders(offsets: pl.DataFrame) -> dict[tuple[str, str, str, int], str]:
    key = ("cluster", "group", "topic", "partition")
    rows = (
        newest(offsets.select(*key, "observed_at", "member_id"), *key[1:])
        .filter(pl.col("member_id").is_not_null())
        .select(*key, "member_id")
    )
    return {
        (cluster, group, topic, number): member
        for cluster, group, topic, number, member in rows.iter_rows()
    }


def _transactional(offsets: pl.DataFrame) -> set[tuple[str, str]]:
    """Return the topics, with their cluster, on which a transaction held messages back."""
    held = offsets.filter(pl.col("open_since").is_not_null()).select("cluster", "topic").unique()
    return set(held.iter_rows())


def _capacities(rows: pl.DataFrame) -> dict[GroupKey, Capacity]:
    """Return what a member of each group can do, from the rows of whole groups."""
    return {
        GroupKey(row["cluster"], row["group"]): Capacity(
            status=CapacityStatus(row["status"]),
            reason=row["reason"] or "",
            per_second=row["per_second"],
            low=row["low"],
            high=row["high"],
            samples=row["samples"] or 0,
            episodes=row["episodes"] or 0,
            limit_per_second=row["limit_per_second"],
            helpful_members=row["helpful_members"],
            variability_seconds=row["variability_seconds"],
        )
        for row in rows.filter(pl.col("member").is_null()).iter_rows(named=True)
    }


def _forecasts(rows: pl.DataFrame, now: float | None) -> dict[GroupKey, Forecast]:
    """Return the next peak of each group's arrival."""
    of_groups = rows.filter(
        pl.col("subject") == "group", pl.col("metric") == "arrival_per_second"
    ).with_columns(at=pl.col("window_start").dt.epoch("us") / 1e6)
    found = {
        GroupKey(row["cluster"], row["name"]): Forecast(reason=row["reason"] or row["status"])
        for row in of_groups.filter(pl.col("high_90").is_null()).iter_rows(named=True)
    }
    numbers = of_groups.filter(pl.col("high_90").is_not_null())
    if now is not None:
        within = (pl.col("at") + 3600.0 > now) & (pl.col("at") < now + HORIZON_SECONDS)
        numbers = numbers.filter(within)
    for row in numbers.sort("high_90").iter_rows(named=True):
        found[GroupKey(row["cluster"], row["name"])] = Forecast(
            per_second=row["high_90"], at=row["at"], reason="", generated=bool(row["generated"])
        )
    return found
