"""What one check says of a partition: a value without behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from alerting.status.model import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusDecision:
    """What the first check that applies says."""

    status: Status
    reason: str
    since: float | None = None  # when it began, in Unix seconds; None where that is not known
    decides: bool = True  # see ``PartitionStatus.decides``
    is_lasting: bool = False  # see ``PartitionStatus.is_lasting``
