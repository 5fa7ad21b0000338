"""A Connect cluster as a source, against a server that also misbehaves."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.connect.answers import NO_STATUS
from collectors.service.polling import Plan, Service
from collectors.service.rows import Stamp, rows_of
from collectors.source.shared_facts import SharedFacts, Sink
from config.settings import LakeSettings
from lake.schemas.tables import COLLECTIONS, CONNECTORS
from lake.storage.store import Lake
from runtime.processes import free_ports
from tests.support import eventually
from tests.unit.collectors.connect.fakeconnect import (
    Answer,
    FakeConnect,
    cuts_the_connection,
    entry,
    fake_connect,
    in_turn,
    says,
    trickles,
)
from tests.unit.collectors.connect.polling import Source, mirror, offsets, poll, rows

EXPANDED = "/connectors?expand=status&expand=info"
SECRET = "hunter2secret"  # noqa: S105  made up
HOUR = timedelta(hours=1)
HURRIED = {"poll_interval_seconds": 5, "request_timeout_seconds": 2}
"""Where time runs out; elsewhere a busy machine is given the time of the defaults."""


def test_connectors_and_tasks_become_rows(
    fake: FakeConnect, make: Callable[..., Source], shared: SharedFacts
) -> None:
    fake.lists(
        {
            "orders-sink": entry(
                "orders-sink",
                tasks__max="2",
                tasks={0: "RUNNING", 1: "FAILED"},
                traces={1: f"a.Bad: no {SECRET}\nCaused by: a.Worse: x"},
                errors__deadletterqueue__topic__name="orders.dlq",
                connection__password=SECRET,
            ),
            "cdc": entry("cdc", type_="source", connector__class="io.debezium.connector.X"),
        }
    )
    results = poll(make(fake.url))
    assert {name: each.status for name, each in results.items()} == {
        "connectors": "ok",
        "mirrors": "ok",
    }
    cdc, sink = rows(results, "connectors")
    assert (cdc["connector"], cdc["type"], cdc["kind"], cdc["group"]) == (
        "cdc",
        "source",
        "debezium",
        None,
    )
    assert (sink["tasks_expected"], sink["tasks"], sink["tasks_running"]) == (2, 2, 1)
    assert (sink["tasks_failed"], sink["dead_letter_topic"]) == (1, "orders.dlq")
    assert (sink["connect"], sink["topics"]) == ("main", ["orders"])
    failed = rows(results, "connector_tasks")[2]
    assert (failed["connector"], failed["task"], failed["state"]) == ("orders-sink", 1, "FAILED")
    assert (failed["error"], failed["error_class"], failed["cause_class"]) == (
        "a.Bad: no ***",
        "a.Bad",
        "a.Worse",
    )
    assert shared.sinks("prod") == [
        Sink(connector="orders-sink", group="connect-orders-sink", dead_letter_topic="orders.dlq")
    ]
    assert fake.asked == [EXPANDED, "/connectors"], "one listing serves both sections"


def test_rows_fit_the_lake(fake: FakeConnect, make: Callable[..., Source], tmp_path: Path) -> None:
    fake.lists({"a": entry("a"), "m": mirror("m"), "odd": None})
    fake.answers["/connectors/m/offsets"] = offsets(("orders", 0, 3))
    source = make(fake.url)
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    now = datetime.now(UTC)
    for result in source.poll(now):
        for table, frame in rows_of(result, Stamp.new(source.name, source.cluster, now), 2.0):
            lake.append(table, frame)
    found = lake.latest(CONNECTORS, cluster="prod", now=datetime.now(UTC), within=HOUR)
    assert found["connector"].sort().to_list() == ["a", "m", "odd"]


def test_no_connectors_is_no_fault(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({})
    results = poll(make(fake.url))
    assert results["connectors"].status == "ok"
    assert rows(results, "connectors") == []


def test_only_selected_connectors_are_told(
    fake: FakeConnect, make: Callable[..., Source], shared: SharedFacts
) -> None:
    fake.lists({name: entry(name) for name in ("orders-a", "orders-b", "test-a")})
    source = make(fake.url, connectors={"include": ["orders-.*"], "exclude": [".*-b"]})
    assert [row["connector"] for row in rows(poll(source), "connectors")] == ["orders-a"]
    assert [sink.connector for sink in shared.sinks("prod")] == ["orders-a"]


def test_a_connector_without_a_status_is_told_as_unknown(
    fake: FakeConnect, make: Callable[..., Source]
) -> None:
    """Connect leaves it out of the expanded list: it would look as if there were none."""
    fake.lists({"a": entry("a")}, names=["a", "lost"])
    results = poll(make(fake.url))
    assert results["connectors"].status == "partial"
    assert results["connectors"].error == f"lost: {NO_STATUS}"
    assert [(row["connector"], row["state"]) for row in rows(results, "connectors")] == [
        ("a", "RUNNING"),
        ("lost", None),
    ]


def test_a_connector_that_was_deleted_meanwhile_is_no_fault(
    fake: FakeConnect, make: Callable[..., Source]
) -> None:
    fake.lists({"a": entry("a"), "m": mirror("m")}, names=["a"])
    results = poll(make(fake.url))
    assert {each.status for each in results.values()} == {"ok"}
    assert rows(results, "mirror_offsets") == []


def test_a_rebalance_is_waited_for(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({"a": entry("a")})
    busy = says({"error_code": 409, "message": "rebalance in process"}, 409)
    fake.answers[EXPANDED] = in_turn(busy, busy, says({"a": entry("a")}))
    results = poll(make(fake.url))
    assert results["connectors"].status == "ok"
    assert len(rows(results, "connectors")) == 1
    assert fake.asked.count(EXPANDED) == 3


def test_a_rebalance_without_an_end_ends_with_the_polls_time(
    fake: FakeConnect, make: Callable[..., Source]
) -> None:
    fake.answers[EXPANDED] = says({"error_code": 409, "message": "rebalance in process"}, 409)
    start = time.monotonic()
    results = poll(make(fake.url, **HURRIED))
    assert time.monotonic() - start < 5
    for result in results.values():
        assert result.status == "failed"
        assert result.error is not None
        assert "409" in result.error
        assert "rebalance in process" in result.error


def test_a_starting_worker_has_not_no_connectors(
    fake: FakeConnect, make: Callable[..., Source], shared: SharedFacts
) -> None:
    fake.lists({"a": entry("a")})
    source = make(fake.url, poll_interval_seconds=10)
    poll(source)
    before = shared.sinks("prod")
    fake.lists({})
    fake.answers["/health"] = says({"status": "starting", "message": "still starting up"}, 503)
    results = poll(source)
    assert results["connectors"].status == "failed"
    assert results["connectors"].error is not None
    assert "still starting up" in results["connectors"].error
    assert shared.sinks("prod") == before, "what was known stays known"
    fake.lists({"a": entry("a")})
    assert poll(source)["connectors"].status == "ok"


def test_an_empty_worker_that_knows_no_health_is_believed(
    fake: FakeConnect, make: Callable[..., Source]
) -> None:
    del fake.answers["/health"]
    fake.lists({})
    assert poll(make(fake.url))["connectors"].status == "ok"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(says({"message": "x"}, 401), "check username and password", id="401"),
        pytest.param(says({"message": "x"}, 403), "not permitted to this user", id="403"),
        pytest.param(says(b"gone", 404), "still starting, or url is not the REST", id="404"),
        pytest.param(says({"message": "boom"}, 500), "500: .*boom", id="500"),
        pytest.param(says(b"<html>hello</html>"), "is not JSON: is this the right URL", id="HTML"),
        pytest.param(says(b"\x00\xff\x00"), "is not JSON", id="garbage"),
        pytest.param(says(["a"]), "is this url Kafka Connect's", id="another JSON"),
        pytest.param(says(b"", 302, {"location": "/login"}), "final URL into url", id="redirect"),
        pytest.param(cuts_the_connection, "cut the connection", id="cut connection"),
        pytest.param(trickles, "(too slowly|within).*look into its log", id="slow trickle"),
    ],
)
def test_a_fault_is_one_line_that_says_what_to_do(
    fake: FakeConnect, make: Callable[..., Source], answer: Answer, said: str
) -> None:
    """Given a misbehaving server, then both sections fail in time, and recover by themselves."""
    fake.lists({"a": entry("a")})
    right = fake.answers[EXPANDED]
    fake.answers[EXPANDED] = answer
    source = make(fake.url, **HURRIED)
    start = time.monotonic()
    results = poll(source)
    assert time.monotonic() - start < 5
    assert {each.status for each in results.values()} == {"failed"}
    for result in results.values():
        assert result.error is not None
        assert re.search(said, result.error), result.error
        assert "\n" not in result.error
    fake.answers[EXPANDED] = right
    eventually(
        lambda: {each.status for each in poll(source).values()} == {"ok"}, what="answers again"
    )


def test_tls_on_a_plain_port(fake: FakeConnect, make: Callable[..., Source]) -> None:
    error = poll(make(fake.url.replace("http:", "https:")))["connectors"].error
    assert error is not None
    assert "http and https mixed up?" in error


def test_nobody_listens(make: Callable[..., Source]) -> None:
    (port,) = free_ports(1)
    error = poll(make(f"http://127.0.0.1:{port}", **HURRIED))["connectors"].error
    assert error is not None
    assert f"http://127.0.0.1:{port} cannot be reached" in error


def test_credentials_are_sent_and_told_nowhere(
    fake: FakeConnect,
    make: Callable[..., Source],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("CONNECT_PASSWORD", SECRET)
    fake.answers[EXPANDED] = says({"message": "no"}, 401)
    source = make(fake.url, username="reader", password={"env": "CONNECT_PASSWORD"})
    results = poll(source)
    assert fake.headers[0]["Authorization"].startswith("Basic ")
    found = f"{results} {source.check()} {caplog.text}"
    assert SECRET not in found
    assert fake.headers[0]["Authorization"].removeprefix("Basic ") not in found


def test_a_broken_connect_cluster_costs_the_others_nothing(
    fake: FakeConnect, make: Callable[..., Source], tmp_path: Path
) -> None:
    """Given one that trickles and one that answers, when both are polled, then rows arrive."""
    fake.lists({"a": entry("a")})
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    with fake_connect() as broken:
        broken.answers[EXPANDED] = trickles
        sources = [
            make(broken.url, name="broken", cluster="prod", **HURRIED),
            make(fake.url, name="good", cluster="east", poll_interval_seconds=2),
        ]
        service = Service(Plan(make=lambda: sources), lake)
        thread = threading.Thread(target=service.run)
        thread.start()
        try:

            def arrived() -> bool:
                now = datetime.now(UTC)
                good = lake.latest(CONNECTORS, cluster="east", now=now, within=HOUR)
                reported = lake.latest(COLLECTIONS, cluster="prod", now=now, within=HOUR)
                return bool(good.height and reported.height)

            eventually(arrived, timeout_seconds=20, what="rows of both")
        finally:
            service.stop()
            thread.join()
    reported = lake.latest(COLLECTIONS, cluster="prod", now=datetime.now(UTC), within=HOUR)
    assert set(reported["status"]) == {"failed"}
    assert set(reported["source"]) == {"connect/broken"}
