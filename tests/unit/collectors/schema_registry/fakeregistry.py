"""Confluent's Schema Registry as its documentation says, over made-up subjects."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from tests.unit.collectors.ditto.answering import Reply, Request

KINDS = {"config": ("compatibilityLevel", 40408), "mode": ("mode", 40409)}


class FakeRegistry:
    """Answers as a Schema Registry does.

    Attributes:
        subjects: Subject: its newest version as it is answered.
        deleted: Those that are deleted softly.
        levels: ``config`` or ``mode``: subject, context (``:.NAME:``), or an empty text for the
            registry: the level.
        broken: Path: what is answered instead.
    """

    def __init__(self) -> None:
        self.subjects: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []
        self.levels: dict[str, dict[str, str]] = {
            "config": {"": "BACKWARD"},
            "mode": {"": "READWRITE"},
        }
        self.broken: dict[str, Reply] = {}

    def add(self, subject: str, version: int = 1, **values: Any) -> None:
        """Register a version of a subject."""
        self.subjects[subject] = {
            "subject": subject,
            "version": version,
            "id": 100 + version,
            "schema": '{"type":"string"}',
            **values,
        }

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        if broken := self.broken.get(request.path):
            return broken
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        if parts == ["subjects"]:
            deleted = self.deleted if request.query.get("deleted") == "true" else []
            return _json([*self.subjects, *deleted])
        if parts[0] == "subjects" and parts[2:] == ["versions", "latest"]:
            found = self.subjects.get(parts[1])
            return _json(found) if found else _error(40401, f"Subject '{parts[1]}' not found.")
        if parts[0] in KINDS:
            return self._level(parts[0], parts[1] if len(parts) > 1 else "", request)
        return _error(404, "HTTP 404 Not Found")

    def _level(self, kind: str, subject: str, request: Request) -> Reply:
        key, missing = KINDS[kind]
        levels = self.levels[kind]
        found = levels.get(subject)
        if found is None and request.query.get("defaultToGlobal") == "true":
            context = subject[: subject.find(":", 1) + 1] if subject.startswith(":.") else ""
            found = levels.get(context) or levels[""]
        if found is None:
            return _error(missing, f"Subject '{subject}' does not have its own {kind}")
        return _json({key: found})


def _json(value: Any, status: int = 200) -> Reply:
    headers = {"content-type": "application/vnd.schemaregistry.v1+json"}
    return Reply(json.dumps(value).encode(), status, headers)


def _error(code: int, message: str) -> Reply:
    return _json({"error_code": code, "message": message}, int(str(code)[:3]))


def refused(status: int, code: int) -> Reply:
    """Return a refusal in the registry's form."""
    return _json({"error_code": code, "message": "no"}, status)
