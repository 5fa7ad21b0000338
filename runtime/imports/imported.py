"""What an import yields: our configuration, and what could not be taken over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

_LONGEST_NAME = 63


@dataclass(slots=True)
class Imported:
    """Our configuration in the making.

    Attributes:
        clusters: Items of ``clusters``.
        targets: Items of ``alerting.targets``.
        sections: Any further part of the configuration.
        variables: Environment variables that hold what was a secret, with what they are for.
        left_out: What could not be taken over, a line each.
    """

    clusters: list[dict[str, Any]] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)
    sections: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def as_yaml(self) -> str:
        """Return the configuration file."""
        content: dict[str, Any] = {"clusters": self.clusters, **self.sections}
        content["lake"] = {"uri": "headroom-data/lake"}
        if self.targets:
            content["alerting"] = {"targets": self.targets}
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)

    def secret(self, *parts: str, what: str) -> dict[str, str]:
        """Return a reference to a variable in place of a secret that was written out."""
        name = re.sub(r"[^A-Z0-9]+", "_", "_".join(parts).upper()).strip("_")
        self.variables[name] = what
        return {"env": name}

    def leave_out(self, where: str, keys: Mapping[str, Any], known: set[str]) -> None:
        """Note every key of a section that nothing was made of."""
        for key in keys:
            if key not in known:
                self.left_out.append(f"{where}.{key}")

    def name(self, text: str) -> str:
        """Return a name as ours may be; a change is noted."""
        allowed = re.sub(r"[^A-Za-z0-9._-]", "-", text).lstrip("._-")[:_LONGEST_NAME] or "cluster"
        if allowed != text:
            self.left_out.append(f"the name {text!r}: it is called {allowed} here")
        return allowed


def selection(include: list[str], exclude: list[str]) -> dict[str, list[str]] | None:
    """Return a selection of names; None where everything is selected."""
    found = {}
    if include and include != [".*"]:
        found["include"] = include
    if exclude:
        found["exclude"] = exclude
    return found or None


def unanchored(pattern: str) -> str:
    """Return a pattern that matches a whole name where the given one matches a part of it."""
    return f"(?s:.*)(?:{pattern})(?s:.*)"
