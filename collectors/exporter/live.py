"""Series of the service itself: how collecting goes, and what became of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from collectors.service.cluster import ClusterState
from collectors.service.snapshot import POLL, Snapshots, SourceState
from collectors.service.writer import WriterState

STATUSES = ("ok", "partial", "failed")
_SOURCE = ("cluster", "source")
_SECTION = (*_SOURCE, "section")


def live_registry(
    snapshots: Snapshots,
    writer: Callable[[], WriterState],
    clusters: Callable[[], Mapping[str, ClusterState]],
    settings_problem: Callable[[], str | None],
    *,
    kminion: bool,
) -> CollectorRegistry:
    """Return what ``/metrics`` tells besides the sources' rows."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collecting(snapshots))
    registry.register(_Writing(writer))
    registry.register(_Polling(clusters, settings_problem))
    if kminion:
        registry.register(_Up(snapshots))
    ProcessCollector(registry=registry)
    return registry


class _Collecting(Collector):
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    def collect(self) -> Iterable[Metric]:
        states = self._snapshots.states()
        clock = self._snapshots.clock()
        yield from _of_sources(states, clock)
        yield from _of_sections(states, clock)
        events = CounterMetricFamily(
            "headroom_cluster_events",
            "Rows of the table cluster_events, by kind.",
            labels=("cluster", "kind"),
        )
        numbers: Counter[tuple[str, str]] = Counter()
        for state in states:  # several sources of a cluster may see events of one kind
            numbers.update({(state.cluster, kind): n for kind, n in state.events.items()})
        for labels, number in numbers.items():
            events.add_metric(labels, number)
        yield events
        rebalances = CounterMetricFamily(
            "headroom_group_rebalances",
            "Rows of the table rebalances, by group.",
            labels=("cluster", "group"),
        )
        for state in states:
            for group, number in state.rebalances.items():
                rebalances.add_metric([state.cluster, group], number)
        yield rebalances


def _of_sources(states: Sequence[SourceState], clock: float) -> Iterable[Metric]:
    interval = GaugeMetricFamily(
        "headroom_poll_interval_seconds", "The source's cadence.", labels=_SOURCE
    )
    age = GaugeMetricFamily(
        "headroom_poll_age_seconds",
        "Time since the source's last poll ended, whatever it yielded.",
        labels=_SOURCE,
    )
    for state in states:
        labels = [state.cluster, state.source]
        interval.add_metric(labels, state.interval_seconds)
        if state.polled_at is not None:
            age.add_metric(labels, max(0.0, clock - state.polled_at))
    yield from (interval, age)


def _of_sections(states: Sequence[SourceState], clock: float) -> Iterable[Metric]:
    status = GaugeMetricFamily(
        "headroom_collection_status",
        "1 for the status of the section's last read, 0 for the others.",
        labels=(*_SECTION, "status"),
    )
    duration = GaugeMetricFamily(
        "headroom_collection_duration_seconds",
        "How long the section's last read took.",
        labels=_SECTION,
    )
    rows = GaugeMetricFamily(
        "headroom_collection_rows", "Rows of the section's last read.", labels=_SECTION
    )
    age = GaugeMetricFamily(
        "headroom_collection_age_seconds",
        "Time since the section's last read that yielded rows began.",
        labels=_SECTION,
    )
    success = GaugeMetricFamily(
        "headroom_collection_last_success_timestamp_seconds",
        "When the section's last read that yielded rows began.",
        labels=_SECTION,
    )
    total = CounterMetricFamily(
        "headroom_collections",
        "Reads of the section by how they ended.",
        labels=(*_SECTION, "status"),
    )
    for state in states:
        for name, section in state.sections.items():
            labels = [state.cluster, state.source, name]
            for each, number in section.counts.items():
                total.add_metric([*labels, each], number)
            if name == POLL:
                continue
            for each in STATUSES:
                status.add_metric([*labels, each], section.status == each)
            duration.add_metric(labels, section.duration_seconds)
            rows.add_metric(labels, section.rows)
            if section.succeeded_at is not None and section.succeeded_clock is not None:
                age.add_metric(labels, max(0.0, clock - section.succeeded_clock))
                success.add_metric(labels, section.succeeded_at.timestamp())
    yield from (status, duration, rows, age, success, total)


class _Writing(Collector):
    def __init__(self, writer: Callable[[], WriterState]) -> None:
        self._writer = writer

    def collect(self) -> Iterable[Metric]:
        state = self._writer()
        yield CounterMetricFamily(
            "headroom_lake_rows_written", "Rows appended to the lake.", value=state.written_rows
        )
        yield CounterMetricFamily(
            "headroom_lake_rows_lost",
            "Rows that could not be appended and are gone.",
            value=state.lost_rows,
        )
        yield GaugeMetricFamily(
            "headroom_lake_waiting_bytes",
            "Size of the rows that wait for the lake.",
            value=state.waiting_bytes,
        )


class _Polling(Collector):
    def __init__(
        self,
        clusters: Callable[[], Mapping[str, ClusterState]],
        settings_problem: Callable[[], str | None],
    ) -> None:
        self._clusters = clusters
        self._settings_problem = settings_problem

    def collect(self) -> Iterable[Metric]:
        active = GaugeMetricFamily(
            "headroom_collector_active",
            "1 where this process polls the cluster, 0 where it waits for the lease.",
            labels=("cluster",),
        )
        for name, cluster in self._clusters().items():
            active.add_metric([name], cluster.active)
        yield active
        yield GaugeMetricFamily(
            "headroom_settings_in_effect",
            "0 while the configuration file says something that this process does not follow.",
            value=self._settings_problem() is None,
        )


class _Up(Collector):
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    def collect(self) -> Iterable[Metric]:
        sections = [
            section
            for state in self._snapshots.states()
            if state.source == "kafka"
            for name, section in state.sections.items()
            if name != POLL
        ]
        up = GaugeMetricFamily(
            "kminion_exporter_up",
            "0 where one or more of the last reads failed.",
            labels=("version",),
        )
        up.add_metric(["headroom"], bool(sections) and all(s.status != "failed" for s in sections))
        yield up
