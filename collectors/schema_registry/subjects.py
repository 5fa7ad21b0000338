"""What a poll of a Schema Registry yields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from collectors.schema_registry.answers import Level, Subject, topic_of
from collectors.schema_registry.client import Registry, RegistryClient
from collectors.source.rows import frame
from config.integrations import SchemaRegistrySettings
from lake.schemas.tables import (
    CLUSTER_EVENTS,
    SCHEMA_REGISTRIES,
    SCHEMA_SUBJECTS,
    WRITTEN_EVERY_SECONDS,
)

_GROWING_SECONDS = 60.0
"""How often all subjects are written while more and more of them become known."""

_NOT_READ = "not read yet"


class RegistryCollector:
    """The collector of one registry, which knows what it has written."""

    def __init__(self) -> None:
        self._written: tuple[list[dict[str, Any]], float] | None = None

    def __call__(
        self, client: RegistryClient, settings: SchemaRegistrySettings, now: datetime
    ) -> dict[str, pl.DataFrame]:
        """Return the tables ``schema_registries``, ``schema_subjects`` and ``cluster_events``.

        The rows of subjects come when one of them changes and every half hour: all or none.
        Events have rows only where something changed.
        """
        found = client.registry()
        client.problems += found.unknown
        unknown = None
        if client.is_asked_for("versions"):
            unknown = sum(_of(found, name).version is None for name in found.names)
        row = {
            "schema_registry": settings.name,
            "subjects": len(found.names),
            "subjects_unknown": unknown,
            "deleted_subjects": None if found.deleted is None else len(found.deleted),
            "compatibility": found.compatibility,
            "mode": found.mode,
            "unknown_reason": "; ".join(found.unknown) or None,
        }
        return {
            "schema_registries": frame(SCHEMA_REGISTRIES, [row]),
            "schema_subjects": frame(SCHEMA_SUBJECTS, self._due(client, settings, found)),
            "cluster_events": frame(CLUSTER_EVENTS, found.events),
        }

    def _due(
        self, client: RegistryClient, settings: SchemaRegistrySettings, found: Registry
    ) -> list[dict[str, Any]]:
        rows = list(_rows(settings.name, found))
        content = [{**row, "read_at": None} for row in rows]
        if self._written is not None:
            before, at = self._written
            waited = client.tick - at
            is_growing = len(found.subjects) < len(found.names)
            changed_for = _GROWING_SECONDS if is_growing else 0.0
            every = changed_for if content != before else WRITTEN_EVERY_SECONDS["schema_subjects"]
            if waited < every:
                return []
        self._written = content, client.tick
        return rows


def _of(found: Registry, name: str) -> Subject:
    return found.subjects.get(name) or Subject(unknown_reason=_NOT_READ)


def _rows(registry: str, found: Registry) -> Iterator[dict[str, Any]]:
    for name in found.names:
        known = _of(found, name)
        yield {
            "schema_registry": registry,
            "subject": name,
            "topic": topic_of(name),
            "version": known.version,
            "schema_id": known.schema_id,
            "schema_type": known.schema_type,
            "compatibility": _level(known.compatibility, found.compatibility),
            "compatibility_is_own": None
            if known.compatibility is None
            else known.compatibility.own is not None,
            "mode": _level(known.mode, found.mode),
            "is_deleted": False,
            "read_at": known.read_at,
            "unknown_reason": known.unknown_reason,
        }
    for name in sorted(found.deleted or ()):
        yield {
            "schema_registry": registry,
            "subject": name,
            "topic": topic_of(name),
            "is_deleted": True,
        }


def _level(known: Level | None, of_registry: str | None) -> str | None:
    return None if known is None else known.own or known.inherited or of_registry


def recalled(rows: pl.DataFrame) -> Mapping[str, Subject]:
    """Return the subjects of rows of ``schema_subjects``, as far as they were read."""
    alive = rows.filter(~pl.col("is_deleted").fill_null(False) & pl.col("read_at").is_not_null())
    return {
        row["subject"]: Subject(
            version=row["version"],
            schema_id=row["schema_id"],
            schema_type=row["schema_type"],
            compatibility=_recalled_level(row),
            read_at=row["read_at"],
        )
        for row in alive.iter_rows(named=True)
    }


def _recalled_level(row: Mapping[str, Any]) -> Level | None:
    if row["compatibility_is_own"] is None or row["compatibility"] is None:
        return None
    if row["compatibility_is_own"]:
        return Level(own=row["compatibility"])
    # Of which context or registry it was is not told.
    return Level(own=None)
