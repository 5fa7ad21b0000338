"""A fixed number of consumers."""

from __future__ import annotations

from scaling.facts.intervals import Floats
from simulation.model import Observation


class Static:
    """Never scales."""

    def __init__(self, name: str, consumers: int) -> None:
        self.name = name
        self.consumers = max(1, consumers)

    def decide(self, seen: Observation, busy_ratio: Floats) -> int:
        """Return the fixed number."""
        return self.consumers
