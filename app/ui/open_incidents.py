"""What is known of open incidents beside their alerts: the same on each page that tells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from alerting.inputs.frames import KAFKA
from alerting.rules.lifecycle import State
from alerting.status.descriptions import LATE_STEP, SCALING_STEP
from alerting.status.model import Status
from app.data import alert_store, present
from app.data.context import View
from app.style.columns import NEVER
from app.style.format import clock, count
from app.ui import components, dead_letter_sources, group_list
from app.ui.advice import current_advice
from app.ui.alert_list import as_said
from app.ui.dead_letter_sources import Source
from app.ui.incident_order import in_order
from app.ui.incident_rows import with_rows
from app.ui.incidents import DEAD_LETTERS_ARRIVE, Incident
from lake.schemas.current import GROUP_STATUS, RECENT_CHANGES


def at_present(view: View, found: Sequence[Incident]) -> list[Incident]:
    """Return open incidents of the alert store with their deadlines, in the order of lists."""
    with components.guarded():
        found = with_rows(found, present.every_open_alert(view))
    return in_order(found, view.now, alert_store.looked_after(view))


def then_over(view: View, found: Sequence[Incident]) -> list[Incident]:
    """Return what goes on in the order of lists, then what is over, the newest first."""
    going_on = [one for one in found if one.ended_at is None]
    over = [one for one in found if one.ended_at is not None]
    return [*at_present(view, going_on), *sorted(over, key=lambda one: -one.cause.began_at)]


def told(view: View, found: Sequence[Incident]) -> list[Incident]:
    """Return open incidents as pages tell them.

    Where what to do is a question of scaling, the step is the change that Scaling advises. Of a
    group that stopped and has members again, the first thing said is that these are back. Of dead
    letters it is how many arrive, and then what the groups do that may write them, where that
    decides it. What recovers is told as what is not so any more.
    """
    found = [*map(in_past, found)]
    advised: dict[tuple[str, str], str] = {}
    back: dict[tuple[str, str], str] = {}
    sources: dict[tuple[str, str], Source] = {}
    with components.guarded():
        for cluster, groups in _by_cluster(map(_asks, found)).items():
            lines = current_advice.of_groups(replace(view, cluster=cluster), groups)
            advised |= {(cluster, group): line for group, line in lines.items()}
    with components.guarded():
        for cluster, groups in _by_cluster(map(_stopped, found)).items():
            place = replace(view, cluster=cluster)
            status, changes = (present.rows(place, one) for one in (GROUP_STATUS, RECENT_CHANGES))
            of_these = status.filter(pl.col("group").is_in(groups))
            back |= {
                (cluster, group): line
                for group, line in members_back(of_these, changes, view).items()
            }
    with components.guarded():
        for cluster in _by_cluster(map(_dead_letters, found)):
            known = dead_letter_sources.of_cluster(replace(view, cluster=cluster))
            sources |= {(cluster, topic): source for topic, source in known.items()}
    return [with_source(with_members(advised_step(one, advised), back), sources) for one in found]


def in_past(one: Incident) -> Incident:
    """Return an incident that, where it recovers, says what was said of it, and no step."""
    lead = one.lead
    if not lead.is_recovering:
        return one
    return one.led_by(replace(lead, detail=as_said(lead.detail, is_over=True), step=""))


def _by_cluster(subjects: Iterable[tuple[str, str] | None]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for cluster, group in filter(None, subjects):
        found.setdefault(cluster, []).append(group)
    return found


def advised_step(one: Incident, advised: Mapping[tuple[str, str], str]) -> Incident:
    """Return an incident with its advice as the step, where it asks for it; else with an act.

    Where Scaling advises no change, or to keep what is there for now, that is no step.

    Args:
        one: The incident.
        advised: Advice in a line, by cluster and group.
    """
    asked = _asks(one)
    if asked is None:
        return one
    line = advised.get(asked)
    step = LATE_STEP if line is None else f"Scaling advises: {line}"
    return one.led_by(replace(one.lead, step=step))


def _asks(one: Incident) -> tuple[str, str] | None:
    """Return the cluster and the group whose advice is the step of an incident."""
    labels = one.lead.labels
    if one.ended_at is not None or one.lead.step != SCALING_STEP or "group" not in labels:
        return None
    return labels["cluster"], labels["group"]


def with_members(one: Incident, back: Mapping[tuple[str, str], str]) -> Incident:
    """Return an incident that says first of a group that stopped that its members are back.

    Args:
        one: The incident.
        back: What is said of that, by cluster and group.
    """
    said = back.get(_stopped(one) or ("", ""))
    if not said:
        return one
    lead = one.lead
    return one.led_by(replace(lead, detail=f"{said} {lead.detail}".rstrip()))


def with_source(one: Incident, sources: Mapping[tuple[str, str], Source]) -> Incident:
    """Return an incident about dead letters with what the groups do that may write them.

    While it recovers that is all: what it said before is not so any more. And nothing recovers
    where all that may write them is stopped.

    Args:
        one: The incident.
        sources: What is said of that, by cluster and dead-letter topic.
    """
    source = sources.get(_dead_letters(one) or ("", ""))
    if source is None:
        return one
    lead = one.lead
    detail = source.said if one.is_recovering else f"{lead.detail} {source.said}".lstrip()
    told = one.led_by(replace(lead, detail=detail))
    return replace(told, is_source_stopped=source.is_stopped)


def _dead_letters(one: Incident) -> tuple[str, str] | None:
    """Return the cluster and the topic of an incident that is about dead letters that arrive.

    Queues of RabbitMQ are no topic's: no group writes to them.
    """
    labels = one.lead.labels
    is_about = one.ended_at is None and one.lead.check == DEAD_LETTERS_ARRIVE
    return (labels["cluster"], labels["name"]) if is_about and labels["source"] == KAFKA else None


def _stopped(one: Incident) -> tuple[str, str] | None:
    """Return the cluster and the group of an incident that is about one that stopped."""
    labels = one.lead.labels
    fires = [each for each in (one.cause, *one.symptoms) if each.state is State.FIRING]
    of_group = [each for each in fires if each.labels.get("group") == labels.get("group")]
    if "group" not in labels or all(each.check != "stopped" for each in of_group):
        return None
    return labels["cluster"], labels["group"]


def members_back(groups: pl.DataFrame, changes: pl.DataFrame, view: View) -> dict[str, str]:
    """Say of groups that stopped and have members again since when, and whether that helps.

    Args:
        groups: Their rows of ``group_status``.
        changes: Rows of ``recent_changes``, of an hour: what is older has no time.
        view: The frame of the page.
    """
    returned = dict(
        changes.filter(kind="members", before=0).group_by("name").agg(pl.max("changed_at")).rows()
    )
    said = {}
    # Some may consume none of what waits, and have never left.
    have_returned = (pl.col("status") != Status.STOPPED) | pl.col("group").is_in(list(returned))
    known = groups.filter(have_returned, pl.col("members") > 0).with_columns(
        group_list.grows().alias("grows"),
        group_list.drain_seconds().is_between(0, NEVER, closed="left").alias("shrinks"),
    )
    for row in known.iter_rows(named=True):
        at, members = returned.get(row["group"]), row["members"]
        since = "" if at is None else f" since {clock(at, view.zone, now=view.now)}"
        lag = ", lag goes down" if row["shrinks"] else ", lag still grows" if row["grows"] else ""
        noun = count(members, "member is", "members are")
        said[row["group"]] = f"{noun} back{since}{lag}."
    return said
