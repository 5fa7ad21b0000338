"""What sources tell each other from poll to poll, inside one process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A sink connector of Kafka Connect.

    Attributes:
        dead_letter_topic: Where it puts what it cannot process; None where it has no such topic.
    """

    connector: str
    group: str
    dead_letter_topic: str | None


class SharedFacts:
    """Facts by Kafka cluster, as last reported. Safe among threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sinks: dict[str, dict[str, tuple[Sink, ...]]] = {}
        self._ends: dict[str, pl.DataFrame] = {}
        self._ditto: dict[str, dict[str, frozenset[str]]] = {}

    def set_sinks(self, cluster: str, connect: str, sinks: Sequence[Sink]) -> None:
        """Set which sinks a Connect cluster has beside a Kafka cluster."""
        with self._lock:
            self._sinks.setdefault(cluster, {})[connect] = tuple(sinks)

    def sinks(self, cluster: str) -> list[Sink]:
        """Return the sinks of all Connect clusters beside a Kafka cluster."""
        with self._lock:
            return [sink for sinks in self._sinks.get(cluster, {}).values() for sink in sinks]

    def set_ditto_groups(self, cluster: str, ditto: str, groups: Iterable[str]) -> None:
        """Set with which consumer groups an Eclipse Ditto reads from a Kafka cluster."""
        with self._lock:
            self._ditto.setdefault(cluster, {})[ditto] = frozenset(groups)

    def ditto_groups(self, cluster: str) -> frozenset[str]:
        """Return the consumer groups of all Dittos beside a Kafka cluster."""
        with self._lock:
            return frozenset[str]().union(*self._ditto.get(cluster, {}).values())

    def set_end_offsets(self, cluster: str, ends: pl.DataFrame) -> None:
        """Set where a cluster's logs end: topic, partition, log_end."""
        with self._lock:
            self._ends[cluster] = ends

    def ends(self, cluster: str) -> pl.DataFrame | None:
        """Return where a cluster's logs ended at its last poll; None before the first."""
        with self._lock:
            return self._ends.get(cluster)
