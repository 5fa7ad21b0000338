"""What the groups of an incident have lost since that began: one answer for all pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from alerting.status.model import Status
from alerting.status.phrases import or_before
from app.data import losses, present
from app.data.context import View
from app.style.format import clock, clock_after, count, exact, listing
from app.ui import components
from app.ui.alert_list import moment
from app.ui.incidents import LOSES_DATA, Incident

_MOST_READ = 5
"""Incidents of a list whose history is read: the first are those to act on."""
_NAMED = 3
"""Groups of an incident that are told: those that lost most."""
_MINUTE = timedelta(minutes=1)
"""A total that ends no longer before the newest evaluation is of the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What a group loses in the course of an incident.

    Attributes:
        cluster: The group's.
        began_at: When its loss began, or was first seen.
        began_before: Whether it may have begun before that.
        ended_at: When the alert of it was over; None: it goes on.
        seen: The most that an evaluation has said: of some minutes, or since a commit.
        said: What the newest evaluation says: the sentence of its alert has it.
    """

    cluster: str
    group: str
    began_at: datetime
    began_before: bool
    ended_at: datetime | None
    seen: int
    said: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """How many messages a group lost at the least, and up to when; None: to the end, or to now."""

    messages: int
    until: datetime | None = None


def losses_of(one: Incident) -> list[Loss]:
    """Return what the alerts of an incident know of losses, a row a group, the largest first."""
    found: dict[tuple[str, str], Loss] = {}
    for alert in sorted(one.alerts, key=lambda each: each.began_at):
        labels, began = alert.labels, moment(alert.first_began_at)
        if alert.check != LOSES_DATA or began is None:
            continue
        # The value is of lost messages while the group has this status alone.
        value = alert.value if alert.status == Status.LOSING_DATA.value else None
        worst = alert.worst.value if alert.worst else None
        seen = round(max(value or 0.0, worst or 0.0))
        key = (labels["cluster"], labels["group"])
        known = found.get(key)
        if known is not None:
            # It came back: one loss from the first time to the last.
            began, seen = known.began_at, max(known.seen, seen)
        found[key] = Loss(
            cluster=key[0],
            group=key[1],
            began_at=began,
            began_before=alert.first_began_before if known is None else known.began_before,
            ended_at=moment(alert.resolved_at),
            seen=seen,
            said=round(value or 0.0),
        )
    return sorted(found.values(), key=lambda each: -each.seen)


def said(view: View, found: Iterable[Incident]) -> dict[str, str]:
    """Say what was deleted unread in all, by the id of the cause of each incident that lost data.

    Args:
        view: The frame of the page.
        found: The incidents, those to act on first.
    """
    losing = [(one, lost) for one in found if (lost := losses_of(one))][:_MOST_READ]
    sentences = {}
    for one, lost in losing:
        totals = {each.group: _total(view, each) for each in lost[:_NAMED]}
        sentences[one.cause.id] = sentence(one, lost, totals, view)
    return sentences


def by_group(view: View, found: Iterable[Incident], *, only: str | None = None) -> dict[str, str]:
    """Say how much groups of the cluster have lost since they began to: those that lost most.

    It is the number that ``said`` says, such as ``At least 41,000 lost since 08:40``.

    Args:
        view: The frame of the page.
        found: Open incidents.
        only: Of this group alone.
    """
    losing = [
        lost
        for one in found
        for lost in losses_of(one)
        if lost.ended_at is None and lost.cluster == view.cluster and only in (None, lost.group)
    ]
    most = sorted(losing, key=lambda each: -each.seen)[: _MOST_READ * _NAMED]
    return {
        each.group: f"At least {exact(total.messages)} lost{_when(each, total, view)}"
        for each in most
        if (total := _total(view, each)).messages
    }


def _total(view: View, loss: Loss) -> Total:
    """Return how much was lost at the least: never less than an evaluation has said."""
    place, found, newest = replace(view, cluster=loss.cluster), None, None
    with components.guarded():
        found = losses.of_group(place, loss.group, loss.began_at, loss.ended_at)
        newest = present.evaluated_at(place)
    if found is None or found.messages <= loss.seen:
        return Total(messages=loss.seen)
    until = loss.ended_at or newest or view.now
    return Total(
        messages=found.messages, until=found.until if until - found.until > _MINUTE else None
    )


def sentence(one: Incident, lost: Sequence[Loss], totals: Mapping[str, Total], view: View) -> str:
    """Say how much was lost, such as ``At least 41,000 messages deleted unread since 08:40``.

    Args:
        one: The incident.
        lost: What its groups lose, the largest first.
        totals: How much the first of these groups lost at the least.
        view: The frame of the page.
    """
    parts = []
    for each in lost[:_NAMED]:
        total = totals[each.group]
        is_own = one.cause.labels.get("group") == each.group
        is_said = is_own and one.cause.check == LOSES_DATA and total.messages == each.said
        # Lists have this sentence alone: it leaves out what the alert's has only if that is all.
        if not total.messages or (is_said and each.ended_at is None and len(lost) == 1):
            continue
        whose = "" if is_own else f" by {each.group}"
        number = f"{count(total.messages, 'message')} deleted unread{whose}"
        parts.append(f"{number}{_when(each, total, view)}")
    if parts and (others := len(lost) - _NAMED) > 0:
        parts.append(f"more by {count(others, 'other group')}")
    return f"At least {listing(parts, limit=len(parts))}." if parts else ""


def _when(loss: Loss, total: Total, view: View) -> str:
    """Say of which time a total is; of what goes on, up to the newest evaluation if no time."""
    until = "" if total.until is None else clock(total.until, view.zone, now=view.now)
    if loss.ended_at is not None:
        return f" up to {until}" if until else " in all"
    began = or_before(clock(loss.began_at, view.zone, now=view.now), at_least=loss.began_before)
    if total.until is None:
        return f" since {began}"
    until = clock_after(total.until, loss.began_at, view.zone, now=view.now)
    return f" from {began} to {until}"
