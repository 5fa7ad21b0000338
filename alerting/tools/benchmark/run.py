"""The benchmark of alerts: every scenario evaluated by every evaluator, and how right each was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from alerting.tools.benchmark.baselines import BASELINES
from alerting.tools.benchmark.headroom import ours
from alerting.tools.benchmark.scoring import AlertScore, Fired, score
from simulation.scenarios.model import Scenario

OURS = "headroom"
EVALUATORS: Mapping[str, Callable[[Scenario], list[Fired]]] = {OURS: ours, **BASELINES}
"""Every evaluator by name, ours first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedScenario:
    """One scenario, evaluated by every evaluator."""

    name: str
    fired: Mapping[str, Sequence[Fired]]
    scores: Mapping[str, AlertScore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """One evaluator over all scenarios.

    Attributes:
        median_delay: Over the incidents that were notified, in seconds; None without one.
        longest_overdue: Of those that came to be later than the objective, without an end within
            it: the longest time from then until they were notified; None without one.
    """

    right: int
    missed: int
    false_alerts: int
    flaps: int
    sent: int
    median_delay: float | None
    longest_overdue: float | None


def evaluate_scenario(scenario: Scenario) -> EvaluatedScenario:
    """Let every evaluator evaluate a scenario."""
    fired = {name: evaluate(scenario) for name, evaluate in EVALUATORS.items()}
    return EvaluatedScenario(
        name=scenario.name,
        fired=fired,
        scores={name: score(scenario, found) for name, found in fired.items()},
    )


def total_of(evaluated: Iterable[EvaluatedScenario], evaluator: str) -> Total:
    """Add up what one evaluator did."""
    scores = [one.scores[evaluator] for one in evaluated]
    delays = [delay for found in scores for delay in found.delays]
    return Total(
        right=sum(1 for found in scores if found.is_right),
        missed=sum(found.missed for found in scores),
        false_alerts=sum(found.false_alerts for found in scores),
        flaps=sum(found.flaps for found in scores),
        sent=sum(found.sent for found in scores),
        median_delay=median(delays) if delays else None,
        longest_overdue=max((late for found in scores for late in found.overdue), default=None),
    )


def fastest_of(evaluated: EvaluatedScenario, names: Iterable[str] = EVALUATORS) -> str | None:
    """Return who was right on a scenario and notified first; None if nobody was."""
    right = [
        name
        for name in names
        if evaluated.scores[name].is_right and evaluated.scores[name].incidents
    ]
    return min(right, key=lambda name: sum(evaluated.scores[name].delays)) if right else None


def fastest_baseline_delay(evaluated: Iterable[EvaluatedScenario]) -> float | None:
    """Return the median of the delays of each scenario's fastest baseline that was right on it."""
    delays = [
        delay
        for one in evaluated
        if (name := fastest_of(one, BASELINES)) is not None
        for delay in one.scores[name].delays
    ]
    return median(delays) if delays else None


def as_document(evaluated: Sequence[EvaluatedScenario]) -> dict[str, Any]:
    """Return everything as a JSON document."""
    return {
        "scenarios": [
            {
                "name": one.name,
                "fired": [_alert(alert) for alert in one.fired[OURS]],
                "score": _score(one.scores[OURS]),
                "fastest_right": fastest_of(one),
                "baselines": {
                    name: {
                        "fired": [_alert(alert) for alert in one.fired[name]],
                        "score": _score(one.scores[name]),
                    }
                    for name in BASELINES
                },
            }
            for one in evaluated
        ],
        "totals": {name: _total(total_of(evaluated, name)) for name in EVALUATORS},
    }


def _alert(alert: Fired) -> dict[str, Any]:
    return {
        "from": alert.begin,
        "to": alert.end,
        "rule": alert.rule,
        "status": alert.status,
        "severity": alert.severity,
        "resolved": alert.resolved,
    }


def _score(found: AlertScore) -> dict[str, Any]:
    return {
        "result": found.result,
        "incidents": found.incidents,
        "delays_seconds": list(found.delays),
        "overdue_seconds": list(found.overdue),
        "missed": found.missed,
        "false_alerts": found.false_alerts,
        "flaps": found.flaps,
        "messages_sent": found.sent,
    }


def _total(found: Total) -> dict[str, Any]:
    return {
        "right": found.right,
        "missed": found.missed,
        "false_alerts": found.false_alerts,
        "flaps": found.flaps,
        "messages_sent": found.sent,
        "median_delay_seconds": found.median_delay,
        "longest_overdue_seconds": found.longest_overdue,
    }
