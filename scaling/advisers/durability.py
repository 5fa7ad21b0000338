"""Advice on how a topic is set up: copies against brokers, retention against its readers."""

from __future__ import annotations

from typing import Unpack

from alerting.checks.loss_deadline import WATCH_RATIO
from alerting.status.phrases import duration, plural, rate
from scaling.advice.caveats import DISK
from scaling.advice.config_snippets import topic_setting
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Caveat,
    CaveatLevel,
    Confidence,
    Details,
    Evidence,
    Recommendation,
    Subject,
)
from scaling.advisers.retention import ACT_RATIO, much_of_retention, raise_retention
from scaling.facts.topic_facts import TopicFacts

ADVISED_REPLICATION = 3
ADVISED_MIN_ISR = 2
PARTITIONS_PER_BROKER = 3
"""A rule of thumb, below any measured need."""

LOSING_GROUPS, SLOWEST_GROUP = "groups that lose messages", "slowest group"
"""The figures that name who loses messages of a topic, or comes next to it."""

MANY_TIMES = 4
QUIET_PER_SECOND = 1.0
"""Over-partitioned: so many times what consumers and the rule of thumb use, each so quiet."""

_PRODUCERS = Caveat(
    level=CaveatLevel.LOW,
    text="Counts for producers with acks=all; what a producer uses cannot be read from the "
    "brokers.",
)
_REASSIGN = Caveat(
    level=CaveatLevel.MEDIUM,
    text="More replicas come with kafka-reassign-partitions.sh, which copies every byte of the "
    "topic: throttle it.",
)
_LEGACY = Caveat(
    level=CaveatLevel.MEDIUM,
    text="With fewer in-sync replicas than this, producers with acks=all are refused until a "
    "broker returns.",
)


def durability_advice(facts: TopicFacts) -> list[Recommendation]:
    """Return advice on durability and retention; says so where neither needs a change."""
    checks = (_durability, _retention, _defaults, _too_many)
    found = [one for check in checks if (one := check(facts)) is not None]
    return found or [
        _advice(
            facts,
            AdviceKind.KEEP,
            AdviceSeverity.INFO,
            f"{_survives(facts)} No reason to change it.",
        )
    ]


def brokers_that_may_fail(
    replication_factor: int | None, min_in_sync_replicas: int | None
) -> int | None:
    """Return how many brokers may fail while producers with acks=all are still served.

    Replication factor - min.insync.replicas; with a factor equal to the minimum, none.
    """
    if replication_factor is None or min_in_sync_replicas is None:
        return None
    return max(0, replication_factor - min_in_sync_replicas)


def _durability(facts: TopicFacts) -> Recommendation | None:
    copies, minimum, brokers = (
        facts.replication_factor,
        facts.min_in_sync_replicas,
        facts.brokers,
    )
    if copies is None:
        return _advice(
            facts,
            AdviceKind.UNKNOWN,
            AdviceSeverity.UNKNOWN,
            "Nothing can be said about its durability.",
            confidence=Confidence.LOW,
            unknown_reason=facts.unknown_reason or "its replication factor could not be read",
        )
    if copies == 1:
        return _more_copies(
            facts, "It has a single copy: with its broker, its messages are gone or out of reach."
        )
    if minimum is None:
        return _advice(
            facts,
            AdviceKind.UNKNOWN,
            AdviceSeverity.UNKNOWN,
            "How many brokers may fail is not known.",
            confidence=Confidence.LOW,
            unknown_reason=facts.unknown_reason or "its min.insync.replicas could not be read",
        )
    if minimum >= copies:
        text = (
            f"min.insync.replicas = {minimum} equals the replication factor: no broker may fail "
            "without producers with acks=all being refused."
        )
        if copies == 2 and (brokers is None or brokers >= ADVISED_REPLICATION):
            return _more_copies(facts, text)
        return _other_minimum(facts, copies - 1, text, AdviceSeverity.WATCH)
    if copies == 2:
        return _more_copies(
            facts,
            "With two copies and min.insync.replicas = 1 an acknowledged message may exist on one "
            "broker only, and be lost with it.",
            severity=AdviceSeverity.INFO,
        )
    if minimum == 1:
        return _other_minimum(
            facts,
            ADVISED_MIN_ISR,
            "With min.insync.replicas = 1 an acknowledged message may exist on one broker only, "
            "and be lost with it in spite of the other replicas.",
            AdviceSeverity.INFO,
        )
    return None


def _more_copies(
    facts: TopicFacts, text: str, severity: AdviceSeverity = AdviceSeverity.WATCH
) -> Recommendation:
    brokers = facts.brokers
    possible = None if brokers is None else min(ADVISED_REPLICATION, brokers)
    if possible is None:
        unknown = "how many brokers there are is unknown"
    elif possible <= (facts.replication_factor or 0):
        possible, unknown = None, f"there is no broker for another copy: {brokers} in all"
    else:
        unknown = None
    return _advice(
        facts,
        AdviceKind.DURABILITY,
        severity,
        text,
        quantity="replication factor",
        current=facts.replication_factor,
        proposed=possible,
        unknown_reason=unknown,
        caveats=(_REASSIGN, _PRODUCERS),
    )


def _other_minimum(
    facts: TopicFacts, proposed: int, text: str, severity: AdviceSeverity
) -> Recommendation:
    return _advice(
        facts,
        AdviceKind.DURABILITY,
        severity,
        text,
        quantity="min.insync.replicas",
        current=facts.min_in_sync_replicas,
        proposed=proposed,
        caveats=(_LEGACY, _PRODUCERS),
        artefacts=(topic_setting(facts.topic, "min.insync.replicas", proposed),),
    )


def _retention(facts: TopicFacts) -> Recommendation | None:
    losing = sorted(one.group for one in facts.readers if one.lost_messages != 0)
    if losing:
        return _advice(
            facts,
            AdviceKind.DATA_LOST,
            AdviceSeverity.ACT_NOW,
            f"Retention deletes messages of it that were not read yet by {', '.join(losing)}. "
            "What waits now is next.",
            evidence=(Evidence(name=LOSING_GROUPS, value=", ".join(losing)),),
            caveats=(DISK,),
            artefacts=raise_retention(facts.topic, facts.retention),
        )
    kept, age = facts.retention.seconds, facts.slowest_age_seconds
    if not kept or age is None or facts.slowest_group is None or not facts.retention.deletes:
        return None
    ratio = age / kept
    if ratio < WATCH_RATIO:
        return None
    return _advice(
        facts,
        AdviceKind.RETENTION_DEADLINE,
        AdviceSeverity.ACT_NOW if ratio >= ACT_RATIO else AdviceSeverity.WATCH,
        f"It keeps messages for {duration(kept)}, and {facts.slowest_group} is behind by "
        f"{much_of_retention(ratio)} of that.",
        confidence=Confidence.MEDIUM,
        caveats=(DISK,),
    )


def _defaults(facts: TopicFacts) -> Recommendation | None:
    """Notice a topic that looks as if nobody had made it on purpose."""
    if facts.kind not in (None, "application") or facts.brokers is None or facts.brokers < 2:
        return None
    if facts.settings or facts.partitions != 1 or facts.replication_factor != 1:
        return None
    return _advice(
        facts,
        AdviceKind.DEFAULTS,
        AdviceSeverity.INFO,
        "One partition, one copy and no setting of its own: it looks as if a client's first "
        "message created it with the broker's defaults. Create topics on purpose, and set "
        "auto.create.topics.enable=false on the brokers.",
        confidence=Confidence.MEDIUM,
    )


def _too_many(facts: TopicFacts) -> Recommendation | None:
    """Notice far more partitions than the traffic and the consumers use."""
    rates = [rate for rate in facts.rates.values() if rate is not None]
    if facts.kind not in (None, "application") or len(rates) < facts.partitions:
        return None
    members = [one.members for one in facts.readers if one.members is not None]
    used = max([PARTITIONS_PER_BROKER * (facts.brokers or 1), *members])
    if facts.partitions <= MANY_TIMES * used or sum(rates) / facts.partitions >= QUIET_PER_SECOND:
        return None
    replicas = facts.partitions * (facts.replication_factor or 1)
    return _advice(
        facts,
        AdviceKind.OVER_PARTITIONED,
        AdviceSeverity.INFO,
        f"{facts.partitions} partitions for {rate(sum(rates))} and at most "
        f"{plural(max(members, default=0), 'consumer')} a group: {replicas} replicas cost memory, "
        "files and time at each failover. Partitions cannot be taken away: when the topic is moved "
        "anyway, make the new one with fewer.",
        quantity="partitions",
        current=facts.partitions,
        confidence=Confidence.MEDIUM,
    )


def _survives(facts: TopicFacts) -> str:
    may_fail = brokers_that_may_fail(facts.replication_factor, facts.min_in_sync_replicas)
    if may_fail is None:
        return "How many brokers may fail is unknown."
    return f"{plural(may_fail, 'broker')} may fail while producers with acks=all are served."


def _advice(
    facts: TopicFacts,
    kind: AdviceKind,
    severity: AdviceSeverity,
    reason: str,
    *,
    confidence: Confidence = Confidence.HIGH,
    **details: Unpack[Details],
) -> Recommendation:
    rule = None if facts.brokers is None else PARTITIONS_PER_BROKER * facts.brokers
    details["evidence"] = (
        *details.get("evidence", ()),
        Evidence(name="replication factor", value=facts.replication_factor),
        Evidence(name="min.insync.replicas", value=facts.min_in_sync_replicas),
        Evidence(
            name="brokers that may fail",
            value=brokers_that_may_fail(facts.replication_factor, facts.min_in_sync_replicas),
        ),
        Evidence(name="brokers", value=facts.brokers),
        Evidence(name="partitions", value=facts.partitions),
        Evidence(name="partitions by the rule of thumb (3 a broker)", value=rule),
        Evidence(name="retention", value=facts.retention.seconds, unit="s"),
        Evidence(name=SLOWEST_GROUP, value=facts.slowest_group),
        Evidence(name="its oldest unread message", value=facts.slowest_age_seconds, unit="s"),
    )
    return Recommendation(
        kind=kind,
        cluster=facts.cluster,
        subject=facts.topic,
        severity=severity,
        confidence=confidence,
        reason=reason,
        subject_kind=Subject.TOPIC,
        **details,
    )
