"""Facts of a group from its samples, and what is advised on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from alerting.checks.retention_deadline import Retention
from alerting.status.group_status import PartitionWindow, group_status
from scaling.advice.model import AdviceKind, Recommendation
from scaling.advisers.recommend import recommend_group
from scaling.facts.group_facts import GroupFacts, PartitionFacts, TopicLimits
from scaling.sizing.decide import DecisionHistory
from tests.unit.alerting.status.scenarios import window

WEEK = 7 * 86400.0


def facts(
    windows: Sequence[PartitionWindow],
    *,
    holders: Callable[[int], str | None] = lambda p: f"m{p}",
    retention: Retention | None = None,
    **more: object,
) -> GroupFacts:
    status = group_status(windows)
    topics: dict[str, int] = {}
    for one in windows:
        topics[one.topic] = topics.get(one.topic, 0) + 1
    members = windows[0].samples[-1].members if windows else None
    return GroupFacts(
        cluster="demo",
        group="billing",
        status=status,
        partitions=tuple(
            PartitionFacts(status=part, member_id=holders(part.partition), bytes_per_message=100.0)
            for part in status.partitions
        ),
        topics={
            topic: TopicLimits(
                partitions=number,
                retention=retention or Retention(seconds=WEEK),
                kind="application",
            )
            for topic, number in topics.items()
        },
        **{  # type: ignore[arg-type]
            "type": "classic",
            "assignor": "range",
            "members": members,
            "idle_members": 0,
            "static_members": 0,
            "windows": tuple(windows),
            **more,
        },
    )


def advice_on(group: GroupFacts) -> tuple[Recommendation, ...]:
    """Return the advice on a group on which nothing was advised before."""
    return recommend_group(group, DecisionHistory()).advice


def six(members: int = 3, **more: object) -> list[PartitionWindow]:
    return [window(partition=p, members=members, poll=5.0, **more) for p in range(6)]  # type: ignore[arg-type]


def kinds(found: Sequence[Recommendation]) -> list[AdviceKind]:
    return [one.kind for one in found]


def evidence(found: Recommendation) -> Mapping[str, object]:
    return {one.name: one.value for one in found.evidence}
