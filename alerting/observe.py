"""Everything that checks see of one cluster at one moment: pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from alerting.facts import same_polls
from alerting.frames import Frames
from alerting.lag_status import group_status
from alerting.observe_cluster import cluster_observations
from alerting.observe_groups import group_extras, group_observations
from alerting.observe_monitor import is_blind, monitor_observations, section_states
from alerting.observe_neighbours import (
    connect_observations,
    dead_letter_observations,
    queue_observations,
)
from alerting.rules import Evaluation, Observation, Rule, evaluate
from alerting.samples import GroupStatus
from alerting.windows import GroupKey, build_windows
from lake.schema import Table
from lake.tables import (
    BROKERS,
    CONNECTORS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    QUEUES,
    TOPICS,
)

_GROUP_CHECKS = (
    "losing_data",
    "stopped",
    "stalled",
    "falling_behind",
    "rewound",
    "unknown",
    "time_lag",
    "lag",
    "idle_consumers",
    "data_loss_deadline",
)
_DEPENDS: tuple[tuple[Table, tuple[str, ...], tuple[str, ...]], ...] = (
    (GROUP_OFFSETS, ("kafka",), _GROUP_CHECKS),
    (GROUPS, ("kafka",), _GROUP_CHECKS),
    (BROKERS, ("kafka",), ("broker_missing", "no_controller", "disk_free")),
    (
        PARTITIONS,
        ("kafka",),
        ("partitions_offline", "under_min_isr", "under_replicated", "leader_imbalance"),
    ),
    (
        DEAD_LETTERS,
        ("kafka", "rabbitmq"),
        ("dead_letter_ratio", "dead_letter_age", "dead_letter_new_reason", "redrive_stopped"),
    ),
    (CONNECTORS, ("connect",), ("connector_failed", "tasks_failed")),
    (
        QUEUES,
        ("rabbitmq",),
        ("queue_backlog", "queue_no_consumers", "queue_target_missing"),
    ),
)
"""Tables, which kinds of source write them, and the checks that see nothing without them."""


Judge = Callable[[Frames], Mapping[GroupKey, GroupStatus]]
"""Rows of one cluster to what each of its groups is doing."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What checks see of one cluster at one moment.

    Attributes:
        observations: What they see.
        is_blind: Whether nothing is known of the cluster.
        blind_checks: Checks whose rows are missing or too old.
    """

    observations: tuple[Observation, ...]
    is_blind: bool
    blind_checks: frozenset[str]


def group_statuses(frames: Frames) -> dict[GroupKey, GroupStatus]:
    """Return what each group of the cluster is doing."""
    # Sections of a poll are written one by one: the newest poll may have one and not the other.
    offsets, groups = same_polls(
        (frames.rows(GROUP_OFFSETS), frames.rows(GROUPS)),
        timedelta(seconds=2 * frames.interval_seconds),
    )
    windows = build_windows(offsets, groups)
    found = {key: group_status(one, now=frames.now) for key, one in windows.items()}
    for key in unread_groups(frames):
        found.setdefault(key, group_status((), now=frames.now))
    return found


def unread_groups(frames: Frames) -> list[GroupKey]:
    """Return the groups that the newest poll knew of and could not read."""
    unread = frames.newest(GROUPS).filter(pl.col("unknown_reason").is_not_null())
    return [GroupKey(frames.cluster, group) for group in unread["group"].to_list()]


def observe(
    frames: Frames,
    only: str | None = None,
    judge: Judge = group_statuses,
) -> Seen:
    """Look at everything that is known of one cluster.

    Args:
        frames: Its rows.
        only: The one check that is of interest; what only others need is passed over.
        judge: Who tells what groups are doing; by default the rows of the frames alone.
    """
    monitor = list(monitor_observations(frames))
    if is_blind(frames, monitor):
        return Seen(tuple(monitor), True, frozenset())
    needs_groups = only is None or only in (*_GROUP_CHECKS, "redrive_stopped")
    statuses: Mapping[GroupKey, GroupStatus] = {}
    if needs_groups:
        statuses = judge(frames)
    topics = frames.rows(TOPICS).sort("observed_at").unique(["cluster", "topic"], keep="last")
    extras = group_extras(
        frames.rows(GROUPS).sort("observed_at").unique(["cluster", "group"], keep="last"),
        topics,
        frames.newest(PARTITIONS),
    )
    found: Sequence[Observation] = [
        *monitor,
        *group_observations(statuses, extras, now=frames.now),
        *cluster_observations(frames),
        *dead_letter_observations(frames, statuses),
        *connect_observations(frames),
        *queue_observations(frames),
    ]
    return Seen(tuple(found), False, frozenset(_unseen(frames)))


def _unseen(frames: Frames) -> set[str]:
    """Return the checks whose rows are missing or too old."""
    unseen: set[str] = set()
    for table, sources, checks in _DEPENDS:
        rows = frames.rows(table)
        if table.name in frames.errors or (
            frames.is_configured(sources)
            and not frames.is_fresh(rows)
            and not (rows.is_empty() and _may_be_empty(frames, table))
        ):
            unseen.update(checks)
    return unseen


def _may_be_empty(frames: Frames, table: Table) -> bool:
    """Tell whether the section that writes the table worked, and had nothing to write."""
    states = section_states(frames)
    worked = states.filter(
        (pl.col("section") == table.name) & pl.col("status").is_in(["ok", "partial"])
    )
    return not worked.is_empty()


def evaluate_cluster(rules: Sequence[Rule], seen: Seen, cluster: str) -> Evaluation:
    """Compare what is seen of one cluster with the rules."""
    return evaluate(
        rules,
        seen.observations,
        blind=frozenset({cluster}) if seen.is_blind else frozenset(),
        blind_checks=frozenset((cluster, check) for check in seen.blind_checks),
    )
