"""Which artefacts belong to a group's advice."""

from __future__ import annotations

from scaling.advice.config_snippets import pod_autoscaler, replicas, scaled_object
from scaling.advice.model import AdviceKind, Artefact, Recommendation
from scaling.advisers.keda_comparison import threshold_of
from scaling.facts.group_facts import GroupFacts
from scaling.sizing.size import LimitingFactor
from simulation.assignors import Assignor, useful_group_counts

_SCALING = frozenset(
    {AdviceKind.ADD_CONSUMERS, AdviceKind.REMOVE_CONSUMERS, AdviceKind.REMOVE_IDLE_CONSUMERS}
)


def group_artefacts(facts: GroupFacts, advice: Recommendation) -> tuple[Artefact, ...]:
    """Return the autoscaler that holds the advised number of consumers, or the line to start them.

    Only for plain groups with a number: a connector's tasks, a connection's clients and a Streams
    application's threads are no Deployment's replicas. The threshold needs a measured capacity.
    """
    if advice.proposed is None or facts.kind != "plain":
        return ()
    if advice.kind is AdviceKind.START_CONSUMERS:
        return (replicas(facts.group, advice.proposed),)
    if advice.kind not in _SCALING:
        return ()
    if facts.capacity is None or facts.capacity.per_second is None:
        return ()
    counts = useful_group_counts(facts.subscribed, Assignor.of(facts.assignor))
    threshold = threshold_of(facts)
    # What is needed all the time is the minimum; a backlog is worked off and passes.
    lasting = advice.limiting_factor in (LimitingFactor.STEADY.value, None)
    minimum = advice.proposed if lasting else min(advice.proposed, facts.members or 1)
    topics = tuple(facts.subscribed)
    return (
        scaled_object(
            facts.group, topics, threshold=threshold, minimum=minimum, maximum=counts[-1]
        ),
        pod_autoscaler(facts.group, minimum=minimum, maximum=counts[-1], threshold=threshold),
    )
