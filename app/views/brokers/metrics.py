"""What Prometheus told of the brokers, prepared for the page: pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

_PLAIN = (
    "request_handler_idle_ratio",
    "network_idle_ratio",
    "request_queue_length",
    "bytes_in_per_second",
    "bytes_out_per_second",
    "messages_in_per_second",
)
_SLOWEST = {"Produce": "produce_seconds", "FetchConsumer": "fetch_seconds"}
_SLOWEST_QUANTILE = "0.99"
_SOFTWARE, _VERSION = "clientSoftwareName", "clientSoftwareVersion"

BROKER_SCHEMA = pl.Schema(
    {"broker": pl.String()} | dict.fromkeys((*_SLOWEST.values(), *_PLAIN), pl.Float64())
)
CLIENT_SCHEMA = pl.Schema(
    {
        "software": pl.String(),
        "version": pl.String(),
        "connections": pl.Float64(),
        "brokers": pl.Int64(),
    }
)


def of_brokers(metrics: pl.DataFrame) -> pl.DataFrame:
    """Return a row a broker, the busiest first.

    Args:
        metrics: Rows of ``broker_metrics`` of one poll.

    Returns:
        ``BROKER_SCHEMA``: latencies in seconds (99th percentile), idle ratios, lengths and rates.
        A value that Prometheus does not have is null. ``broker`` is null for what is told of the
        cluster as a whole.
    """
    found: dict[str | None, dict[str, float]] = defaultdict(dict)
    for metric, broker, labels, value in _known(metrics):
        if metric in _PLAIN:
            found[broker][metric] = value
        elif metric == "request_time_seconds" and labels.get("quantile") == _SLOWEST_QUANTILE:
            name = _SLOWEST.get(labels.get("request", ""))
            if name is not None:
                found[broker][name] = value
    rows = [{"broker": broker, **values} for broker, values in found.items()]
    return pl.DataFrame(rows, schema=BROKER_SCHEMA).sort(
        "request_handler_idle_ratio", "broker", nulls_last=True
    )


def of_clients(metrics: pl.DataFrame) -> pl.DataFrame:
    """Return which client software is connected, the most connections first (``CLIENT_SCHEMA``)."""
    rows = [
        (labels.get(_SOFTWARE), labels.get(_VERSION), broker, value)
        for metric, broker, labels, value in _known(metrics)
        if metric == "client_connections" and value > 0
    ]
    texts = dict.fromkeys(("software", "version", "broker"), pl.String)
    brokers = pl.col("broker").n_unique().cast(pl.Int64).alias("brokers")
    return (
        pl.DataFrame(rows, schema={**texts, "connections": pl.Float64}, orient="row")
        .group_by("software", "version")
        .agg(pl.col("connections").sum(), brokers)
        .select(CLIENT_SCHEMA.names())
        .sort("connections", "software", "version", descending=[True, False, False])
    )


def _known(
    metrics: pl.DataFrame,
) -> Iterator[tuple[str, str | None, Mapping[str, Any], float]]:
    rows = metrics.drop_nulls("value").select("metric", "broker", "labels", "value")
    for metric, broker, labels, value in rows.iter_rows():
        yield metric, broker, {entry["key"]: entry["value"] for entry in labels or ()}, value
