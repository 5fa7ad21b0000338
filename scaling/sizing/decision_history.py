"""The history of advice on a group as text, as the lake keeps it between two rounds of the job."""

from __future__ import annotations

import json

from pydantic import TypeAdapter, ValidationError

from scaling.sizing.decide import DecisionHistory

VERSION = 1
"""Raised when the meaning of a field changes: what an older version wrote is not read then."""

_HISTORY = TypeAdapter(DecisionHistory)


class AdviceStateError(ValueError):
    """A text is no history of advice that this version can read."""


def to_text(history: DecisionHistory) -> str:
    """Return a history as JSON."""
    return json.dumps({"version": VERSION, **_HISTORY.dump_python(history, mode="json")})


def from_text(text: str) -> DecisionHistory:
    """Return the history that a text holds.

    Raises:
        AdviceStateError: It is damaged, or another version wrote it.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise AdviceStateError(f"it is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise AdviceStateError(f"it is not of version {VERSION}")
    try:
        return _HISTORY.validate_python(found)
    except ValidationError as error:
        raise AdviceStateError("some of its fields cannot be read") from error
