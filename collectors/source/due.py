"""When reads that are not needed at every poll are due."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

CONFIGS_EVERY_SECONDS = 300.0
"""Configurations and what administrators set."""
EVERY_SECONDS = 60.0
"""Followers' lag, transactions and disks; also the time that what failed is left alone."""


@dataclass(slots=True, kw_only=True)
class Due:
    """When each read was last tried and is to be done again, in monotonic seconds."""

    _tried_at: dict[str, float] = field(default_factory=dict)
    _again_at: dict[str, float] = field(default_factory=dict)

    def is_due(self, what: str, now: float) -> bool:
        """Return whether something was never tried, or is to be read again by now."""
        return now >= self._again_at.get(what, -math.inf)

    def was_tried(self, what: str, now: float, *, again_after: float) -> None:
        """Note that something was read, or tried, and in how many seconds it is due again."""
        self._tried_at[what] = now
        self._again_at[what] = now + again_after

    def was_tried_at(self, what: str, now: float) -> bool:
        """Return whether something was tried in the poll that began at this moment."""
        return self._tried_at.get(what) == now

    def in_turn(self, names: Iterable[str], now: float) -> list[str]:
        """Return which of many are due: those never tried, then those tried longest ago.

        So what fails each time holds up nothing else.
        """
        due = [name for name in names if self.is_due(name, now)]
        return sorted(due, key=lambda name: self._tried_at.get(name, -math.inf))

    def keep_only(self, names: Collection[str]) -> None:
        """Forget what is not there any more."""
        for gone in self._tried_at.keys() - names:
            del self._tried_at[gone], self._again_at[gone]
