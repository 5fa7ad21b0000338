"""The rules of two stream processors: DS2 and Flink's autoscaler.

Both take "useful" time from instruments inside the consumers. Formulas: DS2's paper and source
(``policy/scaling.rs``); flink-kubernetes-operator (``JobVertexScaler``, ``ScalingMetricEvaluator``,
``AutoScalerUtils``, ``ParallelismAligner``), with their defaults.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from scaling.facts.intervals import Floats
from simulation.model import GroupObservation

_WINDOW_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """Sums over the partitions and the members at one time."""

    at: float
    log_end: float
    committed: float
    lag: float
    members: int
    busy: Floats

    @classmethod
    def of(cls, seen: GroupObservation, busy_ratio: Floats) -> _Reading:
        return cls(
            at=seen.at,
            log_end=float(seen.log_end.sum()),
            committed=float(np.nansum(seen.committed)),
            lag=seen.total_lag,
            members=seen.members,
            busy=busy_ratio,
        )


class Ds2:
    """DS2: instances = ceil(target rate / true rate of one instance).

    Backlog is not part of the rule. A decision needs ``activation`` windows that agree in scaling,
    the median of which counts, and after one a window is let pass to warm up.
    """

    def __init__(self, maximum: int) -> None:
        self.name = "ds2"
        self._maximum = maximum
        self._activation = 2
        self._first: _Reading | None = None
        self._busy: list[float] = []
        self._proposed: list[int] = []
        self._warm_at = 0.0

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        """Return the parallelism of the last windows' true rates."""
        now = _Reading.of(seen, busy_ratio)
        if seen.at < self._warm_at or seen.rebalancing or seen.members != seen.replicas:
            self._first = None
            return seen.replicas
        if self._first is None:
            self._first, self._busy = now, []
            return seen.replicas
        self._busy.append(float(now.busy.sum()) if len(now.busy) else 0.0)
        seconds = now.at - self._first.at
        if seconds < _WINDOW_SECONDS:
            return seen.replicas
        processed = now.committed - self._first.committed
        useful = sum(self._busy) / len(self._busy) * seconds
        target = (now.log_end - self._first.log_end) / seconds
        self._first, self._busy = now, []
        if processed <= 0 or useful <= 0:
            return seen.replicas
        wanted = ceil(target / (processed / useful))
        self._proposed.append(max(1, min(self._maximum, wanted)))
        if len(self._proposed) < self._activation:
            return seen.replicas
        decided = sorted(self._proposed)[len(self._proposed) // 2]
        self._proposed = []
        if decided != seen.replicas:
            self._warm_at = seen.at + _WINDOW_SECONDS
        return decided


class Flink:
    """Flink's autoscaler with its defaults; a consumer group stands for the source vertex."""

    name = "flink"

    _INTERVAL = 60.0
    _WINDOW = 900.0
    _STABILISE = 300.0
    _DOWN_DELAY = 3600.0
    _CATCH_UP = 1800.0
    _RESTART = 300.0
    _TARGET = 0.7
    _LOWEST = 0.4
    _HIGHEST = 1.0
    _LAG_FOR_OBSERVED = 30.0
    _LAG_FOR_NO_BOUND = 300.0
    _OBSERVED_BEYOND = 1.15
    _DOWN_FACTOR = 0.4

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._readings: deque[_Reading] = deque()
        self._down: deque[tuple[float, int]] = deque()
        self._changed_at = 0.0
        self._evaluated_at = float("-inf")
        self._replicas = 0

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        """Return the aligned parallelism where the true rate leaves its boundaries."""
        if seen.replicas != self._replicas:
            self._replicas, self._changed_at = seen.replicas, seen.at
            self._readings.clear()
        if seen.members != seen.replicas or seen.at < self._changed_at + self._STABILISE:
            return seen.replicas
        self._readings.append(_Reading.of(seen, busy_ratio))
        while self._readings[0].at < seen.at - self._WINDOW:
            self._readings.popleft()
        first, last = self._readings[0], self._readings[-1]
        # A window that is not full yet decides nothing.
        if (
            last.at - first.at < self._WINDOW * 0.95
            or seen.at < self._evaluated_at + self._INTERVAL
        ):
            return seen.replicas
        self._evaluated_at = seen.at
        return self._evaluate(seen, first, last)

    def _evaluate(self, seen: GroupObservation, first: _Reading, last: _Reading) -> int:
        seconds = last.at - first.at
        consumed = (last.committed - first.committed) / seconds
        arriving = max(0.0, consumed + (last.lag - first.lag) / seconds)
        true_rate = self._true_rate(consumed)
        if true_rate is None:
            return seen.replicas
        lag = last.lag
        is_late = lag > self._LAG_FOR_NO_BOUND * max(arriving, 1e-9)
        low = self._capacity(self._HIGHEST, lag, arriving, restart=False)
        high = inf if is_late else self._capacity(self._LOWEST, lag, arriving, restart=True)
        if low <= true_rate <= high:
            self._down.clear()
            return seen.replicas
        scale = self._capacity(self._TARGET, lag, arriving, restart=True) / true_rate
        scale = max(self._DOWN_FACTOR, scale)
        wanted = max(1, min(self._partitions, ceil(scale * seen.replicas)))
        wanted = self._aligned(wanted)
        if wanted > seen.replicas:
            self._down.clear()
            return wanted
        return self._delayed(seen, wanted)

    def _true_rate(self, consumed: float) -> float | None:
        """Return the rate of all instances if they never waited; None where it is not known."""
        busy = [float(one.busy.max()) for one in self._readings if len(one.busy)]
        if not busy or consumed <= 0:
            return None
        mean = sum(busy) / len(busy)
        by_busy = consumed / mean if mean > 0 else inf
        lags = [one for one in self._readings if one.lag >= self._LAG_FOR_OBSERVED * consumed]
        if len(lags) >= 2:
            seconds = lags[-1].at - lags[0].at
            observed = (lags[-1].committed - lags[0].committed) / seconds if seconds else 0.0
            if observed > 0 and by_busy > self._OBSERVED_BEYOND * observed:
                return observed
        return by_busy if by_busy < inf else None

    def _capacity(self, utilisation: float, lag: float, arriving: float, *, restart: bool) -> float:
        catch_up = lag / self._CATCH_UP
        of_restart = arriving * self._RESTART / self._CATCH_UP if restart else 0.0
        return catch_up + of_restart + arriving / utilisation

    def _aligned(self, wanted: int) -> int:
        """Return the first count from ``wanted`` on that spreads the partitions better."""
        for number in range(wanted, self._partitions + 1):
            is_even = self._partitions % number == 0
            if is_even or self._partitions // number < self._partitions // wanted:
                return number
        return wanted

    def _delayed(self, seen: GroupObservation, wanted: int) -> int:
        """Scale down after an hour, to the most that was wanted in it."""
        if wanted == seen.replicas:
            self._down.clear()
            return wanted
        self._down.append((seen.at, wanted))
        if seen.at - self._down[0][0] < self._DOWN_DELAY:
            return seen.replicas
        most = max(number for _, number in self._down)
        self._down.clear()
        return most
