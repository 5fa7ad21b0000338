"""What only samples tell: what members get through when they never wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import polars as pl
from pyspark.sql import DataFrame

from lake.schemas.tables import CAPACITY, CAPACITY_INTERVALS, GROUPS
from scaling.facts.capacity import Capacity, Estimate, estimate_capacity
from scaling.facts.intervals import Intervals
from spark_metrics.derived.intervals import gains, member_intervals
from spark_metrics.rollups.passes import Frames
from spark_metrics.samples import Source, by_group


def interval_rows(offsets: Source, written: DataFrame, groups: DataFrame, tasks: int) -> DataFrame:
    """Return the rows of ``capacity_intervals``.

    Args:
        offsets: Of ``group_offsets``.
        written: Its rows as they were written.
        groups: Rows of ``groups`` of the same time.
        tasks: See ``by_group``.
    """

    def on_groups(frames: Frames) -> pl.DataFrame:
        whole = offsets.whole(frames["offsets"])
        return member_intervals(gains(whole), GROUPS.distinct(frames["groups"]))

    parts = {"offsets": (written, "group"), "groups": (groups, "group")}
    return by_group(parts, tasks, on_groups, CAPACITY_INTERVALS)


def capacities(evidence: DataFrame, recent: datetime, tasks: int) -> DataFrame:
    """Return the rows of ``capacity``: what one member of each group can do.

    Args:
        evidence: Rows of ``capacity_intervals`` of the last days.
        recent: Partitions that stood still since then are blocked.
        tasks: See ``by_group``.
    """

    def on_groups(frames: Frames) -> pl.DataFrame:
        found = frames["intervals"].with_columns(
            seconds_at=pl.col("started_at").dt.epoch("us") / 1e6
        )
        rows: list[dict[str, Any]] = []
        for (cluster, group), of_group in found.group_by("cluster", "group", maintain_order=True):
            stuck = of_group.filter(pl.col("started_at") >= recent)["blocked"].explode()
            columns = of_group.drop("started_at").rename({"seconds_at": "started_at"})
            estimate = estimate_capacity(
                Intervals.of(columns.to_dict()), blocked=set(stuck.drop_nulls())
            )
            rows.extend(_rows(str(cluster), str(group), estimate))
        return pl.DataFrame(rows, schema=CAPACITY.polars_schema)

    return by_group({"intervals": (evidence, "group")}, tasks, on_groups, CAPACITY)


def _rows(cluster: str, group: str, capacity: Capacity) -> Iterator[dict[str, Any]]:
    key = {"cluster": cluster, "group": group}
    yield key | {
        "status": str(capacity.status),
        "reason": capacity.reason,
        "per_second": capacity.per_second,
        "low": capacity.low,
        "high": capacity.high,
        "samples": capacity.samples,
        "episodes": capacity.episodes,
        "limit_per_second": capacity.limit_per_second,
        "helpful_members": capacity.helpful_members,
        "variability_seconds": capacity.variability_seconds,
    }
    members: Mapping[str, Estimate] = capacity.members or {}
    for member, estimate in members.items():
        yield key | {
            "member": member,
            "status": str(capacity.status),
            "per_second": estimate.per_second,
            "low": estimate.low,
            "high": estimate.high,
            "samples": estimate.samples,
            "episodes": estimate.episodes,
        }
