"""How alerts stand in lists: one row for one trouble. Nothing here changes what is notified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from alerting.rules.lifecycle import SETTLE_SECONDS, Alert, State
from alerting.rules.model import SEVERITIES, worst
from alerting.rules.no_longer_so import CatchUps, group_of, without_past_causes, without_worked_off
from alerting.status.descriptions import LOST_DATA, WAIT_STEP

OVER_STEP = "It is over; wait until its symptoms have ended."

_LOSES = "losing_data"
_LOSS = "data_loss_deadline"
_LEADING = (_LOSES, "stopped", "stalled", _LOSS)
_HELD = ("stopped", "stalled", "objective_missed", "falling_behind")
"""Trouble of a group: what a cause outside of the group explains it by explains its loss, too."""
_STRENGTH = (_LOSES, *_HELD, _LOSS)
_LED = frozenset({_LOSS, "objective_missed"})
_APART = frozenset({(State.FIRING, State.PENDING), (State.PENDING, State.RESOLVED)})
"""States of a symptom and its cause: what is certain does not hide under what is not, and what may
never fire does not keep a cause open."""


def as_listed(alerts: Iterable[Alert], catches_up: CatchUps | None = None) -> list[Alert]:
    """Return alerts as lists show them.

    - That a group will lose data, or misses its objective, follows from what is wrong with it, and
      so from what that follows from.
    - A cause is as severe as the worst alert of it that fires, and as it was: Week and histories
      show so what was urgent.
    - Each row above data that will be lost has the earliest deadline; where its cause only has to
      wait, its step is that of what is about to be lost.
    - A row is pending only if all of it is.
    - What is over is named by what it was, and as severe as it was; a loss in the past tense.
    - What followed from a cause stands under it, whether either goes on or is over.
    - What another alert of the same trouble shows not to be so any more recovers at once.

    Args:
        alerts: The alerts.
        catches_up: What is known of groups that catch up, beside alerts.
    """
    listed = [as_it_was(one) if one.state is State.RESOLVED else _in_past(one) for one in alerts]
    listed = without_worked_off(map(_under_followed, listed), catches_up or {})
    newest = _newest(listed)
    leading: dict[tuple[str, str], list[Alert]] = {}
    for alert in listed:
        if _leads(alert, newest):
            leading.setdefault(group_of(alert), []).append(alert)
    for found in leading.values():
        found.sort(key=_strength)
    listed = [_apart(_led(alert, leading.get(group_of(alert), ())), newest) for alert in listed]
    newest = _newest(listed)
    causes_of = {one.id: _causes(one, newest) for one in listed if one.state is not State.RESOLVED}
    root_of = {one.id: [one.fingerprint, *causes_of.get(one.id, ())][-1] for one in listed}
    listed = without_past_causes(listed, root_of, newest)
    newest = _newest(listed)
    symptoms: dict[str, list[Alert]] = {}
    for alert in listed:
        for cause in causes_of.get(alert.id, ()):
            symptoms.setdefault(cause, []).append(alert)
    return [
        _with_symptoms(alert, symptoms[alert.fingerprint])
        if alert is newest[alert.fingerprint] and alert.fingerprint in symptoms
        else alert
        for alert in listed
    ]


def _under_followed(alert: Alert) -> Alert:
    """Return an alert that has outlived its cause as the symptom that it was of it."""
    if alert.inhibited_by is not None or alert.followed is None:
        return alert
    return replace(alert, inhibited_by=alert.followed)


def as_it_was(alert: Alert) -> Alert:
    """Return an alert with what it said while what it fired for was so."""
    was = alert.before_mending
    if was is None:
        return _in_past(alert)
    severity = worst((alert.severity, was.severity))
    return replace(
        alert,
        severity=severity,
        what=was.what,
        detail=was.detail,
        step=was.step,
        cause=was.cause,
    )


def _in_past(alert: Alert) -> Alert:
    """Return an alert of a loss that is over as that; while it fires it has one name throughout."""
    is_over = alert.state is State.RESOLVED or alert.is_recovering
    group = alert.labels.get("group")
    if alert.check != _LOSES or group is None or not is_over:
        return alert
    return replace(alert, what=f"{group} {LOST_DATA}")


def _newest(alerts: Iterable[Alert]) -> dict[str, Alert]:
    return {one.fingerprint: one for one in sorted(alerts, key=lambda one: one.started_at)}


def _leads(alert: Alert, newest: Mapping[str, Alert]) -> bool:
    """Return whether what else is wrong with the group of an alert may stand under it."""
    if "group" not in alert.labels:
        return False
    if alert.inhibited_by is None:
        return alert.check in _LEADING
    cause = newest.get(alert.inhibited_by)
    return alert.check in _HELD and (cause is None or "group" not in cause.labels)


def _strength(alert: Alert) -> tuple[int, int, str]:
    return _STRENGTH.index(alert.check), SEVERITIES.index(alert.severity), alert.fingerprint


def _led(alert: Alert, leading: Sequence[Alert]) -> Alert:
    """Return an alert under the first that leads it: one that goes on, else one that is over."""
    if alert.check not in _LED:
        return alert
    covering = []
    for lead in leading:
        if lead is alert:
            break
        if alert.check != _LOSS and lead.check == _LOSS:
            break  # to keep messages for longer makes no group faster
        if (
            lead.fingerprint != alert.fingerprint
            and alert.inhibited_by in (None, lead.inhibited_by)
            and _covers(lead, alert)
        ):
            covering.append(lead)
    if not covering:
        return alert
    first = min(covering, key=lambda lead: lead.state is State.RESOLVED)
    return replace(alert, inhibited_by=first.fingerprint)


def _covers(lead: Alert, alert: Alert) -> bool:
    """Return whether one was there while the other was, which may go on or be over, too."""
    if alert.resolved_at is None and lead.state is State.PENDING:
        return alert.state is State.PENDING
    is_before = alert.resolved_at is None or lead.began_at <= alert.resolved_at
    ended = lead.resolved_at
    return is_before and (ended is None or ended + SETTLE_SECONDS >= alert.began_at)


def _apart(alert: Alert, newest: Mapping[str, Alert]) -> Alert:
    """Return an alert for itself where it is not to be folded under its cause yet, or any more."""
    cause = newest.get(alert.inhibited_by or "")
    if cause is None or (alert.state, cause.state) not in _APART:
        return alert
    return replace(alert, inhibited_by=None)


def _causes(alert: Alert, newest: Mapping[str, Alert]) -> list[str]:
    """Return the fingerprints of the cause of an alert, of the cause of that, and so on."""
    found: list[str] = []
    above: Alert | None = alert
    while above is not None and above.inhibited_by is not None:
        if above.inhibited_by in (alert.fingerprint, *found):
            break
        found.append(above.inhibited_by)
        above = newest.get(above.inhibited_by)
    return found


def _with_symptoms(alert: Alert, symptoms: Sequence[Alert]) -> Alert:
    """Return a cause as its row shows it, from its symptoms that go on."""
    is_over = alert.state is State.RESOLVED
    going_on = [one for one in symptoms if not one.is_recovering]
    checks = _LED if alert.check in _LEADING else {_LOSS}
    led = [*([] if is_over else [alert]), *(one for one in going_on if one.check in checks)]
    fires = [one for one in symptoms if one.state is not State.PENDING or alert.state is one.state]
    return replace(
        alert,
        severity=worst(one.severity for one in (alert, *fires)),
        step=OVER_STEP if is_over else _step(alert, led),
        deadline=min((one.deadline for one in led if one.deadline is not None), default=None),
    )


def _step(alert: Alert, led: Sequence[Alert]) -> str:
    """Return what to do: where a cause only has to wait, what helps against what it leads to."""
    if alert.step != WAIT_STEP:
        return alert.step
    return next((one.step for one in led if _fires(one) and one.step != WAIT_STEP), alert.step)


def _fires(alert: Alert) -> bool:
    return alert.state is State.FIRING
