"""Alerts grouped by cause: an incident is a cause with the symptoms that followed from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

import polars as pl

from alerting.inputs.frames import STALE_INTERVALS
from alerting.rules.folding import as_listed
from alerting.rules.lifecycle import SETTLE_SECONDS, Alert, State, alert_id
from alerting.rules.matchers import Acknowledgement
from alerting.rules.model import SEVERITIES, AlertSeverity
from alerting.status.phrases import time_left
from app.data.context import View
from app.style.format import clock, count, duration, thin
from app.style.theme import BadgeStyle
from app.ui import routes
from app.ui.alert_list import (
    SEVERITY_BADGE_STYLES,
    as_said,
    badge_style,
    moment,
    severity_style,
)
from app.ui.browser.items import Item, Target

MOST_SYMPTOMS = 40
DEADLINE_SHOWN = timedelta(days=7)
"""Later than that nobody acts on, and rates will have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A cause, and what followed from it, in order of time; the cause may have begun before."""

    cause: Alert
    symptoms: tuple[Alert, ...] = ()
    began_before: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether it may never fire: then it needs nobody yet."""
        return self.cause.state is State.PENDING

    @property
    def is_recovering(self) -> bool:
        """Whether all of it that fires is no longer true, and only waits to be resolved."""
        fires = [one for one in (self.cause, *self.symptoms) if one.state is State.FIRING]
        return bool(fires) and all(one.is_recovering for one in fires)

    def needs(self, severity: AlertSeverity) -> bool:
        """Whether somebody is needed for it, as much as a severity says: every count is of these.

        What may never fire, what recovers and what is over needs nobody.
        """
        is_open = self.ended_at is None and not self.is_pending and not self.is_recovering
        return is_open and self.cause.severity is severity

    @property
    def ended_at(self) -> float | None:
        """When the cause and all its symptoms had ended; None: one of them goes on."""
        ends = [one.resolved_at for one in (self.cause, *self.symptoms)]
        return None if None in ends else max(end for end in ends if end is not None)

    @property
    def mended_at(self) -> float:
        """When what the cause fired for was mended, of what is over; else when that ended."""
        was = self.cause.before_mending
        return (self.ended_at or 0.0) if was is None else was.until


def incidents(alerts: Iterable[Alert]) -> list[Incident]:
    """Group alerts by cause: what is open first, then the worst, then the newest.

    A broker that is missing comes first among its like, then what loses data, then what does so
    soon. What recovers comes after all that fires, and what is pending last. A symptom whose cause
    is not among the alerts stands for itself.
    """
    return _grouped(as_listed(alerts))


def _grouped(alerts: Sequence[Alert]) -> list[Incident]:
    """Group alerts that are as lists show them."""
    known: dict[str, list[Alert]] = {}
    for alert in alerts:
        known.setdefault(alert.fingerprint, []).append(alert)
    symptoms: dict[str, list[Alert]] = {}
    for alert in alerts:
        root = _root(alert, known)
        if root is not alert:
            symptoms.setdefault(root.id, []).append(alert)
    followed = {one.id for found in symptoms.values() for one in found}
    return sorted(
        (
            Incident(
                cause=alert,
                symptoms=tuple(sorted(symptoms.get(alert.id, ()), key=lambda one: one.began_at)),
            )
            for alert in alerts
            if alert.id not in followed
        ),
        key=lambda one: (
            *((1,) if one.ended_at is not None else _urgency(one)),
            -one.cause.began_at,
            one.cause.fingerprint,
        ),
    )


def _urgency(one: Incident) -> tuple[int, int, int, int]:
    # A broker that is gone explains more than any list can fold under it.
    rank = 0 if one.cause.check == "broker_missing" else _loss_rank(one)
    stage = 2 if one.is_pending else 1 if one.is_recovering else 0
    return 0, stage, SEVERITIES.index(one.cause.severity), rank


def _loss_rank(one: Incident) -> int:
    """Rank what loses data now before what does so soon, and that before all others.

    That a deadline is near is a fact of its alert: deadlines move, and rows should not.
    """
    fires = [each for each in (one.cause, *one.symptoms) if each.state is State.FIRING]
    if any(each.check == "losing_data" for each in fires):
        return 1
    # One in some days, under what is to be acted on now, makes nothing of it more urgent.
    near = ("data_loss_deadline", one.cause.severity)
    return 2 if any((each.check, each.severity) == near for each in fires) else 3


def of_rows(rows: pl.DataFrame) -> list[Incident]:
    """Return the incidents of rows of ``open_alerts``, which are folded already."""
    return with_rows(_grouped([alert_of(row) for row in rows.iter_rows(named=True)]), rows)


def with_rows(found: Iterable[Incident], rows: pl.DataFrame) -> list[Incident]:
    """Return incidents with what rows of ``open_alerts`` know beside alerts.

    That is the deadline of the group or topic that a cause is about, and whether the cause may have
    begun before it was first seen.
    """
    known = {_id_of(row): row for row in rows.iter_rows(named=True)}
    with_known = []
    for one in found:
        row = known.get(one.cause.id)
        if row is not None:
            at = row["deadline_at"]
            cause = replace(one.cause, deadline=None if at is None else at.timestamp())
            one = replace(one, cause=cause, began_before=bool(row["since_at_least"]))
        with_known.append(one)
    return with_known


def _id_of(row: Mapping[str, Any]) -> str:
    return alert_id(row["fingerprint"], row["started_at"].timestamp())


def alert_of(row: Mapping[str, Any]) -> Alert:
    """Return the alert of a row of ``open_alerts``."""
    known: dict[str, Any] = {
        name: value.timestamp() if isinstance(value, datetime) else value
        for name, value in row.items()
    }
    same = (
        *("fingerprint", "rule", "check", "value", "status", "what", "detail", "cause", "step"),
        *("page", "since", "started_at", "fired_at", "last_true_at", "recovering_since"),
        "inhibited_by",
    )
    return Alert(
        **{name: known[name] for name in same},
        severity=AlertSeverity(row["severity"]),
        state=State(row["state"]),
        labels={one["key"]: one["value"] for one in row["labels"]} | {"cluster": row["cluster"]},
        deadline=known["deadline_at"],
        runbook=row["runbook"] or "",
    )


def _root(alert: Alert, known: Mapping[str, Sequence[Alert]]) -> Alert:
    """Follow an alert to the cause of its cause; in a circle the first by name is the cause."""
    seen = {alert.fingerprint: alert}
    while alert.inhibited_by is not None:
        if alert.inhibited_by in seen:
            return seen[min(seen)]
        ends = alert.resolved_at
        causes = [
            one
            for one in known.get(alert.inhibited_by, ())
            # One thing can fail twice: the cause is the time that it overlaps with.
            if (one.resolved_at is None or one.resolved_at + SETTLE_SECONDS >= alert.began_at)
            and (ends is None or one.began_at <= ends)
        ]
        if not causes:
            break
        alert = max(causes, key=lambda one: one.began_at)
        seen[alert.fingerprint] = alert
    return alert


def numbers(found: Sequence[Incident]) -> str:
    """Say how many need somebody: ``2 things need you now, 3 to watch, 1 pending``."""
    now, watch = (
        sum(1 for one in found if one.needs(severity))
        for severity in (AlertSeverity.CRITICAL, AlertSeverity.WARNING)
    )
    pending = sum(1 for one in found if one.is_pending)
    needs = (
        f"{count(now, 'thing needs', 'things need')} you now"
        if now
        else "Nothing needs you now"
        if watch or pending or any(one.is_recovering for one in found)
        else "Nothing needs you"
    )
    more = ((watch, "to watch"), (pending, "pending"))
    return ", ".join([needs, *(f"{number} {word}" for number, word in more if number)])


def needs(found: Sequence[Incident]) -> str:
    """Return the headline: what to act on first, as it comes, and how many need somebody."""
    first = next((one.cause.what for one in found if one.needs(AlertSeverity.CRITICAL)), "")
    return f"{first}. {numbers(found)}" if first else numbers(found)


def subject(labels: Mapping[str, str], page: str | None, what: str) -> Target:
    """Return where the thing of an alert is shown."""
    named = {key: labels[key] for key in ("group", "topic", "name") if key in labels}
    if page == routes.QUEUES and "cluster" in labels:
        named["rabbitmq"] = labels["cluster"]
    return Target(label=what, page=page or routes.ALERTS, parameters=named)


def story(alert_id: str, label: str = "incident") -> Target:
    """Return where the incident of an alert is told."""
    return Target(label=label, page=routes.INCIDENT, parameters={"alert": alert_id})


def span(incident: Incident, view: View) -> str:
    """Write when an incident was: ``since 18:43``, or ``18:43, for 6 min``.

    What was mended before it was over lasted so long: ``18:43, for 3 min, over after 6 min``.

    One without a date of its own was so when it was first looked at; see ``beginning``.
    """
    began = clock(moment(incident.cause.began_at), view.zone, now=view.now)
    if incident.ended_at is None:
        return beginning(began, at_least=incident.began_before or incident.cause.since is None)
    lasted = f"for {duration(incident.mended_at - incident.cause.began_at)}".replace(" ", "\u00a0")
    if incident.mended_at == incident.ended_at:
        return f"{began}, {lasted}"
    over = duration(incident.ended_at - incident.cause.began_at).replace(" ", "\u00a0")
    return f"{began}, {lasted}, over after {over}"


def beginning(began: str, *, at_least: bool) -> str:
    """Write since when something is so, which may be since earlier: never like a deadline."""
    return f"{began} or before" if at_least else f"since {began}"


def last_seen(at: datetime | None, now: datetime, zone: tzinfo, interval_seconds: float) -> str:
    """Say when an open alert was last found to be so; nothing where that is now.

    An alert stays open for a while after that, or while nothing is known of its subject: what it
    says is then no longer so, or not known.
    """
    if at is None or now - at <= timedelta(seconds=STALE_INTERVALS * interval_seconds):
        return ""
    return f"last seen {clock(at, zone, now=now)}"


def deadline(at: datetime | None, now: datetime) -> str:
    """Say how soon unread messages are deleted; nothing where that is not known, or far away.

    A deadline at the edge comes and goes with each evaluation: soon and now are one.
    """
    if at is None or at - now > DEADLINE_SHOWN:
        return ""
    return f"loses data {time_left((at - now).total_seconds())}"


def loss(one: Incident, now: datetime, *, it: str = "") -> str:
    """Say who loses data how soon: the cause itself, as ``it``, or the first that follows from it.

    Nothing where that is not known, or far away.
    """
    said = deadline(moment(one.cause.deadline), now)
    who = it
    if said and not {"group", "name"} & one.cause.labels.keys():
        dated = [
            each for each in one.symptoms if each.deadline is not None and "group" in each.labels
        ]
        first = min(dated, key=lambda each: each.deadline or 0.0, default=None)
        who = it if first is None else first.labels["group"]
    return " ".join(filter(None, (who, said))) if said else ""


def items(
    found: Iterable[Incident],
    view: View,
    *,
    acknowledged: Mapping[str, Acknowledgement] | None = None,
    silenced: frozenset[str] = frozenset(),
    stored: bool = True,
) -> list[Item]:
    """Return incidents as rows of a list, their symptoms folded.

    Args:
        found: The incidents.
        view: The frame of the page.
        acknowledged: Acknowledgements by alert.
        silenced: The ids of alerts that are silenced.
        stored: Whether the alert store knows them: then each leads to its incident.
    """
    rows = []
    for one in found:
        cause, what = one.cause, thin(one.cause.what)
        lines = symptoms_of(one)
        by = (acknowledged or {}).get(cause.id)
        target = subject(cause.labels, cause.page, what)
        cluster = cause.labels.get("cluster", view.cluster)
        if cluster != view.cluster and cluster not in view.sources_beside:
            named = {**target.parameters, "cluster": cluster}
            target = Target(label=target.label, page=target.page, parameters=named)
        at = moment(cause.last_true_at)
        # What recovers is not so any more, however short a while ago it was.
        interval = 0.0 if one.is_recovering else view.evaluated_every_seconds
        seen = "" if cause.state is State.RESOLVED else last_seen(at, view.now, view.zone, interval)
        notes = [
            text
            for text, is_so in (
                (seen or loss(one, view.now), one.ended_at is None),
                (f"{SEVERITY_BADGE_STYLES[cause.severity].word} if it lasts", one.is_pending),
                (f"in {view.place(cluster)}", cluster != view.cluster),
                (f"{by.author} looks after it" if by else "", by is not None),
                ("silenced", cause.id in silenced),
                ("no data", cause.no_data_since is not None),
                ("came back " + count(cause.flaps, "time"), cause.flaps > 0),
                ("over", one.ended_at is not None),
            )
            if is_so and text
        ]
        if cause.state is State.RESOLVED and one.ended_at is None:
            notes.append(what_goes_on(one))
        rows.append(
            Item(
                id=cause.id,
                badge=badge_of(one),
                what=what,
                when=span(one, view),
                why=thin(as_said(cause.detail, is_over=one.ended_at is not None)),
                until=", ".join(notes),
                # What to do about it was to be done while it lasted.
                step=cause.step if one.ended_at is None else "",
                link=target,
                links=[story(cause.id)] if stored else [],
                more_label=folded(len(lines)),
                more=limited(lines),
            )
        )
    return rows


def badge_of(one: Incident) -> BadgeStyle:
    """Return how an incident is marked; what is over by how bad it was."""
    if one.ended_at is not None:
        return severity_style(one.cause.severity, is_over=True)
    return badge_style(one.cause.severity, one.cause.state, recovers=one.is_recovering)


def what_goes_on(one: Incident) -> str:
    """Say of a cause that is over what keeps its incident open."""
    fires = [each for each in one.symptoms if each.state is State.FIRING]
    recover = all(each.is_recovering for each in fires)
    return f"over, its symptoms {'recover' if recover else 'go on'}"


def symptoms_of(one: Incident) -> list[str]:
    """Return a line for each symptom; two rules may say the same of one thing."""
    return list(dict.fromkeys(thin(f"{each.what}: {each.detail}") for each in one.symptoms))


def folded(number: int) -> str:
    """Name the symptoms that are folded away; nothing where there are none."""
    return count(number, "symptom") if number else ""


def limited(lines: Sequence[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    if len(lines) <= MOST_SYMPTOMS:
        return list(lines)
    return [*lines[:MOST_SYMPTOMS], f"and {len(lines) - MOST_SYMPTOMS} more"]


def timeline_rows(found: Iterable[Incident], now: datetime) -> pl.DataFrame:
    """Return incidents as bars of a timeline: causes, each with a bar for all its symptoms."""
    rows = []
    for one in found:
        cause = one.cause
        rows.append(_bar(cause.what, cause.severity, cause.began_at, cause.resolved_at, now))
        if one.symptoms:
            ends = [each.resolved_at for each in one.symptoms]
            last = None if None in ends else max(end for end in ends if end is not None)
            first = min(each.began_at for each in one.symptoms)
            worst = min((each.severity for each in one.symptoms), key=SEVERITIES.index)
            label = f"  ↳ {count(len(symptoms_of(one)), 'symptom')} of {cause.what}"
            rows.append(_bar(label, worst, first, last, now))
    time = pl.Datetime("us", "UTC")
    return pl.DataFrame(
        rows, schema={"what": pl.String(), "severity": pl.String(), "from": time, "to": time}
    )


def _bar(
    what: str, severity: AlertSeverity, began: float, ended: float | None, now: datetime
) -> dict[str, object]:
    return {
        "what": what,
        "severity": severity.value,
        "from": moment(began),
        "to": moment(ended) or now,
    }
