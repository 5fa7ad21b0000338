"""Advice on the number of consumers where the capacity of one was measured: the size as advice.

The size itself is ``scaling.sizing``'s, the same as in the backtest. Here the facts of a group
become its question, and its answer becomes a recommendation.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from alerting.lag_status import Status
from alerting.words import plural, rate
from scaling.capacity import Capacity, CapacityStatus
from scaling.caveats import QUOTAS, SPARES, of_more_partitions, of_other_members, worst_first
from scaling.facts import GroupFacts
from scaling.model import Caveat, CaveatLevel, Confidence, Evidence, Kind, Recommendation, Severity
from scaling.retention import group_deadline
from scaling.shape import Shape
from scaling.sizing import Binding, Situation, Sizing, Verdict, size
from simulation.assignors import Assignor

_SETTLED = (Status.OK, Status.CATCHING_UP, Status.FALLING_BEHIND, Status.LOSING_DATA)
_FEW = 3

NO_HISTORY = Caveat(
    CaveatLevel.MEDIUM,
    "There is too little history to know the next peak: one step down at a time, and watch.",
)


def situation(facts: GroupFacts) -> Situation | None:
    """Return the question that a group's size answers; None where a part of it is unknown.

    Known must be: what one consumer can process, the group's members, and what arrives and waits
    in each partition that it reads.
    """
    capacity, subscribed = facts.capacity, facts.subscribed
    if capacity is None or capacity.per_second is None or not capacity.low:
        return None
    if not facts.members or facts.type == "share" or not subscribed:
        return None
    parts = {(p.status.topic, p.status.partition): p for p in facts.partitions}
    names = [(topic, number) for topic in sorted(subscribed) for number in range(subscribed[topic])]
    if any(name not in parts for name in names):
        return None
    held = [parts[name].status for name in names]
    arrival = [one.numbers.arrival_per_second for one in held]
    lag = [one.numbers.lag for one in held]
    if any(value is None for value in (*arrival, *lag)):
        return None
    now = np.maximum(np.array(arrival, dtype=np.float64), 0.0)
    total, expected = float(now.sum()), facts.expected.per_second
    blocked = np.array([one.status is Status.STALLED for one in held])
    ages = [
        one.numbers.behind_seconds
        for one, is_blocked in zip(held, blocked, strict=True)
        if not is_blocked and one.numbers.behind_seconds is not None
    ]
    deadline = group_deadline(facts)
    return Situation(
        shape=Shape(
            tuple(sorted(subscribed.items())), Assignor.of(facts.assignor) or Assignor.ROUNDROBIN
        ),
        consumers=facts.members,
        arrival=now,
        soon=now,
        lag=np.array(lag, dtype=np.float64),
        capacity=capacity,
        objective_seconds=facts.objective_seconds,
        peak=None if expected is None or total <= 0 else now * (expected / total),
        blocked=blocked,
        time_lag_seconds=max(ages) if ages else None,
        deadline_seconds=deadline[1].seconds if deadline is not None else None,
    )


def sized_advice(facts: GroupFacts) -> Recommendation | None:
    """Return advice with a number; None where no capacity was measured, or a rate is unknown."""
    asked = situation(facts)
    if asked is None or facts.status.status not in _SETTLED:
        return None
    sizing = size(asked)
    if sizing.verdict is Verdict.UNKNOWN_CAPACITY:
        return None
    if sizing.verdict is Verdict.DOWNSTREAM or asked.capacity.status is CapacityStatus.CONFLICT:
        return _downstream(facts, asked, sizing)
    if sizing.verdict is Verdict.PARTITION_BOUND or sizing.hopeless:
        return _bound(facts, asked, sizing)
    if sizing.consumers > asked.consumers:
        return _more(facts, asked, sizing)
    if asked.peak is not None:
        ahead = size(replace(asked, soon=asked.peak, peak=None))
        if ahead.consumers > asked.consumers:
            return _ahead(facts, asked, ahead)
    if sizing.consumers < asked.consumers:
        return _fewer(facts, asked, sizing)
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


def _more(facts: GroupFacts, asked: Situation, sizing: Sizing) -> Recommendation:
    why = {
        Binding.STEADY: f"{_arriving(asked)} arrive, and the busiest of {asked.consumers} gets "
        "more than it can process for long",
        Binding.CATCH_UP: f"what waits is worked off in time only by {sizing.consumers}",
        Binding.FORECAST: f"{_arriving(asked)} arrive, and the trend needs more soon",
        Binding.RETENTION: "retention reaches what waits before fewer have read it",
    }[sizing.binding]
    opening = f"With {sizing.consumers} the need is met ({sizing.binding.value}): {why}"
    if sizing.binding is Binding.RETENTION and sizing.is_too_late:
        opening = (
            "Retention takes some of what waits whatever is done, and fewer than "
            f"{sizing.consumers} lose more"
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
        proposed=sizing.consumers,
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


def _fewer(facts: GroupFacts, asked: Situation, sizing: Sizing) -> Recommendation:
    """Advise fewer only where the backlog is gone; without a forecast by one step."""
    if sizing.is_late or facts.status.status is not Status.OK:
        return _advice(
            facts,
            asked,
            sizing,
            Kind.KEEP,
            Severity.INFO,
            f"{plural(sizing.consumers, 'consumer')} would do for what arrives, but the backlog is "
            f"not gone yet: keep {asked.consumers} until it is.",
            proposed=asked.consumers,
        )
    below = [number for number in asked.shape.counts if number < asked.consumers]
    known = facts.expected.per_second is not None
    proposed = sizing.consumers if known else max(below[-1], sizing.consumers)
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
        kind,
        facts.cluster,
        facts.group,
        severity,
        Confidence.HIGH if certain else Confidence.MEDIUM,
        reason,
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
