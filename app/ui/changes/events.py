"""Rows of the lake as events: what happened, in words, for charts and lists.

This is the one place that turns rows into events; ``event_marks`` makes marks of
them. All of it is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import polars as pl

from alerting.inputs.event_phrases import (
    BROKER_BACK,
    BROKER_MISSING,
    CONTROLLER_CHANGED,
    ISR_EXPANDED,
    ISR_SHRUNK,
    LEADERS_MOVED,
    event_phrase,
)
from alerting.rules.folding import as_it_was
from alerting.rules.lifecycle import Alert
from alerting.rules.model import AlertSeverity
from app.data.history import TIME
from app.style.format import count, duration, with_lengths
from app.ui.changes import controller
from lake import deploy_marks

STANDS_AFTER = timedelta(minutes=5)
"""A change that is undone sooner was none, such as a member that joins while a broker is lost."""
MARKED_REBALANCES = 20
"""Most rebalances that a chart marks: of a group that does nothing else, the newest."""
_LATE = ("stopped", "stalled", "falling_behind")
"""Checks of groups whose alerts Overview marks."""
_MARKED_LATE = 20
"""Most of these: where hundreds of groups are late, more marks tell nothing."""


class Sort(StrEnum):
    """What an event is about; the choice of marks shows these words, and the address holds them."""

    BROKERS = "Brokers"
    LEADERS = "Leaders and replicas"
    TOPICS = "Topics"
    SETTINGS = "Settings and rights"
    SCHEMAS = "Schemas"
    REBALANCES = "Rebalances"
    ALERTS = "Alerts"
    ADVICE = "Advice"
    DEPLOYS = "Deploys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened.

    Attributes:
        what: In a few words, with the name of what it happened to.
        is_loss: Something was lost by it: its mark is red.
        many: What a list says of several that happen together, behind their number; empty: each
            has a line of its own.
        name: What it happened to, as such a line names it.
        is_own: It is of the one thing that a page is about, or that has a line in its chart.
    """

    at: datetime
    sort: Sort
    what: str
    detail: str = ""
    is_loss: bool = False
    many: str = ""
    name: str = ""
    is_own: bool = False


_SORTS: dict[str, Sort] = {
    BROKER_MISSING: Sort.BROKERS,
    BROKER_BACK: Sort.BROKERS,
    "broker added": Sort.BROKERS,
    "broker unregistered": Sort.BROKERS,
    CONTROLLER_CHANGED: Sort.BROKERS,
    "quorum voters changed": Sort.BROKERS,
    LEADERS_MOVED: Sort.LEADERS,
    ISR_SHRUNK: Sort.LEADERS,
    ISR_EXPANDED: Sort.LEADERS,
    "unclean election": Sort.LEADERS,
    "log truncated": Sort.LEADERS,
    "topic created": Sort.TOPICS,
    "topic deleted": Sort.TOPICS,
    "topic recreated": Sort.TOPICS,
    "partitions added": Sort.TOPICS,
    deploy_marks.KIND: Sort.DEPLOYS,
}
"""What an event is about, by kind, where its phrase says all of it but the detail."""
MOVES: Mapping[str, str] = {
    LEADERS_MOVED: "leaders moved",
    ISR_SHRUNK: "out of sync",
    ISR_EXPANDED: "in sync",
}
"""Kinds about partitions of several topics, which ``topics`` names; the words of many at once."""
_MANY: Mapping[str, str] = {
    BROKER_MISSING: "brokers are missing",
    BROKER_BACK: "brokers are back",
    "broker added": "brokers added",
    "broker unregistered": "brokers unregistered",
    LEADERS_MOVED: "moves of leaders",
    ISR_SHRUNK: "brokers out of sync",
    ISR_EXPANDED: "brokers in sync",
    "unclean election": "unclean elections",
    "log truncated": "logs truncated",
    "topic created": "topics appeared",
    "topic deleted": "topics disappeared",
    "topic recreated": "topics created anew",
    "partitions added": "topics got more partitions",
}
"""What several of a kind are called; of others the kind says it, and each deploy is one."""
_LOSSES = (BROKER_MISSING, "unclean election", "log truncated")
_COUNTED = ("topic created", "topic deleted", "topic recreated")
"""Kinds whose phrase leaves out how many partitions there are."""
_SAID_BY_WORDS = ("before", "after")


def of_changes(rows: pl.DataFrame) -> list[Event]:
    """Return rows of ``cluster_events`` as events; see ``controller.folded``."""
    ordered = controller.folded(rows).sort("observed_at", "kind")
    return [_of_change(row) for row in ordered.iter_rows(named=True)]


def of_changes_folded(rows: pl.DataFrame) -> list[Event]:
    """Return rows of ``cluster_events`` as events: all moves of internal topics alone are one."""
    every = pl.element().str.starts_with("__").all()
    is_internal = (
        (pl.col("kind").is_in(list(MOVES)) & (pl.col("topics").list.len() > 0))
        & pl.col("topics").list.eval(every).list.first()
    ).fill_null(value=False)
    internal = rows.filter(is_internal).sort("observed_at")
    if internal.height < 2:
        return of_changes(rows)
    kinds = internal.group_by("kind").len().sort("kind").iter_rows()
    return [
        *of_changes(rows.filter(~is_internal)),
        Event(
            at=internal["observed_at"][0],
            sort=Sort.LEADERS,
            what=f"{internal.height} changes of internal topics",
            detail=", ".join(f"{MOVES[kind]}: {number}" for kind, number in kinds),
        ),
    ]


def _of_change(row: Mapping[str, Any]) -> Event:
    kind = row["kind"]
    is_schema = kind.startswith(("schema ", "registry "))
    sort = _SORTS.get(kind, Sort.SCHEMAS if is_schema else Sort.SETTINGS)
    parts = [row["detail"]]
    course = " → ".join(with_lengths(str(row[name])) for name in _SAID_BY_WORDS if row[name])
    if kind not in _SORTS or kind in _COUNTED:
        parts.insert(0, course)
    if kind == CONTROLLER_CHANGED and row["before"]:
        parts.insert(0, f"from {row['before']}")
    if sort is Sort.DEPLOYS:
        parts = [row["group"], row["topic"], row["detail"]]
    what = event_phrase(row)
    # Of several of these a name alone does not say what changed.
    told = {LEADERS_MOVED: course, "partitions added": what}.get(kind)
    return Event(
        at=row["observed_at"],
        sort=sort,
        what=what,
        detail=", ".join(part for part in parts if part),
        is_loss=kind in _LOSSES,
        many="" if sort is Sort.DEPLOYS else _MANY.get(kind) or kind.replace("changed", "changes"),
        name=told or str(row["subject"] or ""),
    )


def together(events: Iterable[Event]) -> list[Event]:
    """Return events, the newest first; those that are alike and of one minute are one."""
    found: dict[tuple[object, ...], list[Event]] = {}
    for number, one in enumerate(sorted(events, key=lambda one: one.at, reverse=True)):
        minute = int(one.at.timestamp() // 60)
        found.setdefault((one.many, minute) if one.many else (number,), []).append(one)
    return [alike[0] if len(alike) == 1 else _of_several(alike) for alike in found.values()]


def _of_several(alike: Sequence[Event]) -> Event:
    newest = alike[0]
    is_loss = any(one.is_loss for one in alike)
    if len({one.name for one in alike}) == 1:
        details = dict.fromkeys(one.detail for one in reversed(alike) if one.detail)
        return replace(newest, detail="; ".join(details), is_loss=is_loss)
    of_each: dict[str, list[str]] = {}
    for one in sorted(alike, key=lambda one: one.name):
        of_each.setdefault(one.name, []).extend([one.detail] if one.detail else [])
    said = [f"{name} ({'; '.join(of)})" if of else name for name, of in of_each.items()]
    return replace(
        newest,
        what=f"{len(of_each)} {newest.many}",
        detail=", ".join(said),
        is_loss=is_loss,
        name="",
    )


def of_brokers(cluster: pl.DataFrame, until: datetime) -> list[Event]:
    """Return when brokers went and came back before a moment, by their number in the history.

    The history reaches further back than the rows that name them.
    """
    alive = pl.col("brokers_alive")
    steps = (
        cluster.filter(alive.is_not_null())
        .sort(TIME)
        .with_columns(before=alive.shift(1))
        .filter(alive != pl.col("before"), pl.col(TIME) < until)
        .select(TIME, (alive - pl.col("before")).cast(pl.Int64).alias("more"))
    )
    return [
        Event(
            at=at,
            sort=Sort.BROKERS,
            what=f"{count(abs(more), 'broker')} {'is' if abs(more) == 1 else 'are'} "
            f"{'missing' if more < 0 else 'back'}",
            is_loss=more < 0,
        )
        for at, more in steps.iter_rows()
    ]


def of_rebalances(rebalances: pl.DataFrame) -> list[Event]:
    """Return rebalances as events: the newest, and one where a poll saw several."""
    rows = (
        rebalances.sort("rebalanced_at")
        .group_by("poll_id")
        .agg(
            pl.col("rebalanced_at", "reason", "members").last(),
            pl.col("members_before").first(),
        )
        .sort("rebalanced_at")
        .tail(MARKED_REBALANCES)
    )
    return [
        Event(
            at=at,
            sort=Sort.REBALANCES,
            what="rebalance",
            detail=", ".join(part for part in (_members(before, after), reason) if part),
        )
        for at, before, after, reason in rows.select(
            "rebalanced_at", "members_before", "members", "reason"
        ).iter_rows()
    ]


def _members(before: int | None, after: int | None) -> str:
    return "" if None in (before, after) or before == after else f"members {before} → {after}"


def of_alerts(alerts: Iterable[Alert], name: str) -> list[Event]:
    """Return when alerts about something began, by what they fired for.

    The name of the one thing that a page is about is left out of their words; empty: there is
    none. What may have begun before it was watched is no event of the moment at which watching
    began.
    """
    return [
        Event(
            at=datetime.fromtimestamp(one.began_at, UTC),
            sort=Sort.ALERTS,
            what=one.what.removeprefix(name).strip(),
            detail=one.rule,
            is_loss=one.severity is AlertSeverity.CRITICAL,
            is_own=bool(name),
            name=one.labels.get("group", ""),
        )
        for one in map(as_it_was, alerts)
        if not one.began_before
    ]


def of_late_groups(alerts: Iterable[Alert]) -> list[Event]:
    """Return when groups stopped or fell behind that no other alert explains.

    Of many, the worst, and of these the newest.
    """
    of_groups = [
        one
        for one in alerts
        if one.check in _LATE and one.inhibited_by is None and one.followed is None
    ]
    found = sorted(of_alerts(of_groups, ""), key=lambda one: one.at, reverse=True)
    return sorted(found, key=lambda one: not one.is_loss)[:_MARKED_LATE]


def began_and_ended(alerts: Iterable[Alert], since: datetime) -> str:
    """Say how many alerts fired and ended after a moment: ``9 alerts began, 2 ended``."""
    fired = [one for one in alerts if one.fired_at is not None]
    begun = sum(1 for one in fired if (one.fired_at or 0.0) >= since.timestamp())
    ended = sum(1 for one in fired if (one.resolved_at or 0.0) >= since.timestamp())
    if not ended:
        return f"{count(begun, 'alert')} began" if begun else ""
    return (
        f"{count(begun, 'alert')} began, {ended} ended"
        if begun
        else f"{count(ended, 'alert')} ended"
    )


def of_members(
    changes: pl.DataFrame, advised: Mapping[str, tuple[int, datetime]], now: datetime
) -> list[Event]:
    """Return rows of ``recent_changes`` as events: groups that started, stopped, grew or shrank.

    What was undone soon is one event, and followed no advice; none follows what came later.

    Args:
        changes: The rows.
        advised: Group: the number of members that was advised, and when.
        now: The present.
    """
    found = []
    for (name, *_), rows in changes.sort("changed_at").group_by("name", maintain_order=True):
        lasting: list[tuple[datetime, int, int]] = []
        undone: list[Event] = []
        furthest: list[int] = []  # how many members there were while each lasted
        for at, before, after in rows.select("changed_at", "before", "after").iter_rows():
            back = next(
                (
                    place
                    for place, (began, first, _) in enumerate(lasting)
                    if first == after and at - began <= STANDS_AFTER
                ),
                None,
            )
            if back is None:
                lasting.append((at, before, after))
                continue
            began, first, _ = lasting[back]
            numbers = [number for _, _, number in lasting[back:]]
            # What was undone in between is a part of it.
            while undone and undone[-1].at >= began:
                undone.pop()
                numbers.append(furthest.pop())
            over = min(numbers) if min(numbers) < first else max(numbers)
            del lasting[back:]
            undone.append(_of_undone(began, str(name), first, over, at))
            furthest.append(over)
        found += undone
        ends = [*(at for at, _, _ in lasting[1:]), now]
        for (at, before, after), until in zip(lasting, ends, strict=False):
            proposed, given_at = advised.get(str(name), (None, at))
            is_advised = after == proposed and given_at <= at <= until - STANDS_AFTER
            found.append(_of_member_change(at, str(name), before, after, is_advised=is_advised))
    return found


def _of_undone(began: datetime, name: str, first: int, over: int, ended: datetime) -> Event:
    what, detail = f"{name} went from {first} to {count(over, 'member')} and back", ""
    if over == 0:
        what = f"{name} lost all its members"
        lasted = duration((ended - began).total_seconds())
        detail = f"{first} {'was' if first == 1 else 'were'} back after {lasted}"
    return Event(
        at=began,
        sort=Sort.REBALANCES,
        what=what,
        detail=detail,
        is_loss=over == 0,
    )


def _of_member_change(
    at: datetime, name: str, before: int, after: int, *, is_advised: bool
) -> Event:
    if before == 0:
        what, many = f"{name} started with {count(after, 'member')}", "groups started"
    elif after == 0:
        what, many = f"{name} stopped: {count(before, 'member')} left", "groups stopped"
    else:
        what, many = f"{name} went from {before} to {count(after, 'member')}", ""
    return Event(
        at=at,
        sort=Sort.ADVICE if is_advised else Sort.REBALANCES,
        what=what,
        detail="as advised" if is_advised else "",
        is_loss=after == 0,
        many="" if is_advised else many,
        name=name,
    )


def of_advice(at: datetime, what: str) -> Event:
    """Return what became of advice as an event."""
    return Event(at=at, sort=Sort.ADVICE, what=what)
