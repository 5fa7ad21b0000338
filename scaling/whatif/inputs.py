"""Where a what-if starts from: a group's facts as inputs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from alerting.status.phrases import duration
from scaling.facts.capacity import CapacityStatus
from scaling.facts.group_facts import GroupFacts, PartitionFacts
from scaling.whatif.queue_model import SimulationError, WhatIfInputs
from simulation.assignors import Assignor

_NAMED = 3
"""So many partitions are named, of which a note says the same."""


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
    waiting = [_waiting(facts, part) for part in parts]
    notes += _older_or_unknown(parts, waiting)
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
        lag=np.array([float(one.lag or 0) for one in waiting]),
        time_lag_seconds=np.array([one.time_lag_seconds or 0.0 for one in waiting]),
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


class _Waiting(NamedTuple):
    """What waits in a partition, of the newest poll that could tell."""

    lag: int | None
    time_lag_seconds: float | None
    old_seconds: float = 0.0  # before the newest poll


def _waiting(facts: GroupFacts, part: PartitionFacts) -> _Waiting:
    """Return what waits in a partition: one poll that failed does not make it unknown."""
    numbers = part.status.numbers
    if numbers.lag is not None:
        return _Waiting(numbers.lag, numbers.behind_seconds)
    where = (part.status.topic, part.status.partition)
    samples = [
        sample
        for one in facts.windows
        if (one.topic, one.partition) == where
        for sample in one.samples
    ]
    known = [sample for sample in samples if sample.lag is not None]
    if not known:
        return _Waiting(None, None)
    return _Waiting(known[-1].lag, known[-1].time_lag_seconds, samples[-1].at - known[-1].at)


def _older_or_unknown(parts: Sequence[PartitionFacts], waiting: Sequence[_Waiting]) -> list[str]:
    """Say of which partitions the lag is older than the other figures, and of which unknown."""
    names = [f"{part.status.topic}-{part.status.partition}" for part in parts]
    old = [name for name, one in zip(names, waiting, strict=True) if one.old_seconds]
    unknown = [name for name, one in zip(names, waiting, strict=True) if one.lag is None]
    notes = []
    if old:
        oldest = duration(max(one.old_seconds for one in waiting))
        notes.append(
            f"the newest poll could not read the lag of {_few(old)}: that of at most {oldest} "
            "before is taken"
        )
    if unknown:
        notes.append(f"the lag of {_few(unknown)} is unknown: taken for none")
    return notes


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
