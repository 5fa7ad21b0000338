"""Alerts grouped by cause: an incident is a cause with the symptoms that followed from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from alerting.rules.folding import as_listed
from alerting.rules.inhibition import EARLIER_SECONDS
from alerting.rules.lifecycle import LAST_MOMENT, SETTLE_SECONDS, Alert, State, alert_id
from alerting.rules.model import SEVERITIES, AlertSeverity
from alerting.status.model import Status
from alerting.status.phrases import in_steps

LOSES_DATA = "losing_data"
"""The check of a group whose unread messages retention deletes."""

DEADLINE_SHOWN = timedelta(days=7)
"""Later than that nobody acts on, and rates will have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A cause, and what followed from it, in order of time.

    Attributes:
        is_source_stopped: Whether it cannot be true now, since all that may make it so is stopped.
        loses_now: Of one that lost data: whether that goes on; so it is where nobody knows.
        last_lost_at: When messages were last seen to be lost, in Unix seconds; None: not known.
    """

    cause: Alert
    symptoms: tuple[Alert, ...] = ()
    is_source_stopped: bool = False
    loses_now: bool = True
    last_lost_at: float | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it may never fire: then it needs nobody yet."""
        return self.cause.state is State.PENDING

    @property
    def lead(self) -> Alert:
        """What it is about now: its cause, and once that is over, the worst that goes on of it."""
        going_on = self._going_on
        if self.cause in going_on:
            return self.cause
        return min(going_on, key=_rank, default=self.cause)

    def led_by(self, lead: Alert) -> Incident:
        """Return it with what else is known of what leads it."""
        if self.lead is self.cause:
            return replace(self, cause=lead)
        told = tuple(lead if one is self.lead else one for one in self.symptoms)
        return replace(self, symptoms=told)

    @property
    def _going_on(self) -> list[Alert]:
        """What fires of it and is still true."""
        every = (self.cause, *self.symptoms)
        return [one for one in every if one.state is State.FIRING and not one.is_recovering]

    @property
    def is_recovering(self) -> bool:
        """Whether all of it that fires is no longer true, and only waits to be resolved."""
        fires = any(one.state is State.FIRING for one in (self.cause, *self.symptoms))
        return fires and not self._going_on

    @property
    def is_catching_up(self) -> bool:
        """Whether a group works off what its trouble left, in time: it needs nobody now.

        It is not where data is lost before that is done, or where more of it is urgent.
        """
        fires = self._going_on
        urgent = [one for one in fires if one.severity is AlertSeverity.CRITICAL]
        return (
            self.lead in fires
            and all(one.deadline is None for one in fires)
            and all(map(_catches_up, (self.lead, *urgent)))
        )

    @property
    def weight(self) -> AlertSeverity:
        """How much it weighs now among others; what is catching up is at most to watch."""
        severity = self.lead.severity
        is_less = self.is_catching_up and severity is AlertSeverity.CRITICAL
        return AlertSeverity.WARNING if is_less else severity

    def needs(self, severity: AlertSeverity) -> bool:
        """Whether somebody is needed for it, as much as a severity says: every count is of these.

        What may never fire, what recovers or is catching up, and what is over needs nobody.
        """
        needs_nobody = self.is_pending or self.is_recovering or self.is_catching_up
        return self.ended_at is None and not needs_nobody and self.weight is severity

    @property
    def ended_at(self) -> float | None:
        """When the cause and all its symptoms had ended; None: one of them goes on."""
        return last_end((self.cause, *self.symptoms))

    def overlaps(self, since: float, until: float) -> bool:
        """Whether it was open at some moment between two, in Unix seconds."""
        ended = self.ended_at
        return self.cause.began_at < until and (ended is None or ended >= since)

    @property
    def outlived_at(self) -> float | None:
        """When the last symptom ended, of what is over; None: none ended after its cause."""
        ended, over = self.ended_at, self.cause.resolved_at
        return None if ended is None or over is None or ended <= over else ended


def last_end(alerts: Iterable[Alert]) -> float | None:
    """Return when the last of some alerts ended; None: one of them goes on."""
    ends = [one.resolved_at for one in alerts]
    return None if None in ends else max(end for end in ends if end is not None)


def mended_at(cause: Alert) -> float | None:
    """Return until when an incident lasted: its cause was mended then; None: it goes on.

    Its alert is over then, or later, and its symptoms may outlive both.
    """
    was = cause.before_mending
    return cause.resolved_at if was is None or cause.resolved_at is None else was.until


_OF_STATUS = {one.value.lower(): one.value for one in Status} | {
    "objective_missed": Status.FALLING_BEHIND.value
}
"""The status that a group has while what a check of it found is so."""


def is_mending(alert: Alert) -> bool:
    """Return whether a group in trouble does something better now, such as to catch up.

    What is said of it is of now then, and since when of the trouble.
    """
    own = _OF_STATUS.get(alert.check)
    return own is not None and alert.status is not None and alert.status != own


def _catches_up(alert: Alert) -> bool:
    return is_mending(alert) and alert.status == Status.CATCHING_UP


def _rank(one: Alert) -> tuple[int, bool, float, float, str]:
    """Rank what goes on of an incident, the worst first; catching up is at most to watch."""
    catches_up = _catches_up(one) and one.deadline is None
    watch = SEVERITIES.index(AlertSeverity.WARNING)
    severity = SEVERITIES.index(one.severity)
    return (
        max(severity, watch) if catches_up else severity,
        catches_up,
        math.inf if one.deadline is None else one.deadline,
        one.began_at,
        one.fingerprint,
    )


def never_fired(alert: Alert) -> bool:
    """Return whether an alert is pending, or was and ended so: nobody was to act or to watch."""
    return alert.fired_at is None and alert.state is not State.FIRING


def is_before(cause: Alert, symptom: Alert) -> bool:
    """Return whether a symptom began clearly before its cause."""
    return symptom.began_at < cause.began_at - EARLIER_SECONDS


def between(
    alerts_of: Callable[[float, float], Iterable[Alert]], since: float, until: float
) -> list[Incident]:
    """Return the incidents that were open between two moments, each whole.

    A symptom that was over before, or began later, belongs to them, too: an incident has as many on
    each page, whatever time the page is of.

    Args:
        alerts_of: Returns the alerts between two moments; each time is asked for once.
        since: The first moment, in Unix seconds.
        until: The last one.
    """
    known: dict[str, Alert] = {}
    found: list[Incident] = []
    first, last, asked = since, until, [(since, until)]
    while asked:
        known |= {one.id: one for times in asked for one in alerts_of(*times)}
        found = [one for one in incidents(known.values()) if one.overlaps(since, until)]
        begins = [each.began_at for one in found for each in (one.cause, *one.symptoms)]
        ends = [LAST_MOMENT if one.ended_at is None else one.ended_at for one in found]
        begin, end = min([first, *begins]), max([last, *ends])
        beside = ((begin, first), (last, end))
        first, last, asked = begin, end, [times for times in beside if times[0] < times[1]]
    return found


def incidents(alerts: Iterable[Alert]) -> list[Incident]:
    """Group alerts by cause, the newest first.

    A symptom whose cause is not among the alerts stands for itself.
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
        key=lambda one: (-one.cause.began_at, one.cause.fingerprint),
    )


def losing(one: Incident) -> list[Alert]:
    """Return the alerts of an incident that say that a group loses data, or just lost some."""
    return [
        each
        for each in (one.cause, *one.symptoms)
        if each.check == LOSES_DATA and each.state is State.FIRING and not each.is_recovering
    ]


def in_order(found: Iterable[Incident], now: datetime) -> list[Incident]:
    """Return what is open in the order of lists: what somebody is to act on first.

    What recovers comes after all that fires, and what is pending last; among these the worst comes
    first. Among its like comes first a missing broker, after which one more fault may stop all;
    then what is lost now, then the nearest deadline, then what has none, and of these the newest.
    """
    return sorted(found, key=lambda one: _urgency(one, now))


def _urgency(one: Incident, now: datetime) -> tuple[int, int, bool, int, float, float, str]:
    lead = one.lead
    return (
        2 if one.is_pending else 1 if one.is_recovering else 0,
        SEVERITIES.index(one.weight),
        lead.check != "broker_missing",
        *_loss(one, now),
        -lead.began_at,
        lead.fingerprint,
    )


def _loss(one: Incident, now: datetime) -> tuple[int, float]:
    """Rank what is lost now, what will be in how long, and the rest."""
    if losing(one) and one.loses_now:
        return 0, 0.0
    left = math.inf if one.cause.deadline is None else one.cause.deadline - now.timestamp()
    # As it is written: rows do not change places with each poll.
    return (1, in_steps(left)) if left <= DEADLINE_SHOWN.total_seconds() else (2, 0.0)


def of_rows(rows: pl.DataFrame) -> list[Incident]:
    """Return the incidents of rows of ``open_alerts``, which are folded already."""
    return with_rows(_grouped([alert_of(row) for row in rows.iter_rows(named=True)]), rows)


def with_rows(found: Iterable[Incident], rows: pl.DataFrame) -> list[Incident]:
    """Return incidents with what rows of ``open_alerts`` know beside alerts.

    That is the deadline of the group or topic that a cause is about, and when data was last lost.
    """
    known = {_id_of(row): row for row in rows.iter_rows(named=True)}
    with_known = []
    for one in found:
        row = known.get(one.cause.id)
        if row is not None:
            at = row["deadline_at"]
            cause = replace(one.cause, deadline=None if at is None else at.timestamp())
            one = replace(one, cause=cause)
        lost = [known[each.id] for each in losing(one) if each.id in known]
        if lost:
            times = [row["last_lost_at"].timestamp() for row in lost if row["last_lost_at"]]
            one = replace(
                one,
                loses_now=any(row["loses_now"] is not False for row in lost),
                last_lost_at=max(times, default=None),
            )
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
        labels=labels_of(row) | {"cluster": row["cluster"]},
        began_before=bool(row["since_at_least"]),
        deadline=known["deadline_at"],
        runbook=row["runbook"] or "",
    )


def labels_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of a row of ``open_alerts``."""
    return {one["key"]: one["value"] for one in row["labels"] or ()}


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
