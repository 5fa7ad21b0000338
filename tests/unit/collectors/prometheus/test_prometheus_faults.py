"""What a poll yields when Prometheus does not answer as it should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from collectors.prometheus.source import prometheus_source
from collectors.source.model import SectionResult
from config.integrations import PrometheusSettings
from tests.unit.collectors.ditto.answering import Answering, Reply, Request, answering, seconds_of

INTERVAL_SECONDS = 3.0
NAMES = ["kafka_server_replicamanager_underreplicatedpartitions"]


def success(data: Any, **more: Any) -> Reply:
    return Reply(json.dumps({"status": "success", "data": data, **more}).encode())


def vector(*values: str, **labels: str) -> dict[str, Any]:
    metric = {"headroom_alias": "under_replicated_partitions/0", "instance": "k1", **labels}
    return {
        "resultType": "vector",
        "result": [{"metric": metric, "value": [1763000000.0, value]} for value in values],
    }


def healthy(request: Request) -> Reply:
    return success(NAMES if request.path.endswith("/values") else vector("3"))


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering(healthy) as served:
        yield served


def poll(url: str, **settings: Any) -> SectionResult:
    configured = PrometheusSettings(name="mon", url=url, **settings)
    source = prometheus_source(configured, "production", INTERVAL_SECONDS)
    try:
        (result,) = source.poll(datetime.now(UTC))
    finally:
        source.close()
    return result


def known(result: SectionResult) -> list[tuple[str, str, float]]:
    rows = result.frames["broker_metrics"].drop_nulls("value")
    return list(rows.select("metric", "broker", "value").iter_rows())


HEALTHY = [("under_replicated_partitions", "k1", 3.0)]


def test_a_healthy_answer(server: Answering) -> None:
    result = poll(server.url)
    assert (result.status, known(result)) == ("ok", HEALTHY)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(Reply(status=401), "refused the credentials (401): check username", id="401"),
        pytest.param(Reply(status=403), "not permitted to this user (403)", id="403"),
        pytest.param(Reply(b"no", 404), "no query API (404): is this Prometheus's URL?", id="404"),
        pytest.param(
            Reply(status=302, headers={"location": "http://localhost/login"}),
            "redirects (302): write the final URL into url",
            id="redirect",
        ),
        pytest.param(Reply(b"<html>hello"), "is not JSON: is this the right URL", id="html"),
        pytest.param(Reply(b"[]"), "is not Prometheus's", id="a list"),
        pytest.param(Reply(b'{"status":"success"}'), "is not Prometheus's", id="no data"),
        pytest.param(success(None), "is not Prometheus's", id="null"),
        pytest.param(success({"result": 5}), "is not Prometheus's", id="no list"),
        pytest.param(success([5]), "is not Prometheus's", id="numbers"),
        pytest.param(
            Reply(b'{"status":"error","errorType":"bad_data","error":"parse error\\nat 5"}', 400),
            "answered 400: parse error at 5",
            id="400",
        ),
        pytest.param(
            Reply(b'{"status":"error","errorType":"timeout","error":"query timed out"}', 503),
            "finds a query too large (503): query timed out",
            id="query timed out",
        ),
        pytest.param(
            Reply(
                b'{"status":"error","errorType":"execution","error":'
                b'"query processing would load too many samples into memory"}',
                422,
            ),
            "finds a query too large (422)",
            id="too many samples",
        ),
        pytest.param(Reply(b"busy", 500), "answered 500: busy", id="500"),
        pytest.param(Reply(b"later", 503), "answered 503: later", id="503"),
        pytest.param(Reply(b"{}", delay_seconds=30), "did not answer within 0.5 s", id="silent"),
        pytest.param(
            Reply(b" " * 1000, byte_seconds=0.05), "answers too slowly", id="byte by byte"
        ),
        pytest.param(Reply(b" " * 1000, cut_after=10), "cut the connection", id="cut"),
    ],
)
def test_a_prometheus_that_cannot_be_read_fails_the_section_with_one_line(
    server: Answering, reply: Reply, said: str
) -> None:
    server.answer = lambda _: reply
    results = []
    took = seconds_of(lambda: results.append(poll(server.url, request_timeout_seconds=0.5)))
    (result,) = results
    assert result.status == "failed"
    assert said in (result.error or "")
    assert "\n" not in (result.error or "")
    assert took < INTERVAL_SECONDS, "a poll ends within its cadence"


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"resultType": "scalar", "result": [1, "2"]}, id="scalar"),
        pytest.param({"resultType": "vector"}, id="no result"),
    ],
)
def test_a_garbled_result_is_no_crash(server: Answering, bad: Any) -> None:
    server.answer = lambda request: (
        healthy(request) if request.path.endswith("/values") else success(bad)
    )
    result = poll(server.url)
    assert result.status == "failed"
    assert "answered something that is not Prometheus's" in (result.error or "")


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"metric": {}}, id="no value"),
        pytest.param({"metric": [1], "value": [1, "2"]}, id="no labels"),
        pytest.param({"metric": {"instance": 5}, "value": [1, "2"]}, id="a label that is no text"),
        pytest.param({"metric": {}, "value": [1, "two"]}, id="no number"),
        pytest.param({"metric": {}, "value": [1]}, id="half a value"),
        pytest.param({"metric": {}, "value": [1e300, "2"]}, id="no time"),
        pytest.param(5, id="no series"),
    ],
)
def test_a_garbled_series_costs_no_other(server: Answering, odd: Any) -> None:
    answered = vector("3")
    answered["result"].append(odd)
    server.answer = lambda request: (
        healthy(request) if request.path.endswith("/values") else success(answered)
    )
    result = poll(server.url)
    assert (result.status, known(result)) == ("partial", HEALTHY)
    assert "a value of the answers could not be understood: series[1]" in (result.error or "")


def test_warnings_are_told_beside_the_values(server: Answering) -> None:
    def warning(request: Request) -> Reply:
        if request.path.endswith("/values"):
            return healthy(request)
        return success(vector("3"), warnings=["store 2 is\ndown", "store 2 is\ndown"])

    server.answer = warning
    result = poll(server.url)
    assert (result.status, known(result)) == ("partial", HEALTHY)
    assert result.error == "Prometheus warns: store 2 is down"


def test_warnings_are_not_told_again_at_the_next_poll(server: Answering) -> None:
    source = prometheus_source(PrometheusSettings(name="mon", url=server.url), "c", 3.0)
    server.answer = lambda _: success(NAMES, warnings=["w"])
    next(iter(source.poll(datetime.now(UTC))))
    server.answer = healthy
    (result,) = source.poll(datetime.now(UTC))
    source.close()
    assert result.status == "ok"


def test_an_empty_result_says_what_to_do(server: Answering) -> None:
    server.answer = lambda request: success(
        [] if request.path.endswith("/values") else {"resultType": "vector", "result": []}
    )
    result = poll(server.url)
    assert result.status == "partial"
    assert "has no metrics of Kafka brokers: let it scrape" in (result.error or "")
    assert known(result) == []


def test_series_without_samples_say_what_to_do(server: Answering) -> None:
    server.answer = lambda request: success(
        NAMES if request.path.endswith("/values") else {"resultType": "vector", "result": []}
    )
    result = poll(server.url)
    assert result.status == "partial"
    assert "has no recent samples of brokers" in (result.error or "")


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_number_is_unknown(server: Answering, value: str) -> None:
    server.answer = lambda request: (
        healthy(request) if request.path.endswith("/values") else success(vector(value))
    )
    result = poll(server.url)
    row = result.frames["broker_metrics"].row(by_predicate=None, named=True, index=0)
    assert known(result) == []
    assert row["value"] is None


def test_a_passing_failure_is_asked_again(server: Answering) -> None:
    replies = iter([Reply(b"", 503), Reply(b" " * 100, cut_after=5)])
    server.answer = lambda request: next(replies, None) or healthy(request)
    result = poll(server.url)
    assert (result.status, known(result)) == ("ok", HEALTHY)
    assert len(server.requests) == 4


def test_the_next_poll_recovers(server: Answering) -> None:
    source = prometheus_source(PrometheusSettings(name="mon", url=server.url), "c", 1.0)
    server.answer = lambda _: Reply(b"", 500)
    (failed,) = source.poll(datetime.now(UTC))
    server.answer = healthy
    (recovered,) = source.poll(datetime.now(UTC))
    source.close()
    assert (failed.status, recovered.status) == ("failed", "ok")


def test_credentials_are_sent_and_never_told(server: Answering) -> None:
    poll(server.url, username="me", password=SecretStr("pässwörd"))
    poll(server.url, token=SecretStr("t0ken"))
    sent = [request.headers.get("authorization") for request in server.requests]
    assert sent == ["Basic bWU6cMOkc3N3w7ZyZA=="] * 2 + ["Bearer t0ken"] * 2
    server.answer = lambda request: Reply(b"wrong", 401)
    result = poll(server.url, token=SecretStr("t0ken"))
    assert "t0ken" not in (result.error or "")


def test_the_environment_adds_no_credentials(
    server: Answering, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    poll(server.url)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("url", "said"),
    [
        pytest.param("http://127.0.0.1:1", "cannot be reached: connection refused", id="refused"),
        pytest.param("http://no.such.host.invalid:9090", "its host name is unknown", id="dns"),
    ],
)
def test_an_address_where_nobody_answers(url: str, said: str) -> None:
    result = poll(url)
    assert result.status == "failed"
    assert said in (result.error or "")


def test_https_asked_of_plain_http_says_so(server: Answering) -> None:
    result = poll(server.url.replace("http:", "https:"))
    assert "http and https mixed up?" in (result.error or "")


def test_an_answer_without_end_is_cut_off(
    server: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.prometheus.client.PrometheusClient.largest_bytes", 1 << 20)
    server.answer = lambda _: Reply(b" " * (2 << 20))
    result = poll(server.url)
    assert result.status == "failed"
    assert "answered more than 1 MB: narrow labels down" in (result.error or "")
