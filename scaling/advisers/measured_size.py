"""Advice on the number of consumers where the capacity of one was measured: the size as advice.

The number is ``scaling.sizing.decide``'s, the same as in the backtest. Here its answer becomes a
recommendation.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from alerting.status.group_status import Status
from alerting.status.phrases import plural, rate
from scaling.advice.caveats import QUOTAS, SPARES, of_more_partitions, of_other_members, worst_first
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Caveat,
    CaveatLevel,
    Confidence,
    Evidence,
    Recommendation,
)
from scaling.advisers.group_evidence import KEYS_UNREAD
from scaling.advisers.size_facts import size_facts
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.group_facts import GroupFacts
from scaling.sizing.decide import Decision, DecisionHistory, decide
from scaling.sizing.size import GroupSize, LimitingFactor, SizeDecision, SizeInputs, size

_SETTLED = (Status.OK, Status.CATCHING_UP, Status.FALLING_BEHIND, Status.LOSING_DATA)
_FEW = 3
_KNOWN = {
    CapacityStatus.IDENTIFIED: "measured",
    CapacityStatus.LOWER_BOUND: "at least what was sustained",
    CapacityStatus.UNKNOWN: "unknown",
    CapacityStatus.CONFLICT: "contradictory",
    CapacityStatus.BLOCKED: "hidden behind a blocked partition",
}

NO_HISTORY = Caveat(
    level=CaveatLevel.MEDIUM,
    text="There is too little history to know the next peak: one step down at a time, and watch.",
)


def size_advice(
    facts: GroupFacts, history: DecisionHistory
) -> tuple[Recommendation | None, DecisionHistory]:
    """Return advice with a number, and what to remember of it.

    No advice where no capacity was measured or a rate is unknown.
    """
    if facts.status.status not in _SETTLED:
        return None, history
    asked = size_facts(facts)
    if asked is None:
        return None, history
    found = decide(asked, history)
    return _dressed(facts, found), found.history


def _dressed(facts: GroupFacts, found: Decision) -> Recommendation | None:
    """Return a decision as advice; None where there is no number in it."""
    asked, group_size = found.inputs, found.group_size
    if asked is None or group_size is None or group_size.decision is SizeDecision.UNKNOWN_CAPACITY:
        return None
    if (
        group_size.decision is SizeDecision.DOWNSTREAM
        or asked.capacity.status is CapacityStatus.CONFLICT
    ):
        return _downstream(facts, asked, group_size)
    if group_size.decision is SizeDecision.PARTITION_BOUND or group_size.hopeless:
        return _bound(facts, asked, group_size)
    if found.consumers > asked.consumers:
        return _more(facts, asked, group_size, found.consumers)
    if group_size.consumers > asked.consumers:
        return _waiting(facts, asked, group_size, "may soon be needed", found.reason)
    if asked.peak is not None:
        ahead = size(replace(asked, soon=asked.peak, peak=None))
        if ahead.consumers > asked.consumers:
            return _ahead(facts, asked, ahead)
    if found.consumers < asked.consumers and facts.status.status is Status.OK:
        return _fewer(facts, asked, group_size, found.consumers)
    if group_size.consumers < asked.consumers:
        allowed = found.consumers < asked.consumers
        why = "the backlog is not gone yet" if allowed else found.reason
        return _waiting(facts, asked, group_size, "would do for what arrives", why)
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.KEEP,
        AdviceSeverity.INFO,
        f"The {group_size.limiting_factor.value} need asks for "
        f"{plural(asked.consumers, 'consumer')}: "
        f"{_load(asked, group_size, asked.consumers)}.",
        proposed=asked.consumers,
    )


def _waiting(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, what: str, why: str
) -> Recommendation:
    """Keep what is there for now although another number was found."""
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.KEEP,
        AdviceSeverity.INFO,
        f"{plural(group_size.consumers, 'consumer')} {what}, but keep {asked.consumers} for now: "
        f"{why}.",
        proposed=asked.consumers,
    )


def _more(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, proposed: int
) -> Recommendation:
    why = {
        LimitingFactor.STEADY: f"{_arriving(asked)} arrive, and the busiest of {asked.consumers} "
        "gets more than it can process for long",
        LimitingFactor.CATCH_UP: f"what waits is worked off in time only by {proposed}",
        LimitingFactor.FORECAST: f"{_arriving(asked)} arrive, and the trend needs more soon",
        LimitingFactor.RETENTION: "retention reaches what waits before fewer have read it",
    }[group_size.limiting_factor]
    opening = f"With {proposed} the need is met ({group_size.limiting_factor.value}): {why}"
    if group_size.limiting_factor is LimitingFactor.RETENTION and group_size.is_too_late:
        opening = (
            "Retention takes some of what waits whatever is done, and fewer than "
            f"{proposed} lose more"
        )
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.ADD_CONSUMERS,
        AdviceSeverity.ACT_NOW
        if group_size.is_late or group_size.limiting_factor is LimitingFactor.RETENTION
        else AdviceSeverity.WATCH,
        f"{opening}. One consumer processes {_capacity(asked.capacity)}.",
        proposed=proposed,
        caveats=(*of_other_members(facts), QUOTAS),
    )


def _ahead(facts: GroupFacts, asked: SizeInputs, group_size: GroupSize) -> Recommendation:
    """Advise what the next peak needs: today's consumers do for today's load."""
    peak, at = facts.forecast.per_second or 0.0, facts.forecast.at
    when = f" ({datetime.fromtimestamp(at, UTC):%a %H:%M} UTC)" if at is not None else ""
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.ADD_CONSUMERS,
        AdviceSeverity.WATCH,
        f"{plural(asked.consumers, 'consumer')} do for {_arriving(asked)}, but the next peak"
        f"{when} may bring {rate(peak)}: have {group_size.consumers} by then. "
        f"One consumer processes {_capacity(asked.capacity)}.",
        proposed=group_size.consumers,
        caveats=of_other_members(facts),
    )


def _fewer(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, proposed: int
) -> Recommendation:
    known = facts.forecast.per_second is not None
    peak = (
        f", and at the expected peak of {rate(facts.forecast.per_second or 0.0)} too"
        if known
        else ""
    )
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.REMOVE_CONSUMERS,
        AdviceSeverity.INFO,
        f"{plural(proposed, 'consumer')} would do for {_arriving(asked)}{peak}: "
        f"{_load(asked, group_size, proposed)}. "
        f"One consumer processes {_capacity(asked.capacity)}.",
        proposed=proposed,
        caveats=(*of_other_members(facts), SPARES, *(() if known else (NO_HISTORY,))),
    )


def _bound(facts: GroupFacts, asked: SizeInputs, group_size: GroupSize) -> Recommendation:
    most = asked.assignment.counts[-1]
    names = [
        f"{topic}-{number}"
        for topic, count in asked.assignment.partitions
        for number in range(count)
    ]
    hopeless = [names[position] for position in group_size.hopeless]
    listed = ", ".join(hopeless[:_FEW]) + (" …" if len(hopeless) > _FEW else "")
    where = (
        f"{listed}: more arrives than a consumer of its own can process "
        f"({_capacity(asked.capacity)})"
        if hopeless
        else f"even {most} consumers, one a partition, do not meet the "
        f"{group_size.limiting_factor.value} need"
    )
    kind = (
        AdviceKind.HOT_PARTITION if 0 < len(hopeless) < len(names) else AdviceKind.PARTITION_BOUND
    )
    closest = not hopeless and most > asked.consumers
    help_ = f" {most} come closest." if closest else " More consumers will not help."
    return _advice(
        facts,
        asked,
        group_size,
        kind,
        AdviceSeverity.ACT_NOW if group_size.is_late else AdviceSeverity.WATCH,
        f"Consumers cannot fix this: {where}.{help_} Look at the keys, make the handler faster, or "
        "give the topic more partitions.",
        proposed=most if closest else None,
        unknown_reason=KEYS_UNREAD if kind is AdviceKind.HOT_PARTITION else None,
        caveats=of_more_partitions(facts),
    )


def _downstream(facts: GroupFacts, asked: SizeInputs, group_size: GroupSize) -> Recommendation:
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
        group_size,
        AdviceKind.DOWNSTREAM,
        AdviceSeverity.WATCH if group_size.is_late else AdviceSeverity.INFO,
        "The more consumers there are, the less each of them processes: they share a limit "
        f"downstream.{limit}{beyond} More consumers will not help: look at what the handlers call.",
        caveats=(QUOTAS,),
    )


def _advice(
    facts: GroupFacts,
    asked: SizeInputs,
    group_size: GroupSize,
    kind: AdviceKind,
    severity: AdviceSeverity,
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
        evidence=_evidence(facts, asked, group_size),
        caveats=worst_first(caveats),
        limiting_factor=group_size.limiting_factor.value,
    )


def _evidence(facts: GroupFacts, asked: SizeInputs, group_size: GroupSize) -> tuple[Evidence, ...]:
    capacity, forecast = asked.capacity, facts.forecast
    needs = (
        Evidence(name=f"{need.limiting_factor.value} need", value=need.consumers)
        for need in group_size.needs
    )
    return (
        Evidence(name="consumers", value=asked.consumers),
        Evidence(
            name="useful numbers of consumers", value=", ".join(map(str, asked.assignment.counts))
        ),
        *needs,
        Evidence(name="arrival", value=float(asked.arrival.sum()), unit="messages/s"),
        Evidence(name="expected peak", value=forecast.per_second, unit="messages/s"),
        Evidence(name="busiest partition", value=float(asked.arrival.max()), unit="messages/s"),
        Evidence(name="capacity of one consumer", value=capacity.per_second, unit="messages/s"),
        Evidence(name="capacity, lower end", value=capacity.low, unit="messages/s"),
        Evidence(name="capacity, upper end", value=capacity.high, unit="messages/s"),
        Evidence(name="capacity is", value=_KNOWN[capacity.status]),
        Evidence(name="saturated intervals", value=capacity.samples),
        Evidence(
            name="utilisation allowed", value=round(group_size.allowed_utilisation, 3), unit="ratio"
        ),
        Evidence(
            name="utilisation of the busiest consumer as proposed",
            value=None if group_size.utilisation is None else round(group_size.utilisation, 3),
            unit="ratio",
        ),
        Evidence(name="lag", value=int(asked.lag.sum()), unit="messages"),
        Evidence(name="oldest unread message", value=asked.time_lag_seconds, unit="s"),
        Evidence(name="objective", value=asked.objective_seconds, unit="s"),
    )


def _arriving(asked: SizeInputs) -> str:
    return rate(float(asked.arrival.sum()))


def _capacity(capacity: Capacity) -> str:
    text = rate(capacity.per_second or 0.0)
    if capacity.low is None or capacity.high is None:
        return text
    return f"{text} (90 % between {rate(capacity.low)} and {rate(capacity.high)})"


def _load(asked: SizeInputs, group_size: GroupSize, consumers: int) -> str:
    """Say how busy the busiest of a number of consumers is."""
    loads = np.bincount(asked.assignment.holders(consumers), asked.arrival)
    low = asked.capacity.low or 1.0
    return (
        f"the busiest gets {rate(float(loads.max()))}, {float(loads.max()) / low:.0%} of what it "
        f"can surely process ({group_size.allowed_utilisation:.0%} are allowed)"
    )
