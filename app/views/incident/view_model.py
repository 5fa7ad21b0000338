"""One incident told in order of time, as a table and as Markdown: pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from math import ceil
from typing import Any

import polars as pl

from alerting.rules import folding
from alerting.rules.lifecycle import Alert, State
from alerting.rules.matchers import Acknowledgement
from alerting.status.phrases import or_before
from app.data.history import History
from app.data.time_range import TimeRange, between
from app.style.charts.base import ChartEvent
from app.style.format import clock, clock_after, count, duration, escape, thin
from app.ui import incidents
from app.ui.alert_list import how_bad, moment, severity_style
from app.ui.incident_list import what_goes_on
from app.ui.incident_order import BROKER_MISSING
from app.ui.incident_timeline import timeline_rows
from app.ui.incidents import Incident, is_mending, last_end, mended_at, turned_at
from app.ui.loss_words import ahead
from app.ui.symptoms import symptoms_in_all, symptoms_of
from app.views.incident import lag, replication
from app.views.incident.portable import portable
from app.views.incident.steps import (
    Step,
    after,
    is_begin,
    moment_of,
    named,
    over_at,
    symptoms_together,
)

BEFORE = timedelta(minutes=30)
"""How far before its begin changes are looked for."""
AFTER = timedelta(minutes=10)
"""How far behind its end: leaders move back within five minutes, and are seen at the next poll."""
EDGE = 0.2
"""How much of an incident's span is drawn before and after it."""
LEAST_EDGE = timedelta(minutes=2)
"""A short one is drawn with so much: what was usual is seen beside it."""
_MINUTE = timedelta(minutes=1)


def incident_of(
    alert: Alert, alerts_of: Callable[[float, float], Iterable[Alert]], now: datetime
) -> Incident:
    """Return the incident that an alert belongs to, whole.

    Args:
        alert: The alert.
        alerts_of: Returns the alerts between two moments, in Unix seconds.
        now: The present.
    """
    since = alert.began_at - BEFORE.total_seconds()
    until = (alert.resolved_at or now.timestamp()) + AFTER.total_seconds()

    def with_it(since: float, until: float) -> list[Alert]:
        return [*(one for one in alerts_of(since, until) if one.id != alert.id), alert]

    return next(
        one
        for one in incidents.between(with_it, since, until)
        if alert.id in {each.id for each in one.alerts}
    )


def as_it_was(incident: Incident) -> Incident:
    """Return an incident whose alerts say what they said before they were mended."""
    return replace(
        incident,
        cause=folding.as_it_was(incident.cause),
        symptoms=tuple(map(folding.as_it_was, incident.symptoms)),
        earlier=tuple(map(folding.as_it_was, incident.earlier)),
    )


def topics_of(cause: Alert, groups: pl.DataFrame) -> list[str]:
    """Return the topics that a cause is about: its own, or those that its group reads.

    Groups are rows of ``group_status``.
    """
    if "topic" in cause.labels:
        return [cause.labels["topic"]]
    of_group = groups.filter(pl.col("group") == cause.labels.get("group", ""))
    return of_group["topics"].explode().drop_nulls().to_list()


def bars(incident: Incident, now: datetime) -> pl.DataFrame:
    """Return the cause and its symptoms as bars of a timeline, those that are alike as one.

    What another rule says of the cause itself has no bar.
    """
    others = replace(incident, symptoms=tuple(symptoms_of(incident)))
    return timeline_rows(
        [
            replace(incident, symptoms=()),
            *(Incident(cause=_as_one(alike)) for alike in symptoms_together(others)),
        ],
        now,
    )


def _as_one(alike: Sequence[Alert]) -> Alert:
    turn, told = turned_at(alike), alike[0].before_mending or alike[-1].before_mending
    mended = None if turn is None or told is None else replace(told, until=turn)
    over = last_end(alike)
    return replace(
        alike[0],
        what=named(alike),
        resolved_at=over,
        untrue_since=None if over is None else max(map(over_at, alike)),
        before_mending=mended,
    )


def around(incident: Incident, now: datetime) -> tuple[datetime, datetime]:
    """Return from when to when an incident is drawn: it takes most of the width.

    What was changed longer before it is told in its course.
    """
    began, last = moment_of(incident.began_at), moment(incident.ended_at) or now
    edge = max((last - began) * EDGE, LEAST_EDGE)
    return began - edge, min(last + edge, now)


def range_of(start: datetime, end: datetime, now: datetime, minute_days: int | None) -> TimeRange:
    """Return what is read for a chart from one moment to another, at a grain that suits it.

    What goes on is read up to now, and from whole minutes on: answers are kept as long.
    """
    found = between(start.replace(second=0, microsecond=0), end, now, minute_days)
    if end < now:
        return found
    return replace(found, length=ceil(found.length / _MINUTE) * _MINUTE, end=None)


def ends(incident: Incident, marked: Sequence[ChartEvent]) -> tuple[ChartEvent, ...]:
    """Return when an incident began and ended, as marks of a chart.

    Args:
        incident: The incident.
        marked: What the chart marks beside: it may have the begin.
    """
    found = []
    for cause in (*incident.earlier, incident.cause):
        over = moment(cause.resolved_at)
        if not any(is_begin(cause, one.text, one.at) for one in marked):
            found.append(ChartEvent(at=moment_of(cause.began_at), text=cause.what, kind="act"))
        if over is not None:
            found.append(ChartEvent(at=over, text="over"))
    return tuple(found)


def unheeded(
    incident: Incident, stored: Mapping[str, Alert], acknowledged: Mapping[str, Acknowledgement]
) -> list[Alert]:
    """Return what is notified until somebody acknowledges it: also what lists alone fold."""
    return [
        one
        for one in (incident.cause, *incident.symptoms)
        if one.state is not State.RESOLVED
        and one.id not in acknowledged
        and (one is incident.cause or not stored.get(one.fingerprint, one).is_inhibited)
    ]


def heeded(
    incident: Incident, acknowledged: Mapping[str, Acknowledgement]
) -> list[tuple[Alert, Acknowledgement]]:
    """Return which alerts of an incident that are not over somebody looks after, and who."""
    return [
        (one, acknowledged[one.id])
        for one in (incident.cause, *incident.symptoms)
        if one.state is not State.RESOLVED and one.id in acknowledged
    ]


def told(incident: Incident) -> tuple[str, str]:
    """Return how bad it is and what to do; of what is over: how bad it was, what was advised.

    What is mended is told by what is so now, and a cause that is over also by what goes on of it.

    Args:
        incident: As it is at present.
    """
    lead = incident.lead
    cause, was = incident.cause, folding.as_it_was(incident.cause)
    if lead is not cause:
        return f"{how_bad(was, is_over=True)} {lead.what}: {lead.detail}".strip(), lead.step
    if cause.resolved_at is None:
        is_named = cause.what == was.what or not cause.detail
        return cause.detail if is_named else f"{cause.what}: {cause.detail}", cause.step
    cause = was
    detail = how_bad(cause, is_over=True)
    if incident.ended_at is None or not cause.step:
        return detail, cause.step
    return detail, f"It was advised: {cause.step}"


def title(incident: Incident) -> str:
    """Return what it is about; once that is over, as what was, and for how long.

    Args:
        incident: As it was, see `as_it_was`.
    """
    cause = incident.cause
    mended = mended_at(cause)
    if mended is None:
        return cause.what
    least = "at least " if cause.began_before else ""
    last = " the last time" if incident.earlier else ""
    lasted = f"{least}{duration(mended - cause.began_at)}{last}"
    if cause.check == BROKER_MISSING:
        return f"Broker {cause.labels['broker']} was missing for {lasted}"
    return cause.what if cause.resolved_at is None else f"{cause.what} (over, lasted {lasted})"


def title_now(incident: Incident) -> str:
    """Return the title of an incident: of a group that mends what it does now, as lists say it.

    Args:
        incident: As it is at present.
    """
    cause = incident.cause
    return (
        cause.what
        if is_mending(cause) and cause.resolved_at is None
        else title(as_it_was(incident))
    )


def sentence(
    incident: Incident,
    now: datetime,
    zone: tzinfo,
    escaped: Callable[[str], str] = escape,
) -> str:
    """Return when the incident began, how long it lasted and how many symptoms it has."""
    cause = incident.cause
    began_at = moment(cause.began_at)
    written = partial(clock_after, before=began_at, zone=zone, now=now, to_seconds=True)
    at = clock(began_at, zone, now=now, to_seconds=True)
    began = or_before(at, at_least=True) if cause.began_before else f"at {at}"
    said = symptoms_in_all(incident) or "no symptom"
    said = f"{said[0].upper()}{said[1:]}."
    if incident.earlier:
        first = written(moment(incident.began_at))
        times = count(len(incident.earlier), "time")
        said = f"It was first there at {first} and came back {times}. {said}"
    mended = mended_at(cause)
    if incident.ended_at is not None and mended is not None:
        lasted = duration(mended - cause.began_at)
        over = written(moment(cause.resolved_at))
        if incident.outlived_at is not None:
            last = written(moment(incident.outlived_at))
            said = f"{said} Its last symptom ended at {last}."
        return f"It began {began}, lasted {lasted}; its alert was over at {over}. {said}"
    if incident.is_recovering and mended is not None:
        lasted = duration(mended - cause.began_at)
        return f"It began {began} and lasted {lasted}; its alert recovers. {said}"
    goes = duration(now.timestamp() - cause.began_at)
    if cause.resolved_at is not None:
        return f"It began {began}; the cause is {what_goes_on(incident)}. {said}"
    loses = escaped(ahead(incident, now))
    return f"It began {began} and has lasted {goes}. {said} {loses}".rstrip()


def markdown(
    incident: Incident,
    found: list[Step],
    now: datetime,
    link: str,
    *,
    lost: str = "",
    at_risk: History | None = None,
    late: lag.Courses | None = None,
) -> str:
    """Return the incident, as it is at present, as Markdown with times in UTC.

    Args:
        incident: The incident.
        found: What happened.
        now: The present.
        link: The address of its page.
        lost: What was deleted unread in all.
        at_risk: History of the cluster's partitions at risk, where the page draws it.
        late: How late its groups were.
    """
    was = as_it_was(incident)
    cause = was.cause
    began = moment_of(incident.began_at)
    facts: dict[str, Any] = {
        "Cluster": cause.labels.get("cluster", "unknown"),
        "Severity": severity_style(cause.severity, is_over=incident.ended_at is not None).word,
        "Rule": cause.rule,
    }
    lines = [
        f"# {portable(thin(title_now(incident)))}",
        "",
        portable(f"{thin(told(incident)[0])} {lost}".rstrip()),
        "",
    ]
    lines += [f"{sentence(incident, now, UTC, portable)} Times are UTC.", ""]
    lines += [f"- {name}: {portable(str(value))}" for name, value in facts.items()]
    lines += [f"- Page: <{link}>"]
    lines += ["", "| UTC | after | | what | detail |", "|---|---|---|---|---|"]
    for step in found:
        cells = (f"{step.at:%Y-%m-%d %H:%M:%S}", after(step.at, began), step.kind)
        lines.append(f"| {' | '.join((*cells, portable(step.what), portable(step.detail)))} |")
    if at_risk is not None and replication.is_known(at_risk.frame):
        lines += _table(("partitions", "number"), replication.figures(at_risk, began))
    if late is not None and late.names:
        name = "time lag" if late.is_time else "lag"
        lines += _table(("group", name), lag.figures(late, began))
        lines += ["", portable(late.rest)] if late.rest else []
    return "\n".join(lines) + "\n"


def _table(heads: tuple[str, str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table of what a value was when it began, at most, and at the end."""
    what, value = heads
    head = ["", f"| {what} | {value} when it began | most | at | at the end |", f"|{'---|' * 5}"]
    return [*head, *(f"| {' | '.join(map(portable, row))} |" for row in rows)]
