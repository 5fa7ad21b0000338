"""What happened in an incident, in order of time: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import polars as pl

from alerting.checks.registry import CHECKS
from alerting.rules.lifecycle import Alert
from alerting.rules.matchers import Acknowledgement, TakenBack
from alerting.rules.model import SEVERITIES
from alerting.tools.rule_trial import thing
from app.style.format import count, duration, thin
from app.ui.alert_list import as_said, moment
from app.ui.changes.events import Event, Sort
from app.ui.incidents import (
    DEAD_LETTERS_ARRIVE,
    Incident,
    is_before,
    last_end,
    mended_at,
    never_fired,
)
from app.ui.symptoms import identity, limited

SAME = timedelta(minutes=2)
"""An alert and an event of a change are seen by polls of their own."""
_FIRST = ("cause", "alert")
"""Kinds of steps that come first of those of one moment."""
_CHANGES = ("change", "deploy")
_REPORTS = frozenset(
    {"connector_failed", "tasks_failed", "collection_failed", "data_stale", DEAD_LETTERS_ARRIVE}
)
"""Checks whose cause is an error that was reported; that of others is what is usual."""
_NAMED_BEFORE = 2
_NAMED_PARTITIONS = 3
"""A change of more partitions says how many they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that happened."""

    at: datetime
    kind: str
    what: str
    detail: str = ""


def of_incident(
    incident: Incident,
    changes: Iterable[Event],
    acknowledged: Mapping[str, Acknowledgement],
    taken_back: Iterable[TakenBack] = (),
) -> list[Step]:
    """Return what happened, in order of time.

    Args:
        incident: The incident.
        changes: What changed around it.
        acknowledged: Acknowledgements by alert.
        taken_back: Acknowledgements that hold no more.
    """
    cause = incident.cause
    changes = list(changes)
    told = [
        one
        for one in changes
        if any(is_begin(each, one.what, one.at) for each in (*incident.earlier, cause))
    ]
    with_it = [
        f"{one.detail[0].upper()}{one.detail[1:]}."
        for one in told
        if one.detail and is_begin(cause, one.what, one.at)
    ]
    # How bad it was is of its end, or of now: nobody knew it when it began.
    detail = " ".join(filter(None, (cause.cause, *with_it)))
    found = [step for one in incident.earlier for step in _of_cause(one, one.cause)]
    found += _of_cause(cause, detail)
    found += _of_people(incident, acknowledged, taken_back)
    for alike in symptoms_together(incident):
        found += _of_symptoms(alike, _cause_of(alike[0], incident))
    found += [_of_change(one) for one in changes if one not in told]
    return in_order(found)


def in_order(found: Iterable[Step]) -> list[Step]:
    """Return steps in order of time; of one moment, a cause comes first."""
    return sorted(found, key=_in_order)


def _of_people(
    incident: Incident,
    acknowledged: Mapping[str, Acknowledgement],
    taken_back: Iterable[TakenBack],
) -> list[Step]:
    """Return who looked after an incident, and who took that back."""
    ids = {alert.id for alert in incident.alerts}
    gone = [one for one in taken_back if one.acknowledgement.alert in ids]
    said = [acknowledged[id_] for id_ in ids if id_ in acknowledged]
    return [
        *(
            Step(
                at=moment_of(one.at),
                kind="person",
                what=f"{one.author} looks after it",
                detail=one.comment,
            )
            for one in (*said, *(each.acknowledgement for each in gone))
        ),
        *(
            Step(
                at=moment_of(one.at),
                kind="person",
                what=f"{one.by} took it back",
                detail=f"{one.acknowledgement.author} looks after it no more",
            )
            for one in gone
        ),
    ]


def _in_order(step: Step) -> tuple[datetime, int, str]:
    first = _FIRST.index(step.kind) if step.kind in _FIRST else len(_FIRST)
    return step.at, first, step.kind


def parted(found: Sequence[Step], began: datetime) -> tuple[list[Step], list[Step]]:
    """Return what was changed before an incident began, and all else: its course.

    A symptom is of the course also where it began before its cause.
    """

    def is_change_before(step: Step) -> bool:
        return step.at < began and step.kind in _CHANGES

    before = [step for step in found if is_change_before(step)]
    return before, [step for step in found if not is_change_before(step)]


def just_before(before: Sequence[Step], began: datetime) -> str:
    """Say what was changed last before an incident began; nothing where nothing was."""
    said = [
        f"{duration(round((began - step.at).total_seconds()))} before, {step.what}"
        + (f" ({step.detail})" if step.detail else "")
        for step in before[: -_NAMED_BEFORE - 1 : -1]
    ]
    return f"Changed last before it: {'; '.join(said)}." if said else ""


def number_before(before: Sequence[Step], began: datetime) -> str:
    """Say how much was changed before an incident began: ``9 changes in the 13 min before``."""
    said = count(len(before), "change")
    return f"{said} in the {duration(round((began - before[0].at).total_seconds()))} before"


def _of_change(one: Event) -> Step:
    """Return a change as a step; of many partitions it says how many there are."""
    number, _, names = one.detail.partition(": ")
    is_long = one.sort is Sort.LEADERS and names.count(",") >= _NAMED_PARTITIONS
    return Step(
        at=one.at,
        kind="deploy" if one.sort is Sort.DEPLOYS else "change",
        what=one.what,
        detail=number if is_long else one.detail,
    )


def _of_cause(cause: Alert, detail: str) -> list[Step]:
    """Return what happened to a cause, one time that it was there."""
    found = [Step(at=moment_of(cause.began_at), kind="cause", what=cause.what, detail=detail)]
    fired, ended = moment(cause.fired_at), moment(cause.resolved_at)
    if fired is not None:
        found.append(Step(at=fired, kind="alert", what="the alert fired", detail=cause.rule))
    if (worst := cause.worst) is not None and worst.detail != cause.detail:
        found.append(
            Step(
                at=moment_of(worst.at),
                kind="worst",
                what=f"at its worst: {cause.what}",
                detail=as_said(thin(worst.detail), is_over=True),
            )
        )
    was = cause.before_mending
    mended = moment(mended_at(cause) if was is None else was.until)
    # What recovers is told as that already.
    said = as_said(thin((was or cause).detail), is_over=was is not None or ended is not None)
    if mended is not None and mended != ended:
        found.append(Step(at=mended, kind="mended", what=f"mended: {cause.what}", detail=said))
        said = ""
    if ended is not None:
        found.append(Step(at=ended, kind="end", what=f"over: {cause.what}", detail=said))
    return found


def is_begin(cause: Alert, what: str, at: datetime) -> bool:
    """Return whether an event is the begin of a cause: it says the same of the same moment."""
    is_same = what.casefold() == cause.what.casefold()
    return is_same and abs(at - moment_of(cause.began_at)) <= SAME


def symptoms_together(incident: Incident) -> list[list[Alert]]:
    """Return the symptoms of an incident, those that are alike together, in order of time.

    What was pending by one rule and fired by another is told once, and what two rules say at one
    time as the worse of them.
    """
    fired = {identity(one) for one in incident.symptoms if not never_fired(one)}
    found: dict[tuple[str, str, bool, bool], list[Alert]] = {}
    for one in _at_one_time(incident.symptoms):
        if never_fired(one) and identity(one) in fired:
            continue
        is_early = is_before(incident, one)
        alike = (one.check, one.severity.value, is_early, never_fired(one))
        found.setdefault(alike, []).append(one)
    return list(found.values())


def _at_one_time(symptoms: Iterable[Alert]) -> list[Alert]:
    """Return symptoms, those of one thing at one time as one that is as bad as the worst."""
    found: list[Alert] = []
    for one in sorted(symptoms, key=lambda one: one.began_at):
        place = next((at for at, each in enumerate(found) if _is_same(each, one)), None)
        if place is None:
            found.append(one)
        else:
            found[place] = _worse(found[place], one)
    return found


def _is_same(before: Alert, after: Alert) -> bool:
    return (
        identity(before) == identity(after)
        and never_fired(before) == never_fired(after)
        and (before.resolved_at is None or before.resolved_at > after.began_at)
    )


def _worse(before: Alert, after: Alert) -> Alert:
    """Return the worse of two alerts, over the time of both."""
    worse = min(before, after, key=lambda one: SEVERITIES.index(one.severity))
    fired = [one.fired_at for one in (before, after) if one.fired_at is not None]
    return replace(
        worse,
        since=before.began_at,
        fired_at=min(fired, default=None),
        resolved_at=(over := last_end((before, after))),
        untrue_since=None if over is None else max(map(over_at, (before, after))),
    )


def over_at(one: Alert) -> float:
    """Return when what an alert said was over, of one that is: the course and its bars say so.

    Its rule may keep the alert for a while after that.
    """
    ended = one.resolved_at if one.before_mending is not None else mended_at(one)
    return one.last_true_at if ended is None else ended


def _cause_of(symptom: Alert, incident: Incident) -> str:
    """Return what is said of a symptom's cause: no guess where the incident's cause is it."""
    is_guess = symptom.check not in _REPORTS and not is_before(incident, symptom)
    return "" if is_guess else symptom.cause


def _of_symptoms(alike: Sequence[Alert], known_cause: str) -> list[Step]:
    # As with the cause: how bad it was is of its end.
    detail, at_end = known_cause, ""
    if len(alike) == 1:
        at_end = as_said(thin(alike[0].detail), is_over=True)
    elif not _is_one(alike):
        detail = ", ".join(limited([thing(dict(one.labels)) for one in alike]))
    began = moment_of(alike[0].began_at)
    kind = "pending" if never_fired(alike[0]) else "symptom"
    found = [Step(at=began, kind=kind, what=named(alike), detail=detail)]
    ends = [over_at(one) for one in alike if one.resolved_at is not None]
    things = {identity(one) for one in alike}
    is_over = things - {identity(one) for one in alike if one.resolved_at is None}
    if is_over:
        of = f"{len(is_over)} of " if len(is_over) < len(things) else ""
        over = f"over: {of}{named(alike)}"
        found.append(Step(at=moment_of(max(ends)), kind="end", what=over, detail=at_end))
    return found


def named(alike: Sequence[Alert]) -> str:
    """Name symptoms that are alike: ``18 topics: under replicated``, ``x is late, 3 times``.

    They are some of an incident's symptoms: their number is of what they are about.
    """
    if len(alike) == 1:
        return alike[0].what
    if _is_one(alike):
        return f"{alike[0].what}, {count(len(alike), 'time')}"
    check, things = alike[0].check, {identity(one) for one in alike}
    label = CHECKS[check].labels[-1]
    return f"{count(len(things), _NOUNS.get(label, label))}: {check.replace('_', ' ')}"


_NOUNS = {"name": "source", "path": "log directory"}
"""What a check looks at, where its label is no word for it."""


def _is_one(alike: Sequence[Alert]) -> bool:
    """Return whether alerts are all about one thing, which came and went."""
    return len({identity(one) for one in alike}) == 1


def as_rows(found: list[Step], began: datetime) -> pl.DataFrame:
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


def moment_of(at: float) -> datetime:
    """Return the moment of Unix seconds."""
    return datetime.fromtimestamp(at, UTC)
