"""A Prometheus as a source."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from collectors.errors import CollectorError
from collectors.prometheus.client import PrometheusClient, quoted, selector
from collectors.prometheus.metrics import METRICS, NAME_PATTERNS
from collectors.prometheus.queries import Value, name_matchers, queries, scope_labels, values
from collectors.source.http_source import HttpSource
from collectors.source.model import Check
from collectors.source.rows import frame
from collectors.source.shared_facts import SharedFacts
from config.integrations import PrometheusSettings
from config.settings import Settings
from lake.schemas.tables import BROKER_METRICS

RATE_WINDOW = "5m"
"""Of live rates: four samples and more at the usual scrape intervals of up to a minute."""

LAG_NAMES = {
    "kafka_exporter": "kafka_consumergroup_current_offset",
    "KMinion": "kminion_kafka_consumer_group_topic_partition_lag",
}
"""Exporter of consumer lag: the name that gives it away."""

NO_SERIES = "no series under any of its known names"

# Either way: the two clocks may differ a little.
_NAMES_WITHIN = timedelta(minutes=10)
_SHOWN_JOBS = 5


def collect(
    client: PrometheusClient, settings: PrometheusSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``broker_metrics``: what every broker's metrics are just now.

    A metric that no exporter gives has one row without a broker and a value, which says so.
    """
    names = client.names(name_matchers(settings), now - _NAMES_WITHIN, now + _NAMES_WITHIN)
    answers = [
        series for query in queries(names, settings, RATE_WINDOW) for series in client.query(query)
    ]
    found = list(values(answers, settings))
    if not found:
        client.problems.append(_nothing(client, settings, names))
    client.problems += [f"Prometheus warns: {warning}" for warning in client.warnings]
    client.problems += client.odd.problems
    absent = {"prometheus": settings.name, "labels": [], "is_backfilled": False}
    rows = [row(value, settings.name) for value in found]
    rows += [
        {**absent, "metric": metric, "unknown_reason": NO_SERIES}
        for metric in _absent(found, settings)
    ]
    return {"broker_metrics": frame(BROKER_METRICS, rows)}


def row(value: Value, prometheus: str, *, is_backfilled: bool = False) -> dict[str, Any]:
    """Return a value as a row of ``broker_metrics``."""
    return {
        "prometheus": prometheus,
        "metric": value.metric,
        "broker": value.broker,
        "labels": [{"key": key, "value": text} for key, text in value.labels],
        "value": value.value,
        "is_backfilled": is_backfilled,
    }


def check(client: PrometheusClient, settings: PrometheusSettings) -> Sequence[Check]:
    """Try each feature once."""
    now = datetime.now(UTC)
    try:
        names = client.names(name_matchers(settings), now - _NAMES_WITHIN, now + _NAMES_WITHIN)
        tables = collect(client, settings, now)
    except CollectorError as error:
        return [
            Check(
                feature=f"Prometheus {settings.name}", works=False, required=True, detail=str(error)
            )
        ]
    rows = tables["broker_metrics"]
    absent = rows.filter(pl.col("value").is_null())["metric"].to_list()
    known = rows.filter(pl.col("value").is_not_null())
    brokers = known["broker"].drop_nulls().n_unique()
    detail = f"{known['metric'].n_unique()} metrics of {brokers} brokers"
    if absent:
        detail += f"; not found: {', '.join(absent)}"
    if known.is_empty():
        detail = "; ".join(client.problems)
    exporters = [exporter for exporter, name in LAG_NAMES.items() if name in names]
    return [
        Check(
            feature=f"Prometheus {settings.name}",
            works=True,
            required=True,
            detail=f"{settings.url} answers queries",
        ),
        Check(
            feature=f"Prometheus {settings.name}: broker metrics",
            works=not known.is_empty(),
            required=False,
            detail=detail,
        ),
        Check(
            feature=f"Prometheus {settings.name}: history of consumer lag (backfill)",
            works=bool(exporters),
            required=False,
            detail=", ".join(exporters) or "there are no series of kafka_exporter or KMinion",
        ),
    ]


def _absent(found: Collection[Value], settings: PrometheusSettings) -> list[str]:
    """Return the metrics that were looked for and not found."""
    scopes = scope_labels(settings)
    metrics = {value.metric for value in found}
    return [
        metric.name
        for metric in METRICS
        if metric.name not in metrics and any(alias.scope in scopes for alias in metric.aliases)
    ]


def _nothing(client: PrometheusClient, settings: PrometheusSettings, names: Collection[str]) -> str:
    """Say why nothing was found and what to do."""
    if names:
        return (
            f"{settings.url} has no recent samples of brokers; of the metrics that it knows, none "
            f"is one of those looked for, or the exporters are down: {', '.join(sorted(names)[:3])}"
        )
    anybody = selector({}, f"__name__=~{quoted(NAME_PATTERNS['brokers'])}")
    jobs = [
        series.labels.get("job", "none") for series in client.query(f"count by (job) ({anybody})")
    ]
    if not jobs:
        return f"{settings.url} has no metrics of Kafka brokers: let it scrape their JMX exporter"
    wanted = selector(settings.labels) if settings.labels else "no labels"
    return (
        f"{settings.url} has metrics of Kafka brokers, but none with {wanted}: set labels; its "
        f"brokers' jobs: {', '.join(sorted(jobs)[:_SHOWN_JOBS])}"
    )


def prometheus_source(
    settings: PrometheusSettings, cluster: str, interval_seconds: float
) -> HttpSource[PrometheusClient, PrometheusSettings]:
    """Make the source of one Prometheus."""
    client = PrometheusClient(settings)
    collectors = {"broker_metrics": collect}
    return HttpSource("prometheus", settings, cluster, interval_seconds, client, collectors, check)


def prometheus_sources(
    settings: Settings, _shared: SharedFacts
) -> Iterator[HttpSource[PrometheusClient, PrometheusSettings]]:
    """Make a source of each Prometheus in the settings."""
    for each in settings.prometheus:
        yield prometheus_source(
            each, settings.cluster_of(each), settings.poll_interval_seconds(each)
        )
