"""One thing that needs attention: what each kind of fact turns into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from alerting.attention_facts import (
    AttentionFacts,
    ClusterFact,
    CollectionFact,
    DeadLetterFact,
    GroupFact,
    IdleFact,
)
from alerting.group_words import group_words
from alerting.samples import Status
from alerting.words import count, duration, messages, plural, rate

ACT_WITHIN_SECONDS = 4 * 3600.0
"""A deadline nearer than this needs somebody now."""

STALE_INTERVALS = 4.0
"""Data older than this many polls is stale."""


class Severity(StrEnum):
    """How urgent something is."""

    ACT_NOW = "ACT_NOW"
    WATCH = "WATCH"
    UNKNOWN = "UNKNOWN"
    INFO = "INFO"


class Kind(StrEnum):
    """What sort of thing needs attention; in this order within one severity."""

    MONITOR = "monitor"
    BROKERS = "brokers"
    REPLICATION = "replication"
    GROUP = "group"
    DEAD_LETTERS = "dead_letters"
    COLLECTION = "collection"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Link:
    """A page of the dashboard.

    Attributes:
        page: ``group``, ``groups``, ``brokers``, ``dead_letters`` or ``health``.
        params: Its query parameters.
    """

    page: str
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """One thing that needs attention.

    Attributes:
        severity: How urgent it is.
        kind: What sort of thing it is.
        cluster: Where.
        what: The thing and its state, in a few words.
        since: Since when, in Unix seconds; None where that is not known.
        since_at_least: Whether it was already so at ``since``, the oldest sample looked at.
        why: One clause with numbers.
        until: When it begins to hurt, in Unix seconds; None where that is not known.
        step: The advised next step.
        link: Where to look.
        folded: What follows from it and is therefore not listed on its own.
    """

    severity: Severity
    kind: Kind
    cluster: str
    what: str
    why: str
    step: str
    link: Link
    since: float | None = None
    since_at_least: bool = False
    until: float | None = None
    folded: tuple[str, ...] = ()


def fold(cause: AttentionItem, symptoms: Iterable[AttentionItem]) -> AttentionItem:
    """Return the cause with what follows from it listed under it."""
    return replace(cause, folded=(*cause.folded, *(f"{s.what}: {s.why}" for s in symptoms)))


def missing_brokers_item(cluster: ClusterFact, symptoms: Sequence[AttentionItem]) -> AttentionItem:
    """Return the item of the missing brokers, the cause of ``symptoms``."""
    ids = [str(broker.broker_id) for broker in cluster.missing]
    one = len(ids) == 1
    known = [broker.since for broker in cluster.missing if broker.since is not None]
    harm = [
        text
        for number, text in (
            (cluster.offline, "without a leader"),
            (cluster.under_min_isr, "below min ISR, where producers with acks=all are refused"),
            (cluster.under_replicated, "under-replicated"),
        )
        if number
    ]
    numbers = [n for n in (cluster.offline, cluster.under_min_isr, cluster.under_replicated) if n]
    why = ", ".join(
        f"{plural(number, 'partition') if index == 0 else count(number)} {text}"
        for index, (number, text) in enumerate(zip(numbers, harm, strict=True))
    )
    item = AttentionItem(
        Severity.ACT_NOW,
        Kind.BROKERS,
        cluster.cluster,
        f"Broker {ids[0]} is missing" if one else f"Brokers {', '.join(ids)} are missing",
        why or "what that means for its partitions is not known yet",
        f"Find out why {'it' if one else 'they'} went and start {'it' if one else 'them'} again; "
        "do not restart another broker before the partitions are in sync.",
        Link("brokers", {"cluster": cluster.cluster}),
        since=min(known) if known else None,
    )
    return fold(item, symptoms)


def replication_items(cluster: ClusterFact) -> list[AttentionItem]:
    """Return the items of controller and partitions; the worst state of partitions leads."""
    link = Link("brokers", {"cluster": cluster.cluster})
    items = []
    if cluster.has_controller is False:
        items.append(
            AttentionItem(
                Severity.ACT_NOW,
                Kind.BROKERS,
                cluster.cluster,
                "No active controller",
                "no leader can be elected and no topic changed",
                "Look at the controllers' quorum: more than half of the voters must run.",
                link,
                since=cluster.since,
            )
        )
    for number, what, why, step, severity in (
        (
            cluster.offline,
            "offline",
            "without a leader they can be neither read nor written",
            "Start the brokers that hold their replicas.",
            Severity.ACT_NOW,
        ),
        (
            cluster.under_min_isr,
            "under min ISR",
            "producers with acks=all are refused",
            "Bring the missing replicas back into sync.",
            Severity.ACT_NOW,
        ),
        (
            cluster.under_replicated,
            "under-replicated",
            "fewer copies are in sync than there should be",
            "Look for a slow or restarted broker; wait for the replicas to catch up.",
            Severity.WATCH,
        ),
    ):
        if number:
            what = f"{plural(number, 'partition')} {what}"
            item = AttentionItem(
                severity,
                Kind.REPLICATION,
                cluster.cluster,
                what,
                why,
                step,
                link,
                since=cluster.since,
            )
            if items and items[-1].kind is Kind.REPLICATION:
                items[-1] = fold(items[-1], [item])
            else:
                items.append(item)
    return items


_SEVERITIES: dict[Status, Severity] = {
    Status.LOSING_DATA: Severity.ACT_NOW,
    Status.STOPPED: Severity.ACT_NOW,
    Status.STALLED: Severity.ACT_NOW,
    Status.FALLING_BEHIND: Severity.WATCH,
    Status.REWOUND: Severity.WATCH,
    Status.UNKNOWN: Severity.UNKNOWN,
}


def group_item(fact: GroupFact, facts: AttentionFacts) -> AttentionItem | None:
    """Return the item of a group that is not well or will lose data; None where all is well."""
    deadlines = [
        deadline.at
        for deadline in facts.deadlines
        if (deadline.cluster, deadline.group) == (fact.cluster, fact.group)
    ]
    until = min(deadlines) if deadlines else None
    status = fact.status
    words = group_words(status.status, fact.kind)
    if words is not None:
        severity, verb, step = _SEVERITIES[status.status], words.verb, words.step
    elif until is not None:
        severity, verb = Severity.WATCH, "is close to losing data"
        step = "Raise the topic's retention until the group has caught up."
    else:
        return None
    why = status.reason.rstrip(".")
    if until is not None and status.status is not Status.LOSING_DATA:
        left = until - facts.now
        why += f"; retention reaches it in {duration(left)}"
        if left <= ACT_WITHIN_SECONDS:
            severity = Severity.ACT_NOW
    folded = tuple(
        f"{plural(idle.idle, 'consumer')} of {idle.members} idle"
        for idle in facts.idle
        if (idle.cluster, idle.group) == (fact.cluster, fact.group) and idle.idle > 0
    )
    return AttentionItem(
        severity,
        Kind.GROUP,
        fact.cluster,
        f"{fact.group} {verb}",
        why,
        step,
        Link("group", {"cluster": fact.cluster, "group": fact.group}),
        since=status.since,
        since_at_least=status.began_before_window,
        until=until,
        folded=folded if severity is not Severity.UNKNOWN else (),
    )


def dead_letters_item(fact: DeadLetterFact, now: float) -> AttentionItem | None:
    """Return the item of a dead-letter topic; None where it is empty and stays so."""
    link = Link("dead_letters", {"cluster": fact.cluster, "name": fact.name})
    arriving = fact.arrivals_per_second
    held = fact.unprocessed if fact.redrive_group else fact.retained
    if arriving is None or held is None:
        return AttentionItem(
            Severity.UNKNOWN,
            Kind.DEAD_LETTERS,
            fact.cluster,
            f"{fact.name} is unknown",
            fact.unknown_reason or "arrivals or depth could not be read",
            "See Collection health for what is missing.",
            link,
        )
    if arriving <= 0 and held == 0:
        return None
    parts = []
    if arriving > 0:
        parts.append(f"{rate(arriving)} arrive")
    if held:
        parts.append(f"{messages(held)} {'unprocessed' if fact.redrive_group else 'held'}")
    if fact.top_reason:
        parts.append(f"mostly {fact.top_reason}")
    parts.append(f"{fact.redrive_group} redrives" if fact.redrive_group else "nobody redrives them")
    until = fact.deleted_at if held else None
    if until is not None:
        parts.append(f"the oldest is deleted in {duration(until - now)}")
    if until is not None and until - now <= ACT_WITHIN_SECONDS:
        severity = Severity.ACT_NOW
    elif arriving > 0 and not fact.redrive_group:
        severity = Severity.WATCH
    else:
        severity = Severity.INFO
    origin = f" from {fact.origin}" if fact.origin else ""
    return AttentionItem(
        severity,
        Kind.DEAD_LETTERS,
        fact.cluster,
        f"Dead letters{origin} in {fact.name}",
        ", ".join(parts),
        "Look at the reasons, fix the cause, then redrive."
        if fact.redrive_group
        else "Look at the reasons and decide who redrives them.",
        link,
        since=fact.since,
        until=until,
    )


def idle_item(fact: IdleFact) -> AttentionItem:
    """Return the item of consumers that hold no partition."""
    return AttentionItem(
        Severity.INFO,
        Kind.IDLE,
        fact.cluster,
        f"{fact.group} has {plural(fact.idle, 'idle consumer')}",
        f"{plural(fact.members, 'member')} share {plural(fact.partitions, 'partition')}",
        f"Run {fact.members - fact.idle} instead of {fact.members}.",
        Link("group", {"cluster": fact.cluster, "group": fact.group}),
    )


def is_stale(fact: CollectionFact, now: float) -> bool:
    """Tell whether a section has not worked for several of its intervals."""
    if fact.interval_seconds is None:
        return False
    if fact.last_success_at is None:
        return True
    return now - fact.last_success_at > STALE_INTERVALS * fact.interval_seconds


def collection_item(fact: CollectionFact, now: float) -> AttentionItem:
    """Return the item of a section that fails or is late."""
    age = (
        f"last success {duration(now - fact.last_success_at)} ago"
        if fact.last_success_at is not None
        else "it has not worked yet"
    )
    return AttentionItem(
        Severity.WATCH,
        Kind.COLLECTION,
        fact.cluster,
        f"Collecting {fact.section} {'fails' if fact.status == 'failed' else 'is late'}",
        f"{fact.error.rstrip('.')}; {age}" if fact.error else age,
        "See Collection health; figures of this section are old or missing.",
        Link("health", {"cluster": fact.cluster, "section": fact.section}),
        since=fact.last_success_at,
    )


def stopped_monitor_item(
    cluster: str, stale: Sequence[CollectionFact], now: float
) -> AttentionItem:
    """Return the item of a monitor that collects nothing from a cluster."""
    newest = max((f.last_success_at for f in stale if f.last_success_at is not None), default=None)
    error = next((fact.error for fact in stale if fact.error), None)
    age = (
        f"the newest data is {duration(now - newest)} old"
        if newest is not None
        else ("nothing was ever collected")
    )
    return AttentionItem(
        Severity.ACT_NOW,
        Kind.MONITOR,
        cluster,
        "Nothing is being collected",
        f"{age}; {error.rstrip('.')}" if error else age,
        "Check that the collectors run and reach the cluster: python -m collectors check.",
        Link("health", {"cluster": cluster}),
        since=newest,
    )
