"""Trying one rule over the lake's history: what it looks at, and when it would have fired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alerting.checks.model import CheckInput
from alerting.evaluate.observations import evaluate_cluster, observe
from alerting.evaluate.status_history import GroupMemory
from alerting.inputs.lake_rows import at, read_range
from alerting.notify.notifications import NotificationIntervals
from alerting.rules.lifecycle import Alert
from alerting.rules.model import Rule
from alerting.status.model import OBJECTIVE_SECONDS
from alerting.tools.replay import Recorder, moments
from lake.storage.store import Lake


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a rule would have done.

    Attributes:
        points: Time (Unix seconds), thing and value of what the rule looks at; None where it was
            unknown.
    """

    alerts: tuple[Alert, ...]
    points: tuple[tuple[float, str, float | None], ...]
    messages: int
    evaluations: int


def try_rule(
    lake: Lake,
    cluster: str,
    rule: Rule,
    first: float,
    last: float,
    *,
    interval_seconds: float,
    objective: Callable[[str], float] = lambda _: OBJECTIVE_SECONDS,
) -> Tried:
    """Evaluate one rule alone: causes inhibit nothing."""
    rows = read_range(lake, cluster, first, last, first)
    recorder = Recorder(NotificationIntervals())
    memory = GroupMemory(lake, objective)
    points: list[tuple[float, str, float | None]] = []
    for now in moments(rows, first, last, interval_seconds):
        seen = observe(CheckInput(frames=at(rows, now), classify=memory.statuses), rule.check)
        recorder.take(evaluate_cluster([rule], seen, cluster), now)
        points += [
            (now, thing(dict(one.labels)), one.value)
            for one in seen.observations
            if one.check == rule.check and rule.applied_to(one.labels) is not None
        ]
    return Tried(
        alerts=recorder.fired,
        points=tuple(points),
        messages=recorder.messages,
        evaluations=recorder.evaluations,
    )


def thing(labels: dict[str, str]) -> str:
    """Return the name of what an observation is about, without its cluster."""
    own = [value for label, value in labels.items() if label != "cluster" and value]
    return " / ".join(own) or labels.get("cluster", "")
