"""One incident told in order of time, as a table and as Markdown: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

import polars as pl

from alerting.rules.lifecycle import Alert
from alerting.rules.matchers import Acknowledgement
from app.style.format import clock, count, duration, escape, thin, utc
from app.ui.alert_list import SEVERITY_BADGE_STYLES, moment
from app.ui.changes.events import Event, Sort
from app.ui.incidents import Incident, deadline

BEFORE = timedelta(minutes=30)
"""How far before its begin changes are looked for."""
AFTER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that happened."""

    at: datetime
    kind: str
    what: str
    detail: str = ""


def steps(
    incident: Incident, changes: Iterable[Event], acknowledged: Mapping[str, Acknowledgement]
) -> list[Step]:
    """Return what happened, in order of time.

    Args:
        incident: The incident.
        changes: What changed around it.
        acknowledged: Acknowledgements by alert.
    """
    found = [
        step
        for alert in (incident.cause, *incident.symptoms)
        for step in _of_alert(alert, is_cause=alert is incident.cause, by=acknowledged)
    ]
    found += [
        Step(
            at=one.at,
            kind="deploy" if one.sort is Sort.DEPLOYS else "change",
            what=one.what,
            detail=one.detail,
        )
        for one in changes
    ]
    return sorted(found, key=lambda step: (step.at, step.kind))


def _of_alert(alert: Alert, *, is_cause: bool, by: Mapping[str, Acknowledgement]) -> list[Step]:
    began = moment(alert.began_at)
    assert began is not None  # noqa: S101 (an alert has always begun)
    kind = "cause" if is_cause else "symptom"
    found = [Step(at=began, kind=kind, what=alert.what, detail=thin(alert.detail))]
    fired, ended = moment(alert.fired_at), moment(alert.resolved_at)
    if is_cause and fired is not None:
        found.append(Step(at=fired, kind="alert", what="the alert fired", detail=alert.rule))
    said = by.get(alert.id)
    said_at = moment(said.at) if said else None
    if said is not None and said_at is not None:
        what = f"{said.author} looks after it"
        found.append(Step(at=said_at, kind="person", what=what, detail=said.comment))
    if ended is not None:
        found.append(Step(at=ended, kind="end", what=f"over: {alert.what}"))
    return found


def step_rows(found: list[Step], began: datetime) -> pl.DataFrame:
    """Return steps as rows of a table, with their distance from the begin."""
    return pl.DataFrame(
        [
            {
                "at": step.at,
                "after": after(step.at, began),
                "kind": step.kind,
                "what": step.what,
                "detail": step.detail,
            }
            for step in found
        ],
        schema={
            "at": pl.Datetime("us", "UTC"),
            "after": pl.String(),
            "kind": pl.String(),
            "what": pl.String(),
            "detail": pl.String(),
        },
    )


def after(at: datetime, began: datetime) -> str:
    """Write how long before or after the begin something happened: ``+2 min``."""
    seconds = (at - began).total_seconds()
    if abs(seconds) < 1:
        return "0 s"
    return f"{'+' if seconds > 0 else ''}{duration(round(seconds))}"


def sentence(incident: Incident, now: datetime, zone: tzinfo) -> str:
    """Return when the incident began, how long it lasted and what followed from it."""
    cause = incident.cause
    began = clock(moment(cause.began_at), zone, now=now)
    followed = (
        f"{count(len(incident.symptoms), 'symptom')} followed from it."
        if incident.symptoms
        else "Nothing followed from it."
    )
    if incident.ended_at is not None:
        lasted = duration(incident.ended_at - cause.began_at)
        ended = clock(moment(incident.ended_at), zone, now=now)
        return f"It began at {began}, ended at {ended} and lasted {lasted}. {followed}"
    goes = duration(now.timestamp() - cause.began_at)
    if cause.resolved_at is not None:
        return f"It began at {began}; the cause is over, and symptoms go on. {followed}"
    left = deadline(moment(cause.deadline), now)
    ahead = f" {left[0].upper()}{left[1:]}, at the present rates." if left else ""
    return f"It began at {began} and has lasted {goes}. {followed}{ahead}"


def markdown(incident: Incident, found: list[Step], now: datetime, link: str) -> str:
    """Return the incident as Markdown, with times in UTC, for a report or a ticket."""
    cause = incident.cause
    began = moment(cause.began_at)
    ended = moment(incident.ended_at)
    facts: dict[str, Any] = {
        "Cluster": cause.labels.get("cluster", "unknown"),
        "Severity": SEVERITY_BADGE_STYLES[cause.severity].word,
        "Began": utc(began),
        "Ended": utc(ended) if ended else "it goes on",
        "Lasted": duration((incident.ended_at or now.timestamp()) - cause.began_at),
        "Rule": cause.rule,
    }
    lines = [f"# {_portable(cause.what)}", "", _portable(thin(cause.detail)), ""]
    lines += [f"- {name}: {_portable(str(value))}" for name, value in facts.items()]
    lines += [f"- Page: <{link}>"]
    lines += ["", "| UTC | after | | what | detail |", "|---|---|---|---|---|"]
    for step in found:
        cells = (f"{step.at:%H:%M:%S}", after(step.at, began or step.at), step.kind)
        lines.append(f"| {' | '.join((*cells, _portable(step.what), _portable(step.detail)))} |")
    return "\n".join(lines) + "\n"


def _portable(text: str) -> str:
    """Escape a text of others for Markdown of any make: it knows comments, and no directives."""
    return escape(text, apart="<!-- -->")
