"""Rows of the lake as events: what happened, in words, for charts and lists.

This is the one place that turns rows into events; ``app.style.charts.marks`` draws them. All but
``marks`` is pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any

import polars as pl
import streamlit as st

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
from app.style.charts.base import ChartEvent
from app.style.format import clock, count, duration
from app.ui.changes import controller
from app.ui.incidents import mended_at
from lake import deploy_marks

STANDS_AFTER = timedelta(minutes=5)
"""A change that is undone sooner was none, such as a member that joins while a broker is lost."""
MARKED_REBALANCES = 20
"""Most rebalances that a chart marks: of a group that does nothing else, the newest."""


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
        is_undone: It did not last: a short list has others first, but for losses.
    """

    at: datetime
    sort: Sort
    what: str
    detail: str = ""
    is_loss: bool = False
    is_undone: bool = False

    @property
    def sentence(self) -> str:
        """What happened, with the detail: a line of a list."""
        said = f"{self.what}: {self.detail}" if self.detail else self.what
        return said[:1].upper() + said[1:] if self.sort in _BEGIN_WITH_WORDS else said


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
_BEGIN_WITH_WORDS = (Sort.BROKERS, Sort.LEADERS, Sort.SETTINGS, Sort.SCHEMAS, Sort.DEPLOYS)
_LOSSES = (BROKER_MISSING, "unclean election", "log truncated")
_MAIN = (Sort.BROKERS, Sort.ALERTS)
"""What marks name before the rest: on the page of a group or topic alerts are its own."""
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
    if kind not in _SORTS:
        parts.insert(0, " → ".join(str(row[name]) for name in _SAID_BY_WORDS if row[name]))
    if kind == CONTROLLER_CHANGED and row["before"]:
        parts.insert(0, f"from {row['before']}")
    if sort is Sort.DEPLOYS:
        parts = [row["group"], row["topic"], row["detail"]]
    return Event(
        at=row["observed_at"],
        sort=sort,
        what=event_phrase(row),
        detail=", ".join(part for part in parts if part),
        is_loss=kind in _LOSSES,
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

    The name of the thing is left out of their words.
    """
    return [
        Event(
            at=datetime.fromtimestamp(one.began_at, UTC),
            sort=Sort.ALERTS,
            what=one.what.removeprefix(name).strip(),
            detail=one.rule,
            is_loss=one.severity is AlertSeverity.CRITICAL,
        )
        for one in map(as_it_was, alerts)
    ]


def of_causes(
    causes: Iterable[Alert], since: datetime, *, zone: tzinfo, now: datetime
) -> list[Event]:
    """Return the causes that fired or ended after a moment, by what they fired for."""
    return [
        _of_cause(as_it_was(one), since, zone, now)
        for one in causes
        if one.fired_at is not None
        and max(one.fired_at, one.resolved_at or 0.0) >= since.timestamp()
    ]


def _of_cause(one: Alert, since: datetime, zone: tzinfo, now: datetime) -> Event:
    began, detail = datetime.fromtimestamp(one.began_at, UTC), ""
    at = began
    if one.resolved_at is not None:
        ended = datetime.fromtimestamp(one.resolved_at, UTC)
        at = began if began >= since else ended
        lasted = duration((mended_at(one) or one.resolved_at) - one.began_at)
        detail = f"lasted {lasted}, alert over at {clock(ended, zone, now=now)}"
    return Event(
        at=at,
        sort=Sort.ALERTS,
        what=f"Alert: {one.what}",
        detail=detail,
        is_loss=one.severity is AlertSeverity.CRITICAL,
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
        detail = f"{first} were back after {duration((ended - began).total_seconds())}"
    return Event(
        at=began,
        sort=Sort.REBALANCES,
        what=what,
        detail=detail,
        is_loss=over == 0,
        is_undone=True,
    )


def _of_member_change(
    at: datetime, name: str, before: int, after: int, *, is_advised: bool
) -> Event:
    if before == 0:
        what = f"{name} started with {count(after, 'member')}"
    elif after == 0:
        what = f"{name} stopped: {count(before, 'member')} left"
    else:
        what = f"{name} went from {before} to {count(after, 'member')}"
    return Event(
        at=at,
        sort=Sort.ADVICE if is_advised else Sort.REBALANCES,
        what=what,
        detail="as advised" if is_advised else "",
        is_loss=after == 0,
    )


def foremost(events: Sequence[Event], limit: int) -> tuple[list[Event], str]:
    """Return the events that a short list has, the newest first, and what it leaves out.

    What happened to brokers is left out last, before it what was lost and what fired; what was
    undone is left out first.
    """
    newest = sorted(events, key=lambda one: one.at, reverse=True)
    ranked = sorted(newest, key=_rank)
    rest = Counter(one.sort for one in ranked[limit:])
    said = ", ".join(f"{sort.value.lower()} {number}" for sort, number in rest.most_common())
    left_out = f"{rest.total()} more: {said}" if rest else ""
    return sorted(ranked[:limit], key=lambda one: one.at, reverse=True), left_out


def _rank(one: Event) -> int:
    ranks = (one.sort is Sort.BROKERS, one.is_loss, one.sort is Sort.ALERTS, not one.is_undone)
    return ranks.index(True) if True in ranks else len(ranks)


def of_advice(at: datetime, what: str) -> Event:
    """Return what became of advice as an event."""
    return Event(at=at, sort=Sort.ADVICE, what=what)


def marks(events: Iterable[Event]) -> tuple[ChartEvent, ...]:
    """Draw the choice of kinds of marks, and return the events of those that are chosen."""
    with st.popover("Marks", icon=":material/flag:", type="tertiary", width="content"):
        chosen = st.pills(
            "What charts mark",
            [one.value for one in Sort],
            selection_mode="multi",
            default=[one.value for one in Sort],
            key="marks",
            bind="query-params",
            persist_state="session",
        )
    return chart_events(one for one in events if one.sort.value in chosen)


def chart_events(events: Iterable[Event]) -> tuple[ChartEvent, ...]:
    """Return events as charts mark them."""
    return tuple(
        ChartEvent(
            at=one.at,
            text=one.what,
            detail=one.detail,
            kind="act" if one.is_loss else "main" if one.sort in _MAIN else "quiet",
        )
        for one in events
    )
