"""Rules: what is an alert, how long it must last, how bad it is. Plain values, no input or output.

A rule names a check (``alerting.checks``), whose observations it compares with its threshold.
Evaluating is pure: ``evaluate(rules, observations)`` gives the findings of one moment, which
``alerting.lifecycle`` turns into alerts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from alerting.checks import CHECKS


class Severity(StrEnum):
    """How bad an alert is, the worst first; ``info`` pages nobody."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


SEVERITIES: tuple[Severity, ...] = tuple(Severity)


def worst(severities: Iterable[Severity]) -> Severity:
    """Return the worst of some severities."""
    return min(severities, key=SEVERITIES.index)


@dataclass(frozen=True, slots=True)
class Override:
    """What a rule is for some of the things it looks at; None leaves the rule's own value.

    Attributes:
        match: Label: regular expression that its whole value must match; all must.
        enabled: Whether the rule applies at all.
        threshold: In the unit of the rule's check.
        for_seconds: How long it must be true.
        keep_firing_for_seconds: How long it must be untrue.
        severity: How bad it is.
        labels: Further labels of the alert.
        runbook: Address of a page that says what to do.
    """

    match: Mapping[str, str]
    enabled: bool | None = None
    threshold: float | None = None
    for_seconds: float | None = None
    keep_firing_for_seconds: float | None = None
    severity: Severity | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    runbook: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """When something is an alert.

    Attributes:
        name: Its name: ``alertname`` where Prometheus or Alertmanager name it.
        check: What it looks at; see ``alerting.checks``.
        severity: How bad it is.
        threshold: In the unit of the check; None: only where an override sets one.
        for_seconds: How long it must be true before it fires.
        keep_firing_for_seconds: How long it must be untrue before it is resolved.
        labels: Further labels of its alerts.
        runbook: Address of a page that says what to do.
        match: Label: regular expression; things that do not match are not looked at.
        overrides: The first that matches applies.
        enabled: False turns it off.
    """

    name: str
    check: str
    severity: Severity
    threshold: float | None = None
    for_seconds: float = 0.0
    keep_firing_for_seconds: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    runbook: str = ""
    match: Mapping[str, str] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    enabled: bool = True

    def applied_to(self, labels: Mapping[str, str]) -> Rule | None:
        """Return the rule as it is for one thing; None where it does not look at it."""
        if self.match and not matches(self.match, labels):
            return None
        for override in self.overrides:
            if matches(override.match, labels):
                return self._with(override)
        return self if self.enabled else None

    def _with(self, override: Override) -> Rule | None:
        if not (self.enabled if override.enabled is None else override.enabled):
            return None
        return replace(
            self,
            threshold=_first(override.threshold, self.threshold),
            for_seconds=_first(override.for_seconds, self.for_seconds) or 0.0,
            keep_firing_for_seconds=_first(
                override.keep_firing_for_seconds, self.keep_firing_for_seconds
            )
            or 0.0,
            severity=override.severity or self.severity,
            labels={**self.labels, **override.labels},
            runbook=self.runbook if override.runbook is None else override.runbook,
        )

    def is_true_of(self, value: float) -> bool:
        """Compare a value with the threshold; without a threshold nothing is true."""
        if self.threshold is None:
            return False
        if CHECKS[self.check].bad == "above":
            return value > self.threshold
        return value < self.threshold


def _first(value: float | None, otherwise: float | None) -> float | None:
    return otherwise if value is None else value


def matches(patterns: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Tell whether each pattern matches the whole value of its label; a missing label is empty."""
    return all(
        re.fullmatch(pattern, labels.get(label, "")) is not None
        for label, pattern in patterns.items()
    )


@dataclass(frozen=True, slots=True)
class Observation:
    """What a check saw of one thing at one moment.

    Attributes:
        check: The check.
        labels: Which thing: always ``cluster``, then what the check names.
        value: In the unit of the check; None: it could not be told, which is neither true nor
            untrue.
        what: The thing and its state in a few words: ``payments stalled``.
        detail: How bad it is: a sentence with numbers.
        since: Since when in Unix seconds, where known.
        cause: What is most likely behind it.
        step: What to do next.
        page: Page of the dashboard that shows it; its parameters are among the labels.
        status: Status of the group, where it is one.
        related: Further labels that tell causes from symptoms; no part of its identity.
    """

    check: str
    labels: Mapping[str, str]
    value: float | None
    what: str = ""
    detail: str = ""
    since: float | None = None
    cause: str = ""
    step: str = ""
    page: Literal[
        "overview", "group", "brokers", "topic", "dead_letters", "connect", "queues", "health"
    ] = "overview"
    status: str | None = None
    related: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that is true of something at this moment.

    Attributes:
        rule: The rule as it is for this thing.
        observation: What was seen.
        fingerprint: Which rule and thing: the same at each evaluation, in each instance.
    """

    rule: Rule
    observation: Observation
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What rules say at one moment.

    Attributes:
        findings: What is true.
        unknown: Fingerprints of what could not be told: such alerts stay as they are.
        blind: Clusters of which nothing is known now: their alerts stay as they are.
        blind_checks: Cluster and check of which nothing is known, the same.
    """

    findings: tuple[Finding, ...] = ()
    unknown: frozenset[str] = frozenset()
    blind: frozenset[str] = frozenset()
    blind_checks: frozenset[tuple[str, str]] = frozenset()


def fingerprint(rule: str, labels: Mapping[str, str]) -> str:
    """Return the identity of a rule and a thing, the same on every machine."""
    parts = [rule, *(f"{key}={labels[key]}" for key in sorted(labels))]
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def evaluate(
    rules: Sequence[Rule],
    observations: Iterable[Observation],
    *,
    blind: frozenset[str] = frozenset(),
    blind_checks: frozenset[tuple[str, str]] = frozenset(),
) -> Evaluation:
    """Compare observations with rules.

    Args:
        rules: All rules.
        observations: What was seen.
        blind: Clusters of which nothing is known now.
        blind_checks: Cluster and check of which nothing is known now.
    """
    by_check: dict[str, list[Rule]] = {}
    for rule in rules:
        by_check.setdefault(rule.check, []).append(rule)
    findings: list[Finding] = []
    unknown: set[str] = set()
    for seen in observations:
        for rule in by_check.get(seen.check, ()):
            if seen.value is None:
                unknown.add(fingerprint(rule.name, seen.labels))
                continue
            applied = rule.applied_to(seen.labels)
            if applied is not None and applied.is_true_of(seen.value):
                findings.append(Finding(applied, seen, fingerprint(rule.name, seen.labels)))
    return Evaluation(tuple(findings), frozenset(unknown), blind, blind_checks)
