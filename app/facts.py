"""What advice knows of groups, as facts for the list of what needs attention: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from alerting.attention_facts import DeadlineFact, IdleFact
from scaling.facts import GroupFacts
from scaling.retention import WATCH_WITHIN_SECONDS, group_deadline


def idle_facts(cluster: str, groups: Mapping[str, GroupFacts]) -> tuple[IdleFact, ...]:
    """Return the groups with consumers that hold no partition."""
    return tuple(
        IdleFact(
            cluster,
            name,
            fact.members or fact.idle_members,
            fact.idle_members,
            sum(fact.subscribed.values()),
        )
        for name, fact in groups.items()
        if fact.idle_members
    )


def deadline_facts(groups: Mapping[str, GroupFacts], now: datetime) -> tuple[DeadlineFact, ...]:
    """Return the groups that retention overtakes within the days that somebody watches."""
    found = []
    for name, fact in groups.items():
        nearest = group_deadline(fact)
        if nearest is None or nearest[1].seconds is None:
            continue
        part, deadline = nearest
        if deadline.seconds is not None and deadline.seconds <= WATCH_WITHIN_SECONDS:
            found.append(
                DeadlineFact(
                    fact.cluster,
                    name,
                    part.status.topic,
                    part.status.partition,
                    now.timestamp() + deadline.seconds,
                )
            )
    return tuple(found)
