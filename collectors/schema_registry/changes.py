"""What changed in a Schema Registry from one read to the next: pure rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from collectors.schema_registry.answers import Subject

Event = Mapping[str, str | None]
"""A row of ``cluster_events``."""


def listed_changes(
    registry: str, before: Collection[str] | None, now: Collection[str]
) -> Iterator[Event]:
    """Return the subjects that came and went.

    Args:
        registry: The registry's name.
        before: The subjects that it listed before; None: nobody knows.
        now: Those that it lists now.
    """
    if before is None:
        return
    for subject in sorted(set(now) - set(before)):
        yield _event("schema subject created", registry, subject)
    for subject in sorted(set(before) - set(now)):
        yield _event("schema subject deleted", registry, subject)


def subject_changes(
    registry: str, name: str, before: Subject | None, now: Subject
) -> Iterator[Event]:
    """Return what changed of a subject; what was or is unknown has not changed."""
    if before is None:
        return
    if None not in (before.version, now.version) and before.version != now.version:
        yield _event("schema version changed", registry, name, _version(before), _version(now))
    for kind, old, new in (
        ("compatibility", before.compatibility, now.compatibility),
        ("mode", before.mode, now.mode),
    ):
        if old is not None and new is not None and old.own != new.own:
            yield _event(
                f"schema {kind} changed", registry, name, _set(kind, old.own), _set(kind, new.own)
            )


def registry_changes(
    registry: str, before: Mapping[str, str | None], now: Mapping[str, str | None]
) -> Iterator[Event]:
    """Return what changed of the levels that hold for all subjects without their own.

    Args:
        registry: The registry's name.
        before: ``compatibility`` and ``mode``; None: unknown.
        now: The same, later.
    """
    for kind, new in now.items():
        old = before.get(kind)
        if old is not None and new is not None and old != new:
            yield _event(
                f"registry {kind} changed", registry, registry, _set(kind, old), _set(kind, new)
            )


def _event(
    kind: str, registry: str, subject: str, before: str | None = None, after: str | None = None
) -> Event:
    return {
        "kind": kind,
        "subject": subject,
        "before": before,
        "after": after,
        "detail": f"Schema Registry {registry}",
    }


def _set(kind: str, level: str | None) -> str | None:
    return None if level is None else f"{kind}={level}"


def _version(subject: Subject) -> str:
    values = (
        ("version", subject.version),
        ("id", subject.schema_id),
        ("type", subject.schema_type),
    )
    return ", ".join(f"{name}={value}" for name, value in values if value is not None)
