from __future__ import annotations

import pytest

from collectors.prometheus.client import Series, selector
from collectors.prometheus.metrics import METRICS
from collectors.prometheus.queries import LONGEST_QUERY, Value, queries, values
from config.integrations import PrometheusSettings

SETTINGS = PrometheusSettings(
    name="mon", url="http://prometheus:9090", labels={"job": "kafka"}, disk_labels={"job": "node"}
)
ALL_NAMES = {alias.name for metric in METRICS for alias in metric.aliases}


def series(metric: str, name: str, value: float, **labels: str) -> Series:
    (aliases,) = [each.aliases for each in METRICS if each.name == metric]
    number = [alias.name for alias in aliases].index(name)
    return Series(
        labels={"headroom_alias": f"{metric}/{number}", **labels},
        points=((10.0, value), (20.0, value + 1)),
    )


def found(*answers: Series) -> list[tuple[str | None, float, float]]:
    return sorted(
        ((value.broker, value.at, value.value) for value in values(answers, SETTINGS)), key=str
    )


def test_metric_names_are_unique_and_carry_their_units() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        is_rate = metric.name.endswith("_per_second")
        counters = [alias for alias in metric.aliases if alias.is_counter]
        assert not counters or is_rate, f"{metric.name} is a rate and does not say so"


def test_aliases_of_a_metric_are_unique() -> None:
    for metric in METRICS:
        keys = [(alias.name, alias.matchers, alias.constants) for alias in metric.aliases]
        assert len(keys) == len(set(keys)), metric.name


def test_queries_are_short_enough_for_a_url() -> None:
    asked = queries(ALL_NAMES, SETTINGS, "5m")
    assert max(map(len, asked)) <= LONGEST_QUERY
    assert len(asked) < 20


def test_only_what_exists_is_asked_for() -> None:
    (asked,) = queries(["kafka_server_brokertopicmetrics_bytesin_total", "up"], SETTINGS, "5m")
    assert asked == (
        "label_replace(sum by (instance) (rate(kafka_server_brokertopicmetrics_bytesin_total"
        '{job="kafka",topic=""}[5m])),"headroom_alias","bytes_in_per_second/0","","")'
    )
    assert queries([], SETTINGS, "5m") == []


def test_disks_are_not_asked_for_without_their_labels() -> None:
    names = ["node_filesystem_size_bytes"]
    assert len(queries(names, SETTINGS, "5m")) == 1
    assert queries(names, SETTINGS.model_copy(update={"disk_labels": None}), "5m") == []


def test_of_two_names_of_a_broker_the_better_counts() -> None:
    answers = (
        series(
            "messages_in_per_second",
            "kafka_server_brokertopicmetrics_messagesinpersec",
            5,
            instance="k1",
        ),
        series(
            "messages_in_per_second",
            "kafka_server_brokertopicmetrics_messagesin_total",
            7,
            instance="k1",
        ),
        series(
            "messages_in_per_second",
            "kafka_server_brokertopicmetrics_messagesinpersec",
            9,
            instance="k2",
        ),
    )
    expected = [("k1", 10.0, 7.0), ("k1", 20.0, 8.0), ("k2", 10.0, 9.0), ("k2", 20.0, 10.0)]
    assert found(*answers) == expected


def test_the_clusters_own_counts_only_where_no_broker_tells() -> None:
    of_cluster = series("brokers", "kafka_brokers", 3)
    of_broker = series(
        "brokers", "kafka_controller_kafkacontroller_activebrokercount", 2, instance="k1"
    )
    only_late = Series(labels=of_broker.labels, points=of_broker.points[1:])
    assert found(of_cluster) == [(None, 10.0, 3.0), (None, 20.0, 4.0)]
    assert found(of_cluster, of_broker) == [("k1", 10.0, 2.0), ("k1", 20.0, 3.0)]
    assert found(of_cluster, only_late) == [("k1", 20.0, 3.0), (None, 10.0, 3.0)]


def test_quantiles_that_are_names_stand_beside_each_other() -> None:
    name = "kafka_network_RequestMetrics_{}Percentile"
    answers = [
        series("request_time_seconds", name.format(which), 5, instance="k1", request="Produce")
        for which in ("50th", "99th")
    ]
    kept = {(value.labels, value.value) for value in values(answers, SETTINGS) if value.at == 10}
    produce = ("request", "Produce")
    assert kept == {
        ((produce, ("quantile", "0.5")), 0.005),
        ((produce, ("quantile", "0.99")), 0.005),
    }


def test_a_quantile_is_written_in_one_way() -> None:
    name = "kafka_network_requestmetrics_totaltimems"
    answer = series(
        "request_time_seconds", name, 4, instance="k1", request="Produce", quantile="0.50"
    )
    first = next(values([answer], SETTINGS))
    labels = (("request", "Produce"), ("quantile", "0.5"))
    assert first == Value(
        metric="request_time_seconds", broker="k1", labels=labels, at=10.0, value=0.004
    )


def test_foreign_series_are_ignored() -> None:
    assert (
        found(
            Series(labels={"headroom_alias": "no/1"}, points=((1.0, 2.0),)),
            Series(labels={}, points=()),
        )
        == []
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param('a"b', r'"a\"b"', id="quote"),
        pytest.param("a\\b", r'"a\\b"', id="backslash"),
        pytest.param("a\nb", r'"a\nb"', id="line break"),
        pytest.param("a}b", '"a}b"', id="brace"),
    ],
)
def test_label_values_are_escaped(text: str, written: str) -> None:
    assert selector({"job": text}, 'topic=""', name="m") == f'm{{job={written},topic=""}}'
