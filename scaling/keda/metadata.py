"""Reads the values of a KEDA trigger as KEDA's ``typed_config.go`` does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

INT64 = 2**63
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class TriggerMetadata:
    """Values by KEDA's keys, as text without surrounding space; an empty one is not there.

    Args:
        values: The keys with strings or native values.
        environment: The scaled container's environment, for keys that end in ``FromEnv``.
    """

    def __init__(self, values: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self._values = values
        self._environment = environment

    def text(self, key: str, *, from_env: bool = False) -> str:
        """Return a value; empty where there is none."""
        found = _as_text(self._values.get(key))
        if not found and from_env:
            name = _as_text(self._values.get(f"{key}FromEnv"))
            found = self._environment.get(name, "").strip()
        return found

    def required(self, key: str) -> str:
        """Return a value that must be there, in the metadata or the environment."""
        found = self.text(key, from_env=True)
        if not found:
            raise ValueError(f"missing required parameter {key}")
        return found

    def integer(self, key: str, default: int) -> int:
        """Return a whole number of 64 bits."""
        text = self.text(key)
        return whole_number(key, text, INT64) if text else default

    def boolean(self, key: str, default: bool = False) -> bool:
        """Return a truth value as Go writes it."""
        text = self.text(key)
        if text and text not in _TRUE | _FALSE:
            raise ValueError(f"{key} must be true or false, not {text!r}")
        return text in _TRUE if text else default

    def choice(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        """Return one of the allowed words."""
        text = self.text(key) or default
        if text not in allowed:
            raise ValueError(f"{key} must be one of {', '.join(allowed)}, not {text!r}")
        return text


def _as_text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return ",".join(_as_text(one) for one in value)
        case _:
            return str(value).strip()


def whole_number(key: str, text: str, limit: int) -> int:
    """Read a whole number as JSON writes it: no sign +, no leading zeros, no exponent.

    Args:
        key: What it is called, for the error.
        text: What is written.
        limit: It must be at least -limit and below limit.

    Raises:
        ValueError: With the key.
    """
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)", text) or not -limit <= int(text) < limit:
        raise ValueError(f"{key} must be a whole number, not {text!r}")
    return int(text)
