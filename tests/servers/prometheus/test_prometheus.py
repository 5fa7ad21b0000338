"""Broker metrics through a real Prometheus that scrapes each rule set's series."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.prometheus.source import NO_SERIES, prometheus_source
from collectors.service.rows import Stamp
from collectors.service.rows import rows_of as rows_of_tables
from collectors.source.model import SectionResult
from config.integrations import PrometheusSettings
from config.settings import LakeSettings
from lake.schemas.tables import BROKER_METRICS, COLLECTIONS
from lake.storage.store import Lake
from runtime.processes import ProcessGroup
from tests.servers.prometheus import exporter_series as shapes
from tests.servers.prometheus.server import Prometheus, create_blocks, exporters, history, job
from tests.support import eventually

BROKERS = ("kafka-1:7071", "kafka-2:7071")
PAST_SECONDS = 360.0


def about(value: float) -> object:
    """Return what a rate, which Prometheus extrapolates, may be."""
    return pytest.approx(value, rel=0.05)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    served = {
        **shapes.RULE_SETS,
        "exporter": shapes.KAFKA_EXPORTER,
        "kminion": shapes.KMINION,
        "cloud": shapes.CONFLUENT_CLOUD,
        "node": shapes.NODE_EXPORTER,
    }
    folder = tmp_path_factory.mktemp("prometheus")
    now = time.time()
    since = now - PAST_SECONDS
    jobs = {
        **{name: {broker: f"/{name}/{broker}" for broker in BROKERS} for name in shapes.RULE_SETS},
        # Two of each, as where an exporter runs twice: what both tell is not to count twice.
        "exporter": {"exporter-1": "/exporter/1", "exporter-2": "/exporter/2"},
        "kminion": {"kminion-1": "/kminion/1", "kminion-2": "/kminion/2"},
        "cloud": {"cloud": "/cloud/"},
        "node": {"kafka-1:9100": "/node/"},
    }
    past = (
        sample
        for name, paths in jobs.items()
        for instance in paths
        for sample in history(served[name], {"instance": instance, "job": name}, since, now)
    )
    create_blocks(past, folder / "data")
    with exporters(served, since) as port, ProcessGroup() as processes:
        configured = "".join(job(name, port, paths) for name, paths in jobs.items())
        yield Prometheus(processes, folder, jobs=configured)


def poll(prometheus: Prometheus, **settings: object) -> SectionResult:
    source = prometheus_source(
        PrometheusSettings(name="mon", url=prometheus.url, **settings),  # type: ignore[arg-type]
        "production",
        15.0,
    )
    try:
        (result,) = source.poll(datetime.now(UTC))
    finally:
        source.close()
    return result


def rows_of(result: SectionResult) -> pl.DataFrame:
    return result.frames["broker_metrics"]


def value(
    rows: pl.DataFrame, metric: str, broker: str | None, labels: dict[str, str] | None = None
) -> float | None:
    wanted = [{"key": key, "value": text} for key, text in (labels or {}).items()]
    found = rows.filter(
        pl.col("metric") == metric, pl.col("broker").eq_missing(pl.lit(broker, pl.String()))
    )
    values = [row["value"] for row in found.to_dicts() if row["labels"] == wanted]
    assert len(values) <= 1, f"{metric} of {broker} counts twice: {values}"
    return values[0] if values else None


def scraped(prometheus: Prometheus, metric: str, **settings: object) -> SectionResult:
    """Poll until a metric is there: the first scrape may be a second away."""

    def ask() -> SectionResult | None:
        result = poll(prometheus, **settings)
        found = rows_of(result).filter(pl.col("metric") == metric)["value"].drop_nulls()
        return result if found.len() else None

    return eventually(ask, what=metric)


def test_client_software_is_counted_over_network_processors(prometheus: Prometheus) -> None:
    rows = rows_of(scraped(prometheus, "client_connections", labels={"job": "strimzi"}))
    client = {"clientSoftwareName": "apache-kafka-java", "clientSoftwareVersion": "3.9.0"}
    for broker in BROKERS:
        assert value(rows, "client_connections", broker, client) == sum(shapes.CONNECTIONS)


@pytest.mark.parametrize("rule_set", list(shapes.RULE_SETS))
def test_each_rule_set_gives_the_canonical_metrics(prometheus: Prometheus, rule_set: str) -> None:
    result = scraped(prometheus, "isr_shrinks_per_second", labels={"job": rule_set})
    rows = rows_of(result)
    assert (result.status, result.error) == ("ok", None)
    for broker in BROKERS:
        assert value(rows, "under_replicated_partitions", broker) == shapes.UNDER_REPLICATED
        assert value(rows, "under_min_isr_partitions", broker) == 1
        assert value(rows, "active_controllers", broker) == 1
        assert value(rows, "offline_partitions", broker) == 2
        assert value(rows, "bytes_in_per_second", broker) == about(shapes.BYTES_IN)
        assert value(rows, "messages_in_per_second", broker) == about(shapes.MESSAGES_IN)
        assert value(rows, "isr_shrinks_per_second", broker) == about(shapes.ISR_SHRINKS)
        produce = {"request": "Produce"}
        assert value(rows, "requests_per_second", broker, produce) == about(shapes.REQUESTS)
        assert value(rows, "request_handler_idle_ratio", broker) == shapes.HANDLER_IDLE
        assert value(rows, "network_idle_ratio", broker) == shapes.NETWORK_IDLE
        slow = {**produce, "quantile": "0.99"}
        assert value(rows, "request_time_seconds", broker, slow) == shapes.PRODUCE_P99_SECONDS
        assert value(rows, "request_time_seconds", broker, {**slow, "quantile": "0.5"}) == 0.004
    assert set(rows["broker"].drop_nulls()) == set(BROKERS)
    requests = {
        entry["value"] for row in rows["labels"] for entry in row if entry["key"] == "request"
    }
    assert requests == {"Produce"}, "requests that no application feels are left out"


@pytest.mark.parametrize("rule_set", ["kraft", "strimzi", "confluent"])
def test_the_size_of_logs_is_the_sum_of_their_partitions(
    prometheus: Prometheus, rule_set: str
) -> None:
    rows = rows_of(scraped(prometheus, "log_bytes", labels={"job": rule_set}))
    assert value(rows, "log_bytes", BROKERS[0]) == shapes.LOG_BYTES


def test_what_is_absent_has_a_row_without_a_value(prometheus: Prometheus) -> None:
    rows = rows_of(scraped(prometheus, "log_bytes", labels={"job": "kraft"}))
    absent = rows.filter(pl.col("value").is_null())
    assert {"fenced_brokers", "bytes_out_per_second"} <= set(absent["metric"])
    assert set(absent["unknown_reason"]) == {NO_SERIES}
    assert absent["broker"].null_count() == absent.height
    assert not set(absent["metric"]) & set(rows.filter(pl.col("value").is_not_null())["metric"])
    assert "disk_free_bytes" not in absent["metric"], "disks were not asked for"


def test_exporters_of_a_whole_cluster_count_once_though_they_run_twice(
    prometheus: Prometheus,
) -> None:
    of_exporter = {"labels": {"job": "none"}, "exporter_labels": {"job": "exporter"}}
    rows = rows_of(scraped(prometheus, "messages_in_per_second", **of_exporter))
    assert value(rows, "messages_in_per_second", None) == about(40.0)
    assert value(rows, "under_replicated_partitions", None) == 1
    assert value(rows, "brokers", None) == 3
    of_kminion = {"labels": {"job": "none"}, "exporter_labels": {"job": "kminion"}}
    rows = rows_of(scraped(prometheus, "messages_in_per_second", **of_kminion))
    assert value(rows, "messages_in_per_second", None) == about(40.0)
    assert value(rows, "brokers", None) == 2
    assert value(rows, "active_controllers", None) == 1
    assert value(rows, "log_bytes", "1") == shapes.LOG_BYTES


def test_confluent_cloud_tells_minutes_of_topics(prometheus: Prometheus) -> None:
    of_cloud = {"labels": {"job": "none"}, "exporter_labels": {"job": "cloud"}}
    rows = rows_of(scraped(prometheus, "bytes_in_per_second", **of_cloud))
    assert value(rows, "bytes_in_per_second", None) == 110.0
    assert value(rows, "log_bytes", None) == shapes.LOG_BYTES


def test_what_brokers_tell_leaves_no_room_for_the_clusters_own(prometheus: Prometheus) -> None:
    both = {"labels": {"job": "kraft"}, "exporter_labels": {"job": "exporter"}}
    rows = rows_of(scraped(prometheus, "messages_in_per_second", **both))
    assert value(rows, "messages_in_per_second", None) is None
    assert value(rows, "messages_in_per_second", BROKERS[1]) == about(shapes.MESSAGES_IN)
    assert value(rows, "brokers", None) == 3, "which no broker tells here"


def test_disks_are_read_where_their_labels_are_given(prometheus: Prometheus) -> None:
    disks = {"job": "node", "mountpoint": "/data"}
    rows = rows_of(
        scraped(prometheus, "disk_free_bytes", labels={"job": "kraft"}, disk_labels=disks)
    )
    assert value(rows, "disk_free_bytes", "kafka-1:9100", {"mountpoint": "/data"}) == 60e9
    assert value(rows, "disk_total_bytes", "kafka-1:9100", {"mountpoint": "/data"}) == 100e9


def test_another_label_tells_brokers_apart(prometheus: Prometheus) -> None:
    rows = rows_of(
        scraped(
            prometheus, "log_bytes", labels={"job": "strimzi"}, broker_label="strimzi_io_cluster"
        )
    )
    assert value(rows, "under_replicated_partitions", "main") == 2 * shapes.UNDER_REPLICATED


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('"} or up{job="kraft', id="quote and brace"),
        pytest.param("kraft\\", id="backslash"),
        pytest.param("two\nlines", id="line break"),
        pytest.param("ünïcode", id="unicode"),
    ],
)
def test_label_values_are_values_whatever_they_hold(prometheus: Prometheus, text: str) -> None:
    result = poll(prometheus, labels={"job": text})
    assert result.status == "partial"
    assert "has metrics of Kafka brokers, but none with {job=" in (result.error or "")


def test_labels_that_match_nothing_are_told_with_those_that_would(prometheus: Prometheus) -> None:
    scraped(prometheus, "log_bytes", labels={"job": "kraft"})
    result = poll(prometheus, labels={"job": "kafka"})
    assert result.status == "partial"
    assert 'none with {job="kafka"}: set labels' in (result.error or "")
    assert "kraft" in (result.error or "")
    assert rows_of(result)["value"].null_count() == rows_of(result).height


def test_a_prometheus_without_kafka_says_what_to_do(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("empty")
    with ProcessGroup() as processes:
        result = poll(Prometheus(processes, folder, jobs="  []\n"))
    assert result.status == "partial"
    assert "has no metrics of Kafka brokers: let it scrape their JMX exporter" in (
        result.error or ""
    )


def test_a_poll_takes_few_requests(prometheus: Prometheus) -> None:
    scraped(prometheus, "log_bytes", labels={"job": "kraft"})
    source = prometheus_source(
        PrometheusSettings(name="mon", url=prometheus.url, labels={"job": "kraft"}), "c", 15.0
    )
    (result,) = source.poll(datetime.now(UTC))
    source.close()
    assert result.status == "ok"
    assert source.client.requests_sent <= 3


def test_polls_go_into_the_lake(prometheus: Prometheus, tmp_path: Path) -> None:
    result = scraped(prometheus, "log_bytes", labels={"job": "kraft"})
    lake = Lake(LakeSettings(uri=str(tmp_path)))
    stamp = Stamp.new("prometheus/mon", "production", datetime.now(UTC))
    for table, rows in rows_of_tables(result, stamp, 15.0):
        lake.append(table, rows)
    (poll_row,) = lake.read(COLLECTIONS).to_dicts()
    written = lake.read(BROKER_METRICS)
    assert (poll_row["source"], poll_row["status"]) == ("prometheus/mon", "ok")
    assert poll_row["rows"] == written.height == result.rows
    assert set(written["is_backfilled"]) == {False}
    assert set(written["cluster"]) == {"production"}


def test_check_says_what_is_found_and_what_is_not(prometheus: Prometheus) -> None:
    scraped(prometheus, "log_bytes", labels={"job": "kraft"})
    settings = PrometheusSettings(
        name="mon",
        url=prometheus.url,
        labels={"job": "kraft"},
        exporter_labels={"job": "exporter"},
    )
    source = prometheus_source(settings, "c", 15.0)
    reach, metrics, lag = source.check()
    source.close()
    assert (reach.works, reach.required) == (True, True)
    assert metrics.works is True
    assert "metrics of 2 brokers; not found: " in metrics.detail
    assert "fenced_brokers" in metrics.detail
    assert (lag.works, lag.detail) == (True, "kafka_exporter")
