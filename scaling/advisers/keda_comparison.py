"""What KEDA would do about a group, beside the advice, and why it differs."""

from __future__ import annotations

from collections import defaultdict

from scaling.advice.config_snippets import lag_threshold
from scaling.advice.model import AdviceKind, KedaAnswer, Recommendation
from scaling.facts.group_facts import GroupFacts
from scaling.keda.scalers import (
    NEVER_COMMITTED,
    KedaOffsets,
    KedaPreview,
    KedaTrigger,
    hpa_replicas,
)
from simulation.assignors import Assignor, most_members, worst_partitions

MAXIMUM = 100
"""KEDA's default of maxReplicaCount."""

_DEFAULT_THRESHOLD = 10
_USELESS = {
    AdviceKind.BLOCKED_PARTITION: "a message blocks a partition",
    AdviceKind.BLOCKED_GROUP: "no handler advances",
    AdviceKind.HOT_PARTITION: "a hot partition is one consumer's, however many there are",
    AdviceKind.HOT_KEY: "one key is one consumer's, however many there are",
    AdviceKind.PARTITION_BOUND: "every partition has its consumer already",
    AdviceKind.DOWNSTREAM: "the consumers share a limit downstream",
}


def keda_answer(facts: GroupFacts, advice: Recommendation) -> KedaAnswer | None:
    """Return what KEDA's kafka scaler and HPA would settle on now, at one trigger a topic.

    The threshold is the one of the ScaledObject that is advised (capacity x objective / 6); where
    no capacity was measured it is KEDA's default of 10.

    Returns:
        None where the group's members or everything that waits are unknown.
    """
    if facts.members is None or facts.status.numbers.lag is None or not facts.subscribed:
        return None
    threshold = threshold_of(facts)
    offsets: dict[str, dict[int, KedaOffsets]] = defaultdict(dict)
    for part in facts.partitions:
        if part.status.subscribed:
            lag = part.status.numbers.lag
            # Only the difference counts; what is unknown here KEDA takes for never committed.
            offsets[part.status.topic][part.status.partition] = (
                KedaOffsets(committed=NEVER_COMMITTED, log_end=0)
                if lag is None
                else KedaOffsets(committed=0, log_end=lag)
            )
    answers = []
    for topic, partitions in offsets.items():
        trigger = KedaTrigger(
            scaler="kafka", consumer_group=facts.group, topics=(topic,), lag_threshold=threshold
        )
        metric = KedaPreview(trigger).poll({topic: partitions}).metric_lag
        wanted = hpa_replicas(metric, threshold, facts.members, 0, MAXIMUM)
        answers.append((wanted, metric, len(partitions)))
    replicas, metric, partitions_of_it = max(answers)
    return KedaAnswer(
        replicas=replicas,
        metric_lag=metric,
        lag_threshold=threshold,
        why=_why(facts, advice, replicas, metric, threshold, partitions_of_it),
    )


def threshold_of(facts: GroupFacts) -> int:
    """Return the messages per replica that KEDA is asked to hold."""
    capacity = facts.capacity
    if capacity is None or capacity.per_second is None or not capacity.low:
        return _DEFAULT_THRESHOLD
    return lag_threshold(capacity.low, facts.objective_seconds)


def _why(
    facts: GroupFacts,
    advice: Recommendation,
    replicas: int,
    metric: int,
    threshold: int,
    partitions: int,
) -> str:
    ours = advice.proposed if advice.quantity == "consumers" else None
    current = facts.members or 0
    most = most_members(facts.subscribed, Assignor.of(facts.assignor))
    if replicas > most:
        return (
            f"It asks for more than the {most} that can work: its cut to the partitions lets a lag "
            f"of up to {partitions + 1} thresholds through, and HPA rounds up."
        )
    if advice.kind in _USELESS and replicas > current:
        return f"It sees the lag alone, not that {_USELESS[advice.kind]}."
    if metric == partitions * threshold and replicas == current < most:
        return (
            f"Its metric is cut to {partitions} thresholds, within HPA's 10 % of {current} "
            f"replicas: it never starts the last {most - current}."
        )
    if ours is None:
        return "It needs no capacity: it divides the lag by its threshold and knows no rates."
    if replicas == ours:
        return "The same number."
    if replicas and ours and _load(facts, replicas) == _load(facts, ours):
        return (
            f"{replicas} are no better than {ours}: the busiest holds as many partitions either "
            "way."
        )
    if replicas < ours:
        need = f"the {advice.limiting_factor} need" if advice.limiting_factor else "what arrives"
        return (
            f"It divides the lag by its threshold, waits until messages wait, and knows nothing of "
            f"{need}."
        )
    return "It scales with the lag alone: at the present rates fewer drain it in time."


def _load(facts: GroupFacts, members: int) -> int:
    return worst_partitions(facts.subscribed, Assignor.of(facts.assignor), members)
