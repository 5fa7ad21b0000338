"""How a running workload is told what to do: two small files, each replaced in one step.

The owner writes the wanted state with a growing number; the workload answers with the number
that it has reached. Files need no port and no rights beyond those on the folder.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from runtime.cache import write_atomically


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the workload should be doing."""

    number: int = 0
    stopped_groups: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Put the wanted state into a folder."""
        write_atomically(folder / "workload-wanted.json", json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Wanted:
        """Return the wanted state of a folder; nothing stopped where there is none."""
        try:
            content = json.loads((folder / "workload-wanted.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        return cls(int(content["number"]), tuple(content["stopped_groups"]))


@dataclass(frozen=True, slots=True)
class Reached:
    """What the workload is doing."""

    number: int
    members: dict[str, int] = field(default_factory=dict)
    error: str | None = None

    def write(self, folder: Path) -> None:
        """Put the reached state into a folder."""
        write_atomically(folder / "workload-reached.json", json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Reached | None:
        """Return the reached state of a folder; None while there is none."""
        try:
            content = json.loads((folder / "workload-reached.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return cls(int(content["number"]), dict(content["members"]), content["error"])
