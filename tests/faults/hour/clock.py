"""The clock of the machine of Headroom's services, which jumps while the brokers' does not.

libfaketime is loaded into collectors and alerting services and adds to the time of day what a file
says. The monotonic clock goes on as it is: so it does on a real machine whose clock is set.
"""

from __future__ import annotations

from pathlib import Path

from runtime.services import ROOT

STEP_SECONDS = 20
CLOCKED = ("collectors", "alerting")

_SLEEP = Path(__file__).parent / "clocked"
_LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class Clock:
    """The time of day of some services; ``is_there`` says whether it can be set."""

    def __init__(self, file: Path) -> None:
        """Begin with the right time.

        Args:
            file: Where the services read how wrong their clock is.
        """
        self._file = file
        self.is_there = bool(_LIBRARIES)
        self.set(0)

    def set(self, seconds: int) -> None:
        """Let the clock be so far ahead, within a second."""
        draft = self._file.with_suffix(".new")
        draft.write_text(f"{seconds:+d}\n")
        draft.replace(self._file)

    @property
    def environment(self) -> dict[str, str]:
        """What services are started with; nothing where the library is not installed."""
        if not self.is_there:
            return {}
        return {
            "LD_PRELOAD": str(_LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": f"{_SLEEP}:{ROOT}",
        }
