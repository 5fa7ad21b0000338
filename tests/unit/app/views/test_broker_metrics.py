"""What Prometheus told of the brokers, as the page shows it."""

from __future__ import annotations

from typing import Any

import polars as pl

from app.views.brokers.metrics import BROKER_SCHEMA, CLIENT_SCHEMA, of_brokers, of_clients
from lake.schemas.tables import BROKER_METRICS


def told(*rows: tuple[str, str | None, dict[str, str], float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "metric": metric,
                "broker": broker,
                "labels": [{"key": key, "value": value} for key, value in labels.items()],
                "value": value,
            }
            for metric, broker, labels, value in rows
        ],
        schema={
            name: BROKER_METRICS.polars_schema[name]
            for name in ("metric", "broker", "labels", "value")
        },
    )


def slowest(request: str, quantile: str = "0.99") -> dict[str, str]:
    return {"request": request, "quantile": quantile}


def test_the_busiest_broker_is_first_and_what_is_not_told_is_unknown() -> None:
    found = of_brokers(
        told(
            ("request_handler_idle_ratio", "k1", {}, 0.9),
            ("request_handler_idle_ratio", "k2", {}, 0.1),
            ("request_time_seconds", "k2", slowest("Produce"), 0.25),
            ("request_time_seconds", "k2", slowest("Produce", "0.5"), 0.01),
            ("request_time_seconds", "k2", slowest("FetchFollower"), 9.0),
            ("bytes_in_per_second", None, {}, 5.0),
            ("bytes_in_per_second", "k1", {}, None),
            ("log_bytes", "k3", {}, 7.0),
        )
    )
    assert found.schema == BROKER_SCHEMA
    assert found["broker"].to_list() == ["k2", "k1", None]
    assert found["produce_seconds"].to_list() == [0.25, None, None]
    assert found["fetch_seconds"].null_count() == 3
    assert found["bytes_in_per_second"].to_list() == [None, None, 5.0]


def test_clients_are_added_up_over_brokers() -> None:
    def client(software: str, version: str) -> dict[str, str]:
        return {"clientSoftwareName": software, "clientSoftwareVersion": version}

    java = client("apache-kafka-java", "3.9.0")
    odd: dict[str, Any] = {"clientSoftwareName": "unknown"}
    found = of_clients(
        told(
            ("client_connections", "k1", java, 3.0),
            ("client_connections", "k2", java, 4.0),
            ("client_connections", "k2", client("librdkafka", "2.3.0"), 2.0),
            ("client_connections", "k2", client("librdkafka", "1.0.0"), 0.0),
            ("client_connections", "k1", odd, 1.0),
            ("brokers", None, {}, 2.0),
        )
    )
    assert found.schema == CLIENT_SCHEMA
    assert found.rows() == [
        ("apache-kafka-java", "3.9.0", 7.0, 2),
        ("librdkafka", "2.3.0", 2.0, 1),
        ("unknown", None, 1.0, 1),
    ]


def test_where_prometheus_told_nothing_there_is_no_row() -> None:
    assert of_brokers(told()).is_empty()
    assert of_clients(told(("client_connections", None, {}, None))).is_empty()
