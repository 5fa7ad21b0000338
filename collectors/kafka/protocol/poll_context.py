"""What the reads of one poll share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from collectors.kafka.protocol.broker_requests import Deadline, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class PollContext:
    """How the brokers are asked in one poll, and when it began.

    Attributes:
        now: When the poll began, by the clock: what rows carry.
        tick: When the poll began, in monotonic seconds: what decides whether something is due.
    """

    wire: Wire
    deadline: Deadline
    now: datetime
    tick: float = field(default_factory=time.monotonic)

    def clock(self) -> datetime:
        """Return the time at this moment, by the clock of the poll's beginning."""
        return self.now + timedelta(seconds=time.monotonic() - self.tick)
