"""What is written when it changes and, since rows expire, every so often."""

from __future__ import annotations

from collections.abc import Mapping


class WrittenOnChange:
    """What was last written of many things, and when."""

    def __init__(self, every_seconds: float) -> None:
        """Nothing was written yet.

        Args:
            every_seconds: After this time a thing is written again although it is the same.
        """
        self._every_seconds = every_seconds
        self._written: dict[str, tuple[object, float]] = {}

    def due(self, content: Mapping[str, object], tick: float) -> list[str]:
        """Return what is to be written of all that there is: it counts as written then.

        Args:
            content: Name of a thing: what would be written of it.
            tick: When the poll began, in monotonic seconds.
        """
        due = []
        for name, now in content.items():
            last = self._written.get(name)
            if last is None or last[0] != now or tick - last[1] >= self._every_seconds:
                due.append(name)
                self._written[name] = (now, tick)
        for gone in self._written.keys() - content.keys():
            del self._written[gone]
        return due
