"""What a simulation is made of, and what it shows.

A :class:`Workload` is a consumer group on one or more topics: how many messages arrive when
(``rate``), who consumes them (:class:`Consumers`) and what happens on the way (:class:`Event`).
Everything that is random comes from the seed given to the simulation: arrivals from one stream,
service times from another, so that two policies on one seed see the very same arrivals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulation.assignors import Assignor, TopicPartition
from simulation.interventions import Interventions

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

Rate = Callable[[Floats], Floats]
"""Times (seconds) to messages per second: of shape (times,) for all partitions together, or of
shape (times, partitions) for each."""

_EAGER = (Assignor.RANGE, Assignor.ROUNDROBIN, Assignor.STICKY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumers:
    """Who consumes, and how.

    Attributes:
        rate_per_second: Messages per second of one consumer that never waits, on average.
        noise: Standard deviation of that rate's logarithm; 0: constant.
        noise_seconds: Time over which a slow moment lasts (the noise is autoregressive).
        assignor: How partitions are shared out. Range, round-robin and sticky stop the whole group
            in a rebalance, cooperative-sticky and uniform only the partitions that move.
        pause_seconds: How long a rebalance stops the partitions that it touches.
        session_seconds: How long the group waits for a consumer that vanished.
        commit_seconds: Interval of commits; each consumer has its own phase.
        shared_limit_per_second: What the consumers can do together at most (a database behind
            them): beyond it each one becomes slower as their number grows. None: no limit.
        maximum: The highest number of consumers that can be asked for.
    """

    count: int
    rate_per_second: float
    noise: float = 0.15
    noise_seconds: float = 60.0
    assignor: Assignor = Assignor.COOPERATIVE_STICKY
    start_seconds: float = 30.0
    pause_seconds: float = 10.0
    session_seconds: float = 45.0
    commit_seconds: float = 5.0
    shared_limit_per_second: float | None = None
    maximum: int = 100

    @property
    def eager(self) -> bool:
        """Whether a rebalance stops the whole group."""
        return self.assignor in _EAGER


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedEvent:
    """Something that happens to the simulation.

    Attributes:
        at: When, in seconds of simulated time.
        action: What: a function of the simulation, such as ``lambda s: s.freeze(3)``.
    """

    at: float
    action: Callable[[Interventions], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Messages that wait when the simulation begins.

    Attributes:
        age_seconds: Age of the oldest of each; the others arrived evenly since.
    """

    messages: Floats
    age_seconds: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A consumer group's work.

    Attributes:
        topics: Partitions by topic. Arrays over partitions are in the order of ``keys``.
        rate: Arrivals; see ``Rate``.
        weights: Share of each partition in the arrivals, where ``rate`` gives their sum; None:
            even. They need not add up to 1.
        burstiness: Standard deviation of the logarithm of the arrival rate over ten seconds, beside
            the Poisson noise.
        starts_at: When simulated time begins, in seconds. Unix time, where the season counts.
        retention_seconds: How long topics keep messages; None: for ever.
        retention_check_seconds: How often what is older is deleted, from the start on: by a broker
            every five minutes, unless its ``log.retention.check.interval.ms`` is set otherwise. So
            losses come in steps, up to that time late. They come later still on a broker, which
            deletes whole segments; here a message goes at the first check after its time.
        backlog: What waits at the start; None: nothing.
    """

    name: str
    topics: Mapping[str, int]
    rate: Rate
    consumers: Consumers
    weights: Floats | None = None
    burstiness: float = 0.0
    starts_at: float = 0.0
    duration_seconds: float = 86400.0
    objective_seconds: float = 60.0
    retention_seconds: float | None = None
    retention_check_seconds: float = 300.0
    backlog: Backlog | None = None
    events: tuple[SimulatedEvent, ...] = ()

    @property
    def partitions(self) -> int:
        """Number of partitions of all topics."""
        return sum(self.topics.values())

    @property
    def keys(self) -> tuple[TopicPartition, ...]:
        """Topic and number of each partition."""
        return partition_keys(self.topics)


def partition_keys(topics: Mapping[str, int]) -> tuple[TopicPartition, ...]:
    """Return topic and number of each partition, in the order of the arrays."""
    return tuple((topic, number) for topic in sorted(topics) for number in range(topics[topic]))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupObservation:
    """What collectors see of a group at one time, and nothing else.

    Arrays have one value a partition, in the order of ``keys``; NaN is unknown.

    Attributes:
        at: Time, seconds.
        committed: Committed offset; NaN: never committed.
        member: Slot of the member that holds the partition, from 0; -1: nobody.
        time_lag_seconds: Age of the record at the committed offset (at the log start, where that is
            later); 0 without lag; NaN where nothing was committed.
        members: Members of the group; a vanished one counts until its session ends.
        state: ``Stable``, ``PreparingRebalance`` (eager), ``Reconciling`` (incremental), ``Empty``.
        replicas: Consumers that were asked for last; those that start are among them.
    """

    at: float
    keys: tuple[TopicPartition, ...]
    log_start: Floats
    log_end: Floats
    committed: Floats
    member: Integers
    time_lag_seconds: Floats
    members: int
    state: str
    replicas: int

    @property
    def lag(self) -> Floats:
        """Log end - committed, never negative; NaN where nothing was committed."""
        waiting: Floats = np.maximum(self.log_end - self.committed, 0.0)
        return waiting

    @property
    def total_lag(self) -> float:
        """Messages that wait, over the partitions of which that is known."""
        return float(np.nansum(self.lag))

    @property
    def worst_time_lag_seconds(self) -> float | None:
        """The highest time lag; None where none is known."""
        known = self.time_lag_seconds[~np.isnan(self.time_lag_seconds)]
        return float(known.max()) if len(known) else None

    @property
    def rebalancing(self) -> bool:
        """Whether partitions are just being shared out."""
        return self.state in ("PreparingRebalance", "Reconciling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What happened in some consecutive steps, for those who want every one of them.

    Arrays over time and partitions, the latter in the order of ``Workload.keys``.

    Attributes:
        age_seconds: Age of the oldest unread message of each partition at its end; 0: none.
    """

    times: Floats
    arrived: Floats
    log_end: Floats
    position: Floats
    age_seconds: Floats
    members: int


@dataclass(slots=True, kw_only=True)
class SimulationOutcome:
    """What really happened so far: for scoring, never for a policy.

    Attributes:
        consumer_seconds: Consumers asked for, over time: what is paid.
        rescales: How often the number asked for was changed by ``scale``.
        rebalances: How often partitions were shared out anew.
        consumed: Messages processed; one that is processed again counts once.
        lost: Messages that were never processed: deleted by retention, cut off with the log, or
            skipped by a reset.
        violation_seconds: Time in which the oldest unread message was older than the objective.
        worst_time_lag_seconds: The highest age of an unread message at any time.
    """

    seconds: float = 0.0
    consumer_seconds: float = 0.0
    rescales: int = 0
    rebalances: int = 0
    arrived: float = 0.0
    consumed: float = 0.0
    lost: float = 0.0
    violation_seconds: float = 0.0
    worst_time_lag_seconds: float = 0.0
    time_lag_seconds: float = 0.0
    waiting: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def violation_minutes(self) -> float:
        """``violation_seconds`` in minutes."""
        return self.violation_seconds / 60.0

    @property
    def consumer_hours(self) -> float:
        """``consumer_seconds`` in hours."""
        return self.consumer_seconds / 3600.0
