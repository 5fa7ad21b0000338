"""How long brokers make this client wait, since a quota of its principal is used up."""

from __future__ import annotations

import threading
from collections.abc import Mapping

Address = tuple[str, int]

MOST_SECONDS = 60.0
"""More is not believed. A pause lasts a quota's windows at most: ten of one second, if nobody has
set others."""


class Throttling:
    """What all connections to a cluster were asked to wait; for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[Address, float] = {}

    def add(self, address: Address, seconds: float) -> None:
        """Count one pause."""
        with self._lock:
            self._seconds[address] = self._seconds.get(address, 0.0) + seconds

    def take(self) -> Mapping[Address, float]:
        """Return the seconds by broker since this was last called."""
        with self._lock:
            taken, self._seconds = self._seconds, {}
        return taken
