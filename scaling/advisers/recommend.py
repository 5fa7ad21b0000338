"""What to change about a group or a topic, with its evidence: pure functions.

A number is proposed only where it follows from what was read. Where it would need the capacity of
a consumer and that was not measured, the kind is given and the number is unknown, with what is
missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scaling.advice.model import Confidence, Evidence, Kind, Recommendation, Severity, by_urgency
from scaling.advisers.consumers import hot_partitions, idle_advice, main_advice
from scaling.advisers.durability import durability_advice
from scaling.advisers.group_snippets import group_artefacts
from scaling.advisers.impact import consequence
from scaling.advisers.keda_comparison import keda_answer
from scaling.advisers.measured_size import size_advice
from scaling.advisers.partitions import partition_advice
from scaling.advisers.retention import ACT_WITHIN_SECONDS, group_deadline, retention_advice
from scaling.facts.group_facts import GroupFacts
from scaling.facts.topic_facts import TopicFacts
from scaling.sizing.decide import History

_MAY_BE_SIZED = frozenset({Kind.ADD_CONSUMERS, Kind.PARTITION_BOUND, Kind.KEEP})
_MAY_BE_URGENT = frozenset({Kind.ADD_CONSUMERS, Kind.PARTITION_BOUND, Kind.HOT_PARTITION})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdvice:
    """What is advised on a group.

    Attributes:
        advice: The advice, most urgent first; at least one piece.
    """

    advice: tuple[Recommendation, ...]
    history: History


def recommend_group(facts: GroupFacts, history: History) -> GroupAdvice:
    """Return the advice on a consumer group."""
    main = main_advice(facts)
    if main.kind in _MAY_BE_SIZED:
        on_size, history = size_advice(facts, history)
        main = on_size or main
    deadline = group_deadline(facts)
    if deadline is not None:
        left = deadline[1].seconds or 0.0
        main = replace(
            main, evidence=(*main.evidence, Evidence("time until retention", round(left), "s"))
        )
        if main.kind in _MAY_BE_URGENT and left <= ACT_WITHIN_SECONDS:
            main = replace(main, severity=Severity.ACT_NOW)
    found = list(retention_advice(facts))
    idle = idle_advice(facts)
    if idle is not None and main.kind is not Kind.REMOVE_CONSUMERS:
        found.append(idle)
    if main.kind is not Kind.KEEP or not found:
        found.append(main)
    if main.kind is not Kind.HOT_PARTITION:
        found.extend(_skewed(facts))
    advice = sorted((_completed(facts, one) for one in found), key=by_urgency)
    return GroupAdvice(advice=tuple(advice), history=history)


def _completed(facts: GroupFacts, advice: Recommendation) -> Recommendation:
    """Add what follows from the advice: what doing nothing means, KEDA's answer, the change."""
    return replace(
        advice,
        consequence=consequence(facts, advice),
        keda=keda_answer(facts, advice) if _is_compared(advice) else None,
        artefacts=(*advice.artefacts, *group_artefacts(facts, advice)),
    )


def _is_compared(advice: Recommendation) -> bool:
    return advice.quantity == "consumers" and advice.kind is not Kind.UNKNOWN


def recommend_topic(facts: TopicFacts) -> tuple[Recommendation, ...]:
    """Return the advice on a topic's partitions and durability, most urgent first; one at least."""
    found = durability_advice(facts)
    partitions = partition_advice(facts)
    if partitions is not None:
        found = [partitions, *(one for one in found if one.kind is not Kind.KEEP)]
    return tuple(sorted(found, key=by_urgency))


def _skewed(facts: GroupFacts) -> list[Recommendation]:
    """Mention hot partitions that do no harm yet: they bind the group first when load grows."""
    return [
        Recommendation(
            kind=Kind.HOT_PARTITION,
            cluster=facts.cluster,
            subject=facts.group,
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            reason=f"{topic}-{one.busiest} gets {one.busiest_ratio or 0.0:.0%} of the topic's "
            f"messages, {one.even_ratio or 0.0:.0%} if all were alike: its consumer is the first "
            "that will not keep up, however many there are.",
            unknown_reason="whether one key makes it hot: keys are not read",
            evidence=(
                Evidence(
                    "share of the busiest partition", round(one.busiest_ratio or 0.0, 3), "ratio"
                ),
                Evidence("even share", round(one.even_ratio or 0.0, 3), "ratio"),
                Evidence("hot partitions", ", ".join(f"{topic}-{number}" for number in one.hot)),
            ),
        )
        for topic, one in hot_partitions(facts).items()
        if one.hot
    ]
