"""What a group's size is decided from, taken from what is known of the group."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from alerting.status.baseline import REBALANCING, plain_state
from alerting.status.group_status import PartitionWindow, Status
from scaling.advisers.retention import group_deadline
from scaling.facts.capacity import not_measured
from scaling.facts.group_facts import GroupFacts, PartitionFacts
from scaling.facts.intervals import Integers
from scaling.sizing.assignment import Assignment
from scaling.sizing.decide import DecisionHistory, SizeFacts, decide
from scaling.sizing.polls import polls_of
from scaling.sizing.size import SizeInputs
from simulation.assignors import Assignor


def size_facts(facts: GroupFacts) -> SizeFacts | None:
    """Return what a group's size is decided from; None where a part of it is unknown.

    It needs the capacity of one consumer, the group's members, and arrivals and lag of each
    partition that it reads.
    """
    capacity, subscribed = facts.capacity, facts.subscribed
    if capacity is None or capacity.per_second is None or not capacity.low:
        return None
    if not facts.members or facts.type == "share" or not subscribed:
        return None
    names = [(topic, number) for topic in sorted(subscribed) for number in range(subscribed[topic])]
    parts = {(p.status.topic, p.status.partition): p for p in facts.partitions}
    windows = {(one.topic, one.partition): one for one in facts.windows}
    if any(name not in parts or name not in windows for name in names):
        return None
    held = [parts[name] for name in names]
    numbers = [one.status.numbers for one in held]
    if any(one.lag is None or one.arrival_per_second is None for one in numbers):
        return None
    samples = [windows[name] for name in names]
    polls = polls_of(samples)
    if polls is None:
        return None
    assignment = Assignment(
        partitions=tuple(sorted(subscribed.items())),
        assignor=Assignor.of(facts.assignor) or Assignor.ROUNDROBIN,
    )
    deadline, peak = group_deadline(facts), facts.forecast.per_second
    newest = samples[0].samples[-1]
    return SizeFacts(
        assignment=assignment,
        polls=polls,
        member=_members(held, assignment, facts.members),
        assignment_id=_assignment_id(held),
        consumers=facts.members,
        changed_at=_changed_at(samples[0], facts.members),
        is_rebalancing=plain_state(newest.state) in REBALANCING,
        capacity=capacity,
        objective_seconds=facts.objective_seconds,
        forecast_peak=lambda _: peak,
        stalled=np.array([one.status.status is Status.STALLED for one in held]),
        deadline_seconds=deadline[1].seconds if deadline is not None else None,
    )


def why_not_sized(facts: GroupFacts) -> str:
    """Say what is unknown of a group that has no ``size_facts``."""
    if facts.type == "share":
        return "the size of a share group is not worked out"
    if facts.capacity is None or facts.capacity.per_second is None:
        return not_measured(facts.capacity)
    return "the group's members, or what arrives in some of its partitions, are unknown"


def _members(held: Sequence[PartitionFacts], assignment: Assignment, members: int) -> Integers:
    """Return the number of the member that holds each partition, in the order of their names.

    Where nobody is known to hold any, the assignor tells who would.
    """
    names = sorted({one.member_id for one in held if one.member_id is not None})
    if not names:
        return assignment.holders(members)
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([-1 if one.member_id is None else numbers[one.member_id] for one in held])


def _assignment_id(held: Sequence[PartitionFacts]) -> str:
    text = "\n".join(one.member_id or "" for one in held)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _changed_at(window: PartitionWindow, members: int) -> float | None:
    """Return the last time at which the group had another number of members."""
    return next(
        (
            sample.at
            for sample in reversed(window.samples)
            if sample.members is not None and sample.members != members
        ),
        None,
    )


def inputs(facts: GroupFacts) -> SizeInputs | None:
    """Return the question that a group's size answers; None where a part of it is unknown."""
    asked = size_facts(facts)
    return None if asked is None else decide(asked, DecisionHistory()).inputs
