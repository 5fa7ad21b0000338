"""What a recommendation is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict


class AdviceKind(StrEnum):
    """What is advised, or why nothing is."""

    DATA_LOST = "data_lost"
    RETENTION_DEADLINE = "retention_deadline"
    START_CONSUMERS = "start_consumers"
    RESTART_CONNECTOR = "restart_connector"
    BLOCKED_PARTITION = "blocked_partition"
    BLOCKED_GROUP = "blocked_group"
    HOT_PARTITION = "hot_partition"
    PARTITION_BOUND = "partition_bound"
    ADD_CONSUMERS = "add_consumers"
    REMOVE_IDLE_CONSUMERS = "remove_idle_consumers"
    REMOVE_CONSUMERS = "remove_consumers"
    DOWNSTREAM = "downstream_bottleneck"
    ADD_PARTITIONS = "add_partitions"
    HOT_KEY = "hot_key"
    BROKER_CEILING = "broker_ceiling"
    OVER_PARTITIONED = "over_partitioned"
    DURABILITY = "durability"
    DEFAULTS = "auto_created_defaults"
    TASKS = "connect_tasks"
    CLIENTS = "ditto_clients"
    QUEUE_CONSUMERS = "queue_consumers"
    PREFETCH = "prefetch"
    MIN_PARTITIONS = "spark_min_partitions"
    KEEP = "keep"
    UNKNOWN = "unknown"


class AdviceSeverity(StrEnum):
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


class Subject(StrEnum):
    """What a recommendation is about."""

    GROUP = "group"
    TOPIC = "topic"
    CONNECTOR = "connector"
    CONNECTION = "connection"
    QUEUE = "queue"
    QUERY = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One figure behind a recommendation."""

    name: str
    value: float | int | str | None
    unit: str = ""  # its unit; empty for a count


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """What may go wrong when the advice is followed."""

    level: CaveatLevel
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """A change to apply, for a person or a pipeline; never applied by this program."""

    name: str  # what it is: ``kafka-topics``, ``KEDA ScaledObject`` and so on
    language: str  # ``bash``, ``yaml``, ``json`` or ``hcl``
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KedaAnswer:
    """What KEDA would do about the same group."""

    replicas: int
    metric_lag: int
    lag_threshold: int  # messages per replica that was assumed
    why: str  # why it differs from the advice, or that it does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One piece of advice.

    Attributes:
        subject: The group, topic, connector, connection or queue.
        quantity: What ``current`` and ``proposed`` count: ``consumers``, ``partitions``, ``tasks``,
            ``replication factor`` and so on; empty where nothing is counted.
        proposed: The advised value; None where there is none or where it is not known.
        artefacts: The change, ready to apply; withheld by whoever shows it until a blocker among
            the caveats was acknowledged.
        subject_kind: What ``subject`` is.
        limiting_factor: What ``proposed`` follows from: steady, catch-up, forecast, retention; None
            where no need was computed.
        keda: What KEDA would do; None where the advice is not about a group's consumers.
    """

    kind: AdviceKind
    cluster: str
    subject: str
    severity: AdviceSeverity
    confidence: Confidence
    reason: str
    quantity: str = ""
    current: int | None = None
    proposed: int | None = None
    unknown_reason: str | None = None
    evidence: tuple[Evidence, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    artefacts: tuple[Artefact, ...] = ()
    subject_kind: Subject = Subject.GROUP
    limiting_factor: str | None = None
    consequence: str | None = None
    keda: KedaAnswer | None = None

    @property
    def blockers(self) -> tuple[Caveat, ...]:
        """The caveats that want to be acknowledged before anything is changed."""
        return tuple(one for one in self.caveats if one.level is CaveatLevel.BLOCKER)

    @property
    def saving(self) -> int:
        """Consumers that the advice saves; 0 where it saves none."""
        if self.quantity != "consumers" or self.current is None or self.proposed is None:
            return 0
        return max(0, self.current - self.proposed)


class Details(TypedDict, total=False):
    """The fields of a recommendation that not every one has, for functions that hand them on."""

    quantity: str
    current: int | None
    proposed: int | None
    unknown_reason: str | None
    evidence: tuple[Evidence, ...]
    caveats: tuple[Caveat, ...]
    artefacts: tuple[Artefact, ...]
    limiting_factor: str | None
    consequence: str | None


_SEVERITIES = tuple(AdviceSeverity)


def by_urgency(advice: Recommendation) -> tuple[int, int, str, str]:
    """Return the order of advice: the most urgent first, then what saves most."""
    return (_SEVERITIES.index(advice.severity), -advice.saving, advice.cluster, advice.subject)
