"""What a group does, as evidence and in words of advice on its consumers."""

from __future__ import annotations

from alerting.current.skew import Skew, skew
from alerting.status.group_status import PartitionStatus, Status
from scaling.advice.model import Evidence
from scaling.facts.group_facts import GroupFacts, PartitionFacts
from simulation.assignors import Assignor, useful_group_counts

_STUCK_SECONDS = 60.0
HOT_PARTITIONS = "hot partitions"
"""The figure that names the hot partitions, with their topic."""

KEYS_UNREAD = "keys are not read, so whether one key makes it hot is not known"


def hot_partitions(facts: GroupFacts) -> dict[str, Skew]:
    """Return the skew of each topic in which it is known."""
    found = {}
    for topic in facts.subscribed:
        parts = [part.status for part in facts.partitions if part.status.topic == topic]
        span = max((part.numbers.span_seconds for part in parts), default=0.0)
        one = skew(
            {part.partition: part.numbers.arrival_per_second for part in parts}, span_seconds=span
        )
        if one.unknown_reason is None:
            found[topic] = one
    return found


def skew_evidence(one: Skew, where: str) -> tuple[Evidence, ...]:
    """Return the figures behind advice on hot partitions."""
    return (
        Evidence(
            name="share of the busiest partition",
            value=round(one.busiest_ratio or 0.0, 3),
            unit="ratio",
        ),
        Evidence(name="even share", value=round(one.even_ratio or 0.0, 3), unit="ratio"),
        Evidence(name=HOT_PARTITIONS, value=where),
    )


def behind(facts: GroupFacts) -> list[PartitionFacts]:
    """Return the partitions on which the group falls behind."""
    return [
        part
        for part in facts.partitions
        if part.status.subscribed
        and (
            part.status.status is Status.FALLING_BEHIND
            or (
                part.status.status is Status.LOSING_DATA
                and (part.status.numbers.growth_per_second or 0.0) > 0
            )
        )
    ]


def is_stuck(status: PartitionStatus) -> bool:
    """Return whether no commit comes, also where lost data is the worse news."""
    return status.status is Status.STALLED or (
        status.status is Status.LOSING_DATA
        and (status.numbers.without_commit_seconds or 0.0) >= _STUCK_SECONDS
        and (status.numbers.consumption_per_second or 0.0) == 0.0
    )


def advances(status: PartitionStatus) -> bool:
    """Return whether messages of a partition are processed."""
    moving = (Status.OK, Status.CATCHING_UP, Status.FALLING_BEHIND)
    return status.status in moving and (status.numbers.consumption_per_second or 0.0) > 0


def useful_counts(facts: GroupFacts) -> tuple[int, ...]:
    """Return the numbers of consumers that make a difference."""
    return useful_group_counts(facts.subscribed, Assignor.of(facts.assignor))


def partition_names(parts: list[PartitionStatus]) -> str:
    """Return a few partitions by name, and how many more there are."""
    names = [f"{part.topic}-{part.partition}" for part in parts]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def flow(facts: GroupFacts) -> tuple[Evidence, ...]:
    """Return the group's rates, lag and consumers as evidence."""
    numbers = facts.status.numbers
    useful = useful_counts(facts)
    return (
        Evidence(name="consumers", value=facts.members),
        Evidence(name="idle consumers", value=facts.idle_members),
        Evidence(name="partitions", value=sum(facts.subscribed.values())),
        Evidence(
            name="useful numbers of consumers", value=", ".join(str(n) for n in useful) or None
        ),
        Evidence(name="lag", value=numbers.lag, unit="messages"),
        Evidence(name="oldest unread message", value=numbers.behind_seconds, unit="s"),
        Evidence(name="arrival", value=numbers.arrival_per_second, unit="messages/s"),
        Evidence(name="consumption", value=numbers.consumption_per_second, unit="messages/s"),
        Evidence(name="measured over", value=round(numbers.span_seconds), unit="s"),
    )
