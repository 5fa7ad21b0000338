"""How a running workload is controlled: two small files, each replaced in one step.

The owner writes the wanted state with a growing number; the workload answers with the number
that it has reached. Files need no port and no rights beyond those on the folder.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from runtime.cache import write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    file: ClassVar[str]

    def write(self, folder: Path) -> None:
        """Put it into a folder."""
        write_atomically(folder / self.file, json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return what lies in a folder; None while there is none."""
        try:
            return cls(**json.loads((folder / cls.file).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(_Message):
    """What the workload should be doing."""

    file: ClassVar[str] = "workload-wanted.json"
    number: int = 0
    stopped_groups: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached(_Message):
    """What the workload is doing."""

    file: ClassVar[str] = "workload-reached.json"
    number: int
    members: dict[str, int] = field(default_factory=dict)
    error: str | None = None
