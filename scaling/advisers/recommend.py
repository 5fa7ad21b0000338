"""What to change about a group or a topic, with its evidence: pure functions.

A number is proposed only where it follows from what was read. Where it would need the capacity of
a consumer and that was not measured, the kind is given and the number is unknown, with what is
missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from alerting.status.model import Status
from alerting.status.phrases import share
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Evidence,
    Recommendation,
    by_urgency,
)
from scaling.advisers.consumers import idle_advice, main_advice
from scaling.advisers.durability import durability_advice
from scaling.advisers.group_evidence import KEYS_UNREAD, hot_partitions, skew_evidence
from scaling.advisers.group_snippets import group_artefacts
from scaling.advisers.impact import consequence, misses_objective
from scaling.advisers.keda_comparison import keda_answer
from scaling.advisers.measured_size import size_advice
from scaling.advisers.partitions import partition_advice
from scaling.advisers.retention import (
    ACT_WITHIN_SECONDS,
    TIME_LEFT,
    group_deadline,
    retention_advice,
)
from scaling.facts.group_facts import GroupFacts
from scaling.facts.topic_facts import TopicFacts
from scaling.sizing.decide import DecisionHistory

_MAY_BE_SIZED = frozenset({AdviceKind.ADD_CONSUMERS, AdviceKind.PARTITION_BOUND, AdviceKind.KEEP})
_MAY_BE_URGENT = frozenset(
    {AdviceKind.ADD_CONSUMERS, AdviceKind.PARTITION_BOUND, AdviceKind.HOT_PARTITION}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdvice:
    """What is advised on a group."""

    advice: tuple[Recommendation, ...]  # the advice, most urgent first; at least one piece
    history: DecisionHistory


def recommend_group(facts: GroupFacts, history: DecisionHistory) -> GroupAdvice:
    """Return the advice on a consumer group."""
    main = main_advice(facts)
    if main.kind in _MAY_BE_SIZED:
        on_size, history = size_advice(facts, history)
        main = on_size or main
    deadline = group_deadline(facts)
    is_urgent = misses_objective(facts)  # as the alert is that names this advice
    if deadline is not None:
        left = deadline[1].seconds or 0.0
        is_urgent |= left <= ACT_WITHIN_SECONDS
        main = replace(
            main,
            evidence=(
                *main.evidence,
                Evidence(name=TIME_LEFT, value=round(left), unit="s"),
            ),
        )
    if main.kind in _MAY_BE_URGENT and is_urgent:
        main = replace(main, severity=AdviceSeverity.ACT_NOW)
    found = list(retention_advice(facts))
    idle = idle_advice(facts)
    if idle is not None and main.kind is not AdviceKind.REMOVE_CONSUMERS:
        found.append(idle)
    if main.kind is not AdviceKind.KEEP or not found:
        found.append(main)
    if main.kind is not AdviceKind.HOT_PARTITION:
        found.extend(_skewed(facts))
    if main.kind in (AdviceKind.START_CONSUMERS, AdviceKind.RESTART_CONNECTOR):
        # To keep messages for longer helps where nobody can be started.
        found.sort(key=lambda one: one.kind is AdviceKind.RETENTION_DEADLINE)
    if facts.status.status is Status.LOSING_DATA:
        found = [_urgent(one) for one in found]
    advice = sorted((_completed(facts, one) for one in found), key=by_urgency)
    return GroupAdvice(advice=tuple(advice), history=history)


def _urgent(advice: Recommendation) -> Recommendation:
    """Return advice that may wait as advice that may not."""
    if advice.severity is not AdviceSeverity.WATCH:
        return advice
    return replace(advice, severity=AdviceSeverity.ACT_NOW)


def _completed(facts: GroupFacts, advice: Recommendation) -> Recommendation:
    """Add what follows from the advice: what doing nothing means, KEDA's answer, the change."""
    return replace(
        advice,
        consequence=consequence(facts, advice),
        keda=keda_answer(facts, advice) if _is_compared(advice) else None,
        artefacts=(*advice.artefacts, *group_artefacts(facts, advice)),
    )


def _is_compared(advice: Recommendation) -> bool:
    return advice.quantity == "consumers" and advice.kind is not AdviceKind.UNKNOWN


def recommend_topic(facts: TopicFacts) -> tuple[Recommendation, ...]:
    """Return the advice on a topic's partitions and durability, most urgent first; one at least."""
    found = durability_advice(facts)
    partitions = partition_advice(facts)
    if partitions is not None:
        found = [partitions, *(one for one in found if one.kind is not AdviceKind.KEEP)]
    return tuple(sorted(found, key=by_urgency))


def _skewed(facts: GroupFacts) -> list[Recommendation]:
    """Mention hot partitions that do no harm yet: they bind the group first when load grows."""
    return [
        Recommendation(
            kind=AdviceKind.HOT_PARTITION,
            cluster=facts.cluster,
            subject=facts.group,
            severity=AdviceSeverity.INFO,
            confidence=Confidence.MEDIUM,
            reason=f"{topic}-{one.busiest} gets {share(one.busiest_ratio or 0.0)} of the topic's "
            f"messages; an even share is {share(one.even_ratio or 0.0)}. When load grows, its "
            "consumer is the first to fall behind, however many there are.",
            unknown_reason=KEYS_UNREAD,
            evidence=skew_evidence(one, ", ".join(f"{topic}-{number}" for number in one.hot)),
        )
        for topic, one in hot_partitions(facts).items()
        if one.hot
    ]
