"""The facts of an incident at a glance: when, how long, how bad, and who: pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial

from alerting.checks.model import Check
from alerting.checks.registry import CHECKS
from alerting.rules import folding
from alerting.rules.lifecycle import Alert
from alerting.rules.matchers import Acknowledgement
from alerting.status.phrases import or_before
from app.style.format import clock, clock_after, count, duration, share
from app.ui.alert_list import SEVERITY_BADGE_STYLES, moment
from app.ui.incident_list import what_goes_on
from app.ui.incidents import Incident, mended_at, worst_time
from app.ui.loss_words import ahead
from app.ui.symptoms import symptoms_in_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact for a tile: what it is, and a clause below it."""

    label: str
    value: str
    note: str = ""


def of_incident(
    incident: Incident, by: Acknowledgement | None, now: datetime, zone: tzinfo, *, is_quiet: bool
) -> list[Fact]:
    """Return when an incident began, how long it lasted, how bad it was, and who looks after it.

    Args:
        incident: As it is at present.
        by: Who looks after it, if anybody does.
        now: The present.
        zone: The viewer's.
        is_quiet: Whether it is silenced.
    """
    cause = folding.as_it_was(incident.cause)
    began_at = moment(cause.began_at)
    written = partial(clock_after, before=began_at, zone=zone, now=now, to_seconds=True)
    began = clock(began_at, zone, now=now, to_seconds=True)
    came_back = count(len(incident.earlier), "time")
    worst = worst_time(incident).worst
    most = amount(CHECKS[cause.check], worst.value) if worst else ""
    return [
        Fact(
            label="Began",
            value=or_before(began, at_least=cause.began_before),
            note=f"first at {written(moment(incident.began_at))}, came back {came_back}"
            if incident.earlier
            else _fired(cause, written),
        ),
        _lasted(incident, now, written),
        Fact(
            label="At its worst",
            value=most or SEVERITY_BADGE_STYLES[cause.severity].word,
            note=f"at {written(moment(worst.at))}" if worst and most else cause.rule,
        ),
        Fact(
            label="Looked after by",
            value="nobody" if by is None else by.author,
            note=", ".join([_why(by), *(["silenced"] if is_quiet else [])]),
        ),
    ]


def amount(check: Check, value: float) -> str:
    """Write how bad something was by what was measured of it; nothing where it is so or not."""
    match check.unit:
        case "1":
            return ""
        case "seconds":
            return f"{duration(value)}{' left' if check.bad == 'below' else ''}"
        case "ratio":
            return f"{share(value)}{' free' if check.bad == 'below' else ''}"
        case "intervals":
            return count(round(value), "interval")
        case "classes":
            return count(round(value), "class", "classes")
        case _:
            return count(round(value), check.unit.removesuffix("s"))


def _fired(cause: Alert, written: partial[str]) -> str:
    if cause.fired_at is None:
        return "its alert did not fire" if cause.resolved_at else "its alert has not fired yet"
    return f"alert fired at {written(moment(cause.fired_at))}"


def _why(by: Acknowledgement | None) -> str:
    return "not acknowledged" if by is None else by.comment or "acknowledged"


def _lasted(incident: Incident, now: datetime, written: partial[str]) -> Fact:
    """Return for how long an incident goes on, or lasted until its cause was mended."""
    cause = folding.as_it_was(incident.cause)
    mended = mended_at(cause)
    least = "at least " if cause.began_before else ""
    if mended is None:
        goes = duration(max(0.0, now.timestamp() - cause.began_at))
        note = "catches up" if incident.is_catching_up else "goes on"
        return Fact(label="Lasts for", value=f"{least}{goes}", note=note)
    if incident.ended_at is not None:
        outlived = incident.outlived_at
        note = f"alert over at {written(moment(cause.resolved_at))}"
        if outlived is not None:
            note = f"last symptom until {written(moment(outlived))}"
    else:
        note = "its alert recovers" if incident.is_recovering else what_goes_on(incident)
    return Fact(label="Lasted", value=f"{least}{duration(mended - cause.began_at)}", note=note)


def beside(incident: Incident, now: datetime) -> str:
    """Say how many symptoms an incident has, and what it is about to lose.

    Args:
        incident: As it was, see ``view_model.as_it_was``.
        now: The present.
    """
    said = symptoms_in_all(incident) or "no symptom"
    loses = ahead(incident, now) if mended_at(incident.cause) is None else ""
    return f"{said[0].upper()}{said[1:]}. {loses}".rstrip()
