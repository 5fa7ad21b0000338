"""What needs attention, worst first, with symptoms folded under their cause: pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from alerting.attention_facts import AttentionFacts
from alerting.attention_items import (
    AttentionItem,
    Kind,
    Link,
    Severity,
    collection_item,
    dead_letters_item,
    fold,
    group_item,
    idle_item,
    is_stale,
    missing_brokers_item,
    replication_items,
    stopped_monitor_item,
)
from alerting.samples import Status
from alerting.words import plural, short

__all__ = ["AttentionFacts", "AttentionItem", "Kind", "Link", "Severity", "attention", "headline"]

_SEVERITIES = tuple(Severity)
_KINDS = tuple(Kind)
_SINGLY = 3
"""More unknown groups of one cluster than this become one item."""


def attention(facts: AttentionFacts, *, limit: int | None = None) -> list[AttentionItem]:
    """Return what needs attention, worst first.

    A missing broker explains under-replicated partitions, groups that cannot be read and
    collections that fail in its cluster; a monitor that stands still explains what is unknown.

    Args:
        facts: What is known.
        limit: At most this many items; None for all.
    """
    names = {
        *(fact.cluster for fact in facts.clusters),
        *(fact.cluster for fact in facts.groups),
        *(fact.cluster for fact in facts.collections),
        *(fact.cluster for fact in facts.dead_letters),
        *(fact.cluster for fact in facts.idle),
    }
    items = [item for name in sorted(names) for item in _of_cluster(name, facts)]
    items.sort(key=_urgency)
    return items if limit is None else items[:limit]


def headline(items: Sequence[AttentionItem], facts: AttentionFacts) -> str:
    """Return the one sentence of the Overview.

    Args:
        items: All items, before any limit.
        facts: What they were made from.
    """
    now = sum(1 for item in items if item.severity is Severity.ACT_NOW)
    watch = sum(1 for item in items if item.severity is Severity.WATCH)
    unknown = sum(1 for item in items if item.severity is Severity.UNKNOWN)
    needs = (
        f"{plural(now, 'thing needs', 'things need')} you now"
        if now
        else "Nothing needs you now"
        if watch or unknown
        else "Nothing needs you"
    )
    parts = [needs]
    if watch:
        parts.append(f"{watch} to watch")
    if unknown:
        parts.append(f"{unknown} unknown")
    return " ".join(
        f"{sentence}."
        for sentence in (", ".join(parts), _groups_sentence(facts), _brokers_sentence(facts))
        if sentence
    )


def _groups_sentence(facts: AttentionFacts) -> str:
    if not facts.groups:
        return "No consumer group is known"
    lags = [fact.status.numbers.lag for fact in facts.groups]
    known = [lag for lag in lags if lag is not None]
    total = f"Lag total {short(sum(known))}" if known else "Lag total unknown"
    partly = sum(1 for fact in facts.groups if fact.status.unknown_partitions)
    if known and partly:
        total += f" without {plural(partly, 'group')} that could not be read in full"
    of_all = f"of {plural(len(facts.groups), 'group')}"
    states: list[str] = []
    for status, word in (
        (Status.LOSING_DATA, "losing data"),
        (Status.STOPPED, "stopped"),
        (Status.STALLED, "stalled"),
        (Status.FALLING_BEHIND, "falling behind"),
    ):
        number = sum(1 for fact in facts.groups if fact.status.status is status)
        if number:
            states.append(f"{number} {word}" if states else f"{number} {of_all} {word}")
    unknown = sum(1 for fact in facts.groups if fact.status.status is Status.UNKNOWN)
    if not states and unknown:
        told = len(facts.groups) - unknown
        states.append(f"none of the other {told} falling behind" if told else "none can be judged")
    elif not states:
        states.append(f"none {of_all} falling behind")
    if unknown:
        states.append(f"{unknown} {of_all} unknown")
    return f"{total}, {', '.join(states)}"


def _brokers_sentence(facts: AttentionFacts) -> str:
    missing = sum(len(fact.missing) for fact in facts.clusters)
    known = [fact.brokers for fact in facts.clusters if fact.brokers is not None]
    if missing and len(known) == len(facts.clusters):
        return f"{missing} of {plural(sum(known), 'broker')} missing"
    if missing:
        return f"{plural(missing, 'broker')} missing"
    if not known or len(known) < len(facts.clusters):
        return "Whether all brokers are up is unknown"
    return "All brokers up"


def _of_cluster(name: str, facts: AttentionFacts) -> list[AttentionItem]:
    cluster = next((fact for fact in facts.clusters if fact.cluster == name), None)
    collections = [fact for fact in facts.collections if fact.cluster == name]
    stale = [fact for fact in collections if is_stale(fact, facts.now)]
    sections = [
        collection_item(fact, facts.now)
        for fact in collections
        if fact.status == "failed" or fact in stale
    ]
    replication = replication_items(cluster) if cluster else []
    groups = [
        item for fact in facts.groups if fact.cluster == name and (item := group_item(fact, facts))
    ]
    unknown = [item for item in groups if item.severity is Severity.UNKNOWN]
    known = [item for item in groups if item.severity is not Severity.UNKNOWN]
    letters = [
        item
        for fact in facts.dead_letters
        if fact.cluster == name and (item := dead_letters_item(fact, facts.now))
    ]
    busy = {item.link.params["group"] for item in known}
    idle = [
        idle_item(fact)
        for fact in facts.idle
        if fact.cluster == name and fact.idle > 0 and fact.group not in busy
    ]
    if collections and len(stale) == len(collections):
        cause = stopped_monitor_item(name, stale, facts.now)
        symptoms = [*unknown, *(item for item in letters if item.severity is Severity.UNKNOWN)]
        letters = [item for item in letters if item not in symptoms]
        rest = replication
        if cluster and cluster.missing:
            rest = [missing_brokers_item(cluster, replication)]
        return [fold(cause, symptoms), *rest, *known, *letters, *idle]
    if cluster and cluster.missing:
        unread = [item for item in letters if item.severity is Severity.UNKNOWN]
        letters = [item for item in letters if item.severity is not Severity.UNKNOWN]
        cause = missing_brokers_item(cluster, [*replication, *unknown, *unread, *sections])
        return [cause, *known, *letters, *idle]
    for index, item in enumerate(sections):
        if item.link.params.get("section") in ("groups", "group_offsets"):
            sections[index] = fold(item, unknown)
            unknown = []
    return [*replication, *_together(name, unknown), *known, *letters, *sections, *idle]


def _together(cluster: str, unknown: Sequence[AttentionItem]) -> list[AttentionItem]:
    """Return a few unknown groups one by one, many as one item."""
    if len(unknown) <= _SINGLY:
        return list(unknown)
    since = [item.since for item in unknown if item.since is not None]
    item = AttentionItem(
        Severity.UNKNOWN,
        Kind.GROUP,
        cluster,
        f"{len(unknown)} groups are unknown",
        "their lag could not be told",
        "See Collection health for what is missing.",
        Link("groups", {"cluster": cluster, "status": Status.UNKNOWN.value}),
        since=min(since) if since else None,
    )
    return [fold(item, unknown)]


def _urgency(item: AttentionItem) -> tuple[int, int, float, int, float, str, str]:
    return (
        _SEVERITIES.index(item.severity),
        0 if item.kind in (Kind.MONITOR, Kind.BROKERS) else 1,
        item.until if item.until is not None else float("inf"),
        _KINDS.index(item.kind),
        item.since if item.since is not None else float("inf"),
        item.cluster,
        item.what,
    )
