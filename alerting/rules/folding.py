"""How alerts stand in lists: one row for one trouble. Nothing here changes what is notified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from alerting.rules.lifecycle import SETTLE_SECONDS, Alert, State
from alerting.rules.model import SEVERITIES, AlertSeverity
from alerting.status.descriptions import WAIT_STEP

OVER_STEP = "It is over; wait until its symptoms have ended."

_LOSS = "data_loss_deadline"
_LEADING = ("losing_data", "stopped", "stalled", _LOSS)
_LED = frozenset({_LOSS, "objective_missed"})


def as_listed(alerts: Iterable[Alert]) -> list[Alert]:
    """Return alerts as lists show them.

    - What only has to wait is to watch. Data that is about to be lost has an alert of its own.
    - That a group will lose data, or misses its objective, follows from what is wrong with it.
      The row has the earliest deadline, and is as severe as the worst that is folded into it.
    - A cause that is over is as severe as the worst symptom that goes on.
    """
    listed = [_calm(alert) for alert in alerts]
    leading: dict[tuple[str, str], list[Alert]] = {}
    for alert in listed:
        # What catches up leads nothing: its step would not help.
        if _is_own(alert) and alert.check in _LEADING and alert.step != WAIT_STEP:
            leading.setdefault(_group(alert), []).append(alert)
    for found in leading.values():
        found.sort(key=_strength)
    listed = [_led(alert, leading.get(_group(alert), ())) for alert in listed]
    symptoms: dict[str, list[Alert]] = {}
    newest: dict[str, Alert] = {}
    for alert in sorted(listed, key=lambda one: one.started_at):
        newest[alert.fingerprint] = alert
        if alert.inhibited_by is not None and alert.state is not State.RESOLVED:
            symptoms.setdefault(alert.inhibited_by, []).append(alert)
    return [
        _with_symptoms(alert, symptoms[alert.fingerprint])
        if alert is newest[alert.fingerprint] and alert.fingerprint in symptoms
        else alert
        for alert in listed
    ]


def _calm(alert: Alert) -> Alert:
    if alert.step != WAIT_STEP or alert.severity is not AlertSeverity.CRITICAL:
        return alert
    return replace(alert, severity=AlertSeverity.WARNING)


def _is_own(alert: Alert) -> bool:
    return alert.inhibited_by is None and "group" in alert.labels


def _group(alert: Alert) -> tuple[str, str]:
    return alert.labels.get("cluster", ""), alert.labels.get("group", "")


def _strength(alert: Alert) -> tuple[int, int, str]:
    return _LEADING.index(alert.check), SEVERITIES.index(alert.severity), alert.fingerprint


def _led(alert: Alert, leading: Sequence[Alert]) -> Alert:
    """Return an alert under the first that leads it, which is never over before it."""
    if not _is_own(alert) or alert.check not in _LED:
        return alert
    for lead in leading:
        if lead is alert:
            break
        if alert.check != _LOSS and lead.check == _LOSS:
            break  # to keep messages for longer makes no group faster
        if lead.fingerprint != alert.fingerprint and _covers(lead, alert):
            return replace(alert, inhibited_by=lead.fingerprint)
    return alert


def _covers(lead: Alert, alert: Alert) -> bool:
    if alert.resolved_at is None:
        fires = lead.state is State.FIRING
        return fires or (lead.state is State.PENDING and alert.state is State.PENDING)
    return lead.began_at <= alert.resolved_at and (
        lead.resolved_at is None or lead.resolved_at + SETTLE_SECONDS >= alert.began_at
    )


def _with_symptoms(alert: Alert, symptoms: Sequence[Alert]) -> Alert:
    """Return a cause as its row shows it, from its symptoms that go on."""
    if alert.state is State.RESOLVED:
        return replace(alert, severity=_worst(symptoms), step=OVER_STEP, deadline=None)
    led = [alert, *(one for one in symptoms if one.check in _LED)]
    if alert.check not in _LEADING or len(led) == 1:
        return alert
    ends = [one.deadline for one in led if one.deadline is not None]
    return replace(alert, severity=_worst(led), deadline=min(ends, default=None))


def _worst(alerts: Iterable[Alert]) -> AlertSeverity:
    return min((one.severity for one in alerts), key=SEVERITIES.index)
