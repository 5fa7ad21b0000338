"""What a Schema Registry's answers say, as values: nothing in them is trusted to be of its type.

Schemas themselves are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from collectors.errors import ProtocolError
from collectors.source.answer import LARGEST_INT, Fields, Odd

_CONTEXT = re.compile(r"^:\.[^:]*:")
_PARTS = ("-value", "-key")
_AVRO = "AVRO"
"""The type of a schema of which nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A compatibility level or a mode.

    Attributes:
        own: The subject's; None where it has none.
        inherited: That of its context; None: the registry's holds.
    """

    own: str | None
    inherited: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is known of a subject.

    Attributes:
        version: The newest one.
        compatibility: None: unknown.
        mode: None: unknown.
        read_at: When the registry was last asked about it and answered.
        unknown_reason: What could not be read when it was last tried.
    """

    version: int | None = None
    schema_id: int | None = None
    schema_type: str | None = None
    compatibility: Level | None = None
    mode: Level | None = None
    read_at: datetime | None = None
    unknown_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The newest version of a subject."""

    version: int | None
    schema_id: int | None
    schema_type: str | None


def read_subjects(answer: Any, odd: Odd) -> list[str]:
    """Understand ``/subjects``."""
    if not isinstance(answer, list):
        raise ProtocolError(
            "/subjects did not answer a list: is this url a Schema Registry's? That of Apicurio "
            "Registry ends with /apis/ccompat/v7"
        )
    names = [name for name in answer if isinstance(name, str) and name]
    if len(names) < len(answer):
        odd.note("subjects")
    return list(dict.fromkeys(names))


def read_version(answer: Any, subject: str, odd: Odd) -> Version:
    """Understand ``/subjects/NAME/versions/latest``."""
    found = Fields(answer, odd, subject)
    if not found.is_known:
        raise ProtocolError("its newest version came in a form that is not known")
    schema_type = found.text("schemaType") if "schemaType" in found else _AVRO
    return Version(
        version=found.whole("version", largest=LARGEST_INT),
        schema_id=found.whole("id", largest=LARGEST_INT),
        schema_type=None if schema_type is None else schema_type.upper(),
    )


def read_level(answer: Any, key: str, place: str, odd: Odd) -> str | None:
    """Understand ``/config`` and ``/mode``, of the registry or of a subject.

    Args:
        answer: The JSON.
        key: ``compatibilityLevel`` or ``mode``.
        place: What the answer is about.
        odd: Counts what is left out.
    """
    found = Fields(answer, odd, place)
    if not found.is_known:
        raise ProtocolError(f"{place} came in a form that is not known")
    level = found.text(key)
    return None if level is None else level.upper()


def topic_of(subject: str) -> str | None:
    """Return the topic that a subject is named after by TopicNameStrategy; None: after none."""
    name = _CONTEXT.sub("", subject)
    for part in _PARTS:
        if name.endswith(part) and name != part:
            return name.removesuffix(part)
    return None
