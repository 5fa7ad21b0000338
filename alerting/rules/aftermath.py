"""What stalls when a broker has come back: it may heal by itself, and its alert waits for that."""

from __future__ import annotations

from dataclasses import replace

from alerting.rules.lifecycle import Alert, Alerts, State, goes_on
from alerting.rules.model import Finding
from alerting.status.phrases import duration

OUTAGE_SECONDS = 300.0
"""A group that gets into trouble this soon after brokers did is taken for their symptom."""


def after_return(finding: Finding, alerts: Alerts, now: float) -> Finding:
    """Return a finding that waits if it is of a group that stalled as a broker came back.

    Its leaders and the coordinators of groups move then. What goes on for ``OUTAGE_SECONDS`` after
    the return is told as what it is.

    Args:
        finding: What is found.
        alerts: The alerts so far.
        now: The present, in Unix seconds.
    """
    seen = finding.observation
    alert = alerts.get(finding.fingerprint)
    if seen.check != "stalled" or seen.stands or seen.since is None:
        return finding
    is_known = alert is not None and goes_on(alert, now)
    if is_known and alert is not None and alert.state is State.FIRING:
        return finding
    back = [
        (at, one)
        for one in alerts.values()
        if one.check == "broker_missing"
        and one.labels["cluster"] == seen.labels["cluster"]
        and (at := _returned_at(one)) is not None
        and one.began_at <= seen.since <= at + OUTAGE_SECONDS
        and now < at + OUTAGE_SECONDS
    ]
    if not back:
        return finding
    at, broker = max(back, key=lambda one: one[0])
    started_at = alert.started_at if is_known and alert is not None else now
    waits = max(finding.rule.for_seconds, at + OUTAGE_SECONDS - started_at)
    name = broker.labels["broker"]
    began = (
        f"It began {duration(seen.since - at)} after broker {name} came back"
        if seen.since > at
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
