"""What a recommendation is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is advised, or why nothing is."""

    DATA_LOST = "data_lost"
    RETENTION_DEADLINE = "retention_deadline"
    START_CONSUMERS = "start_consumers"
    BLOCKED_PARTITION = "blocked_partition"
    BLOCKED_GROUP = "blocked_group"
    HOT_PARTITION = "hot_partition"
    PARTITION_BOUND = "partition_bound"
    ADD_CONSUMERS = "add_consumers"
    REMOVE_IDLE_CONSUMERS = "remove_idle_consumers"
    DURABILITY = "durability"
    KEEP = "keep"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How urgent it is, whatever its kind."""

    ACT_NOW = "ACT_NOW"
    WATCH = "WATCH"
    UNKNOWN = "UNKNOWN"
    INFO = "INFO"


class Confidence(StrEnum):
    """How far the evidence carries."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class CaveatLevel(StrEnum):
    """How much a caveat weighs; a blocker wants to be acknowledged before anything is changed."""

    BLOCKER = "blocker"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One figure behind a recommendation.

    Attributes:
        name: What it is, in words.
        value: The figure; None is unknown.
        unit: Its unit; empty for a count.
    """

    name: str
    value: float | int | str | None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Caveat:
    """What may go wrong when the advice is followed.

    Attributes:
        level: How much it weighs.
        text: What and why.
    """

    level: CaveatLevel
    text: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One piece of advice.

    Attributes:
        kind: What is advised.
        cluster: Where.
        subject: The group or topic.
        quantity: What ``current`` and ``proposed`` count: ``consumers``, ``replication factor``,
            ``min.insync.replicas``; empty where nothing is counted.
        current: Its present value; None is unknown.
        proposed: The advised value; None where there is none or where it cannot be told.
        unknown_reason: Why a value that should be there is not.
        severity: How urgent it is.
        confidence: How far the evidence carries.
        reason: One or two sentences with numbers.
        evidence: The figures, for a page to show.
        caveats: What may go wrong, worst first.
        commands: Lines for a person to run, where that is safe; never run by this program.
    """

    kind: Kind
    cluster: str
    subject: str
    severity: Severity
    confidence: Confidence
    reason: str
    quantity: str = ""
    current: int | None = None
    proposed: int | None = None
    unknown_reason: str | None = None
    evidence: tuple[Evidence, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    commands: tuple[str, ...] = ()
