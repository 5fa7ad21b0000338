"""What polls make of answers in which one value is not what it should be.

The answers are what the servers of ``tests/servers`` send. Whatever the odd value is, the section
is read, all other things have the rows that they have without it, no key is there twice, and the
lake takes every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from collectors.connect.source import connect_sources
from collectors.ditto.source import ditto_sources
from collectors.prometheus.source import prometheus_sources
from collectors.rabbitmq.source import rabbitmq_sources
from collectors.schema_registry.source import schema_registry_sources
from collectors.service.rows import Stamp, rows_of
from collectors.source.model import SectionResult, Source
from collectors.source.shared_facts import SharedFacts
from config.settings import Settings
from lake.schemas.tables import WRITTEN_EVERY_SECONDS
from lake.storage.append import conform
from tests.selection import MARK
from tests.unit.collectors.connect.fakeconnect import entry
from tests.unit.collectors.connect.polling import ends, mirror
from tests.unit.collectors.ditto.fakeditto import FakeDitto
from tests.unit.collectors.mutation import Mutation, Path, encoded, mutations
from tests.unit.collectors.rabbitmq.management import OVERVIEW

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
URL = "http://server"
MEANINGS = ("connector.class", "config", "headroom_alias", "metric")
"""Values by which something is another thing: a mirror, a series that was asked for."""


@dataclass(frozen=True)
class Server:
    """A server, and what its answers mean.

    Attributes:
        answers: Path without a query: what is answered.
        make: Makes its source.
        whole: Places whose loss is the loss of everything: not a value among others.
        thing: To which thing of the answers a place belongs; None: to all of them.
        key: The columns that name the thing of a row.
        columns: Table: columns that depend on nothing but the thing itself; all, where missing.
    """

    answers: dict[str, Any]
    make: Callable[[Settings, SharedFacts], Iterator[Source]]
    whole: Callable[[str, Path], bool]
    thing: Callable[[str, Path], str | None]
    key: Callable[[Mapping[str, Any]], str]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _connect() -> Server:
    trace = "org.example.Bad: it broke\nCaused by: org.example.Worse: x"
    listed = {
        "orders": entry("orders", tasks__max="2", tasks={0: "RUNNING", 1: "FAILED"}),
        "refunds": entry("refunds", tasks={0: "FAILED"}, traces={0: trace}),
        "copy": mirror("copy"),
    }
    positions = [
        {"partition": {"cluster": "east", "topic": "t", "partition": n}, "offset": {"offset": n}}
        for n in range(3)
    ]
    return Server(
        {
            "/connectors?expand=status&expand=info": listed,
            "/connectors": list(listed),
            "/connectors/copy/offsets": {"offsets": positions},
        },
        connect_sources,  # type: ignore[arg-type]
        lambda asked, place: place == ("offsets",),
        lambda asked, place: (
            str(place[0])
            if "?" in asked
            else f"copy/t-{place[1]}"
            if len(place) > 1
            else "copy"
            if "offsets" in asked
            else None
        ),
        lambda row: f"copy/t-{row['partition']}" if "partition" in row else str(row["connector"]),
    )


def _rabbitmq() -> Server:
    def queue(name: str, **more: Any) -> dict[str, Any]:
        rates = {"publish": 5, "publish_details": {"rate": 0.5}, "deliver_get": 4}
        return {
            "name": name,
            "type": "classic",
            "state": "running",
            "node": "rabbit@one",
            "arguments": {},
            "messages": 3,
            "messages_ready": 2,
            "messages_unacknowledged": 1,
            "consumers": 1,
            "consumer_capacity": 0.5,
            "memory": 1000,
            "head_message_timestamp": 1_700_000_000,
            "message_stats": {**rates, "deliver_get_details": {"rate": 0.25}},
            **more,
        }

    queues = [
        queue("orders", arguments={"x-dead-letter-shared": "dlx", "x-message-ttl": 5000}),
        queue("dead"),
        queue("quorum", type="quorum", effective_policy_definition={"delivery-limit": 6}),
        queue("log", type="stream"),
    ]
    exchanges = [{"name": "dlx", "type": "fanout", "arguments": {}}]
    binding = {"source": "dlx", "destination": "dead", "destination_type": "queue"}
    return Server(
        {
            "/api/overview": OVERVIEW,
            "/api/vhosts": [{"name": "/"}],
            "/api/queues/%2F": {"items": queues, "page": 1, "page_count": 1},
            "/api/exchanges/%2F": {"items": exchanges, "page": 1, "page_count": 1},
            "/api/bindings/%2F": [{**binding, "routing_key": ""}],
        },
        rabbitmq_sources,  # type: ignore[arg-type]
        lambda asked, place: (
            place in (("items",), ("page_count",))
            or asked == "/api/vhosts"
            or place == ("rabbitmq_version",)
        ),
        lambda asked, place: (
            queues[int(place[1])]["name"] if "/queues/" in asked and len(place) > 1 else None
        ),
        lambda row: str(row.get("queue") or row.get("name")),
        {
            "queues": ("queue", "ready", "unacknowledged", "consumers", "oldest_at", "state"),
        },
    )


def _ditto() -> Server:
    fake = FakeDitto()
    for name in ("one", "two", "three"):
        fake.add(name)
    answers: dict[str, Any] = {
        "/api/2/connections": [each["connection"] for each in fake.connections.values()]
    }
    for name, each in fake.connections.items():
        answers[f"/api/2/connections/{name}/status"] = each["status"]
        answers[f"/api/2/connections/{name}/metrics"] = each["metrics"]
    names = list(fake.connections)
    return Server(
        answers,
        ditto_sources,  # type: ignore[arg-type]
        lambda asked, place: False,
        lambda asked, place: (
            names[int(place[0])] if asked.endswith("connections") else asked.split("/")[-2]
        ),
        lambda row: str(row["connection"]),
    )


def _prometheus() -> Server:
    names = ("underreplicatedpartitions", "underminisrpartitioncount")
    series = [
        {
            "metric": {"headroom_alias": "under_replicated_partitions/0", "instance": broker},
            "value": [1763000000.5, "3"],
        }
        for broker in ("k1", "k2", "k3")
    ]
    return Server(
        {
            "/api/v1/label/__name__/values": {
                "status": "success",
                "data": [f"kafka_server_replicamanager_{name}" for name in names],
            },
            "/api/v1/query": {
                "status": "success",
                "data": {"resultType": "vector", "result": series},
            },
        },
        prometheus_sources,  # type: ignore[arg-type]
        lambda asked, place: place in (("status",), ("data",), ("data", "result")),
        lambda asked, place: (
            f"k{int(place[2]) + 1}" if "query" in asked and len(place) > 2 else None
        ),
        lambda row: str(row["broker"]),
    )


def _schema_registry() -> Server:
    names = ["orders-key", "orders-value", ":.east:refunds-value", "Invoice"]
    answers: dict[str, Any] = {
        "/subjects": names,
        "/subjects?deleted=true": [*names, "old-value"],
        "/config": {"compatibilityLevel": "BACKWARD"},
        "/mode": {"mode": "READWRITE"},
    }
    for number, name in enumerate(names):
        path = quote(name, safe="")
        answers[f"/subjects/{path}/versions/latest"] = {
            "subject": name,
            "version": 3,
            "id": 40 + number,
            "schemaType": "JSON",
            "schema": "{}",
        }
        answers[f"/config/{path}"] = {"compatibilityLevel": "FULL"}
        answers[f"/mode/{path}"] = {"mode": "READONLY"}
    named = {quote(name, safe=""): name for name in names}
    return Server(
        answers,
        schema_registry_sources,
        lambda asked, place: False,
        lambda asked, place: (
            names[int(place[0])]
            if asked == "/subjects"
            else next((name for path, name in named.items() if path in asked.split("/")), None)
        ),
        lambda row: str(row.get("subject")),
        {
            "schema_registries": (),
            "schema_subjects": (
                *("subject", "topic", "version", "schema_id", "schema_type"),
                *("compatibility", "compatibility_is_own", "mode", "unknown_reason"),
            ),
            "cluster_events": (),
        },
    )


SERVERS = {
    "connect": _connect,
    "rabbitmq": _rabbitmq,
    "ditto": _ditto,
    "prometheus": _prometheus,
    "schema_registry": _schema_registry,
}


class Polled:
    """Polls a source whose server answers from memory."""

    def __init__(self, kind: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: Mapping[str, bytes] = {}
        monkeypatch.setattr(
            "collectors.source.http_client.httpx.Client",
            lambda **options: httpx_client(
                transport=httpx.MockTransport(self._answer), base_url=options["base_url"]
            ),
        )
        monkeypatch.setattr("collectors.rabbitmq.client.ROUTING_SECONDS", -1.0)  # read each time
        monkeypatch.setattr("collectors.schema_registry.client.READ_EVERY_SECONDS", -1.0)
        monkeypatch.setitem(WRITTEN_EVERY_SECONDS, "schema_subjects", -1.0)
        own = {"name": "main", "url": URL}
        settings = Settings.model_validate(
            {"clusters": [{"name": "east", "bootstrap_servers": "kafka:9092"}], kind: [own]}
        )
        shared = SharedFacts()
        shared.set_end_offsets("east", ends(("t", 0, 9), ("t", 1, 9), ("t", 2, 9)))
        (self.source,) = server.make(settings, shared)

    def poll(self, answers: Mapping[str, bytes]) -> list[SectionResult]:
        self.answers = answers
        results = list(self.source.poll(NOW))
        stamp = Stamp.new(self.source.name, self.source.cluster, NOW)
        for result in results:
            for table, rows in rows_of(result, stamp, 15.0):
                written = conform(table, rows)
                assert written.select(table.identity).is_unique().all(), "a key is there twice"
        return results

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        found = self.answers.get(path) or self.answers.get(path.partition("?")[0])
        if found is None and path.endswith(("/status", "/metrics", "/offsets")):
            # Of a thing whose name is odd: it exists all the same.
            last = path.rpartition("/")[2]
            found = next(body for asked, body in self.answers.items() if asked.endswith(last))
        if "page=" in path and "page=1&" not in path:
            return httpx.Response(400, json={"error": "page_out_of_range"})
        return httpx.Response(404) if found is None else httpx.Response(200, content=found)


httpx_client = httpx.Client


def things(
    server: Server, results: list[SectionResult], but: str = ""
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all things, or all but one, by table."""
    found = {}
    for result in results:
        for name, frame in result.frames.items():
            if name == "dead_letters":  # which depend on the routes of all
                continue
            columns = server.columns.get(name, tuple(frame.columns))
            found[name] = [
                {column: row[column] for column in columns}
                for row in frame.to_dicts()
                if not but or not f"{server.key(row)}/".startswith(f"{but}/")
            ]
    return found


def check(server: Server, polled: Polled, mutation: Mutation, sound: list[SectionResult]) -> None:
    results = polled.poll(mutation.answers)
    said = f"{mutation.asked} {mutation.place} = {mutation.value!r:.60}: "
    if server.whole(mutation.asked, mutation.place):
        for result in results:
            assert "Error:" not in (result.error or ""), said + str(result.error)
        return
    for result in results:
        assert result.status in ("ok", "partial"), said + str(result.error)
    thing = server.thing(mutation.asked, mutation.place)
    if thing is None:
        return
    found = things(server, results)
    for table, rows in things(server, sound, thing).items():
        lost = [row for row in rows if row not in found[table]]
        assert not lost, f"{said}{table}: {lost}"
    is_fewer = sum(map(len, found.values())) < sum(map(len, things(server, sound).values()))
    has_meaning = mutation.place[-1] in MEANINGS or mutation.value == "nan"
    if is_fewer and not mutation.is_left_out and not has_meaning:
        assert any(result.status == "partial" for result in results), said + "rows are missing"


def run(kind: str, monkeypatch: pytest.MonkeyPatch, seed: int, count: int) -> None:
    server = SERVERS[kind]()
    polled = Polled(kind, server, monkeypatch)
    sound = polled.poll({asked: encoded(answer) for asked, answer in server.answers.items()})
    assert [result.error for result in sound if result.status != "ok"] == []
    for mutation in mutations(server.answers, seed, count):
        check(server, polled, mutation, sound)


@pytest.mark.parametrize("kind", SERVERS)
def test_one_odd_value_costs_nothing_but_itself(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(kind, monkeypatch, 1, 500)


@MARK
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("kind", SERVERS)
def test_one_odd_value_of_very_many(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch, ten_with_all: int
) -> None:
    run(kind, monkeypatch, seed, 500 * ten_with_all)
