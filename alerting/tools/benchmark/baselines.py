"""The rules in wide use that ours is compared with, as they would evaluate the same polls.

Burrow 1.9.5 on the group (linkedin/Burrow); Strimzi's ``lag > 1000`` for 10 s
(strimzi-kafka-operator, ``examples/metrics/prometheus-install/prometheus-rules``); Grafana's
``sum(delta(lag[5m])) > 0`` for 15 minutes (jsonnet-libs, ``kafka-observ-lib/alerts.libsonnet``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from alerting.tools.benchmark.burrow import (
    INTERVALS,
    BurrowStatus,
    Commit,
    burrow_partition_status,
)
from alerting.tools.benchmark.scoring import Fired
from simulation.scenarios.model import Scenario, ScenarioPartition, ScenarioSample

_STRIMZI_MESSAGES, _STRIMZI_FOR = 1000, 10.0
_GRAFANA_RANGE, _GRAFANA_FOR = 300.0, 900.0

_Poll = tuple[float, list[ScenarioSample | None]]


def strimzi(scenario: Scenario) -> list[Fired]:
    """Evaluate the group's lag: more than 1000 messages for 10 seconds."""

    def exceeded() -> Iterator[tuple[float, str | None]]:
        for at, samples in _polls(scenario):
            lags = [lag for lag in map(_lag, samples) if lag is not None]
            yield at, "lag > 1000" if sum(lags) > _STRIMZI_MESSAGES else None

    return _fired("lag > 1000 for 10 s", exceeded(), _STRIMZI_FOR)


def grafana(scenario: Scenario) -> list[Fired]:
    """Evaluate the group's lag: it grew over five minutes, at every poll of fifteen."""

    def growing() -> Iterator[tuple[float, str | None]]:
        recent: list[deque[tuple[float, int]]] = [deque() for _ in scenario.partitions]
        for at, samples in _polls(scenario):
            growth = 0.0
            for lags, lag in zip(recent, map(_lag, samples), strict=True):
                if lag is not None:
                    lags.append((at, lag))
                while lags and lags[0][0] <= at - _GRAFANA_RANGE:
                    lags.popleft()
                if len(lags) > 1:
                    # The increase between the outermost samples, drawn out to the whole range.
                    (first_at, first), (last_at, last) = lags[0], lags[-1]
                    growth += (last - first) * _GRAFANA_RANGE / (last_at - first_at)
            yield at, "lag grows" if growth > 0 else None

    return _fired("sum(delta(lag[5m])) > 0 for 15 m", growing(), _GRAFANA_FOR)


def burrow(scenario: Scenario) -> list[Fired]:
    """Evaluate the group by Burrow's rules.

    A poll that finds another committed offset counts as a commit; Burrow reads each of them.
    """

    def bad() -> Iterator[tuple[float, str | None]]:
        known = [_BurrowMemory() for _ in scenario.partitions]
        for at, samples in _polls(scenario):
            for memory, sample in zip(known, samples, strict=True):
                memory.read(sample)
            statuses = [memory.status(at) for memory in known]
            worst = max(statuses, key=lambda status: status.code, default=BurrowStatus.OK)
            yield at, None if worst is BurrowStatus.OK else worst.value

    return _fired("Burrow", bad(), 0.0)


BASELINES: Mapping[str, Callable[[Scenario], list[Fired]]] = {
    "burrow": burrow,
    "strimzi": strimzi,
    "grafana": grafana,
}
"""The baselines by name."""


class _BurrowMemory:
    """What Burrow keeps of one partition."""

    def __init__(self) -> None:
        self._commits: deque[Commit] = deque(maxlen=INTERVALS)
        self._ends: deque[int] = deque(maxlen=INTERVALS)

    def read(self, sample: ScenarioSample | None) -> None:
        if sample is None:
            return
        if sample.log_end is not None:
            self._ends.append(sample.log_end)
        committed = sample.committed
        if committed is None or (self._commits and committed == self._commits[-1].offset):
            return
        order = self._commits[-1].order + 1 if self._commits else 0
        lag = max(0, self._ends[-1] - committed) if self._ends else None
        self._commits.append(
            Commit(offset=committed, order=order, timestamp_ms=_milliseconds(sample.t), lag=lag)
        )

    def status(self, at: float) -> BurrowStatus:
        known = self._ends and self._commits
        lag = max(0, self._ends[-1] - self._commits[-1].offset) if known else 0
        return burrow_partition_status(self._commits, self._ends, lag, _milliseconds(at))


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _polls(scenario: Scenario) -> Iterator[_Poll]:
    by_time = [_by_time(part) for part in scenario.partitions]
    for at in scenario.times:
        yield at, [samples.get(at) for samples in by_time]


def _by_time(part: ScenarioPartition) -> dict[float, ScenarioSample]:
    return {sample.t: sample for sample in part.samples}


def _lag(sample: ScenarioSample | None) -> int | None:
    if sample is None or sample.log_end is None or sample.committed is None:
        return None
    return max(0, sample.log_end - sample.committed)


def _fired(rule: str, results: Iterator[tuple[float, str | None]], wait: float) -> list[Fired]:
    """Arrange what a rule said at each poll as alerts: it must hold for ``wait`` seconds."""
    fired: list[Fired] = []
    holds_since: float | None = None
    firing: tuple[float, str] | None = None
    at = 0.0
    for at, result in results:
        if result is None:
            if firing is not None:
                fired.append(
                    Fired(begin=firing[0], end=at, rule=rule, status=firing[1], severity="warning")
                )
            holds_since = firing = None
            continue
        holds_since = at if holds_since is None else holds_since
        if firing is None and at - holds_since >= wait:
            firing = (at, result)
    if firing is not None:
        fired.append(
            Fired(
                begin=firing[0],
                end=at,
                rule=rule,
                status=firing[1],
                severity="warning",
                resolved=False,
            )
        )
    return fired
