"""Which queries give the canonical metrics, and what their answers mean."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from collectors.prometheus.client import Series, quoted, selector
from collectors.prometheus.metrics import (
    METRICS,
    NAME_PATTERNS,
    QUANTILES,
    REQUESTS,
    Alias,
    Metric,
    Scope,
)
from config.integrations import PrometheusSettings

LONGEST_QUERY = 4000
"""Characters: the library puts queries into the URL, of which proxies take 8,000 or so."""

_ALIAS_LABEL = "headroom_alias"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A metric of one broker at one moment."""

    metric: str
    broker: str | None  # the broker; None where the value is the cluster's
    labels: tuple[tuple[str, str], ...]
    at: float  # seconds since 1970
    value: float


def scope_labels(settings: PrometheusSettings) -> dict[Scope, Mapping[str, str]]:
    """Return whose series are to be read, with the labels that they carry."""
    exporter = settings.exporter_labels
    labels: dict[Scope, Mapping[str, str]] = {
        "brokers": settings.labels,
        "exporter": settings.labels if exporter is None else exporter,
    }
    if settings.disk_labels is not None:
        labels["disks"] = settings.disk_labels
    return labels


def name_matchers(settings: PrometheusSettings) -> list[str]:
    """Return the selectors of every series that may be of use, by name."""
    return [
        selector(labels, f"__name__=~{quoted(NAME_PATTERNS[scope])}")
        for scope, labels in scope_labels(settings).items()
    ]


def queries(names: Collection[str], settings: PrometheusSettings, window: str) -> list[str]:
    """Return the queries that give all metrics, as few as their length allows."""
    labels = scope_labels(settings)
    found: list[str] = []
    for key, metric, alias in _aliases():
        if alias.name not in names or alias.scope not in labels:
            continue
        part = _part(key, metric, alias, labels[alias.scope], settings.broker_label, window)
        if found and len(found[-1]) + len(part) + 4 <= LONGEST_QUERY:
            found[-1] += f" or {part}"
        else:
            found.append(part)
    return found


def values(answers: Iterable[Series], settings: PrometheusSettings) -> Iterator[Value]:
    """Return the metrics that the answers to ``queries`` hold, none of them twice.

    Where a metric has several names, the first that a broker has counts. Values of a whole cluster
    count only where there are none of its brokers.
    """
    known = {key: (metric, alias) for key, metric, alias in _aliases()}
    by_metric: dict[str, list[tuple[int, str | None, Alias, Series]]] = {}
    for series in answers:
        key = series.labels.get(_ALIAS_LABEL, "")
        if key not in known:
            continue
        metric, alias = known[key]
        label = alias.broker or settings.broker_label
        broker = None if alias.broker is None else series.labels.get(label)
        rank = metric.aliases.index(alias)
        by_metric.setdefault(metric.name, []).append((rank, broker, alias, series))
    for metric in METRICS:
        yield from _best(metric, by_metric.get(metric.name, ()))


def _best(
    metric: Metric, found: Sequence[tuple[int, str | None, Alias, Series]]
) -> Iterator[Value]:
    """Decide moment by moment: an exporter may have been exchanged in between."""
    best: dict[tuple[float, str | None], tuple[int, tuple[tuple[str, str], ...]]] = {}
    brokers: set[float] = set()
    points = [
        (rank, broker, alias, series, at, value)
        for rank, broker, alias, series in found
        for at, value in series.points
    ]
    for rank, broker, alias, _, at, _ in points:
        # Quantiles may be spread over names, which then tell one from another by a constant.
        if (at, broker) not in best or rank < best[at, broker][0]:
            best[at, broker] = (rank, alias.constants)
        if broker is not None:
            brokers.add(at)
    for rank, broker, alias, series, at, value in points:
        chosen, constants = best[at, broker]
        if rank != chosen and not (constants and alias.constants and alias.constants != constants):
            continue
        if broker is None and at in brokers:
            continue
        labels = {name: series.labels.get(name, "") for name in metric.labels}
        labels.update(alias.constants)
        kept = tuple((name, _canonical(name, text)) for name, text in labels.items() if text)
        scaled = value * alias.scale
        if math.isfinite(scaled):
            yield Value(metric=metric.name, broker=broker, labels=kept, at=at, value=scaled)


def _canonical(label: str, text: str) -> str:
    return "0.5" if label == "quantile" and text == "0.50" else text


def _aliases() -> Iterator[tuple[str, Metric, Alias]]:
    for metric in METRICS:
        for number, alias in enumerate(metric.aliases):
            yield f"{metric.name}/{number}", metric, alias


def _part(
    key: str,
    metric: Metric,
    alias: Alias,
    labels: Mapping[str, str],
    broker_label: str,
    window: str,
) -> str:
    matchers = [f"{name}={quoted(text)}" for name, text in alias.matchers]
    if alias.scope == "brokers" and not alias.by_topic:
        matchers.append('topic=""')
    if "request" in metric.labels:
        matchers.append(f'request=~"{"|".join(REQUESTS)}"')
    if "quantile" in metric.labels and not alias.constants:
        matchers.append(f"quantile=~{quoted('|'.join(QUANTILES))}")
    series = selector(labels, *matchers, name=alias.name)
    if alias.is_counter:
        series = f"rate({series}[{window}])"
    if alias.at_most is not None:
        series = f"({series} <= {alias.at_most:g})"
    if alias.each:
        series = f"max by ({','.join(alias.each)}) ({series})"
    by = [*metric.labels]
    if alias.broker is not None:
        by.insert(0, alias.broker or broker_label)
    total = f"{metric.how} by ({','.join(by)}) ({series})"
    return f'label_replace({total},"{_ALIAS_LABEL}",{quoted(key)},"","")'
