"""One poll as a JSON object and as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from collectors.source import Check, SectionResult
from lake.tables import TABLES

COUNTS = ("topics", "partitions", "under_replicated", "under_min_isr", "offline")

_OFFSET_COLUMNS = (
    "topic",
    "partition",
    "committed",
    "log_start",
    "log_end",
    "lag",
    "time_lag_seconds",
    "lost_messages",
    "member_id",
    "client_id",
    "host",
    "unknown_reason",
)
_GROUP_COLUMNS = ("state", "type", "kind", "coordinator", "members", "unknown_reason")


@dataclass(slots=True)
class PollReport:
    """What one poll of one cluster yielded.

    Attributes:
        cluster: Its name.
        cluster_id: The id that it gives itself.
        controller: Node id of its controller.
        results: One a section.
    """

    cluster: str
    cluster_id: str | None = None
    controller: int | None = None
    results: list[SectionResult] = field(default_factory=list)

    def table(self, name: str) -> pl.DataFrame:
        """Return the rows of a table; none where its section failed."""
        for result in self.results:
            if name in result.frames:
                return result.frames[name]
        return pl.DataFrame(schema=TABLES[name].polars_schema)

    def failed(self, name: str) -> bool:
        """Tell whether the section of that name yielded nothing."""
        return any(r.section == name and r.status == "failed" for r in self.results)

    def as_object(self) -> dict[str, Any]:
        """Return the object of ``once --json``; unknown values are None."""
        return {
            "cluster_id": self.cluster_id,
            "controller": self.controller,
            "brokers": self.table("brokers").to_dicts(),
            **self._counts(),
            "groups": self._groups(),
            "dead_letters": [
                {
                    **row,
                    "reasons": None
                    if row["reasons"] is None
                    else {entry["key"]: entry["value"] for entry in row["reasons"]},
                }
                for row in self.table("dead_letters").to_dicts()
            ],
            "collections": [
                {
                    "section": result.section,
                    "status": result.status,
                    "duration_seconds": round(result.duration_seconds, 6),
                    "error": result.error,
                }
                for result in self.results
            ],
        }

    def _counts(self) -> dict[str, int | None]:
        if self.failed("partitions"):
            return dict.fromkeys(COUNTS)
        partitions = self.table("partitions")
        in_sync = pl.col("in_sync_replicas").list.len()
        least = pl.col("min_in_sync_replicas")
        under_least: int | None = partitions.filter(in_sync < least).height
        if partitions["min_in_sync_replicas"].null_count() and not under_least:
            under_least = None
        counts = (
            partitions["topic"].n_unique(),
            partitions.height,
            partitions.filter(in_sync < pl.col("replicas").list.len()).height,
            under_least,
            partitions["leader"].null_count(),
        )
        return dict(zip(COUNTS, counts, strict=True))

    def _groups(self) -> list[dict[str, Any]]:
        partitions: dict[str, list[dict[str, Any]]] = {}
        offsets = self.table("group_offsets")
        for row in offsets.select("group", *_OFFSET_COLUMNS).to_dicts():
            partitions.setdefault(row.pop("group"), []).append(row)
        return [
            {**row, "partitions": partitions.get(row["group"], [])}
            for row in self.table("groups").select("group", *_GROUP_COLUMNS).to_dicts()
        ]


def exit_code(reports: Sequence[PollReport]) -> int:
    """Return 0 where every section worked, 3 where some did not, 1 where nothing was read."""
    statuses = [result.status for report in reports for result in report.results]
    if all(status == "ok" for status in statuses):
        return 0
    return 1 if all(status == "failed" for status in statuses) else 3


def print_report(console: Console, report: PollReport) -> None:
    """Print a poll for a person to read."""
    as_object = report.as_object()
    alive = sum(1 for broker in as_object["brokers"] if broker["is_alive"])
    counts = {name: _shown(as_object[name]) for name in COUNTS}
    console.print(
        f"{report.cluster}: cluster id {_shown(report.cluster_id)}, "
        f"{alive} of {len(as_object['brokers'])} brokers, {counts['topics']} topics, "
        f"{counts['partitions']} partitions; {counts['under_replicated']} under-replicated, "
        f"{counts['under_min_isr']} under min ISR, {counts['offline']} without a leader",
        markup=False,
        highlight=False,
        style="bold",
    )
    groups = _table("group", "state", "type", "members", "partitions", "lag", "time lag s", "lost")
    for group in as_object["groups"]:
        parts = group["partitions"]
        _add(
            groups,
            group["group"],
            group["state"],
            group["type"],
            group["members"],
            len(parts),
            _sum(part["lag"] for part in parts),
            _most(part["time_lag_seconds"] for part in parts),
            _sum(part["lost_messages"] for part in parts),
        )
    console.print(groups)
    if as_object["dead_letters"]:
        dead = _table("dead letters", "origin", "unprocessed", "retained", "reasons")
        for row in as_object["dead_letters"]:
            reasons = ", ".join(f"{name} {n}" for name, n in (row["reasons"] or {}).items())
            _add(dead, row["name"], row["origin"], row["unprocessed"], row["retained"], reasons)
        console.print(dead)
    sections = _table("section", "status", "rows", "seconds", "error")
    for result in report.results:
        seconds = f"{result.duration_seconds:.3f}"
        _add(sections, result.section, result.status, result.rows, seconds, result.error or "")
    console.print(sections)


def print_checks(console: Console, checks: Iterable[tuple[str, Check]]) -> None:
    """Print what ``check`` found."""
    table = _table("cluster", "feature", "", "needed", "detail")
    words = {
        True: Text("works", "green"),
        False: Text("fails", "red"),
        None: Text("not tried", "yellow"),
    }
    for cluster, check in checks:
        needed = "required" if check.required else "optional"
        _add(table, cluster, check.feature, words[check.works], needed, check.detail)
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _add(table: Table, *cells: object) -> None:
    # As Text: a name with square brackets is no markup.
    table.add_row(*(cell if isinstance(cell, Text) else Text(_shown(cell)) for cell in cells))


def _shown(value: object) -> str:
    return "unknown" if value is None else str(value)


def _sum(values: Iterable[int | None]) -> str:
    """Return a sum; with a plus sign where parts of it are unknown."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    if listed and not known:
        return "unknown"
    return f"{sum(known)}{'+ unknown' if len(known) < len(listed) else ''}"


def _most(values: Iterable[float | None]) -> str:
    listed = list(values)
    if any(value is None for value in listed):
        return "unknown"
    return f"{max((value for value in listed if value is not None), default=0.0):.1f}"
