"""Headroom's own evaluation on a scenario: status, default rules and the life of alerts."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from alerting.evaluate.observations import group_observations
from alerting.inputs.windows import GroupKey, downsampled
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.inhibition import advance_with_causes
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import evaluate
from alerting.status.group_status import GroupStatus, PartitionWindow, Sample, group_status
from alerting.tools.benchmark.scoring import Fired
from simulation.scenarios.model import Scenario, ScenarioPartition, ScenarioSample

_CLUSTER = "scenario"
_GONE_POLLS = 3.5


def ours(scenario: Scenario) -> list[Fired]:
    """Evaluate each poll as the service does, and return the alerts that fired."""
    key = GroupKey(_CLUSTER, scenario.group)
    alerts: Mapping[str, Alert] = {}
    fired: dict[str, Alert] = {}
    first: dict[str, str | None] = {}  # their status when they fired: it is of now later
    for at, status in statuses(scenario):
        seen = group_observations({key: status}, now=at)
        evaluation = evaluate(DEFAULT_ALERT_RULES, seen)
        alerts = advance_with_causes(alerts, evaluation, at)
        for alert in alerts.values():
            if alert.fired_at is not None and not alert.is_inhibited:
                fired[alert.id] = alert
                first.setdefault(alert.id, alert.status)
    last = max(scenario.times, default=0.0)
    return sorted(
        (_fired(alert, first[alert.id], last) for alert in fired.values()),
        key=lambda found: (found.begin, found.rule),
    )


def statuses(scenario: Scenario) -> list[tuple[float, GroupStatus]]:
    """Return the group's status at each poll."""
    series = [_Series(part) for part in scenario.partitions]
    found = []
    for at in scenario.times:
        windows = [window for one in series if (window := one.read(at, scenario.poll_seconds))]
        found.append((at, group_status(windows, now=at)))
    return found


class _Series:
    """The samples of one partition, poll after poll."""

    def __init__(self, part: ScenarioPartition) -> None:
        self._part = part
        self._coming = deque(part.samples)
        self._samples: tuple[Sample, ...] = ()

    def read(self, at: float, poll_seconds: float) -> PartitionWindow | None:
        """Return the window at a poll; None before the first sample and long after the last."""
        while self._coming and self._coming[0].t <= at:
            self._samples = downsampled((*self._samples, _sample(self._coming.popleft())))
        if not self._samples or at - self._samples[-1].at > _GONE_POLLS * poll_seconds:
            return None
        return PartitionWindow(
            topic=self._part.topic, partition=self._part.partition, samples=self._samples
        )


def _sample(seen: ScenarioSample) -> Sample:
    lag = None
    if seen.log_end is not None and seen.committed is not None:
        lag = max(0, seen.log_end - seen.committed)
    return Sample(
        seen.t,
        seen.committed,
        seen.log_start,
        seen.log_end,
        lag,
        None,
        seen.assigned,
        seen.members,
        seen.state,
    )


def _fired(alert: Alert, status: str | None, last: float) -> Fired:
    resolved = alert.state is State.RESOLVED and alert.resolved_at is not None
    return Fired(
        begin=alert.fired_at or 0.0,
        end=alert.resolved_at if resolved and alert.resolved_at is not None else last,
        rule=alert.rule,
        status=status or "",
        severity=alert.severity.value,
        resolved=resolved,
    )
