"""Evaluating clusters, poll after poll: the one way in which a status and an alert come about.

The alerting service and everybody who evaluates without it use these classes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from alerting.checks.loss_deadline import GroupLosses
from alerting.checks.model import CheckInput
from alerting.evaluate.observations import CheckedCluster, evaluate_cluster, observe
from alerting.evaluate.status_history import GroupMemory
from alerting.evaluate.watched import Watched, watched, with_begins
from alerting.inputs.frames import Frames
from alerting.inputs.recent_rows import RecentRows
from alerting.inputs.windows import GroupKey
from alerting.rules.inhibition import advance_with_causes
from alerting.rules.lifecycle import Alert, Alerts
from alerting.rules.model import Rule, unasked
from alerting.status.model import OBJECTIVE_SECONDS, GroupStatus, PartitionWindow
from lake.storage.store import Lake


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEvaluation:
    """What one evaluation found of one cluster.

    Attributes:
        clear_partitions: The partitions of groups that are OK without a doubt
            (``alerting.inputs.polls.PARTITION_LAG``); those of other groups are in their status.
        before: What the evaluation before looked at; None: this is the first one.
    """

    frames: Frames
    statuses: Mapping[GroupKey, GroupStatus]
    clear_partitions: pl.DataFrame
    losses: GroupLosses
    seen: CheckedCluster
    before: Watched | None = None


class ClusterEvaluator:
    """Evaluates the clusters of one lake and remembers what each evaluation need not read again.

    One thread at a time may use it.
    """

    def __init__(
        self,
        lake: Lake,
        *,
        watched_since: float,
        objective: Callable[[str], float] = lambda _: OBJECTIVE_SECONDS,
    ) -> None:
        """Begin without a memory.

        Args:
            lake: Where the samples are.
            watched_since: Since when somebody evaluates, in Unix seconds.
            objective: The time lag that a group is not to exceed, seconds, by its name.
        """
        self._recent = RecentRows(lake)
        self._watched_since = watched_since
        self._memory = GroupMemory(lake, objective)
        self._watched: dict[str, Watched] = {}

    def watch_anew(self, since: float) -> None:
        """Count only from here on how long samples are waited for."""
        self._watched_since = since
        self.ask_anew()

    def ask_anew(self) -> None:
        """Take for watched only what is looked at from here on: rules ask for something else."""
        self._watched.clear()

    def evaluate(
        self, cluster: str, now: float, rules: Sequence[Rule] | None = None
    ) -> ClusterEvaluation:
        """Read what is new of a cluster and evaluate it.

        Args:
            cluster: The cluster.
            now: The moment, in Unix seconds.
            rules: Those that will be compared with what is seen; None: any may be.
        """
        frames = self._recent.frames(cluster, now, self._watched_since)
        return self.evaluate_frames(frames, () if rules is None else unasked(rules))

    def windows(self, cluster: str, group: str) -> tuple[PartitionWindow, ...]:
        """Return the samples that a group is classified by; none where it is not known."""
        return self._memory.windows(cluster, group)

    def evaluate_frames(self, frames: Frames, left_out: Collection[str] = ()) -> ClusterEvaluation:
        """Evaluate rows that were read already, but for some checks; the memory takes them over."""
        given = CheckInput(frames=frames, classify=self._memory.statuses)
        seen = observe(given, unasked=left_out)
        before = self._watched.get(frames.cluster)
        self._watched[frames.cluster] = watched(frames, seen)
        return ClusterEvaluation(
            frames=frames,
            statuses=given.statuses,
            clear_partitions=self._memory.clear_partitions(frames.cluster),
            losses=given.losses,
            seen=seen,
            before=before,
        )


def advanced(alerts: Alerts, found: ClusterEvaluation, rules: Sequence[Rule]) -> dict[str, Alert]:
    """Take the alerts of a cluster one evaluation further."""
    frames = found.frames
    evaluation = evaluate_cluster(rules, found.seen, frames.cluster)
    evaluation = with_begins(evaluation, alerts, found.before, frames)
    return advance_with_causes(alerts, evaluation, frames.sampled_at)
