"""The page under ``/metrics``: written once for each state of the sources, however many ask."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest

from collectors.exporter import kafka_exporter, kminion, own_integrations, own_kafka
from collectors.exporter.rules import MetricView, Rule
from collectors.exporter.text import Metric, sample_lines
from collectors.service.snapshot import Snapshots, SourceState, TableState
from config.settings import ExporterSettings, MetricNames

RULES: Mapping[MetricNames, tuple[Rule, ...]] = {
    "headroom": (*own_kafka.RULES, *own_integrations.RULES),
    "kafka_exporter": kafka_exporter.RULES,
    "kminion": kminion.RULES,
}

KAFKA = "kafka"
"""The name of the sources that other exporters' names are made of."""

# Text that repeats itself as this does is a twentieth even at the quickest level.
_GZIP_LEVEL, _GZIP_FORMAT = 1, 31

_Key = tuple[object, ...]
_Lines = Sequence[tuple[Metric, Sequence[bytes]]]


@dataclass(slots=True, kw_only=True)
class _Text:
    """The part of the page that only a poll changes.

    Attributes:
        key: Of which tables, in which versions, it was written.
        packed: The text as the beginning of a gzip stream, and what continues that stream, to be
            copied for each use; None until somebody wants it.
    """

    key: _Key
    parts: Sequence[bytes]
    packed: tuple[bytes, zlib._Compress] | None = None


class Page:
    """Writes the page. Safe among threads; polls never wait for it."""

    def __init__(
        self, settings: ExporterSettings, snapshots: Snapshots, live: CollectorRegistry
    ) -> None:
        self._rules = [
            (names, rule, names in settings.per_partition)
            for names in dict.fromkeys(settings.names)
            for rule in RULES[names]
        ]
        self._snapshots = snapshots
        self._live = live
        self._lock = threading.Lock()
        self._written: dict[tuple[str, str, int], tuple[_Key, _Lines]] = {}
        self._text = _Text(key=(), parts=())

    def plain(self) -> list[bytes]:
        """Return the page, in parts."""
        with self._lock:
            text = self._renewed()
        return [*text.parts, generate_latest(self._live)]

    def packed(self) -> list[bytes]:
        """Return the page as a gzip stream, in parts."""
        with self._lock:
            text = self._renewed()
            if text.packed is None:
                packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
                begin = b"".join([packer.compress(part) for part in text.parts])
                text.packed = (begin, packer)
            begin, packer = text.packed
            packer = packer.copy()
        end = packer.compress(generate_latest(self._live)) + packer.flush()
        return [begin, end]

    def _renewed(self) -> _Text:
        clock = self._snapshots.clock()
        states = self._snapshots.states()
        fresh = [(state, state.fresh_tables(clock)) for state in states]
        key: _Key = tuple(
            (state.cluster, state.source, state.cluster_id, name, table.version)
            for state, tables in fresh
            for name, table in tables.items()
        )
        if key == self._text.key:
            return self._text
        several = len({state.cluster for state in states if state.source == KAFKA}) > 1
        families: dict[Metric, list[bytes]] = {
            metric: [] for _, rule, _ in self._rules for metric in rule.metrics
        }
        for state, tables in fresh:
            for metric, lines in self._lines(state, tables, several):
                families[metric] += lines
        parts = [
            part for metric, lines in families.items() if lines for part in (metric.head, *lines)
        ]
        self._text = _Text(key=key, parts=parts)
        return self._text

    def _lines(
        self, state: SourceState, tables: Mapping[str, TableState], several: bool
    ) -> list[tuple[Metric, Sequence[bytes]]]:
        """Return a source's lines, written anew only where their tables changed."""
        lines: list[tuple[Metric, Sequence[bytes]]] = []
        for number, (names, rule, per_partition) in enumerate(self._rules):
            place = (state.cluster, state.source, number)
            if rule.tables[0] not in tables or (names != "headroom" and state.source != KAFKA):
                self._written.pop(place, None)
                continue
            used = {name: tables[name] for name in rule.tables if name in tables}
            key: _Key = (state.cluster_id, *((name, used[name].version) for name in used))
            known = self._written.get(place)
            if known is None or known[0] != key:
                # Other exporters know one cluster only; their series have no label for it.
                labelled = names == "headroom" or several
                constant = {"cluster": state.cluster} if labelled else {}
                view = MetricView(
                    tables={name: table.rows for name, table in used.items()},
                    cluster_id=state.cluster_id,
                    per_partition=per_partition,
                )
                written = [
                    (samples.metric, list(sample_lines(samples, constant)))
                    for samples in rule.make(view)
                ]
                known = self._written[place] = (key, written)
            lines += known[1]
        return lines
