"""``python -m alerting explain``: why a group has its status, now or at an earlier moment."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from alerting.evaluate.status_history import GroupMemory
from alerting.inputs.lake_rows import at, read_range
from alerting.notify.wording import moment
from alerting.status.explain import Explanation, explain
from alerting.status.model import DEFAULT_STATUS_RULES
from config.visible import visible
from lake.storage.store import Lake


def explained(
    lake: Lake, cluster: str, group: str, now: float, *, objective_seconds: float
) -> Explanation | None:
    """Explain a group of a cluster at a moment; None where it is not known there.

    Args:
        lake: Where the samples are.
        cluster: The cluster.
        group: The group.
        now: The moment, in Unix seconds.
        objective_seconds: The time lag that the group is not to exceed.
    """
    frames = at(read_range(lake, cluster, now, now), now)
    memory = GroupMemory(lake)
    memory.statuses(frames)
    windows = memory.windows(cluster, group)
    if not windows:
        return None
    rules = replace(DEFAULT_STATUS_RULES, objective_seconds=objective_seconds)
    return explain(windows, now=now, rules=rules)


def as_object(cluster: str, group: str, now: float, found: Explanation) -> dict[str, Any]:
    """Return an explanation as a JSON object."""
    part = found.partition
    return {
        "cluster": cluster,
        "group": group,
        "at": now,
        "status": found.status.status.value,
        "is_lasting": found.status.is_lasting,
        "since": found.status.since,
        "reason": found.status.reason,
        "partition": None if part is None else f"{part.topic}-{part.partition}",
        "decides": found.decides,
        "partition_reason": None if part is None else part.reason,
        "features": [asdict(feature) for feature in found.features],
    }


def print_explanation(console: Console, row: dict[str, Any]) -> None:
    """Print an explanation for a person to read."""

    def said(text: str) -> None:
        console.print(visible(text), markup=False, highlight=False)

    said(f"{row['group']} on {row['cluster']} at {moment(row['at'])}: {row['status']}")
    said(row["reason"])
    if row["partition"] is None:
        return
    console.print()
    said(f"{row['decides']}: {row['partition_reason']}")
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("of", "measured", "value", "compared with"):
        table.add_column(column, overflow="fold")
    for feature in row["features"]:
        table.add_row(feature["of"], feature["name"], feature["value"], feature["compared"])
    console.print(table)
