"""The life of an alert: pending, firing, resolved. Pure: what was, what is seen, and the moment.

One identity from first sight to resolution. An alert that comes back soon after it was resolved
flaps: each time it must stay untrue for twice as long before it is resolved again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from alerting.checks.registry import CHECKS
from alerting.rules.model import AlertSeverity, Evaluation, Finding

FLAP_SECONDS = 3600.0
"""An alert that fires again this soon after its resolution flaps; resolved ones are kept for it."""

LONGEST_KEEP_SECONDS = 3600.0
"""Most that flapping lengthens ``keep_firing_for`` to."""

GAP_SECONDS = 300.0
"""After a pause of the evaluation as long as this, what was pending begins anew."""

LAST_MOMENT = 253_402_300_799.0
"""The end of the year 9999 in Unix seconds: what dates can say."""

Moment = Annotated[float, Field(ge=0.0, le=LAST_MOMENT)]
"""Unix seconds."""

RECOVERING_SHARE = 1 / 3
"""What is estimated recovers once it is untrue for this share of the time that its rule keeps it: a
dip such as of one poll, or of what swings as its rule expects, is none. What is observed recovers
at once: see ``Check.is_observed``."""

SETTLE_SECONDS = 60.0
"""A symptom whose cause is gone is inhibited this much longer: it may go, too."""


class State(StrEnum):
    """Where an alert is in its life."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an alert said last while what it fired for was so.

    Attributes:
        until: From then on that was mended, and the damage was not.
    """

    until: Moment
    severity: AlertSeverity
    what: str
    detail: str
    step: str
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """An alert at its worst, while what it fired for was so.

    Attributes:
        at: When; the last time, if it was as bad more than once.
        value: In the unit of its check.
        detail: What it said.
    """

    at: Moment
    value: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert; times are in Unix seconds.

    Attributes:
        labels: Which thing; identity.
        started_at: First sight: with the fingerprint, its identity.
        fired_at: When it began to fire; None while it is pending, and of a symptom that was over
            before that.
        began_before: Whether it may have begun before ``began_at``: nobody watched it until then.
        first_at: When what came back began the first time, each time within an hour; None: it did
            not come back.
        first_before: Whether it may have begun before that.
        no_data_since: Since when nothing is known of the thing; None: it is seen.
        untrue_since: Of when the first evaluation is that found it not to be so any more; it stays
            once it is resolved. None: it is true.
        recovering_since: The same, of one that fires on for the time that its rule keeps it; None:
            it is true, or has not been untrue for long enough.
        inhibited_by: Fingerprint of the cause that inhibits it; None: it stands for itself.
        inhibited_until: Until when it is inhibited although its cause is gone.
        followed: Fingerprint of the cause that it followed from and has outlived: it is notified on
            its own, and is told as a symptom of that all the same.
        deadline: When messages are deleted, as it was known last; None: never known.
        before_mending: What it said before what it fired for was mended; None: it is not.
        worst: What it said at its worst: ``detail`` is of the last evaluation.
    """

    fingerprint: str
    rule: str
    check: str
    severity: AlertSeverity
    labels: Mapping[str, str]
    state: State
    started_at: Moment
    last_true_at: Moment
    extra_labels: Mapping[str, str] = field(default_factory=dict)
    fired_at: Moment | None = None
    resolved_at: Moment | None = None
    no_data_since: Moment | None = None
    untrue_since: Moment | None = None
    recovering_since: Moment | None = None
    keep_firing_for_seconds: float = 0.0
    flaps: int = 0
    inhibited_by: str | None = None
    inhibited_until: Moment | None = None
    followed: str | None = None
    value: float | None = None
    status: str | None = None
    what: str = ""
    detail: str = ""
    since: Moment | None = None
    began_before: bool = False
    first_at: Moment | None = None
    first_before: bool = False
    deadline: Moment | None = None
    cause: str = ""
    step: str = ""
    page: str = "overview"
    runbook: str = ""
    before_mending: Told | None = None
    worst: Worst | None = None

    @property
    def id(self) -> str:
        """Its identity, the same in each instance that reads the same samples."""
        return alert_id(self.fingerprint, self.started_at)

    @property
    def is_inhibited(self) -> bool:
        """Whether it is inhibited under a cause."""
        return self.inhibited_by is not None

    @property
    def is_recovering(self) -> bool:
        """Whether it is no longer true, and only waits to be resolved."""
        return self.state is State.FIRING and self.recovering_since is not None

    @property
    def began_at(self) -> float:
        """Since when the trouble has lasted, as far as is known."""
        return self.started_at if self.since is None else min(self.since, self.started_at)

    @property
    def has_come_back(self) -> bool:
        """Whether it is what was there before: so it is once it has fired again."""
        return self.first_at is not None and self.fired_at is not None

    @property
    def first_began_at(self) -> float:
        """When the trouble began the first time, of what came back; else ``began_at``."""
        known = self.first_at if self.has_come_back else None
        return self.began_at if known is None else min(known, self.began_at)

    @property
    def first_began_before(self) -> bool:
        """Whether it may have begun before ``first_began_at``."""
        return self.first_before if self.has_come_back else self.began_before


def alert_id(fingerprint: str, started_at: float) -> str:
    """Return the identity of an alert, from its fingerprint and its first sight."""
    return hashlib.sha256(f"{fingerprint}@{started_at:.6f}".encode()).hexdigest()[:16]


Alerts = Mapping[str, Alert]
"""Alerts by fingerprint: those pending and firing, and those resolved not long ago."""


def advance(
    alerts: Alerts, evaluation: Evaluation, held: Mapping[str, str], now: float
) -> dict[str, Alert]:
    """Take every alert one evaluation further.

    Args:
        alerts: The alerts so far.
        evaluation: What rules say now.
        held: Fingerprint of symptoms: that of their cause
            (``alerting.rules.inhibition.inhibited``).
        now: The moment that the samples are of, in Unix seconds: from the samples, not from the
            machine's clock, so that every instance gives an alert the same times.

    Returns:
        The alerts after it; those resolved more than an hour ago are left out, but for what goes on
        and is told with them.
    """
    found = {finding.fingerprint: finding for finding in evaluation.findings}
    after: dict[str, Alert] = {}
    is_left = _is_left(alerts.values())
    for fingerprint, alert in alerts.items():
        if fingerprint in found:
            continue
        if alert.state is State.RESOLVED and (_is_recent(alert, now) or is_left(alert)):
            after[fingerprint] = alert
            continue
        cause = alerts.get(alert.inhibited_by or alert.followed or "")
        kept = _unseen(alert, cause, evaluation, now)
        if kept is not None:
            after[fingerprint] = kept
    for fingerprint, finding in found.items():
        after[fingerprint] = _seen(alerts.get(fingerprint), finding, now)
    return {
        fingerprint: _with_cause(alert, held.get(fingerprint), after, now)
        for fingerprint, alert in after.items()
    }


def _seen(alert: Alert | None, finding: Finding, now: float) -> Alert:
    """Return the alert of a finding: a new one, or the one that there is."""
    rule, seen = finding.rule, finding.observation
    if alert is None or not goes_on(alert, now):
        is_back = alert is not None and alert.fired_at is not None and _is_recent(alert, now)
        before = alert if is_back else None
        alert = Alert(
            fingerprint=finding.fingerprint,
            rule=rule.name,
            check=rule.check,
            severity=rule.severity,
            labels=dict(seen.labels),
            state=State.PENDING,
            started_at=now,
            last_true_at=now,
            began_before=seen.began_before,
            first_at=None if before is None else before.first_began_at,
            first_before=before is not None and before.first_began_before,
            flaps=0 if before is None else before.flaps + 1,
        )
    fires = alert.state is State.FIRING or now - alert.started_at >= rule.for_seconds
    return replace(
        alert,
        severity=rule.severity,
        extra_labels=dict(rule.labels),
        state=State.FIRING if fires else State.PENDING,
        fired_at=alert.fired_at if alert.fired_at is not None else now if fires else None,
        last_true_at=now,
        no_data_since=None,
        untrue_since=None,
        recovering_since=None,
        keep_firing_for_seconds=_damped(rule.keep_firing_for_seconds, alert.flaps),
        value=seen.value,
        status=seen.status,
        what=seen.what,
        detail=seen.detail,
        since=alert.since if alert.since is not None else seen.since,
        deadline=seen.deadline,
        cause=seen.cause,
        step=seen.step,
        page=seen.page,
        runbook=rule.runbook,
        before_mending=_told(alert, now) if seen.stands else None,
        worst=_worst(alert.worst, finding, now),
    )


def _is_recent(alert: Alert, now: float) -> bool:
    """Return whether an alert was resolved a short while ago."""
    return alert.resolved_at is not None and now - alert.resolved_at <= FLAP_SECONDS


def _is_left(alerts: Iterable[Alert]) -> Callable[[Alert], bool]:
    """Return what tells whether something goes on that followed from what is over.

    Or that is about its group, and overlapped with it: pages fold the two.
    """
    going_on = [one for one in alerts if one.state is not State.RESOLVED]
    followed = {one.followed or one.inhibited_by for one in going_on}
    began: dict[str, float] = {}
    for one in going_on:
        if group := one.labels.get("group"):
            began[group] = min(one.began_at, began.get(group, LAST_MOMENT))

    def is_left(alert: Alert) -> bool:
        ended = alert.resolved_at or alert.last_true_at
        since = began.get(alert.labels.get("group", ""), LAST_MOMENT)
        return alert.fingerprint in followed or since <= ended + SETTLE_SECONDS

    return is_left


def goes_on(alert: Alert, now: float) -> bool:
    """Return whether what is true now is the same trouble, and no new one."""
    if alert.state is State.PENDING:
        return now - alert.last_true_at <= GAP_SECONDS
    return alert.state is State.FIRING


def _told(alert: Alert, now: float) -> Told:
    return alert.before_mending or Told(
        until=now,
        severity=alert.severity,
        what=alert.what,
        detail=alert.detail,
        step=alert.step,
        cause=alert.cause,
    )


def _worst(before: Worst | None, finding: Finding, now: float) -> Worst | None:
    seen = finding.observation
    if seen.stands or seen.value is None:
        return before
    if before is not None and finding.rule.is_worse(before.value, seen.value):
        return before
    return Worst(at=now, value=seen.value, detail=seen.detail)


def _damped(keep_seconds: float, flaps: int) -> float:
    if not flaps:
        return keep_seconds
    doubled: float = max(keep_seconds, 30.0) * 2.0 ** min(flaps, 10)
    return max(keep_seconds, min(doubled, LONGEST_KEEP_SECONDS))


def _unseen(alert: Alert, cause: Alert | None, evaluation: Evaluation, now: float) -> Alert | None:
    """Return what becomes of an alert that no rule says is true; None: it is forgotten.

    A symptom of a cause that fired is kept with it, though it was over before it fired itself.
    """
    if alert.state is State.RESOLVED:
        return None
    if evaluation.is_unknown(alert.check, alert.labels, alert.last_true_at):
        # What is not known is neither true nor untrue.
        return alert if alert.no_data_since else replace(alert, no_data_since=now)
    since = now if alert.untrue_since is None else alert.untrue_since
    alert = replace(alert, no_data_since=None, untrue_since=since)
    if alert.state is State.PENDING:
        if cause is None or cause.fired_at is None:
            return None
        return replace(alert, state=State.RESOLVED, resolved_at=now)
    untrue_for = now - alert.last_true_at
    if untrue_for >= alert.keep_firing_for_seconds:
        return replace(alert, state=State.RESOLVED, resolved_at=now, recovering_since=None)
    is_observed = alert.check in CHECKS and CHECKS[alert.check].is_observed
    if not is_observed and untrue_for < RECOVERING_SHARE * alert.keep_firing_for_seconds:
        return alert
    return replace(alert, recovering_since=since)


def _with_cause(alert: Alert, cause: str | None, alerts: Alerts, now: float) -> Alert:
    """Hold a symptom back under its cause, and a little longer than the cause lasts."""
    if alert.state is State.RESOLVED:
        return alert
    if cause is not None:
        return replace(alert, inhibited_by=cause, inhibited_until=None)
    if alert.inhibited_by is None:
        return alert
    before = alerts.get(alert.inhibited_by)
    if before is not None and before.state is State.FIRING:
        return alert  # the cause keeps firing for a while: so does what follows from it
    if alert.inhibited_until is None:
        return replace(alert, inhibited_until=now + SETTLE_SECONDS)
    if now < alert.inhibited_until or alert.last_true_at < now:
        return alert  # what only fires on because its rule keeps it is no news
    # A cause that never fired is forgotten: nothing followed from it.
    has_fired = before is not None and before.fired_at is not None
    followed = alert.inhibited_by if has_fired else alert.followed
    return replace(alert, inhibited_by=None, inhibited_until=None, followed=followed)


def active(alerts: Iterable[Alert]) -> list[Alert]:
    """Return the alerts that fire, the worst and oldest first."""
    order = tuple(AlertSeverity)
    firing = [alert for alert in alerts if alert.state is State.FIRING]
    return sorted(firing, key=lambda a: (order.index(a.severity), a.began_at, a.fingerprint))
