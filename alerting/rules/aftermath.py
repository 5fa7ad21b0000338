"""What stalls when a broker has come back: it may heal by itself, and its alert waits for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from alerting.rules.lifecycle import Alert, Alerts, State, goes_on
from alerting.rules.model import Finding
from alerting.status.phrases import duration

OUTAGE_SECONDS = 300.0
"""A group that gets into trouble this soon after brokers did is taken for their symptom."""


def back_of_late(alerts: Alerts, now: float) -> list[tuple[float, Alert]]:
    """Return the brokers that were missing and are back, for no longer than ``OUTAGE_SECONDS``.

    Returns:
        Since when each is back, and its alert.
    """
    return [
        (at, one)
        for one in alerts.values()
        if one.check == "broker_missing"
        and (at := _returned_at(one)) is not None
        and now < at + OUTAGE_SECONDS
    ]


def after_return(
    finding: Finding, alert: Alert | None, back: Sequence[tuple[float, Alert]], now: float
) -> Finding:
    """Return a finding that waits if it is of a group that stalled as a broker came back.

    Its leaders and the coordinators of groups move then. What goes on for ``OUTAGE_SECONDS`` after
    the return is told as what it is.

    Args:
        finding: What is found.
        alert: Its alert so far.
        back: The brokers that came back, see ``back_of_late``.
        now: The present, in Unix seconds.
    """
    seen = finding.observation
    if seen.check != "stalled" or seen.stands or seen.since is None:
        return finding
    known = alert if alert is not None and goes_on(alert, now) else None
    if known is not None and known.state is State.FIRING:
        return finding
    since = seen.since
    explain = [
        (at, one)
        for at, one in back
        if one.labels["cluster"] == seen.labels["cluster"]
        and one.began_at <= since <= at + OUTAGE_SECONDS
    ]
    if not explain:
        return finding
    at, broker = max(explain, key=lambda one: one[0])
    started_at = now if known is None else known.started_at
    waits = max(finding.rule.for_seconds, at + OUTAGE_SECONDS - started_at)
    name = broker.labels["broker"]
    began = (
        f"It began {duration(since - at)} after broker {name} came back"
        if since > at
        else f"It began while broker {name} was missing"
    )
    return replace(
        finding,
        rule=replace(finding.rule, for_seconds=waits),
        observation=replace(
            seen,
            cause=f"{began}; it may heal by itself.",
            step=f"{began}: wait, it may heal by itself within {duration(OUTAGE_SECONDS)}.",
        ),
    )


def _returned_at(broker: Alert) -> float | None:
    """Return since when a broker that was missing is back; None: it is missing."""
    if broker.state is State.RESOLVED:
        return broker.resolved_at if broker.untrue_since is None else broker.untrue_since
    return broker.recovering_since
