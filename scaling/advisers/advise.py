"""What is advised on groups, topics, Connect, Ditto, RabbitMQ and Spark, by their facts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import polars as pl

from alerting.inputs.windows import GroupKey
from scaling.advice.model import AdviceKind, Caveat, CaveatLevel, Recommendation
from scaling.advisers.integrations.connect import connector_advice, connector_facts
from scaling.advisers.integrations.ditto import connection_advice
from scaling.advisers.integrations.rabbitmq import queue_advice, queue_facts
from scaling.advisers.integrations.spark_query import QueryFacts, min_partitions_advice
from scaling.advisers.recommend import recommend_group, recommend_topic
from scaling.facts.group_facts import GroupFacts
from scaling.facts.topic_facts import Reader, topic_facts
from scaling.sizing.decide import DecisionHistory
from scaling.sizing.decision_history import AdviceStateError, from_text, to_text

STATE_LOST = Caveat(
    level=CaveatLevel.LOW,
    text="What was remembered of earlier advice on this group could not be read: votes begin anew.",
)
_ON_CONSUMERS = frozenset({AdviceKind.ADD_CONSUMERS, AdviceKind.REMOVE_CONSUMERS})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsAdvice:
    """What is advised on groups.

    Attributes:
        states: What to hand in next time, by group; none where there is nothing to remember.
    """

    advice: list[Recommendation]
    states: dict[GroupKey, str]


def advise_groups(
    facts: Mapping[GroupKey, GroupFacts], states: Mapping[GroupKey, str]
) -> GroupsAdvice:
    """Return the advice on groups.

    Args:
        facts: What is known of them.
        states: What the last round remembered, as text; see ``scaling.sizing.decision_history``. A
            group whose text cannot be read begins anew, and its advice says so.
    """
    advice: list[Recommendation] = []
    kept: dict[GroupKey, str] = {}
    for key, one in facts.items():
        lost = False
        history = DecisionHistory()
        if key in states:
            try:
                history = from_text(states[key])
            except AdviceStateError:
                lost = True
        found = recommend_group(one, history)
        first, *others = found.advice
        advice += [replace(first, caveats=(*first.caveats, STATE_LOST)) if lost else first, *others]
        if found.history != DecisionHistory():
            kept[key] = to_text(found.history)
    return GroupsAdvice(advice=advice, states=kept)


def advise_topics(
    topics: pl.DataFrame,
    partitions: pl.DataFrame,
    brokers: pl.DataFrame,
    readers: Mapping[tuple[str, str], tuple[Reader, ...]],
) -> list[Recommendation]:
    """Return the advice on every topic.

    Args:
        topics: The newest rows of ``topics``.
        partitions: Rows of ``partitions`` of the last minutes; without any nothing is advised.
        brokers: Rows of ``brokers`` of the newest poll.
        readers: The groups that read each topic; ``scaling.facts.topic_facts.topic_readers``.
    """
    if partitions.is_empty():
        return []
    facts = topic_facts(topics, partitions, brokers, readers)
    return [advice for one in facts.values() for advice in recommend_topic(one)]


def advise_sources(
    groups: Mapping[GroupKey, GroupFacts],
    on_groups: Iterable[Recommendation],
    *,
    connectors: pl.DataFrame,
    connections: pl.DataFrame,
    queues: pl.DataFrame,
    streaming: Iterable[QueryFacts],
) -> list[Recommendation]:
    """Return the advice on connectors, Ditto's connections, RabbitMQ's queues, Spark's queries."""
    on_consumers = {
        GroupKey(one.cluster, one.subject): one for one in on_groups if one.kind in _ON_CONSUMERS
    }
    found = [connector_advice(one) for one in connector_facts(connectors, groups, on_consumers)]
    newest = connections.sort("observed_at").unique(
        ["cluster", "ditto", "connection"], keep="last", maintain_order=True
    )
    for row in newest.iter_rows(named=True):
        key = GroupKey(row["cluster"], row["group"] or "")
        if key in groups:
            found.append(
                connection_advice(
                    groups[key],
                    on_consumers.get(key),
                    connection=row["connection"],
                    clients=row["clients"],
                    consumers=row["consumers"],
                )
            )
    found += [min_partitions_advice(one) for one in streaming]
    of_queues = [advice for one in queue_facts(queues) for advice in queue_advice(one)]
    return [*(one for one in found if one is not None), *of_queues]
