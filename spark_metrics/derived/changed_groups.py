"""Advice between two rounds: on the groups that do something else than when they were advised on.

A round of advice on all groups comes every ten minutes. Who stops a group's consumers, or starts
them again, does not wait for it: what a few groups do is read and decided here, without Spark, by
the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import polars as pl

from alerting.inputs.windows import GroupKey
from alerting.status.model import WORST_FIRST, Status
from config.scaling import ScalingSettings
from lake.schemas.current import CHANGED_ADVICE
from lake.storage.current_store import read_statuses
from lake.storage.store import Lake
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.stored_advice import in_place, newer_than_round
from scaling.advisers.advise import advise_groups
from scaling.facts.lake_reader import facts_of, read_groups

MOST_GROUPS = 100
"""So many at once, the worst first: a broker that fails changes all groups of a cluster."""


class Doing(NamedTuple):
    """What a group does, as far as advice depends on it."""

    status: Status
    is_lasting: bool  # of one that falls behind: whether it is no passing peak
    is_read: bool | None  # whether it has members; None: that is unknown
    is_lag_known: bool = True  # on all of its partitions


Doings = Mapping[GroupKey, Doing]


class ChangedGroups:
    """Advises on groups that changed since they were last advised on."""

    def __init__(self, lake: Lake, settings: ScalingSettings) -> None:
        self._lake = lake
        self._settings = settings
        self._then: dict[GroupKey, Doing] = {}
        self._round: pl.DataFrame | None = None

    def doing(self, clusters: Iterable[str], now: datetime) -> Doings:
        """Return what the groups of clusters do, as the alerting service found of late."""
        columns = ("cluster", "group", "status", "is_lasting", "members", "unknown_partitions")
        rows = read_statuses(self._lake.current, clusters, now).select(columns)
        return {
            GroupKey(cluster, group): Doing(
                Status(status),
                bool(is_lasting),
                None if members is None else members > 0,
                unknown == 0,
            )
            for cluster, group, status, is_lasting, members, unknown in rows.iter_rows()
        }

    def after_round(self, given: pl.DataFrame, doing: Doings) -> None:
        """Take a round of advice as given.

        Args:
            given: Rows of ``recommendations`` that it and those of the hour before confirmed.
            doing: What the groups did when it was given.
        """
        self._round, self._then = given, dict(doing)

    def advise(self, now: datetime) -> int:
        """Advise on the groups that changed since, the worst first.

        Args:
            now: The present, UTC.

        Returns:
            How many there were; none before the first round.

        Raises:
            LakeError: The lake cannot be read or written.
        """
        given = self._round
        if given is None:
            return 0
        doing = self.doing(given["cluster"].unique(), now)
        chosen = changed(self._then, doing)[:MOST_GROUPS]
        for cluster in sorted({key.cluster for key in chosen}):
            names = [key.group for key in chosen if key.cluster == cluster]
            self._advise(cluster, names, given.filter(pl.col("cluster") == cluster), now)
        self._then |= {key: doing[key] for key in chosen}
        return len(chosen)

    def _advise(self, cluster: str, names: list[str], given: pl.DataFrame, now: datetime) -> None:
        frames = read_groups(self._lake, now, cluster=cluster, names=names)
        facts = facts_of(frames, now=now, objective=self._settings.objective_seconds)
        advice = advise_groups(facts, frames.state_texts()).advice
        before = self._lake.current.read(CHANGED_ADVICE, cluster)
        round_at = given.select(pl.col("confirmed_at").max()).item()
        newer = newer_than_round(CHANGED_ADVICE.empty if before is None else before, round_at)
        known = pl.concat([given, newer.select(given.columns)])
        rows = recommendation_rows(advice, at=now, standing=known.rows(named=True))
        changed = in_place(newer, recommendation_frame(rows))
        self._lake.current.replace(CHANGED_ADVICE, cluster, changed)


def changed(then: Doings, now: Doings) -> list[GroupKey]:
    """Return the groups that do something else now, the worst first.

    A status that could not be found tells nothing new, nor does a lag that is not known any more;
    one that is known again does. A group that was never advised on is new.

    Args:
        then: What they did when they were last advised on.
        now: What they do now.
    """
    found = [
        key
        for key, doing in now.items()
        if doing.status is not Status.UNKNOWN and _is_new(then.get(key), doing)
    ]
    return sorted(found, key=lambda key: (WORST_FIRST.index(now[key].status), key))


def _is_new(then: Doing | None, now: Doing) -> bool:
    if then is None or (now.is_lag_known and not then.is_lag_known):
        return True
    return now[:3] != then[:3]
