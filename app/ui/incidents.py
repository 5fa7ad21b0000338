"""Alerts grouped by cause: an incident is a cause with the symptoms that followed from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from alerting.checks.registry import CHECKS
from alerting.rules.folding import as_it_was, as_listed
from alerting.rules.inhibition import EARLIER_SECONDS
from alerting.rules.lifecycle import (
    FLAP_SECONDS,
    LAST_MOMENT,
    SETTLE_SECONDS,
    Alert,
    State,
)
from alerting.rules.model import SEVERITIES, AlertSeverity
from alerting.status.model import Status
from app.ui.comebacks import came_back_as

DEAD_LETTERS_ARRIVE = "dead_letter_ratio"
"""The check of dead letters that arrive."""
LOSES_DATA = "losing_data"
"""The check of a group whose unread messages retention deletes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A cause, and what followed from it, in order of time.

    Attributes:
        cause: What is wrong; of what came back, the last time.
        symptoms: What followed, each time.
        earlier: The times before, in their order: each was over a short while before the next.
        is_source_stopped: Whether it cannot be true now, since all that may make it so is stopped.
        loses_now: Of one that lost data: whether that goes on; so it is where nobody knows.
        last_lost_at: When messages were last seen to be lost, in Unix seconds; None: not known.
    """

    cause: Alert
    symptoms: tuple[Alert, ...] = ()
    earlier: tuple[Alert, ...] = ()
    is_source_stopped: bool = False
    loses_now: bool = True
    last_lost_at: float | None = None

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """All that belongs to it."""
        return (*self.earlier, self.cause, *self.symptoms)

    @property
    def began_at(self) -> float:
        """When its cause began, the first time."""
        return min(one.first_began_at for one in (*self.earlier, self.cause))

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
    def mends_from_urgent(self) -> bool:
        """Whether it recovers or is catching up since it was to be acted on."""
        fires = [one for one in (self.cause, *self.symptoms) if one.state is State.FIRING]
        was_urgent = any(one.severity is AlertSeverity.CRITICAL for one in fires)
        return was_urgent and (self.is_recovering or self.is_catching_up)

    @property
    def may_be_urgent(self) -> bool:
        """Whether it is to be acted on as soon as it has lasted as long as its rule asks."""
        return self.is_pending and self.cause.severity is AlertSeverity.CRITICAL

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

    def is_acknowledged(self, acknowledged: Container[str]) -> bool:
        """Whether somebody looks after it: after its cause, or after what it is about now.

        Args:
            acknowledged: The ids of alerts that somebody looks after.
        """
        return self.cause.id in acknowledged or self.lead.id in acknowledged

    @property
    def ended_at(self) -> float | None:
        """When the cause and all its symptoms had ended; None: one of them goes on."""
        return last_end((self.cause, *self.symptoms))

    def overlaps(self, since: float, until: float) -> bool:
        """Whether it was open at some moment between two, in Unix seconds."""
        ended = self.ended_at
        return self.began_at < until and (ended is None or ended >= since)

    @property
    def outlived_at(self) -> float | None:
        """When the last symptom ended, of what is over; None: none ended after its cause."""
        ended, over = self.ended_at, self.cause.resolved_at
        return None if ended is None or over is None or ended <= over else ended


_ABOUT = 0.03
"""What begins or ends this close to an end of a time, as a part of it, does so there."""


def parted_by_span(
    found: Iterable[Incident], since: float, until: float
) -> tuple[list[Incident], list[Incident]]:
    """Return what fired all of a time, of which no bar would say anything, and all else.

    Args:
        found: The incidents; their order stays.
        since: The first moment, in Unix seconds.
        until: The last one.
    """
    slack = _ABOUT * (until - since)
    whole: list[Incident] = []
    rest: list[Incident] = []
    for one in found:
        ended = mended_at(one.cause)
        is_whole = one.cause.began_at <= since + slack and (ended is None or ended >= until)
        (whole if is_whole else rest).append(one)
    return whole, rest


def last_end(alerts: Iterable[Alert]) -> float | None:
    """Return when the last of some alerts ended; None: one of them goes on."""
    ends = [one.resolved_at for one in alerts]
    return None if None in ends else max(end for end in ends if end is not None)


def mended_at(cause: Alert) -> float | None:
    """Return until when an incident lasted: its cause was mended then; None: it goes on.

    That is the first evaluation that found it not to be so any more. Its alert is over then, or
    later, once its rule has kept it, and its symptoms may outlive both.
    """
    if cause.resolved_at is None and not cause.is_recovering:
        return None
    if cause.before_mending is not None:
        return cause.before_mending.until
    if cause.is_recovering:
        return cause.recovering_since
    return cause.resolved_at if cause.untrue_since is None else cause.untrue_since


def turned_at(alerts: Sequence[Alert]) -> float | None:
    """Return when the last of some alerts was mended whose damage outlived that; None: no turn.

    There is none where one of them goes on as it began, or where nothing was left of any.
    """
    if all(one.before_mending is None for one in alerts):
        return None
    ends = [
        one.resolved_at if one.before_mending is None else one.before_mending.until
        for one in alerts
    ]
    return None if None in ends else max(end for end in ends if end is not None)


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


def worst_time(one: Incident) -> Alert:
    """Return the cause of an incident as it was at its worst, of all times that it was there."""
    cause = as_it_was(one.cause)
    worst = cause
    for each in map(as_it_was, one.earlier):
        if each.worst is None or worst.worst is None:
            continue
        value, most = each.worst.value, worst.worst.value
        if value > most if CHECKS[cause.check].bad == "above" else value < most:
            worst = each
    return worst


def is_before(one: Incident, symptom: Alert) -> bool:
    """Return whether a symptom of an incident began clearly before its cause."""
    return symptom.began_at < one.began_at - EARLIER_SECONDS


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
        # What flaps was there a while before, and what is over may come back as long after.
        begins = [
            each.began_at - (FLAP_SECONDS if each.flaps else 0.0)
            for one in found
            for each in one.alerts
        ]
        ends = [
            LAST_MOMENT if one.ended_at is None else one.ended_at + FLAP_SECONDS for one in found
        ]
        begin, end = min([first, *begins]), max([last, *ends])
        beside = ((begin, first), (last, end))
        first, last, asked = begin, end, [times for times in beside if times[0] < times[1]]
    return found


def incidents(alerts: Iterable[Alert]) -> list[Incident]:
    """Group alerts by cause, the newest first.

    A symptom whose cause is not among the alerts stands for itself.
    """
    return grouped(as_listed(alerts))


def grouped(alerts: Sequence[Alert]) -> list[Incident]:
    """Group alerts that are as lists show them."""
    known: dict[str, list[Alert]] = {}
    for alert in alerts:
        known.setdefault(alert.fingerprint, []).append(alert)
    root_of = {alert.id: _root(alert, known) for alert in alerts}
    roots = [alert for alert in alerts if root_of[alert.id] is alert]
    last_of = came_back_as(roots)
    symptoms: dict[str, list[Alert]] = {}
    earlier: dict[str, list[Alert]] = {}
    for alert in sorted(alerts, key=lambda one: one.began_at):
        root = root_of[alert.id]
        last = last_of.get(root.id, root)
        if root is not alert:
            symptoms.setdefault(last.id, []).append(alert)
        elif last is not alert:
            earlier.setdefault(last.id, []).append(alert)
    return sorted(
        (
            Incident(
                cause=alert,
                symptoms=tuple(symptoms.get(alert.id, ())),
                earlier=tuple(earlier.get(alert.id, ())),
            )
            for alert in roots
            if alert.id not in last_of
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


def loses_first(one: Incident) -> Alert:
    """Return the alert of an incident that tells of its first loss, now or at its deadline.

    Where the cause is about no group and no dead letters, that is of the group that loses first.
    What is over, or recovers, loses nothing.
    """
    if {"group", "name"} & one.cause.labels.keys():
        return one.cause
    found = losing(one) or [
        each
        for each in one.symptoms
        if each.deadline is not None and each.state is not State.RESOLVED and not each.is_recovering
    ]
    of_groups = [each for each in found if "group" in each.labels]
    return min(of_groups, key=lambda each: each.deadline or 0.0, default=one.cause)


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
