"""Advice on the number of consumers where the capacity of one was measured: the size as advice.

The number is ``scaling.sizing.decide``'s, the same as in the backtest. Here the facts of a group
become its question, and its answer becomes a recommendation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b

import numpy as np

from alerting.status.baseline import REBALANCING, plain_state
from alerting.status.group_status import PartitionWindow, Status
from alerting.status.phrases import plural, rate
from scaling.advice.caveats import QUOTAS, SPARES, of_more_partitions, of_other_members, worst_first
from scaling.advice.model import (
    Caveat,
    CaveatLevel,
    Confidence,
    Evidence,
    Kind,
    Recommendation,
    Severity,
)
from scaling.advisers.retention import group_deadline
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.group_facts import GroupFacts, PartitionFacts
from scaling.facts.intervals import Integers
from scaling.sizing.assignment import Shape
from scaling.sizing.decide import Decision, History, SizingFacts, decide
from scaling.sizing.polls import polls_of
from scaling.sizing.size import Binding, Situation, Sizing, Verdict, size
from simulation.assignors import Assignor

_SETTLED = (Status.OK, Status.CATCHING_UP, Status.FALLING_BEHIND, Status.LOSING_DATA)
_FEW = 3

NO_HISTORY = Caveat(
    CaveatLevel.MEDIUM,
    "There is too little history to know the next peak: one step down at a time, and watch.",
)


def sizing_facts(facts: GroupFacts) -> SizingFacts | None:
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
    shape = Shape(
        tuple(sorted(subscribed.items())), Assignor.of(facts.assignor) or Assignor.ROUNDROBIN
    )
    deadline, peak = group_deadline(facts), facts.expected.per_second
    newest = samples[0].samples[-1]
    return SizingFacts(
        shape=shape,
        polls=polls,
        member=_members(held, shape, facts.members),
        assignment=_assignment(held),
        consumers=facts.members,
        changed_at=_changed_at(samples[0], facts.members),
        is_rebalancing=plain_state(newest.state) in REBALANCING,
        capacity=capacity,
        objective_seconds=facts.objective_seconds,
        expected_peak=lambda _: peak,
        stalled=np.array([one.status.status is Status.STALLED for one in held]),
        deadline_seconds=deadline[1].seconds if deadline is not None else None,
    )


def _members(held: Sequence[PartitionFacts], shape: Shape, members: int) -> Integers:
    """Return the number of the member that holds each partition, in the order of their names.

    Where nobody is known to hold any, the assignor tells who would.
    """
    names = sorted({one.member_id for one in held if one.member_id is not None})
    if not names:
        return shape.holders(members)
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([-1 if one.member_id is None else numbers[one.member_id] for one in held])


def _assignment(held: Sequence[PartitionFacts]) -> str:
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


def situation(facts: GroupFacts) -> Situation | None:
    """Return the question that a group's size answers; None where a part of it is unknown."""
    asked = sizing_facts(facts)
    return None if asked is None else decide(asked, History()).situation


def sized_advice(facts: GroupFacts, history: History) -> tuple[Recommendation | None, History]:
    """Return advice with a number, and what to remember of it.

    No advice where no capacity was measured or a rate is unknown.
    """
    if facts.status.status not in _SETTLED:
        return None, history
    asked = sizing_facts(facts)
    if asked is None:
        return None, history
    found = decide(asked, history)
    return _dressed(facts, found), found.history


def _dressed(facts: GroupFacts, found: Decision) -> Recommendation | None:
    """Return a decision as advice; None where there is no number in it."""
    asked, sizing = found.situation, found.sizing
    if asked is None or sizing is None or sizing.verdict is Verdict.UNKNOWN_CAPACITY:
        return None
    if sizing.verdict is Verdict.DOWNSTREAM or asked.capacity.status is CapacityStatus.CONFLICT:
        return _downstream(facts, asked, sizing)
    if sizing.verdict is Verdict.PARTITION_BOUND or sizing.hopeless:
        return _bound(facts, asked, sizing)
    if found.consumers > asked.consumers:
        return _more(facts, asked, sizing, found.consumers)
    if sizing.consumers > asked.consumers:
        return _waiting(facts, asked, sizing, "may soon be needed", found.reason)
    if asked.peak is not None:
        ahead = size(replace(asked, soon=asked.peak, peak=None))
        if ahead.consumers > asked.consumers:
            return _ahead(facts, asked, ahead)
    if found.consumers < asked.consumers and facts.status.status is Status.OK:
        return _fewer(facts, asked, sizing, found.consumers)
    if sizing.consumers < asked.consumers:
        allowed = found.consumers < asked.consumers
        why = "the backlog is not gone yet" if allowed else found.reason
        return _waiting(facts, asked, sizing, "would do for what arrives", why)
    return _advice(
        facts,
        asked,
        sizing,
        Kind.KEEP,
        Severity.INFO,
        f"The {sizing.binding.value} need asks for {plural(asked.consumers, 'consumer')}: "
        f"{_load(asked, sizing, asked.consumers)}.",
        proposed=asked.consumers,
    )


def _waiting(
    facts: GroupFacts, asked: Situation, sizing: Sizing, what: str, why: str
) -> Recommendation:
    """Keep what is there for now although another number was found."""
    return _advice(
        facts,
        asked,
        sizing,
        Kind.KEEP,
        Severity.INFO,
        f"{plural(sizing.consumers, 'consumer')} {what}, but keep {asked.consumers} for now: "
        f"{why}.",
        proposed=asked.consumers,
    )


def _more(facts: GroupFacts, asked: Situation, sizing: Sizing, proposed: int) -> Recommendation:
    why = {
        Binding.STEADY: f"{_arriving(asked)} arrive, and the busiest of {asked.consumers} gets "
        "more than it can process for long",
        Binding.CATCH_UP: f"what waits is worked off in time only by {proposed}",
        Binding.FORECAST: f"{_arriving(asked)} arrive, and the trend needs more soon",
        Binding.RETENTION: "retention reaches what waits before fewer have read it",
    }[sizing.binding]
    opening = f"With {proposed} the need is met ({sizing.binding.value}): {why}"
    if sizing.binding is Binding.RETENTION and sizing.is_too_late:
        opening = (
            "Retention takes some of what waits whatever is done, and fewer than "
            f"{proposed} lose more"
        )
    return _advice(
        facts,
        asked,
        sizing,
        Kind.ADD_CONSUMERS,
        Severity.ACT_NOW
        if sizing.is_late or sizing.binding is Binding.RETENTION
        else Severity.WATCH,
        f"{opening}. One consumer processes {_capacity(asked.capacity)}.",
        proposed=proposed,
        caveats=(*of_other_members(facts), QUOTAS),
    )


def _ahead(facts: GroupFacts, asked: Situation, sizing: Sizing) -> Recommendation:
    """Advise what the next peak needs: today's consumers do for today's load."""
    peak, at = facts.expected.per_second or 0.0, facts.expected.at
    when = f" ({datetime.fromtimestamp(at, UTC):%a %H:%M} UTC)" if at is not None else ""
    return _advice(
        facts,
        asked,
        sizing,
        Kind.ADD_CONSUMERS,
        Severity.WATCH,
        f"{plural(asked.consumers, 'consumer')} do for {_arriving(asked)}, but the next peak"
        f"{when} may bring {rate(peak)}: have {sizing.consumers} by then. One consumer processes "
        f"{_capacity(asked.capacity)}.",
        proposed=sizing.consumers,
        caveats=of_other_members(facts),
    )


def _fewer(facts: GroupFacts, asked: Situation, sizing: Sizing, proposed: int) -> Recommendation:
    known = facts.expected.per_second is not None
    peak = (
        f", and at the expected peak of {rate(facts.expected.per_second or 0.0)} too"
        if known
        else ""
    )
    return _advice(
        facts,
        asked,
        sizing,
        Kind.REMOVE_CONSUMERS,
        Severity.INFO,
        f"{plural(proposed, 'consumer')} would do for {_arriving(asked)}{peak}: "
        f"{_load(asked, sizing, proposed)}. One consumer processes {_capacity(asked.capacity)}.",
        proposed=proposed,
        caveats=(*of_other_members(facts), SPARES, *(() if known else (NO_HISTORY,))),
    )


def _bound(facts: GroupFacts, asked: Situation, sizing: Sizing) -> Recommendation:
    most = asked.shape.counts[-1]
    names = [
        f"{topic}-{number}" for topic, count in asked.shape.partitions for number in range(count)
    ]
    hopeless = [names[position] for position in sizing.hopeless]
    listed = ", ".join(hopeless[:_FEW]) + (" …" if len(hopeless) > _FEW else "")
    where = (
        f"{listed}: more arrives than a consumer of its own can process "
        f"({_capacity(asked.capacity)})"
        if hopeless
        else f"even {most} consumers, one a partition, do not meet the {sizing.binding.value} need"
    )
    kind = Kind.HOT_PARTITION if 0 < len(hopeless) < len(names) else Kind.PARTITION_BOUND
    closest = not hopeless and most > asked.consumers
    help_ = f" {most} come closest." if closest else " More consumers will not help."
    return _advice(
        facts,
        asked,
        sizing,
        kind,
        Severity.ACT_NOW if sizing.is_late else Severity.WATCH,
        f"Consumers cannot fix this: {where}.{help_} Look at the keys, make the handler faster, or "
        "give the topic more partitions.",
        proposed=most if closest else None,
        unknown_reason="whether one key makes it hot: keys are not read"
        if kind is Kind.HOT_PARTITION
        else None,
        caveats=of_more_partitions(facts),
    )


def _downstream(facts: GroupFacts, asked: Situation, sizing: Sizing) -> Recommendation:
    capacity = asked.capacity
    limit = (
        f" Together they get through about {rate(capacity.limit_per_second)}."
        if capacity.limit_per_second is not None
        else ""
    )
    beyond = (
        f" Beyond {capacity.helpful_members} none helps."
        if capacity.helpful_members is not None
        else ""
    )
    return _advice(
        facts,
        asked,
        sizing,
        Kind.DOWNSTREAM,
        Severity.WATCH if sizing.is_late else Severity.INFO,
        "The more consumers there are, the less each of them processes: they share a limit "
        f"downstream.{limit}{beyond} More consumers will not help: look at what the handlers call.",
        caveats=(QUOTAS,),
    )


def _advice(
    facts: GroupFacts,
    asked: Situation,
    sizing: Sizing,
    kind: Kind,
    severity: Severity,
    reason: str,
    *,
    proposed: int | None = None,
    unknown_reason: str | None = None,
    caveats: tuple[Caveat, ...] = (),
) -> Recommendation:
    certain = asked.capacity.status is CapacityStatus.IDENTIFIED and asked.peak is not None
    return Recommendation(
        kind=kind,
        cluster=facts.cluster,
        subject=facts.group,
        severity=severity,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        reason=reason,
        quantity="consumers",
        current=asked.consumers,
        proposed=proposed,
        unknown_reason=unknown_reason,
        evidence=_evidence(facts, asked, sizing),
        caveats=worst_first(caveats),
        binding=sizing.binding.value,
    )


def _evidence(facts: GroupFacts, asked: Situation, sizing: Sizing) -> tuple[Evidence, ...]:
    capacity, expected = asked.capacity, facts.expected
    needs = (Evidence(f"{need.binding.value} need", need.consumers) for need in sizing.needs)
    return (
        Evidence("consumers", asked.consumers),
        Evidence("useful numbers of consumers", ", ".join(map(str, asked.shape.counts))),
        *needs,
        Evidence("arrival", float(asked.arrival.sum()), "messages/s"),
        Evidence("expected peak", expected.per_second, "messages/s"),
        Evidence("busiest partition", float(asked.arrival.max()), "messages/s"),
        Evidence("capacity of one consumer", capacity.per_second, "messages/s"),
        Evidence("capacity, lower end", capacity.low, "messages/s"),
        Evidence("capacity, upper end", capacity.high, "messages/s"),
        Evidence("how capacity is known", capacity.status.value),
        Evidence("saturated intervals", capacity.samples),
        Evidence("utilisation allowed", round(sizing.allowed_utilisation, 3), "ratio"),
        Evidence(
            "utilisation of the busiest consumer",
            None if sizing.utilisation is None else round(sizing.utilisation, 3),
            "ratio",
        ),
        Evidence("lag", int(asked.lag.sum()), "messages"),
        Evidence("oldest unread message", asked.time_lag_seconds, "s"),
        Evidence("objective", asked.objective_seconds, "s"),
    )


def _arriving(asked: Situation) -> str:
    return rate(float(asked.arrival.sum()))


def _capacity(capacity: Capacity) -> str:
    text = rate(capacity.per_second or 0.0)
    if capacity.low is None or capacity.high is None:
        return text
    return f"{text} (90 % between {rate(capacity.low)} and {rate(capacity.high)})"


def _load(asked: Situation, sizing: Sizing, consumers: int) -> str:
    """Say how busy the busiest of a number of consumers is."""
    loads = np.bincount(asked.shape.holders(consumers), asked.arrival)
    low = asked.capacity.low or 1.0
    return (
        f"the busiest gets {rate(float(loads.max()))}, {float(loads.max()) / low:.0%} of what it "
        f"can surely process ({sizing.allowed_utilisation:.0%} are allowed)"
    )
