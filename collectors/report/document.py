"""One poll, or a check, of every source, as a JSON object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import polars as pl

from collectors.source.model import Check, SectionResult
from collectors.source.rows import frame
from lake.replication import IS_OFFLINE, IS_UNDER_MIN_ISR, IS_UNDER_REPLICATED, number_of
from lake.schemas.tables import TABLES

KAFKA = "kafka"
"""The name of every source that is a Kafka cluster."""

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
_STATUS_COLUMNS = ("group", "status", "since", "reason", "evaluated_at")
_GROUP_COLUMNS = ("state", "type", "kind", "coordinator", "members", "unknown_reason")


@dataclass(slots=True, kw_only=True)
class PollReport:
    """What one poll of one source yielded."""

    cluster: str
    cluster_id: str | None = None
    controller: int | None = None
    results: list[SectionResult] = field(default_factory=list)
    source: str = KAFKA

    def table(self, name: str) -> pl.DataFrame:
        """Return the rows of a table; none where its section failed."""
        empty = frame(TABLES[name], [])
        for result in self.results:
            if name in result.frames:
                # With a column for everything that the section says nothing of.
                return pl.concat([empty, result.frames[name]], how="diagonal_relaxed")
        return empty

    def failed(self, name: str) -> bool:
        """Return whether the section of that name yielded nothing."""
        return any(r.section == name and r.status == "failed" for r in self.results)

    def as_object(self, statuses: pl.DataFrame | None = None) -> dict[str, Any]:
        """Return a Kafka cluster's object of ``once --json``; unknown values are None."""
        return {
            "cluster_id": self.cluster_id,
            "controller": self.controller,
            "brokers": self.table("brokers").to_dicts(),
            **self._counts(),
            "groups": self._groups(statuses),
            "dead_letters": [
                {
                    **row,
                    "reasons": None
                    if row["reasons"] is None
                    else {entry["key"]: entry["value"] for entry in row["reasons"]},
                }
                for row in self.table("dead_letters").to_dicts()
            ],
            "collections": self._collections(),
        }

    def as_source_object(self) -> dict[str, Any]:
        """Return any other source's object of ``once --json``: all its rows by table."""
        return {
            "cluster": self.cluster,
            "tables": {
                name: _plain_rows(name, frame)
                for result in self.results
                for name, frame in result.frames.items()
            },
            "collections": self._collections(),
        }

    def _collections(self) -> list[dict[str, Any]]:
        return [
            {
                "section": result.section,
                "status": result.status,
                "duration_seconds": round(result.duration_seconds, 6),
                "error": result.error,
            }
            for result in self.results
        ]

    def _counts(self) -> dict[str, int | None]:
        if self.failed("partitions"):
            return dict.fromkeys(COUNTS)
        partitions = self.table("partitions")
        counts = (
            partitions["topic"].n_unique(),
            partitions.height,
            *partitions.select(
                number_of(IS_UNDER_REPLICATED).alias("under_replicated"),
                number_of(IS_UNDER_MIN_ISR).alias("under_min_isr"),
                number_of(IS_OFFLINE).alias("offline"),
            ).row(0),
        )
        return dict(zip(COUNTS, counts, strict=True))

    def _groups(self, statuses: pl.DataFrame | None) -> list[dict[str, Any]]:
        status: dict[str, dict[str, Any]] = {}
        if statuses is not None:
            mine = statuses.filter(pl.col("cluster") == self.cluster).select(_STATUS_COLUMNS)
            status = {row.pop("group"): row for row in mine.to_dicts()}
        partitions: dict[str, list[dict[str, Any]]] = {}
        offsets = self.table("group_offsets")
        for row in offsets.select("group", *_OFFSET_COLUMNS).to_dicts():
            partitions.setdefault(row.pop("group"), []).append(row)
        return [
            {
                **row,
                "status": status.get(row["group"]),
                "partitions": partitions.get(row["group"], []),
            }
            for row in self.table("groups").select("group", *_GROUP_COLUMNS).to_dicts()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheck:
    """A check and whose it is."""

    cluster: str
    source: str
    check: Check


class _OfSource(Protocol):
    @property
    def cluster(self) -> str: ...
    @property
    def source(self) -> str: ...


S = TypeVar("S", bound=_OfSource)


def in_order(items: Sequence[S]) -> list[S]:
    """Return reports or checks by cluster, a Kafka cluster before what is beside it.

    Kafka clusters keep their order; other sources come last, by name.
    """
    clusters = list(dict.fromkeys(item.cluster for item in items if item.source == KAFKA))
    places = {cluster: number for number, cluster in enumerate(clusters)}
    return sorted(
        items,
        key=lambda item: (
            places.get(item.cluster, len(places)),
            item.cluster,
            item.source != KAFKA,
            item.source,
        ),
    )


def as_object(
    reports: Sequence[PollReport], statuses: pl.DataFrame | None = None
) -> dict[str, Any]:
    """Return the object of ``once --json``: Kafka clusters by name, other sources by theirs."""
    return {
        "cluster": {r.cluster: r.as_object(statuses) for r in reports if r.source == KAFKA},
        "sources": {r.source: r.as_source_object() for r in reports if r.source != KAFKA},
    }


def checks_as_object(checks: Iterable[SourceCheck]) -> dict[str, Any]:
    """Return the object of ``check --json``."""
    return {
        "checks": [
            {
                "cluster": item.cluster,
                "source": item.source,
                "feature": item.check.feature,
                "works": item.check.works,
                "required": item.check.required,
                "detail": item.check.detail,
                "grants": list(item.check.grants),
            }
            for item in checks
        ]
    }


def exit_code(reports: Sequence[PollReport]) -> int:
    """Return 0 where every section worked, 3 where some did not, 1 where nothing was read."""
    statuses = [result.status for report in reports for result in report.results]
    if all(status == "ok" for status in statuses):
        return 0
    return 1 if all(status == "failed" for status in statuses) else 3


def _plain_rows(table: str, frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows for JSON: maps as objects, and no number that JSON lacks."""
    maps = [c.name for c in TABLES[table].columns if c.type.startswith("map<")]
    rows = frame.to_dicts()
    for row in rows:
        for name, value in row.items():
            if value is not None and name in maps:
                row[name] = {entry["key"]: entry["value"] for entry in value}
            elif isinstance(value, float) and not math.isfinite(value):
                row[name] = None
    return rows
