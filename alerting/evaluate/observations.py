"""Everything that checks see of one cluster at one moment: pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from alerting.checks.groups import OF_SAMPLES
from alerting.checks.model import Check, CheckInput, Observation, PartialData
from alerting.checks.registry import CHECKS
from alerting.inputs.frames import STALE_INTERVALS, Frames
from alerting.inputs.sources import NoData, no_data
from alerting.inputs.windows import GroupKey
from alerting.rules.model import Evaluation, Rule, evaluate
from alerting.status.model import GroupStatus
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, GROUPS


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCluster:
    """What checks see of one cluster at one moment."""

    observations: tuple[Observation, ...]  # what they see; without a value where nothing is known
    partial: tuple[PartialData, ...] = ()  # what was read in part
    has_no_data: bool = False  # whether nothing is known of the cluster


def unread_groups(frames: Frames) -> list[GroupKey]:
    """Return the groups that the newest poll knew of and could not read."""
    unread = frames.newest(GROUPS).filter(pl.col("unknown_reason").is_not_null())
    return [GroupKey(frames.cluster, group) for group in unread["group"].to_list()]


def group_observations(
    statuses: Mapping[GroupKey, GroupStatus], *, now: float
) -> list[Observation]:
    """Return what checks see of groups by their samples alone."""
    given = CheckInput(frames=Frames(cluster="", now=now, tables={}), classify=lambda _: statuses)
    return [seen for check in OF_SAMPLES for seen in check.observe(given)]


def observe(
    given: CheckInput, only: str | None = None, unasked: Collection[str] = ()
) -> CheckedCluster:
    """Look at everything that is known of one cluster.

    Args:
        given: What is known of it.
        only: The one check that is of interest; the others are passed over.
        unasked: Checks whose values nobody compares; only what is not known of them is said.
    """
    has_no_data = any(
        (seen.value or 0.0) > STALE_INTERVALS
        for seen in CHECKS["nothing_collected"].evaluate(given)
    )
    checks = [check for check in CHECKS.values() if only in (None, check.name)]
    missing: dict[str, list[NoData]] = {}
    found: list[Observation] = []
    partial: list[PartialData] = []
    for check in checks:
        is_asked = check.name not in unasked and _has_rows(given, check)
        if is_asked and (not has_no_data or COLLECTIONS in check.sources):
            found += check.observe(given)
        if has_no_data and check.name != "nothing_collected":
            found.append(Observation(check=check.name, labels=given.labels(), value=None))
            continue
        for table in check.sources:
            if table.name not in missing:
                missing[table.name] = list(no_data(given.frames, table, given.sections))
            for one in missing[table.name]:
                labels = _labels(given, check, one)
                if one.since is None:
                    found.append(Observation(check=check.name, labels=labels, value=None))
                elif check.labels and check.columns.keys() <= table.polars_schema.keys():
                    partial.append(
                        PartialData(
                            check=check.name,
                            labels=labels,
                            since=one.since,
                            present=frozenset(_things(given, check, table)),
                        )
                    )
    return CheckedCluster(
        observations=tuple(found), partial=tuple(partial), has_no_data=has_no_data
    )


def _has_rows(given: CheckInput, check: Check) -> bool:
    """Return whether there is anything to look at: many clusters have not all kinds of source."""
    if given.statuses or COLLECTIONS in check.sources:
        return True
    return any(not given.frames.rows(table).is_empty() for table in check.sources)


def _labels(given: CheckInput, check: Check, missing: NoData) -> dict[str, str]:
    """Return the labels of the things of a check whose rows are missing."""
    of_source = {name: value for name, value in missing.source.items() if name in check.labels}
    return given.labels(**of_source)


def _things(given: CheckInput, check: Check, table: Table) -> Iterator[tuple[str, ...]]:
    """Return the things whose rows a table has."""
    columns = pl.col(list(check.columns)).cast(pl.String).fill_null("")
    return given.frames.newest(table).select(columns).unique().iter_rows()


def evaluate_cluster(rules: Sequence[Rule], seen: CheckedCluster, cluster: str) -> Evaluation:
    """Compare what is seen of one cluster with the rules."""
    return evaluate(rules, seen.observations, partial=seen.partial)
