"""Advice on the number of consumers where the capacity of one was measured: the size as advice.

The number is ``scaling.sizing.decide``'s, the same as in the backtest. Here its answer becomes a
recommendation.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from alerting.status.group_status import Status
from alerting.status.phrases import duration, plural, rate
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
from scaling.advisers.busiest_consumer import BusiestConsumer, busiest_consumer
from scaling.advisers.group_evidence import KEYS_UNREAD
from scaling.advisers.size_facts import size_facts
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.group_facts import GroupFacts
from scaling.facts.intervals import Floats
from scaling.sizing.decide import Decision, DecisionHistory, decide
from scaling.sizing.demand import LONG_SECONDS
from scaling.sizing.size import (
    GroupSize,
    LimitingFactor,
    SizeDecision,
    SizeInputs,
    size,
)
from scaling.sizing.utilisation import HIGHEST_UTILISATION

_SETTLED = (Status.OK, Status.CATCHING_UP, Status.FALLING_BEHIND, Status.LOSING_DATA)
_FEW = 3
_KNOWN = {
    CapacityStatus.IDENTIFIED: "measured",
    CapacityStatus.LOWER_BOUND: "at least what was seen",
    CapacityStatus.UNKNOWN: "unknown",
    CapacityStatus.CONFLICT: "contradictory",
    CapacityStatus.BLOCKED: "hidden behind a blocked partition",
}

_NEEDED = {
    LimitingFactor.STEADY: "for what arrives",
    LimitingFactor.CATCH_UP: "to work off what waits in time",
    LimitingFactor.FORECAST: "for what is expected to arrive",
    LimitingFactor.RETENTION: "to read what waits before retention deletes it",
}
"""What consumers are needed for."""

NO_HISTORY = Caveat(
    level=CaveatLevel.MEDIUM,
    text="There is too little history to know the next peak: go down one step at a time.",
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
    if found.consumers > asked.consumers >= group_size.consumers:
        return _in_waves(facts, asked, group_size, found)
    if found.consumers > asked.consumers:
        return _more(facts, asked, group_size, found.consumers)
    if group_size.consumers > asked.consumers:
        needed = _NEEDED[group_size.limiting_factor]
        said = f"{plural(asked.consumers, 'consumer')} for now; {group_size.consumers} may be"
        return _waiting(facts, asked, group_size, f"Keep {said} needed {needed}", found.reason)
    if asked.peak is not None:
        ahead = size(replace(asked, soon=asked.peak, peak=None))
        if ahead.consumers > asked.consumers:
            return _ahead(facts, asked, ahead, asked.peak)
    if found.consumers < asked.consumers and facts.status.status is Status.OK:
        return _fewer(facts, asked, group_size, found.consumers)
    if group_size.consumers < asked.consumers:
        allowed = found.consumers < asked.consumers
        why = "the backlog is not gone yet" if allowed else found.reason
        said = f"{_are(group_size.consumers, 'enough for what arrives')}, but keep"
        return _waiting(facts, asked, group_size, f"{said} {asked.consumers} for now", why)
    load = busiest_consumer(asked, asked.arrival, asked.consumers, group_size.allowed_utilisation)
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.KEEP,
        AdviceSeverity.INFO,
        f"{_are(asked.consumers, 'needed')} {_NEEDED[group_size.limiting_factor]}: of "
        f"{_arriving(asked)}, {load.words()}.",
        load=load,
        proposed=asked.consumers,
    )


def _waiting(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, said: str, why: str
) -> Recommendation:
    """Keep what is there for now although another number was found."""
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.KEEP,
        AdviceSeverity.INFO,
        f"{said}: {why}.",
        load=busiest_consumer(
            asked, asked.arrival, asked.consumers, group_size.allowed_utilisation
        ),
        proposed=asked.consumers,
    )


def _more(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, proposed: int
) -> Recommendation:
    factor = group_size.limiting_factor
    load = busiest_consumer(asked, asked.arrival, asked.consumers, group_size.allowed_utilisation)
    if factor is LimitingFactor.FORECAST:
        load = busiest_consumer(asked, asked.soon, asked.consumers, HIGHEST_UTILISATION)
    why = {
        LimitingFactor.STEADY: f"Of the {_arriving(asked)} that arrive, {load.words()}",
        LimitingFactor.CATCH_UP: f"Messages wait, and the objective is "
        f"{duration(asked.objective_seconds)}: fewer than {proposed} do not catch up in time",
        LimitingFactor.FORECAST: f"{_arriving(asked)} arrive (soon up to "
        f"{rate(float(asked.soon.sum()))}, by the last {duration(LONG_SECONDS)}): "
        f"{load.words('would get')}",
        LimitingFactor.RETENTION: f"Fewer than {proposed} do not read what waits in half of the "
        "time before retention deletes it",
    }[factor]
    if factor is LimitingFactor.RETENTION and group_size.is_too_late:
        why = (
            f"Retention deletes some of what waits whatever is done, and fewer than {proposed} "
            "lose more"
        )
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.ADD_CONSUMERS,
        AdviceSeverity.ACT_NOW
        if group_size.is_late or factor is LimitingFactor.RETENTION
        else AdviceSeverity.WATCH,
        f"{why}. One consumer processes {_capacity(asked.capacity)}.",
        load=load,
        proposed=proposed,
        caveats=(*of_other_members(facts), QUOTAS),
    )


def _in_waves(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, found: Decision
) -> Recommendation:
    """Advise what was needed a short time ago: what arrives comes and goes."""
    load = busiest_consumer(asked, asked.arrival, asked.consumers, group_size.allowed_utilisation)
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.ADD_CONSUMERS,
        AdviceSeverity.WATCH,
        f"{_are(asked.consumers, 'enough')} for the {_arriving(asked)} that arrive at the moment, "
        f"but not for what comes and goes: {found.reason}. One consumer processes "
        f"{_capacity(asked.capacity)}.",
        load=load,
        proposed=found.consumers,
        caveats=(*of_other_members(facts), QUOTAS),
    )


def _ahead(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, peak: Floats
) -> Recommendation:
    """Advise what the next peak needs: today's consumers are enough for today's load."""
    at = facts.forecast.at
    when = f" ({datetime.fromtimestamp(at, UTC):%a %H:%M} UTC)" if at is not None else ""
    load = busiest_consumer(asked, peak, asked.consumers, HIGHEST_UTILISATION)
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.ADD_CONSUMERS,
        AdviceSeverity.WATCH,
        f"{_are(asked.consumers, 'enough')} for the {_arriving(asked)} that arrive, but the next "
        f"peak{when} may bring {rate(float(peak.sum()))}, {facts.forecast.source}: "
        f"{load.words('would get')}. Have {group_size.consumers} by then. One consumer processes "
        f"{_capacity(asked.capacity)}.",
        load=load,
        proposed=group_size.consumers,
        caveats=of_other_members(facts),
    )


def _fewer(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, proposed: int
) -> Recommendation:
    peak = facts.forecast.per_second
    expected = ""
    if peak is not None:
        expected = f" and for the {rate(peak)} of the next peak, {facts.forecast.source}"
    load = busiest_consumer(asked, asked.arrival, proposed, group_size.allowed_utilisation)
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.REMOVE_CONSUMERS,
        AdviceSeverity.INFO,
        f"{_are(proposed, 'enough')} for the {_arriving(asked)} that arrive{expected}: "
        f"{load.words('would get')}. One consumer processes {_capacity(asked.capacity)}.",
        load=load,
        proposed=proposed,
        caveats=(*of_other_members(facts), SPARES, *(() if peak is not None else (NO_HISTORY,))),
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
        f"on {listed} more arrives than the {rate(asked.capacity.low or 0.0)} that one consumer "
        "processes at least"
        if hopeless
        else f"even {most}, one for each partition, are not enough "
        f"{_NEEDED[group_size.limiting_factor]}"
    )
    kind = (
        AdviceKind.HOT_PARTITION if 0 < len(hopeless) < len(names) else AdviceKind.PARTITION_BOUND
    )
    closest = not hopeless and most > asked.consumers
    help_ = f" {most} come closest." if closest else ""
    return _advice(
        facts,
        asked,
        group_size,
        kind,
        AdviceSeverity.ACT_NOW if group_size.is_late else AdviceSeverity.WATCH,
        f"More consumers cannot fix this: {where}.{help_} Look at the keys, make the handler "
        "faster, or give the topic more partitions.",
        load=busiest_consumer(
            asked, asked.arrival, asked.consumers, group_size.allowed_utilisation
        ),
        proposed=most if closest else None,
        unknown_reason=KEYS_UNREAD if kind is AdviceKind.HOT_PARTITION else None,
        caveats=of_more_partitions(facts),
    )


def _downstream(facts: GroupFacts, asked: SizeInputs, group_size: GroupSize) -> Recommendation:
    capacity = asked.capacity
    limit = (
        f" Together they process about {rate(capacity.limit_per_second)}."
        if capacity.limit_per_second is not None
        else ""
    )
    useful = capacity.helpful_members
    beyond = "More consumers" if useful is None else f"More than {useful}"
    return _advice(
        facts,
        asked,
        group_size,
        AdviceKind.DOWNSTREAM,
        AdviceSeverity.WATCH if group_size.is_late else AdviceSeverity.INFO,
        "The more consumers there are, the less each of them processes: they share a limit "
        f"downstream.{limit} {beyond} will not help: look at what the handlers call.",
        load=busiest_consumer(
            asked, asked.arrival, asked.consumers, group_size.allowed_utilisation
        ),
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
    load: BusiestConsumer,
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
        evidence=_evidence(facts, asked, group_size, load),
        caveats=worst_first(caveats),
        limiting_factor=group_size.limiting_factor.value,
    )


def _evidence(
    facts: GroupFacts, asked: SizeInputs, group_size: GroupSize, load: BusiestConsumer
) -> tuple[Evidence, ...]:
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
        Evidence(
            name=f"next peak, {forecast.source}", value=forecast.per_second, unit="messages/s"
        ),
        Evidence(name="busiest partition", value=float(asked.arrival.max()), unit="messages/s"),
        *load.evidence,
        Evidence(name="capacity of one consumer", value=capacity.per_second, unit="messages/s"),
        Evidence(name="capacity, lower end", value=capacity.low, unit="messages/s"),
        Evidence(name="capacity, upper end", value=capacity.high, unit="messages/s"),
        Evidence(name="capacity is", value=_KNOWN[capacity.status]),
        Evidence(name="saturated intervals", value=capacity.samples),
        Evidence(name="lag", value=int(asked.lag.sum()), unit="messages"),
        Evidence(name="oldest unread message", value=asked.time_lag_seconds, unit="s"),
        Evidence(name="objective", value=asked.objective_seconds, unit="s"),
    )


def _are(number: int, what: str) -> str:
    return f"{plural(number, 'consumer')} {'is' if number == 1 else 'are'} {what}"


def _arriving(asked: SizeInputs) -> str:
    return rate(float(asked.arrival.sum()))


def _capacity(capacity: Capacity) -> str:
    text = rate(capacity.per_second or 0.0)
    if capacity.low is None or capacity.high is None:
        return text
    return f"{text} (90 % interval: {rate(capacity.low)} to {rate(capacity.high)})"
