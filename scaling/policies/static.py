"""A fixed number of consumers."""

from __future__ import annotations

from scaling.policies.seen import Seen


class Static:
    """Never scales."""

    def __init__(self, name: str, consumers: int) -> None:
        self.name = name
        self.consumers = max(1, consumers)

    def decide(self, seen: Seen) -> int:
        """Return the fixed number."""
        return self.consumers
