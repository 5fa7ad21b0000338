"""A Connect cluster as a source, against a server that also misbehaves."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.connect.answers import NO_STATUS
from collectors.connect.client import ConnectClient
from collectors.connect.comparison import NO_PARTITION
from collectors.connect.source import connect_sources
from collectors.exchange import Exchange, Sink
from collectors.httpsource import HttpSource
from collectors.samples import Stamp, rows_of
from collectors.service import Service
from collectors.source import Check, SectionResult
from config.neighbours import ConnectSettings
from config.settings import LakeSettings, Settings
from lake.store import Lake
from lake.tables import COLLECTIONS, CONNECTORS
from runtime.processes import free_ports
from tests.support import eventually
from tests.unit.collectors.connect.fakeconnect import (
    MIRROR_SOURCE,
    Answer,
    FakeConnect,
    cuts_the_connection,
    entry,
    fake_connect,
    in_turn,
    says,
    trickles,
)

EXPANDED = "/connectors?expand=status&expand=info"
SECRET = "hunter2secret"  # noqa: S105  made up
HOUR = timedelta(hours=1)

Source = HttpSource[ConnectClient, ConnectSettings]


@pytest.fixture
def fake() -> Iterator[FakeConnect]:
    with fake_connect() as server:
        yield server


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


@pytest.fixture
def make(exchange: Exchange) -> Iterator[Callable[..., Source]]:
    """Make a source of a URL; further settings are those of ``ConnectSettings``."""
    made: list[Source] = []

    def source(url: str, **connect: Any) -> Source:
        settings = Settings.model_validate(
            {
                "clusters": [
                    {"name": "prod", "bootstrap_servers": "kafka:9092"},
                    {"name": "east", "bootstrap_servers": "kafka:9093"},
                ],
                "connect": [
                    {
                        "name": "main",
                        "url": url,
                        "cluster": "prod",
                        "poll_interval_seconds": 2,
                        "request_timeout_seconds": 0.8,
                        **connect,
                    }
                ],
            }
        )
        (new,) = connect_sources(settings, exchange)
        made.append(new)
        return new

    yield source
    for each in made:
        each.close()


def poll(source: Source) -> dict[str, SectionResult]:
    return {result.section: result for result in source.poll(datetime.now(UTC))}


def rows(results: dict[str, SectionResult], table: str) -> list[dict[str, Any]]:
    (found,) = (each.frames[table] for each in results.values() if table in each.frames)
    return found.to_dicts()


def mirror(name: str = "mirror", **config: str) -> dict[str, Any]:
    own = {"connector__class": MIRROR_SOURCE, "source__cluster__alias": "east", **config}
    return entry(name, type_="source", **own)


def offsets(*positions: tuple[str, int, int]) -> Answer:
    return says(
        {
            "offsets": [
                {
                    "partition": {"cluster": "east", "topic": topic, "partition": partition},
                    "offset": {"offset": offset},
                }
                for topic, partition, offset in positions
            ]
        }
    )


def ends(*logs: tuple[str, int, int]) -> pl.DataFrame:
    schema = {"topic": pl.String, "partition": pl.Int32, "log_end": pl.Int64}
    return pl.DataFrame(list(logs), schema=schema, orient="row")


def test_connectors_and_tasks_become_rows(
    fake: FakeConnect, make: Callable[..., Source], exchange: Exchange
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
    assert exchange.sinks("prod") == [Sink("orders-sink", "connect-orders-sink", "orders.dlq")]
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
    fake: FakeConnect, make: Callable[..., Source], exchange: Exchange
) -> None:
    fake.lists({name: entry(name) for name in ("orders-a", "orders-b", "test-a")})
    source = make(fake.url, connectors={"include": ["orders-.*"], "exclude": [".*-b"]})
    assert [row["connector"] for row in rows(poll(source), "connectors")] == ["orders-a"]
    assert [sink.connector for sink in exchange.sinks("prod")] == ["orders-a"]


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
    results = poll(make(fake.url))
    assert time.monotonic() - start < 2
    for result in results.values():
        assert result.status == "failed"
        assert result.error is not None
        assert "409" in result.error
        assert "rebalance in process" in result.error


def test_a_starting_worker_has_not_no_connectors(
    fake: FakeConnect, make: Callable[..., Source], exchange: Exchange
) -> None:
    fake.lists({"a": entry("a")})
    source = make(fake.url)
    poll(source)
    before = exchange.sinks("prod")
    fake.lists({})
    fake.answers["/health"] = says({"status": "starting", "message": "still starting up"}, 503)
    results = poll(source)
    assert results["connectors"].status == "failed"
    assert results["connectors"].error is not None
    assert "still starting up" in results["connectors"].error
    assert exchange.sinks("prod") == before, "what was known stays known"
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
    source = make(fake.url)
    start = time.monotonic()
    results = poll(source)
    assert time.monotonic() - start < 2
    assert {each.status for each in results.values()} == {"failed"}
    for result in results.values():
        assert result.error is not None
        assert re.search(said, result.error), result.error
        assert "\n" not in result.error
    fake.answers[EXPANDED] = right
    assert {each.status for each in poll(source).values()} == {"ok"}


def test_tls_on_a_plain_port(fake: FakeConnect, make: Callable[..., Source]) -> None:
    error = poll(make(fake.url.replace("http:", "https:")))["connectors"].error
    assert error is not None
    assert "http and https mixed up?" in error


def test_nobody_listens(make: Callable[..., Source]) -> None:
    (port,) = free_ports(1)
    error = poll(make(f"http://127.0.0.1:{port}"))["connectors"].error
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


def test_a_mirror_is_compared_with_its_source_cluster(
    fake: FakeConnect, make: Callable[..., Source], exchange: Exchange
) -> None:
    fake.lists({"mirror": mirror(), "a": entry("a")})
    fake.answers["/connectors/mirror/offsets"] = offsets(
        ("orders", 0, 39), ("orders", 1, 99), ("deleted", 0, 5)
    )
    exchange.tell_ends("east", ends(("orders", 0, 100), ("orders", 1, 100), ("other", 0, 7)))
    results = poll(make(fake.url))
    assert results["mirrors"].status == "ok"
    found = rows(results, "mirror_offsets")
    assert [
        (row["topic"], row["partition"], row["replicated"], row["source_log_end"], row["lag"])
        for row in found
    ] == [("orders", 0, 40, 100, 60), ("orders", 1, 100, 100, 0), ("deleted", 0, 6, None, None)]
    assert {(row["connector"], row["source_cluster"]) for row in found} == {("mirror", "east")}
    assert found[2]["unknown_reason"] == NO_PARTITION


def test_an_alias_may_have_another_name_in_the_configuration(
    fake: FakeConnect, make: Callable[..., Source], exchange: Exchange
) -> None:
    fake.lists({"mirror": mirror(source__cluster__alias="old-dc")})
    fake.answers["/connectors/mirror/offsets"] = says(
        {"offsets": [{"partition": {"topic": "t", "partition": 0}, "offset": {"offset": 1}}]}
    )
    exchange.tell_ends("east", ends(("t", 0, 5)))
    (row,) = rows(poll(make(fake.url, mirrors={"old-dc": "east"})), "mirror_offsets")
    assert (row["source_cluster"], row["replicated"], row["lag"]) == ("old-dc", 2, 3)


@pytest.mark.parametrize(
    ("alias", "mirrors", "reason"),
    [
        pytest.param("west", {}, "west is not among clusters; .* mirrors: {west: NAME}", id="none"),
        pytest.param("west", {"west": "nobody"}, "mirrors names nobody, which is not", id="wrong"),
        pytest.param("east", {}, "east has not been read yet", id="not yet"),
    ],
)
def test_a_source_cluster_that_is_not_known_makes_the_lag_unknown(
    fake: FakeConnect,
    make: Callable[..., Source],
    alias: str,
    mirrors: dict[str, str],
    reason: str,
) -> None:
    fake.lists({"mirror": mirror()})
    answer = {
        "partition": {"cluster": alias, "topic": "t", "partition": 0},
        "offset": {"offset": 1},
    }
    fake.answers["/connectors/mirror/offsets"] = says({"offsets": [answer]})
    results = poll(make(fake.url, mirrors=mirrors))
    assert results["mirrors"].status == "partial"
    assert re.search(reason, str(results["mirrors"].error)), results["mirrors"].error
    (row,) = rows(results, "mirror_offsets")
    assert (row["replicated"], row["source_log_end"], row["lag"]) == (2, None, None)
    assert re.search(reason, row["unknown_reason"])


def test_one_mirror_that_cannot_be_read_costs_no_other(
    fake: FakeConnect, make: Callable[..., Source], exchange: Exchange
) -> None:
    fake.lists({name: mirror(name) for name in ("good", "bad", "with/slash")})
    fake.answers["/connectors/bad/offsets"] = says({"message": "boom"}, 500)
    fake.answers["/connectors/good/offsets"] = offsets(("t", 0, 1))
    fake.answers["/connectors/with%2Fslash/offsets"] = offsets(("u", 0, 1))
    exchange.tell_ends("east", ends(("t", 0, 5), ("u", 0, 5)))
    results = poll(make(fake.url))
    assert results["connectors"].status == "ok"
    assert results["mirrors"].status == "partial"
    assert "bad: how far it has copied is unknown" in str(results["mirrors"].error)
    assert [row["connector"] for row in rows(results, "mirror_offsets")] == ["good", "with/slash"]
    fake.lists({"bad": mirror("bad")})
    assert poll(make(fake.url))["mirrors"].status == "failed"


def test_an_old_connect_tells_no_offsets(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({"mirror": mirror()})
    fake.answers["/connectors/mirror/status"] = says({"name": "mirror"})
    error = poll(make(fake.url))["mirrors"].error
    assert error is not None
    assert "needs Kafka Connect 3.5" in error


def checks(source: Source) -> dict[str, Check]:
    return {check.feature: check for check in source.check()}


def test_the_check_of_a_healthy_cluster(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({"mirror": mirror(), "a": entry("a")})
    fake.answers["/connectors/mirror/offsets"] = offsets(("t", 0, 1), ("t", 1, 1))
    found = checks(make(fake.url))
    assert {name: (each.works, each.required) for name, each in found.items()} == {
        "connection": (True, True),
        "connectors": (True, True),
        "MirrorMaker 2 offsets": (True, False),
    }
    assert "4.3.1" in found["connection"].detail
    assert "2 connectors" in found["connectors"].detail
    assert "2 partitions" in found["MirrorMaker 2 offsets"].detail


def test_the_check_tries_no_mirrors_where_there_are_none(
    fake: FakeConnect, make: Callable[..., Source]
) -> None:
    fake.lists({"a": entry("a")})
    assert checks(make(fake.url))["MirrorMaker 2 offsets"].works is None


def test_the_check_says_what_is_missing(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({"mirror": mirror()})
    fake.answers["/connectors/mirror/offsets"] = says(
        {
            "offsets": [
                {
                    "partition": {"cluster": "west", "topic": "t", "partition": 0},
                    "offset": {"offset": 1},
                }
            ]
        }
    )
    found = checks(make(fake.url))["MirrorMaker 2 offsets"]
    assert found.works is False
    assert "mirrors: {west: NAME}" in found.detail
    fake.answers[EXPANDED] = says({"message": "no"}, 403)
    found = checks(make(fake.url))["connectors"]
    assert found.works is False
    assert found.required
    assert "not permitted" in found.detail
    fake.answers["/"] = says({"message": "no"}, 401)
    (only,) = checks(make(fake.url)).values()
    assert (only.works, only.required) == (False, True)
    assert "check username and password" in only.detail


def test_a_broken_connect_cluster_costs_the_others_nothing(
    fake: FakeConnect, make: Callable[..., Source], tmp_path: Path
) -> None:
    """Given one that trickles and one that answers, when both are polled, then rows arrive."""
    fake.lists({"a": entry("a")})
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    with fake_connect() as broken:
        broken.answers[EXPANDED] = trickles
        service = Service(
            [
                make(broken.url, name="broken", cluster="prod"),
                make(fake.url, name="good", cluster="east"),
            ],
            lake,
            120,
        )
        thread = threading.Thread(target=service.run)
        thread.start()
        try:

            def arrived() -> bool:
                now = datetime.now(UTC)
                good = lake.latest(CONNECTORS, cluster="east", now=now, within=HOUR)
                told = lake.latest(COLLECTIONS, cluster="prod", now=now, within=HOUR)
                return bool(good.height and told.height)

            eventually(arrived, timeout_seconds=20, what="rows of both")
        finally:
            service.stop()
            thread.join()
    told = lake.latest(COLLECTIONS, cluster="prod", now=datetime.now(UTC), within=HOUR)
    assert set(told["status"]) == {"failed"}
    assert set(told["source"]) == {"connect/broken"}
