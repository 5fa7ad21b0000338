from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from collectors.ditto.source import DittoClient, ditto_source
from collectors.source.http_source import HttpSource
from collectors.source.model import SectionResult
from collectors.source.shared_facts import SharedFacts
from config.integrations import DittoSettings
from tests.unit.collectors.ditto.answering import Answering, Reply, Request, answering, seconds_of
from tests.unit.collectors.ditto.fakeditto import IN_THE_URI, PASSWORD, USER, FakeDitto

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def ditto() -> FakeDitto:
    return FakeDitto()


@pytest.fixture
def server(ditto: FakeDitto) -> Iterator[Answering]:
    with answering(ditto.answer) as served:
        yield served


def source_of(
    server: Answering, shared: SharedFacts | None = None, **settings: Any
) -> HttpSource[DittoClient, DittoSettings]:
    login = {"username": USER, "password": SecretStr(PASSWORD)}
    configured = DittoSettings(name="twins", url=server.url, **{**login, **settings})
    return ditto_source(configured, "production", 3.0, shared or SharedFacts())


def poll(server: Answering, shared: SharedFacts | None = None, **settings: Any) -> SectionResult:
    source = source_of(server, shared, **settings)
    try:
        (result,) = source.poll(NOW)
    finally:
        source.close()
    return result


def rows_of(result: SectionResult) -> list[dict[str, Any]]:
    return result.frames["ditto_connections"].to_dicts()


def test_a_connection_is_told_as_it_should_be_and_as_it_is(
    ditto: FakeDitto, server: Answering
) -> None:
    ditto.add("c1")
    result = poll(server)
    assert (result.status, result.error) == ("ok", None)
    (row,) = rows_of(result)
    assert row == {
        "ditto": "twins",
        "connection": "c1",
        "name": "c1-name",
        "type": "kafka",
        "desired_status": "open",
        "live_status": "open",
        "recovery_status": "succeeded",
        "connected_since": datetime(2026, 11, 20, 8, 57, 24, 710000, UTC),
        "status_details": None,
        "clients": 2,
        "clients_open": 2,
        "consumers": 2 * (2 * 3 + 1),
        "sources_failed": 0,
        "targets_failed": 0,
        "group": "c1",
        "topics": ["events", "telemetry"],
        "qos": 0,
        "consumed_minute": 120,
        "dropped_minute": 11,
        "failed_minute": 0,
        "published_minute": 24,
        "unknown_reason": None,
    }


def test_what_failed_is_counted_and_explained(ditto: FakeDitto, server: Answering) -> None:
    reported = ditto.add("c1", live="failed")
    events = reported["status"]["sourceStatus"][1]
    events["statusDetails"] = f"connecting to tcp://me:{IN_THE_URI}@kafka:9092 failed"
    reported["status"]["sourceStatus"].append({**events, "client": "connectivity-1"})
    reported["status"]["targetStatus"][0]["status"] = "misconfigured"
    reported["metrics"]["connectionMetrics"]["inbound"]["mapped"]["failure"]["PT1M"] = 7
    (row,) = rows_of(poll(server))
    assert (row["desired_status"], row["live_status"]) == ("open", "failed")
    assert (row["sources_failed"], row["targets_failed"], row["clients_open"]) == (2, 1, 0)
    assert row["failed_minute"] == 7
    assert "source events: connecting to tcp://***@kafka:9092 failed" in row["status_details"]


def test_no_credential_is_asked_for_or_kept(ditto: FakeDitto, server: Answering) -> None:
    reported = ditto.add("c1")
    status = reported["status"]["clientStatus"][0]
    status.update(status="failed", statusDetails=f'sasl failed: password="{IN_THE_URI}" wrong')
    result = poll(server)
    assert "uri" not in server.requests[0].query["fields"]
    assert IN_THE_URI not in json.dumps(rows_of(result), default=str)
    assert "sasl failed: password=***" in rows_of(result)[0]["status_details"]


def test_a_ditto_that_ignores_fields_gives_no_credential_away(
    ditto: FakeDitto, server: Answering
) -> None:
    ditto.add("c1")

    def everything(request: Request) -> Reply:
        return ditto.answer(Request(request.path, {}, request.headers))

    server.answer = everything
    result = poll(server)
    assert result.status == "ok"
    assert IN_THE_URI not in json.dumps(rows_of(result), default=str)


def test_kafka_is_told_which_groups_are_dittos(ditto: FakeDitto, server: Answering) -> None:
    ditto.add("c1")
    ditto.add("c2", specificConfig={"groupId": "twins-2"})
    ditto.add("c3", type_="hono", sources=[{"addresses": ["telemetry"]}])
    ditto.add("c4", type_="mqtt")
    ditto.add("c5", sources=[])
    shared = SharedFacts()
    rows = {row["connection"]: row for row in rows_of(poll(server, shared))}
    assert shared.ditto_groups("production") == {"c1", "twins-2", "c3"}
    assert shared.ditto_groups("another") == set()
    assert rows["c3"]["topics"] is None, "a Hono connection's addresses are no topics"
    assert rows["c4"]["group"] is rows["c4"]["topics"] is None
    assert rows["c5"]["consumers"] == 0


def test_what_ditto_leaves_out_is_unknown_and_not_zero(ditto: FakeDitto, server: Answering) -> None:
    reported = ditto.add("c1", sources=[{"addresses": ["telemetry"]}])
    del reported["connection"]["clientCount"], reported["connection"]["name"]
    reported["status"] = {"connectionId": "c1", "liveStatus": "open"}
    reported["metrics"] = {"connectionMetrics": {"inbound": {}}}
    (row,) = rows_of(poll(server))
    assert (row["name"], row["clients"], row["consumers"]) == (None, 1, 1)
    for column in (
        "qos",
        "connected_since",
        "clients_open",
        "sources_failed",
        "consumed_minute",
        "failed_minute",
        "dropped_minute",
    ):
        assert row[column] is None, column


def test_one_connection_that_cannot_be_asked_costs_only_itself(
    ditto: FakeDitto, server: Answering
) -> None:
    ditto.add("c1")
    ditto.add("c2")

    def broken(request: Request) -> Reply:
        if request.path.endswith("c1/status"):
            return Reply(b"{}", 500)
        return ditto.answer(request)

    server.answer = broken
    result = poll(server)
    first, second = rows_of(result)
    assert result.status == "partial"
    assert "the status of 1 connections is unknown" in (result.error or "")
    assert (first["live_status"], first["consumed_minute"]) == (None, 120)
    assert first["unknown_reason"].startswith("status: ")
    assert (second["live_status"], second["unknown_reason"]) == ("open", None)


def test_a_connection_that_is_deleted_meanwhile_has_no_row(
    ditto: FakeDitto, server: Answering
) -> None:
    ditto.add("c1")
    ditto.add("c2")

    def deleting(request: Request) -> Reply:
        if request.path.endswith("c1/status"):
            ditto.connections.pop("c1", None)
        return ditto.answer(request)

    server.answer = deleting
    result = poll(server)
    assert result.status == "ok"
    assert [row["connection"] for row in rows_of(result)] == ["c2"]


def test_connections_are_chosen_by_name(ditto: FakeDitto, server: Answering) -> None:
    ditto.add("c1")
    ditto.add("c2", name=None)
    ditto.add("c3")
    result = poll(server, connections={"include": ["c1-name", "c2"]})
    assert [row["connection"] for row in rows_of(result)] == ["c1", "c2"]


def test_ids_with_odd_characters_are_encoded(ditto: FakeDitto, server: Answering) -> None:
    ditto.add("a/b c?d")
    (row,) = rows_of(poll(server))
    assert (row["connection"], row["live_status"]) == ("a/b c?d", "open")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(Reply(b"<html>", 200), "is not JSON: is this the right URL?", id="garbage"),
        pytest.param(Reply(b"{}", 200), "is no list of connections", id="no list"),
        pytest.param(Reply(b"[1, {}]", 200), "is no list of connections", id="no connections"),
        pytest.param(Reply(b"", 403), "not permitted to this user (403)", id="403"),
        pytest.param(Reply(b"", 404), "is this the right URL?", id="404"),
        pytest.param(Reply(b"[]", delay_seconds=9), "did not answer within 0.5 s", id="slow"),
        pytest.param(Reply(b"[" * 50, cut_after=10), "cut the connection", id="cut"),
    ],
)
def test_a_ditto_that_cannot_be_read_fails_the_section_with_one_line(
    server: Answering, reply: Reply, said: str
) -> None:
    server.answer = lambda _: reply
    results = []
    took = seconds_of(lambda: results.append(poll(server, request_timeout_seconds=0.5)))
    assert results[0].status == "failed"
    assert said in (results[0].error or "")
    assert "\n" not in (results[0].error or "")
    assert took < 3.0, "a poll ends within its cadence"


def test_wrong_credentials_are_told_without_them(ditto: FakeDitto, server: Answering) -> None:
    result = poll(server, password=SecretStr("wrong-password"))
    assert result.status == "failed"
    assert "refused the credentials (401): check username and password" in (result.error or "")
    assert "wrong-password" not in (result.error or "")


def test_no_connections_are_no_problem(server: Answering) -> None:
    result = poll(server)
    assert (result.status, rows_of(result)) == ("ok", [])


def test_check_tries_each_feature(ditto: FakeDitto, server: Answering) -> None:
    ditto.add("c1")
    source = source_of(server)
    found = source.check()
    source.close()
    assert [(each.works, each.required) for each in found] == [
        (True, True),
        (True, False),
        (True, False),
    ]
    assert found[0].detail == "1 connections"


def test_check_says_what_is_wrong(server: Answering) -> None:
    source = source_of(server, password=SecretStr("wrong"))
    (found,) = source.check()
    source.close()
    assert (found.works, found.required) == (False, True)
    assert "check username and password" in found.detail
