"""What processes use, by Linux's table of processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a process uses."""

    parent: int
    cpu_seconds: float  # what it used, and those of its children that have ended
    resident_bytes: int  # its resident memory, shared pages included


def usage_of_tree(pid: int) -> tuple[float, int]:
    """Return processor seconds and resident bytes of a process and its descendants."""
    found = _tree(pid).values()
    return sum(one.cpu_seconds for one in found), sum(one.resident_bytes for one in found)


def descendants(pid: int) -> set[int]:
    """Return the processes that a process started, and those that they started."""
    return _tree(pid).keys() - {pid}


def resident_bytes() -> int:
    """Return the memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES


def peak_resident_bytes(pid: int) -> int:
    """Return the most memory that a running process has held."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024


def _tree(pid: int) -> dict[int, Usage]:
    """Return a process and its descendants."""
    table = dict(_process_table())
    members = {pid}
    while more := {each for each, one in table.items() if one.parent in members} - members:
        members |= more
    return {each: table[each] for each in members if each in table}


def _process_table() -> Iterable[tuple[int, Usage]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        # proc(5): after the name come state, ppid, ...; utime to cstime are the fields 14 to 17.
        cpu = sum(int(one) for one in fields[11:15]) / _TICKS
        yield (
            int(folder.name),
            Usage(
                parent=int(fields[1]), cpu_seconds=cpu, resident_bytes=int(fields[21]) * _PAGE_BYTES
            ),
        )
