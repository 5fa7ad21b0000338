"""What one check says of a partition: a value without behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from alerting.status.model import Status


@dataclass(frozen=True, slots=True)
class Decision:
    """What the first check that applies says.

    Attributes:
        since: When it began, in Unix seconds; None where that is not known.
        decides: See ``PartitionStatus.decides``.
        is_lasting: See ``PartitionStatus.is_lasting``.
    """

    status: Status
    reason: str
    since: float | None = None
    decides: bool = True
    is_lasting: bool = False
