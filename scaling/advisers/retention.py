"""Advice on data that retention deletes before it is read."""

from __future__ import annotations

from collections.abc import Sequence

from alerting.checks.loss_deadline import NEAR_SECONDS, WATCH_RATIO, expected_deadline
from alerting.checks.retention_deadline import Deadline, DeadlineState, Retention
from alerting.status.model import PartitionStatus
from alerting.status.phrases import duration
from scaling.advice.caveats import DISK, SEGMENTS
from scaling.advice.config_snippets import topic_setting
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Artefact,
    Confidence,
    Evidence,
    Recommendation,
)
from scaling.facts.group_facts import GroupFacts, PartitionFacts
from scaling.facts.losses import losses

ACT_WITHIN_SECONDS = NEAR_SECONDS
WATCH_WITHIN_SECONDS = 2 * 86400.0
"""A deadline further away is evidence of other advice, not advice of its own."""

TOPICS, PARTITION = "topics", "partition"
"""The figures that name where a group loses messages, or will."""

TIME_LEFT = "time until retention"
"""The figure that names a deadline; it moves on while advice stands."""

NEAR_RATIO = 0.25
ACT_RATIO = 0.8
"""Share of the retention that the oldest unread message has used up."""

_BUYS_SECONDS = 86400
_HOUR = 3600


def group_deadline(facts: GroupFacts) -> tuple[PartitionFacts, Deadline] | None:
    """Return the partition that retention reaches first, and when.

    Only partitions with an ``expected_deadline`` count. A group that keeps up, with less than a
    fifth of the retention to spare, has that rest as its deadline: a pause that long loses data.

    Returns:
        None where no deadline is coming.
    """
    coming = coming_deadline(facts)
    used = _most_used(facts)
    if coming is None and used is not None and used[1] >= ACT_RATIO:
        part, age = used[0], used[0].status.numbers.behind_seconds or 0.0
        left = max(0.0, age / used[1] - age)
        reason = f"a pause of {duration(left)} loses data"
        return part, Deadline(state=DeadlineState.COMING, seconds=left, limit="time", reason=reason)
    return coming


def _partition_deadline(facts: GroupFacts, part: PartitionFacts) -> Deadline:
    """Return when retention reaches what waits in one partition, where its rates foretell that."""
    limits = facts.topics.get(part.status.topic)
    retention = (
        limits.retention
        if limits is not None
        else Retention(unknown_reason="the topic's settings were not read")
    )
    return expected_deadline(part.status, part.backlog, retention)


def retention_advice(facts: GroupFacts) -> tuple[Recommendation, ...]:
    """Return advice on messages that are lost and on those that will be."""
    found = []
    lost = losses(facts)
    if lost:
        found.append(_lost(facts, lost))
    deadline, used = coming_deadline(facts), _most_used(facts)
    losing = {part.topic for part, _ in lost}
    if deadline is not None and _is_near(facts, *deadline):
        if deadline[0].status.topic not in losing:  # what is lost already is not about to be
            found.append(_coming(facts, *deadline))
    elif used is not None and used[1] >= WATCH_RATIO and not lost:
        found.append(_used(facts, *used))
    return tuple(found)


def coming_deadline(facts: GroupFacts) -> tuple[PartitionFacts, Deadline] | None:
    """Return the partition that retention reaches first at the present rates, and when."""
    coming = [
        (part, deadline)
        for part in facts.partitions
        if part.status.subscribed
        for deadline in (_partition_deadline(facts, part),)
        if deadline.state is DeadlineState.COMING
    ]
    return min(coming, key=lambda found: found[1].seconds or 0.0) if coming else None


def _is_near(facts: GroupFacts, part: PartitionFacts, deadline: Deadline) -> bool:
    """Return whether a deadline is advice of its own: soon, or with much of the retention used."""
    left = deadline.seconds or 0.0
    ratio = _used_ratio(facts, part)
    return left <= ACT_WITHIN_SECONDS or (
        left <= WATCH_WITHIN_SECONDS and (ratio is None or ratio >= NEAR_RATIO)
    )


def _lost(facts: GroupFacts, lost: Sequence[tuple[PartitionStatus, int | None]]) -> Recommendation:
    numbers = [number for _, number in lost if number]
    topics = sorted({part.topic for part, _ in lost})
    return Recommendation(
        kind=AdviceKind.DATA_LOST,
        cluster=facts.cluster,
        subject=facts.group,
        severity=AdviceSeverity.ACT_NOW,
        confidence=Confidence.HIGH,
        reason=f"{_longer(facts, topics)}In the last ten minutes, or since its last commit, "
        f"retention deleted messages of {', '.join(topics)} that this group had not committed. "
        "What it had not fetched by then is lost, and what waits now is next.",
        evidence=(
            Evidence(name="lost of late", value=sum(numbers) if numbers else None, unit="messages"),
            Evidence(name="partitions", value=len(lost)),
            Evidence(name=TOPICS, value=", ".join(topics)),
            Evidence(name="still waiting", value=facts.status.numbers.lag, unit="messages"),
        ),
        caveats=(DISK,),
        artefacts=tuple(one for topic in topics for one in _raise_retention(facts, topic)),
    )


def _coming(facts: GroupFacts, part: PartitionFacts, deadline: Deadline) -> Recommendation:
    left = deadline.seconds or 0.0
    near = left <= ACT_WITHIN_SECONDS
    where = f"{part.status.topic}-{part.status.partition}"
    by_time = deadline.limit == "time"
    step = _longer(facts, [part.status.topic]) if by_time else ""
    step = step or "Raise the retention until the group has caught up. "
    waiting = sum(
        p.status.numbers.lag or 0 for p in facts.partitions if p.status.topic == part.status.topic
    )
    return Recommendation(
        kind=AdviceKind.RETENTION_DEADLINE,
        cluster=facts.cluster,
        subject=facts.group,
        severity=AdviceSeverity.ACT_NOW if near else AdviceSeverity.WATCH,
        confidence=Confidence.MEDIUM,
        reason=f"{step}Retention reaches the oldest unread message of {where} at the present rates."
        if left > 0
        else f"{step}The oldest unread message of {where} is past the retention and goes with the "
        "next closed segment.",
        evidence=(
            Evidence(name="why", value=deadline.reason),
            Evidence(name=TIME_LEFT, value=round(left), unit="s"),
            Evidence(name="limit", value=deadline.limit or ""),
            Evidence(name=PARTITION, value=where),
            Evidence(
                name="oldest unread message", value=part.status.numbers.behind_seconds, unit="s"
            ),
            Evidence(name="waiting in the topic", value=waiting, unit="messages"),
        ),
        caveats=(DISK, SEGMENTS),
        artefacts=_raise_retention(facts, part.status.topic) if by_time else (),
    )


def _used_ratio(facts: GroupFacts, part: PartitionFacts) -> float | None:
    """Return the share of the retention that a partition's oldest unread message has used."""
    limits = facts.topics.get(part.status.topic)
    age = part.status.numbers.behind_seconds
    if limits is None or age is None or not part.status.numbers.lag:
        return None
    retention = limits.retention
    if retention.unknown_reason or not retention.deletes or not retention.seconds:
        return None
    return age / retention.seconds


def _most_used(facts: GroupFacts) -> tuple[PartitionFacts, float] | None:
    """Return the partition whose retention is used up most by what waits, and how much of it.

    Dead letters are left out: they may bear the time of the message that failed, so that they are
    old when they come, and who redrives them as fast is not near a loss.
    """
    used = [
        (part, ratio)
        for part in facts.partitions
        if part.status.subscribed
        and not _are_dead_letters(facts, part)
        and (ratio := _used_ratio(facts, part)) is not None
    ]
    return max(used, key=lambda found: found[1]) if used else None


def _are_dead_letters(facts: GroupFacts, part: PartitionFacts) -> bool:
    limits = facts.topics.get(part.status.topic)
    return limits is not None and limits.kind == "dead letter"


def _used(facts: GroupFacts, part: PartitionFacts, ratio: float) -> Recommendation:
    age = part.status.numbers.behind_seconds or 0.0
    kept = facts.topics[part.status.topic].retention.seconds or 0.0
    where = f"{part.status.topic}-{part.status.partition}"
    return Recommendation(
        kind=AdviceKind.RETENTION_DEADLINE,
        cluster=facts.cluster,
        subject=facts.group,
        severity=AdviceSeverity.ACT_NOW if ratio >= ACT_RATIO else AdviceSeverity.WATCH,
        confidence=Confidence.MEDIUM,
        reason=f"The oldest unread message of {where} has used up {much_of_retention(ratio)} of "
        f"the {duration(kept)} that the topic keeps messages. The group does not fall further "
        "behind now, but a pause as long as what is left loses data.",
        unknown_reason="no deadline: the group keeps up now",
        evidence=(
            Evidence(name=PARTITION, value=where),
            Evidence(name="oldest unread message", value=round(age), unit="s"),
            Evidence(name="retention", value=round(kept), unit="s"),
            Evidence(name="retention used", value=round(ratio, 3), unit="ratio"),
        ),
        caveats=(DISK, SEGMENTS),
        artefacts=_raise_retention(facts, part.status.topic),
    )


def much_of_retention(ratio: float) -> str:
    """Say how much of the retention is used, in words that stay true for some minutes."""
    return "nearly all" if ratio >= ACT_RATIO else "more than half"


def _raise_retention(facts: GroupFacts, topic: str) -> tuple[Artefact, ...]:
    limits = facts.topics.get(topic)
    return () if limits is None else raise_retention(topic, limits.retention)


def raise_retention(topic: str, retention: Retention) -> tuple[Artefact, ...]:
    """Return the line that keeps the topic's messages a day longer, where its limit is known."""
    if retention.seconds is None or retention.unknown_reason:
        return ()
    return (topic_setting(topic, "retention.ms", round(_a_day_more(retention.seconds) * 1000)),)


def _a_day_more(kept: float) -> float:
    """Return for how many seconds to keep what is kept for so long: in whole hours."""
    return (kept + _BUYS_SECONDS) // _HOUR * _HOUR


def _longer(facts: GroupFacts, topics: Sequence[str]) -> str:
    """Say for how long to keep the messages of topics, as far as their limits are known."""
    known = [(topic, kept) for topic in topics if (kept := _kept(facts, topic)) is not None]
    said = [
        f"of {topic} for {duration(_a_day_more(kept))} instead of {duration(kept)}"
        for topic, kept in known
    ]
    return f"Keep messages {', '.join(said)}. " if said else ""


def _kept(facts: GroupFacts, topic: str) -> float | None:
    """Return for how many seconds a topic keeps messages; None where that is not known."""
    limits = facts.topics.get(topic)
    if limits is None or limits.retention.unknown_reason:
        return None
    return limits.retention.seconds
