"""Rules: what is an alert, how long it must last, how bad it is. Plain values, no input or output.

A rule names a check (``alerting.checks.registry``), whose observations it compares with its
threshold. Evaluating is pure: ``evaluate(rules, observations)`` gives the findings of one moment,
which ``alerting.rules.lifecycle`` turns into alerts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from alerting.checks.model import Observation, PartialData
from alerting.checks.registry import CHECKS
from config.patterns import matches_whole


class AlertSeverity(StrEnum):
    """How bad an alert is, the worst first; ``info`` pages nobody."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


SEVERITIES: tuple[AlertSeverity, ...] = tuple(AlertSeverity)


def worst(severities: Iterable[AlertSeverity]) -> AlertSeverity:
    """Return the worst of some severities."""
    return min(severities, key=SEVERITIES.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What a rule is for some of the things it looks at; None leaves the rule's own value."""

    match: Mapping[str, str]
    enabled: bool | None = None
    threshold: float | None = None
    for_seconds: float | None = None
    keep_firing_for_seconds: float | None = None
    severity: AlertSeverity | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    runbook: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When something is an alert.

    Attributes:
        name: Its name: ``alertname`` where Prometheus or Alertmanager name it.
        check: What it looks at; see ``alerting.checks.registry``.
        threshold: In the unit of the check; None: only where an override sets one.
        match: Label: regular expression; things that do not match are not looked at.
        overrides: The first that matches applies.
    """

    name: str
    check: str
    severity: AlertSeverity
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
        return self.is_worse(value, self.threshold)

    def is_worse(self, value: float, other: float) -> bool:
        """Return whether a value is worse than another one."""
        return value > other if CHECKS[self.check].bad == "above" else value < other


def _first(value: float | None, otherwise: float | None) -> float | None:
    return otherwise if value is None else value


def matches(patterns: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Return whether each pattern matches the whole value of its label; missing ones are empty."""
    return all(matches_whole(pattern, labels.get(label, "")) for label, pattern in patterns.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that is true of something at this moment."""

    rule: Rule
    observation: Observation
    fingerprint: str  # which rule and thing: the same at each evaluation, in each instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What rules say at one moment.

    Attributes:
        standing: What is true for alerts that fire already, and makes no new one.
        unknown: Check, and labels of the things of which nothing is known: their alerts stay
            as they are.
        partial: Sources that were read in part: alerts of things that may be hidden stay, too.
    """

    findings: tuple[Finding, ...] = ()
    standing: tuple[Finding, ...] = ()
    unknown: frozenset[tuple[str, frozenset[tuple[str, str]]]] = frozenset()
    partial: tuple[PartialData, ...] = ()

    def is_unknown(self, check: str, labels: Mapping[str, str], last_true_at: float) -> bool:
        """Return whether a thing that is not among the findings may be as it was.

        It was last seen to be so at ``last_true_at``, in Unix seconds.
        """
        names = CHECKS[check].labels if check in CHECKS else ()
        own = [(name, labels.get(name, "")) for name in ("cluster", *names)]
        if any((check, frozenset(own[:count])) in self.unknown for count in range(1, len(own) + 1)):
            return True
        thing = tuple(value for _, value in own[1:])
        return any(
            one.check == check
            and one.labels.items() <= labels.items()
            and last_true_at < one.since
            and thing not in one.present
            for one in self.partial
        )


def unasked(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the checks of which no rule can be true of anything, for want of a threshold."""
    return frozenset(CHECKS) - {
        rule.check
        for rule in rules
        if rule.threshold is not None
        or any(override.threshold is not None for override in rule.overrides)
    }


def fingerprint(rule: str, labels: Mapping[str, str]) -> str:
    """Return the identity of a rule and a thing, the same on every machine."""
    parts = [rule, *(f"{key}={labels[key]}" for key in sorted(labels))]
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def evaluate(
    rules: Sequence[Rule],
    observations: Iterable[Observation],
    *,
    partial: Sequence[PartialData] = (),
) -> Evaluation:
    """Compare observations with rules."""
    by_check: dict[str, list[Rule]] = {}
    for rule in rules:
        by_check.setdefault(rule.check, []).append(rule)
    findings: list[Finding] = []
    standing: list[Finding] = []
    unknown: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    for seen in observations:
        if seen.value is None:
            unknown.add((seen.check, frozenset(seen.labels.items())))
            continue
        for rule in by_check.get(seen.check, ()):
            applied = rule.applied_to(seen.labels)
            if applied is None:
                continue
            if applied.is_true_of(seen.value):
                (standing if seen.stands else findings).append(
                    Finding(
                        rule=applied,
                        observation=seen,
                        fingerprint=fingerprint(rule.name, seen.labels),
                    )
                )
            elif seen.may_be_worse:
                unknown.add((seen.check, frozenset(seen.labels.items())))
    return Evaluation(
        findings=tuple(findings),
        standing=tuple(standing),
        unknown=frozenset(unknown),
        partial=tuple(partial),
    )
