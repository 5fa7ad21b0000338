"""Kubernetes' horizontal pod autoscaler, on CPU and on KEDA's Kafka metric.

From the Kubernetes source (``replica_calculator.go``, ``horizontal.go``) and KEDA's
(``kafka_scaler.go``): tolerance 10 %, evaluation every 15 s, up by at most 100 % or 4 pods per
15 s, down only to the highest recommendation of the last 300 s. KEDA is asked every 30 s.
"""

from __future__ import annotations

from collections import deque
from math import ceil

from scaling.facts.intervals import Floats
from scaling.keda.scalers import capped_lag, hpa_replicas
from simulation.model import GroupObservation

TOLERANCE = 0.1
CPU_TARGET = 0.8
KEDA_MAXIMUM = 100
"""KEDA's default of maxReplicaCount."""

KEDA_POLL_SECONDS = 30.0
_DOWN_WINDOW_SECONDS = 300.0
_MOST_PODS_UP = 4


class _Behaviour:
    """The scaling behaviour that HPA has by default."""

    def __init__(self) -> None:
        self._recommended: deque[tuple[float, int]] = deque()

    def limit(self, at: float, current: int, wanted: int) -> int:
        """Return the replicas that HPA sets where its metric asks for ``wanted``."""
        self._recommended.append((at, wanted))
        while self._recommended[0][0] < at - _DOWN_WINDOW_SECONDS:
            self._recommended.popleft()
        if wanted > current:
            return min(wanted, max(2 * current, current + _MOST_PODS_UP))
        return min(current, max(number for _, number in self._recommended))


class HpaCpu:
    """HPA on the consumers' CPU; the work of a consumer is taken to be CPU alone."""

    def __init__(self, maximum: int) -> None:
        self.name = f"hpa cpu {CPU_TARGET:.0%}"
        self._maximum = maximum
        self._behaviour = _Behaviour()

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        """Return ready pods x utilisation / target, within the tolerance the present number."""
        current = seen.replicas
        if not len(busy_ratio):
            return current
        ratio = float(busy_ratio.mean()) / CPU_TARGET
        wanted = current
        if abs(ratio - 1) > TOLERANCE:
            wanted = ceil(ratio * len(busy_ratio))
        return self._behaviour.limit(seen.at, current, max(1, min(self._maximum, wanted)))


class Keda:
    """KEDA's Kafka scaler with its cap and both of its defects; see ``scaling.keda.scalers``."""

    def __init__(self, partitions: int, threshold: int, maximum: int = KEDA_MAXIMUM) -> None:
        self.name = f"keda {threshold}"
        self._maximum = min(maximum, KEDA_MAXIMUM)
        self._partitions = partitions
        self._threshold = threshold
        self._behaviour = _Behaviour()
        self._polled_at = float("-inf")
        self._metric = 0

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        """Return what HPA makes of the metric that KEDA had at its last poll."""
        if seen.at - self._polled_at >= KEDA_POLL_SECONDS:
            self._polled_at = seen.at
            self._metric = capped_lag(int(seen.total_lag), self._threshold, self._partitions)
        current = seen.replicas
        wanted = hpa_replicas(self._metric, self._threshold, current, 1, self._maximum)
        return self._behaviour.limit(seen.at, current, wanted)
