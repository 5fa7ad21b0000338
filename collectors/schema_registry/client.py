"""Asking a Schema Registry: what is small at each poll, its subjects a few at a time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from collectors.errors import CollectorError, NoAnswerError, SecurityError, UnreachableError
from collectors.schema_registry.answers import (
    Level,
    Subject,
    read_level,
    read_subjects,
    read_version,
)
from collectors.schema_registry.changes import (
    Event,
    listed_changes,
    registry_changes,
    subject_changes,
)
from collectors.source.answer import Odd
from collectors.source.due import Due
from collectors.source.http_client import HttpClient, NotFoundError, NotPermittedError
from config.integrations import RegistryFeature, SchemaRegistrySettings

READ_EVERY_SECONDS = 300.0
"""How often a subject is asked about, and those that were deleted softly."""

_SUBJECTS_SECONDS = 1.0
_IN_A_CONTEXT = ":."
_DELETED = "deleted"
_EVERYTHING = {"defaultToGlobal": "true"}
_KEYS: Mapping[RegistryFeature, tuple[str, str]] = {
    "compatibility": ("/config", "compatibilityLevel"),
    "mode": ("/mode", "mode"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A registry as a poll has found it.

    Attributes:
        names: The watched subjects, sorted.
        subjects: What is known of them; those that were not read yet are missing.
        deleted: Those that were deleted softly; None: unknown.
        compatibility: Of subjects without a level of their own; None: unknown.
        mode: The same.
        events: What changed.
        unknown: What could not be read, and why.
    """

    names: Sequence[str]
    subjects: Mapping[str, Subject]
    deleted: frozenset[str] | None
    compatibility: str | None
    mode: str | None
    events: Sequence[Event]
    unknown: Sequence[str]


@dataclass(slots=True, kw_only=True)
class _Memory:
    """What is kept from poll to poll.

    Attributes:
        due: When each subject is to be asked about again.
        deleted_due: When those that were deleted are to be asked for again.
        levels: ``compatibility`` and ``mode`` of the registry as last known.
    """

    listed: frozenset[str] | None = None
    subjects: dict[str, Subject] = field(default_factory=dict)
    due: Due = field(default_factory=Due)
    deleted_due: Due = field(default_factory=Due)
    deleted: frozenset[str] | None = None
    levels: dict[str, str | None] = field(default_factory=dict)


class RegistryClient(HttpClient):
    """Asks one Schema Registry. For one thread.

    Attributes:
        tick: When the poll began, in monotonic seconds.
    """

    def __init__(self, settings: SchemaRegistrySettings) -> None:
        self.tick = time.monotonic()
        self._registry = settings
        self._memory = _Memory()
        self._found: Registry | CollectorError | None = None
        super().__init__(settings)

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow share this many seconds, and forget the last poll."""
        super().begin_poll(seconds)
        self.tick = time.monotonic()
        self._found = None

    def refusal(self, path: str, status: int, body: bytes) -> Exception:
        """Return the error that a status other than 200 is."""
        if status == 204:  # Apicurio's word for what it does not have
            return NotFoundError(f"{self.settings.url}{path} has no content (204)")
        return super().refusal(path, status, body)

    def remember(self, subjects: Mapping[str, Subject], levels: Mapping[str, str | None]) -> None:
        """Take over what was known before a restart; each subject is asked about again.

        Which subjects there were is no part of it: the settings may have selected others.
        """
        self._memory.subjects = dict(subjects)
        self._memory.levels = dict(levels)

    def is_asked_for(self, feature: RegistryFeature) -> bool:
        """Return whether the settings ask for something."""
        return feature not in self._registry.switched_off

    def registry(self) -> Registry:
        """Return what there is; asked once a poll."""
        if self._found is None:
            try:
                self._found = self._read()
            except CollectorError as error:
                self._found = error
        if isinstance(self._found, CollectorError):
            raise self._found
        return self._found

    def names(self, odd: Odd, *, deleted: bool = False) -> list[str]:
        """Return all subjects.

        Args:
            odd: Counts what is left out.
            deleted: With those that were deleted softly.
        """
        return read_subjects(self.get("/subjects", {"deleted": "true"} if deleted else None), odd)

    def level(self, feature: RegistryFeature, odd: Odd) -> str | None:
        """Return the registry's compatibility level or mode."""
        path, key = _KEYS[feature]
        return read_level(self.get(path), key, feature, odd)

    def subject(self, name: str, before: Subject, odd: Odd) -> Subject:
        """Ask about a subject. What was known stays known where it cannot be read.

        Raises:
            NoAnswerError: The registry has no time for any further question.
            UnreachableError: It is away.
            SecurityError: It knows the user no more.
        """
        reasons: list[str] = []
        known = before
        if self.is_asked_for("versions"):
            try:
                path = f"/subjects/{quote(name, safe='')}/versions/latest"
                found = read_version(self.get(path), name, odd)
                known = replace(
                    known,
                    version=found.version,
                    schema_id=found.schema_id,
                    schema_type=found.schema_type,
                )
            except NotFoundError:
                reasons.append("it is listed, and its newest version does not exist (404)")
            except CollectorError as error:
                reasons.append(_passed_over(error))
        compatibility = self._own_level("compatibility", name, known.compatibility, reasons, odd)
        mode = self._own_level("mode", name, known.mode, reasons, odd)
        return replace(
            known,
            compatibility=compatibility,
            mode=mode,
            read_at=datetime.now(UTC),
            unknown_reason="; ".join(reasons) or None,
        )

    def _own_level(
        self,
        feature: RegistryFeature,
        name: str,
        before: Level | None,
        reasons: list[str],
        odd: Odd,
    ) -> Level | None:
        if not self.is_asked_for(feature):
            return None
        path, key = _KEYS[feature]
        path = f"{path}/{quote(name, safe='')}"

        def level(params: Mapping[str, Any] | None = None) -> str | None:
            try:
                return read_level(self.get(path, params), key, f"the {feature} of {name}", odd)
            except NotFoundError:
                return None  # it has none of its own

        try:
            own = level()
            in_context = own is None and name.startswith(_IN_A_CONTEXT)
            return Level(own=own, inherited=level(_EVERYTHING) if in_context else None)
        except CollectorError as error:
            reasons.append(_passed_over(error))
            return before

    def _read(self) -> Registry:
        memory, odd = self._memory, Odd()
        everything = self.names(odd)
        names = sorted(name for name in everything if self._registry.subjects.selects(name))
        unknown: list[str] = []
        levels = {
            "compatibility": self._level("compatibility", unknown, odd),
            "mode": self._level("mode", unknown, odd),
        }
        events = [
            *listed_changes(self.settings.name, memory.listed, names),
            *registry_changes(self.settings.name, memory.levels, levels),
        ]
        memory.listed = frozenset(names)
        memory.levels |= {kind: level for kind, level in levels.items() if level is not None}
        self._read_deleted(everything, unknown, odd)
        for gone in memory.subjects.keys() - memory.listed:
            del memory.subjects[gone]
        memory.due.keep_only(memory.listed)
        events += self._read_subjects(names, unknown, odd)
        unread = len(names) - len(memory.subjects)
        if unread and self._asks_subjects:
            unknown.append(f"{unread} of {len(names)} subjects were not read yet")
        wrong = [each.unknown_reason for each in memory.subjects.values() if each.unknown_reason]
        if wrong:
            subjects = "1 subject is" if len(wrong) == 1 else f"{len(wrong)} subjects are"
            unknown.append(f"{subjects} not known in full: {wrong[0]}")
        return Registry(
            names=names,
            subjects=dict(memory.subjects),
            deleted=memory.deleted,
            compatibility=levels["compatibility"],
            mode=levels["mode"],
            events=events,
            unknown=[*unknown, *odd.problems],
        )

    def _level(self, feature: RegistryFeature, unknown: list[str], odd: Odd) -> str | None:
        if not self.is_asked_for(feature):
            return None
        try:
            return self.level(feature, odd)
        except NotFoundError as error:
            if feature != "mode":  # which Apicurio Registry does not have
                unknown.append(f"{feature}: {error}")
        except CollectorError as error:
            unknown.append(f"{feature}: {error}")
        return None

    def _read_deleted(self, listed: Iterable[str], unknown: list[str], odd: Odd) -> None:
        memory = self._memory
        if not self.is_asked_for("deleted"):
            return
        alive = frozenset(listed)
        if memory.deleted_due.is_due(_DELETED, self.tick):
            try:
                found = self.names(odd, deleted=True)
            except CollectorError as error:
                memory.deleted = None
                unknown.append(f"deleted subjects: {error}")
            else:
                memory.deleted_due.was_tried(_DELETED, self.tick, again_after=READ_EVERY_SECONDS)
                memory.deleted = frozenset(filter(self._registry.subjects.selects, found))
        if memory.deleted is not None:
            memory.deleted -= alive

    @property
    def _asks_subjects(self) -> bool:
        return not {"versions", "compatibility", "mode"} <= set(self._registry.switched_off)

    def _read_subjects(self, names: Sequence[str], unknown: list[str], odd: Odd) -> list[Event]:
        """Ask about subjects for a second: new ones, then those that were not read for longest."""
        memory = self._memory
        if not self._asks_subjects:
            return []
        unknown_first = sorted(names, key=lambda name: name in memory.subjects)
        events: list[Event] = []
        begun = time.monotonic()
        for name in memory.due.in_turn(unknown_first, self.tick):
            if time.monotonic() - begun > _SUBJECTS_SECONDS:
                break
            # One that takes too long must not hold up the others.
            memory.due.was_tried(name, self.tick, again_after=READ_EVERY_SECONDS)
            before = memory.subjects.get(name)
            try:
                found = self.subject(name, before or Subject(), odd)
            except CollectorError as error:
                unknown.append(f"subjects: {error}")
                break
            memory.subjects[name] = found
            events += subject_changes(self.settings.name, name, before, found)
        return events


def _passed_over(error: CollectorError) -> str:
    """Return why one subject is unknown; raise what all others would meet as well."""
    is_refused = isinstance(error, SecurityError) and not isinstance(error, NotPermittedError)
    if is_refused or isinstance(error, NoAnswerError | UnreachableError):
        raise error
    return str(error)
