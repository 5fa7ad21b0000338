"""Causes before symptoms: which findings follow from others and are inhibited under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from alerting.rules.aftermath import OUTAGE_SECONDS, after_return, back_of_late
from alerting.rules.lifecycle import Alert, Alerts, State, advance, goes_on
from alerting.rules.model import AlertSeverity, Evaluation, Finding

EARLIER_SECONDS = 60.0
"""Sections are polled one by one: a symptom may be dated a little before its cause."""

_REPLICATION = frozenset({"partitions_offline", "under_min_isr", "under_replicated"})
_TROUBLE = frozenset(
    {"stopped", "stalled", "objective_missed", "falling_behind", "unknown", "time_lag", "lag"}
)
_OUTAGES = frozenset({"broker_missing", "no_controller", "partitions_offline"})
_OFFSETS_SECTIONS = frozenset({"groups", "group_offsets", "partitions", "log_ends", "poll"})

_STRENGTH: tuple[str, ...] = (
    "nothing_collected",
    "broker_missing",
    "no_controller",
    "partitions_offline",
    "under_min_isr",
    "collection_failed",
    "data_stale",
    "redrive_stopped",
    "connector_failed",
    "tasks_failed",
    "losing_data",
    "stopped",
    "stalled",
    "objective_missed",
    "falling_behind",
    "rewound",
    "unknown",
)
"""Checks whose findings explain others; a symptom is held under the first that explains it."""


def advance_with_causes(alerts: Alerts, evaluation: Evaluation, now: float) -> dict[str, Alert]:
    """Take every alert one evaluation further, symptoms held under their causes.

    What was mended and has left its damage is the cause of what follows, while its alert fires.
    What stalls after a broker came back waits for as long as an outage explains trouble.
    What began before a cause does not follow from it, whatever its subject went through since; nor
    does the trouble of a group whose alert fired before an outage began.
    """
    firing = {key for key, alert in alerts.items() if alert.state is State.FIRING}
    standing = [one for one in evaluation.standing if one.fingerprint in firing]
    back = back_of_late(alerts, now)
    findings = [
        after_return(one, alerts.get(one.fingerprint), back, now)
        for one in (*evaluation.findings, *standing)
    ]
    found = replace(evaluation, findings=tuple(findings))
    dated = [_dated(one, alerts.get(one.fingerprint), now) for one in found.findings]
    fired = {
        key: alert.fired_at
        for key, alert in alerts.items()
        if alert.fired_at is not None and alert.inhibited_by is None
    }
    return advance(alerts, found, inhibited(dated, fired), now)


def _dated(finding: Finding, alert: Alert | None, now: float) -> Finding:
    """Return a finding with the date of its alert, which stays while the alert does."""
    if alert is None or alert.since is None or not goes_on(alert, now):
        return finding
    seen = finding.observation
    began = None if seen.began is None else min(seen.began, alert.since)
    return replace(finding, observation=replace(seen, since=alert.since, began=began))


def inhibited(
    findings: Sequence[Finding], fired: Mapping[str, float] | None = None
) -> dict[str, str]:
    """Return the fingerprint of each symptom with that of its cause, the cause of no other.

    A finding also explains others while its rule still waits for its ``for``, so that no symptom
    fires before its cause.

    Args:
        findings: What is found of all clusters.
        fired: When alerts fired that no cause held back, by fingerprint, in Unix seconds.
    """
    told = fired or {}
    causes: dict[str, list[Finding]] = {}
    for found in findings:
        if found.observation.check in _STRENGTH:
            causes.setdefault(found.observation.labels["cluster"], []).append(found)
    for of_cluster in causes.values():
        of_cluster.sort(key=lambda found: _STRENGTH.index(found.observation.check))
    by_group = {
        (cluster, found.observation.labels["group"], found.fingerprint): found
        for cluster, of_cluster in causes.items()
        for found in of_cluster
        if "group" in found.observation.labels
    }
    wide = {
        cluster: [found for found in of_cluster if "group" not in found.observation.labels]
        for cluster, of_cluster in causes.items()
    }
    own: dict[tuple[str, str], list[Finding]] = {}
    for (cluster, group, _), found in by_group.items():
        own.setdefault((cluster, group), []).append(found)
    held: dict[str, str] = {}
    for symptom in findings:
        labels = symptom.observation.labels
        candidates = [
            *wide.get(labels["cluster"], ()),
            *own.get((labels["cluster"], labels.get("group", "")), ()),
        ]
        for cause in candidates:
            if (
                cause.fingerprint != symptom.fingerprint
                and not _was_told_before(cause, symptom, told.get(symptom.fingerprint))
                and explains(cause, symptom)
            ):
                held[symptom.fingerprint] = cause.fingerprint
                break
    return {symptom: _root(cause, held) for symptom, cause in held.items()}


def _was_told_before(cause: Finding, symptom: Finding, fired_at: float | None) -> bool:
    """Return whether the alert of a group in trouble had fired when an outage began."""
    began = cause.observation.since
    return (
        fired_at is not None
        and began is not None
        and fired_at < began
        and cause.observation.check in _OUTAGES
        and symptom.observation.check in _TROUBLE
    )


def _root(cause: str, held: Mapping[str, str]) -> str:
    seen = {cause}
    while cause in held and held[cause] not in seen:
        cause = held[cause]
        seen.add(cause)
    return cause


def explains(cause: Finding, symptom: Finding) -> bool:
    """Return whether one finding of a cluster follows from another of the same cluster."""
    why, what = cause.observation, symptom.observation
    if what.check == "losing_data":
        return False  # what retention deletes is gone, whoever is to blame
    match why.check:
        case "nothing_collected":
            return what.check in {"unknown", "collection_failed", "data_stale"}
        case "broker_missing" | "no_controller":
            if what.check in _REPLICATION | {"leader_imbalance", "no_controller", "unknown"}:
                return what.check != why.check
            if what.check in {"collection_failed", "data_stale"}:
                return what.labels.get("source") == "kafka"
            return what.check in _TROUBLE and _began_with(cause, symptom)
        case "partitions_offline":
            return _same(cause, symptom, "topic") and (
                what.check in {"under_min_isr", "under_replicated"}
                or (what.check in _TROUBLE and _began_with(cause, symptom))
            )
        case "under_min_isr":
            return what.check == "under_replicated" and _same(cause, symptom, "topic")
        case "collection_failed" | "data_stale":
            if what.check == "data_stale" and why.check == "collection_failed":
                return _same(cause, symptom, "section") and _same(cause, symptom, "source")
            return (
                what.check == "unknown"
                and why.labels.get("source") == "kafka"
                and why.labels.get("section") in _OFFSETS_SECTIONS
            )
        case "redrive_stopped":
            return (what.check == "dead_letter_age" and _same(cause, symptom, "name")) or (
                what.check in _TROUBLE and _same(cause, symptom, "group")
            )
        case "connector_failed" | "tasks_failed":
            if what.check == "tasks_failed":
                return why.check == "connector_failed" and _same(cause, symptom, "connector")
            return what.check in _TROUBLE and _same(cause, symptom, "group")
        case _:
            if not _same(cause, symptom, "group") or why.check == what.check:
                return False
            if what.check == "data_loss_deadline":
                # A deadline that is near is notified beside the trouble that leads to it.
                return (
                    why.check == "losing_data"
                    or symptom.rule.severity is not AlertSeverity.CRITICAL
                )
            if why.check == "stopped" and what.check == "stalled":
                return True  # it came back, and cannot work off what came meanwhile
            if what.check == "objective_missed":
                return why.check != "falling_behind"  # which follows from it
            return what.check in {"time_lag", "lag", "idle_consumers", "falling_behind"}


def _same(cause: Finding, symptom: Finding, label: str) -> bool:
    """Return whether both are about the same thing; a symptom may be about several."""
    one = _label(cause, label)
    return one is not None and one in (_label(symptom, label) or "").split(",")


def _label(found: Finding, label: str) -> str | None:
    seen = found.observation
    return seen.labels.get(label) or seen.related.get(label)


def _began_with(cause: Finding, symptom: Finding) -> bool:
    """Return whether the symptom began with the outage; unknown dates: it did not."""
    why, what = cause.observation.since, symptom.observation.began or symptom.observation.since
    if why is None or what is None:
        return False
    return why - EARLIER_SECONDS <= what <= why + OUTAGE_SECONDS
