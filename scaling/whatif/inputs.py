"""Where a what-if starts from: a group's facts as inputs. Pure."""

from __future__ import annotations

import numpy as np

from scaling.facts.capacity import CapacityStatus
from scaling.facts.group_facts import GroupFacts, PartitionFacts
from scaling.whatif.queue_model import SimulationError, WhatIfInputs
from simulation.assignors import Assignor


def what_if_inputs(
    facts: GroupFacts, *, capacity_per_second: float | None = None, consumers: int | None = None
) -> WhatIfInputs:
    """Return what a what-if of a group starts from.

    Args:
        facts: What is known of the group.
        capacity_per_second: What one consumer can process; None: the measured capacity.
        consumers: How many there are; None: the members of the group.

    Raises:
        SimulationError: Something is unknown without which there is nothing to simulate.
    """
    notes: list[str] = []
    parts = [part for part in facts.partitions if part.status.subscribed]
    if not parts:
        raise SimulationError(f"{facts.group}: no partition of it was seen")
    topics: dict[str, int] = {}
    for part in parts:
        topics[part.status.topic] = topics.get(part.status.topic, 0) + 1
    parts.sort(key=lambda part: (part.status.topic, part.status.partition))
    consumers = facts.members if consumers is None else consumers
    if consumers is None:
        raise SimulationError(f"{facts.group}: how many consumers it has is unknown; give it")
    if capacity_per_second is None:
        capacity_per_second = _measured(facts, notes)
    assignor = Assignor.of(facts.assignor)
    if assignor is None:
        assignor = Assignor.UNIFORM if facts.type == "consumer" else Assignor.RANGE
        notes.append(f"how partitions are shared out is unknown: taken for {assignor.value}")
    limit = facts.capacity.limit_per_second if facts.capacity is not None else None
    if limit is not None:
        notes.append(f"the consumers together get {limit:.4g} messages a second through at most")
    kept = [
        seconds
        for topic in topics
        if topic in facts.topics
        and facts.topics[topic].retention.deletes
        and (seconds := facts.topics[topic].retention.seconds) is not None
    ]
    return WhatIfInputs(
        topics=topics,
        arrival_per_second=np.array([_arrival(facts, part) for part in parts]),
        lag=np.array([float(_lag(part, notes)) for part in parts]),
        time_lag_seconds=np.array([part.status.numbers.behind_seconds or 0.0 for part in parts]),
        consumers=consumers,
        capacity_per_second=capacity_per_second,
        assignor=assignor,
        objective_seconds=facts.objective_seconds,
        retention_seconds=min(kept, default=None),
        shared_limit_per_second=limit,
        notes=tuple(notes),
    )


def _measured(facts: GroupFacts, notes: list[str]) -> float:
    capacity = facts.capacity
    if capacity is None:
        raise SimulationError(
            f"{facts.group}: what one consumer can process was not measured; give it"
        )
    if capacity.status is CapacityStatus.LOWER_BOUND and capacity.low is not None:
        notes.append(
            f"a consumer does at least {capacity.low:.4g} messages a second, perhaps more: lag may "
            "be overstated"
        )
        return capacity.low
    if capacity.per_second is None:
        raise SimulationError(
            f"{facts.group}: what one consumer can process is not known ({capacity.reason}); "
            "give it"
        )
    return capacity.per_second


def _arrival(facts: GroupFacts, part: PartitionFacts) -> float:
    rate = part.status.numbers.arrival_per_second
    if rate is None:
        where = f"{part.status.topic}-{part.status.partition}"
        raise SimulationError(f"{facts.group}: how much arrives in {where} is unknown")
    return max(0.0, rate)


def _lag(part: PartitionFacts, notes: list[str]) -> int:
    if part.status.numbers.lag is None:
        notes.append(
            f"the lag of {part.status.topic}-{part.status.partition} is unknown: taken for none"
        )
    return part.status.numbers.lag or 0
