"""When reads that are not needed at every poll are due."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

CONFIGS_EVERY_SECONDS = 300.0
"""Configurations and what administrators set."""
EVERY_SECONDS = 60.0
"""Followers' lag, transactions and disks; also the time that what failed is left alone."""

FOLLOWER_LAG = "follower lag"
LOG_DIRECTORIES = "log directories"
REGISTRATIONS = "registrations"
TOPIC_CONFIGS = "topic configurations"
TRANSACTIONS = "transactions"


@dataclass(slots=True, kw_only=True)
class Due:
    """When each read was last done and is to be done again, in monotonic seconds."""

    _read_at: dict[str, float] = field(default_factory=dict)
    _again_at: dict[str, float] = field(default_factory=dict)

    def is_due(self, what: str, now: float) -> bool:
        """Return whether something was never read, or is to be read again by now."""
        return now >= self._again_at.get(what, -math.inf)

    def was_read(self, what: str, now: float, *, again_after: float) -> None:
        """Note that something was read, or tried, and in how many seconds it is due again."""
        self._read_at[what] = now
        self._again_at[what] = now + again_after

    def is_new(self, what: str, now: float) -> bool:
        """Return whether something was read in the poll that began at this moment."""
        return self._read_at.get(what) == now
