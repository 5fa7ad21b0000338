"""RabbitMQ as a source, against a real node."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from collectors.registry import make_sources
from collectors.service.rows import Stamp, rows_of
from collectors.source.model import Source
from config.load import load
from lake.schemas.tables import DEAD_LETTERS, QUEUES
from lake.storage.store import Lake
from tests.servers.rabbitmq.server import Running, poll, rows
from tests.support import eventually

SENT_AT = 1_700_000_000


@pytest.fixture(scope="module")
def node(rabbit_node: Running) -> Running:
    lay_out(rabbit_node)
    return rabbit_node


def lay_out(running: Running) -> None:
    """Make every kind of queue in the default virtual host, and two more virtual hosts."""
    server = running.server
    shop = server.virtual_host("/")
    shop.exchange("failed", "fanout")
    shop.exchange("failed.by.kind", "topic")
    shop.exchange("unbound")
    shop.bind("failed", "failed.by.kind", exchange=True)
    for name in ("orders.dead", "payments.dead", "expired"):
        shop.queue(name)
    shop.bind("failed.by.kind", "orders.dead", "orders.#")
    shop.bind("failed.by.kind", "payments.dead", "payments.*")
    shop.queue("orders", dead_letter_exchange="failed", max_length=5)
    shop.queue(
        "payments",
        dead_letter_exchange="failed",
        dead_letter_routing_key="payments.card",
        queue_type="quorum",
        delivery_limit=3,
    )
    shop.policy(
        "short-lived",
        "^carts$",
        dead_letter_exchange="",
        dead_letter_routing_key="expired",
        message_ttl=100,
    )
    shop.queue("carts")
    shop.queue("mails", dead_letter_exchange="", dead_letter_routing_key="mails.wait")
    shop.queue(
        "mails.wait",
        dead_letter_exchange="",
        dead_letter_routing_key="mails",
        message_ttl=3_600_000,
    )
    shop.queue("lost.exchange", dead_letter_exchange="nowhere")
    shop.queue("lost.binding", dead_letter_exchange="unbound", dead_letter_routing_key="x")
    shop.queue("log", queue_type="stream")
    server.virtual_host("a b/ü").create()
    server.virtual_host("a b/ü").queue("in another virtual host")
    server.virtual_host("hidden").create()
    server.user("headroom", "headroom", "monitoring", ["/", "a b/ü"])
    server.user("nobody", "nobody", "", ["/"])
    for number in range(12):
        shop.publish("orders", timestamp=SENT_AT + number)
    for name in ("carts", "mails", "log", "payments", "payments"):
        shop.publish(name)
    assert shop.take("mails", 1, reject=True) == 1
    assert shop.take("payments", 1, reject=True) == 1


@pytest.fixture
def source(node: Running) -> Iterator[Source]:
    made = node.source("headroom", vhosts={"exclude": ["hidden", "many"]})
    yield made
    made.close()


def test_depths_are_those_of_the_broker(node: Running, source: Source) -> None:
    """Given queues in every state, then ready is what AMQP itself says."""
    names = ["orders", "orders.dead", "payments", "payments.dead", "carts", "expired", "mails.wait"]
    expected = {
        "orders": 5,
        "orders.dead": 7,
        "payments": 1,
        "payments.dead": 1,
        "carts": 0,
        "expired": 1,
        "mails.wait": 1,
    }

    def counted() -> dict[str, int]:
        with node.channel() as channel:
            return {
                name: channel.queue_declare(name, passive=True).method.message_count
                for name in names
            }

    # A message's life ends some time after its time is over.
    eventually(lambda: counted() == expected, what="the depths that were made")

    def reported() -> bool:
        found = rows(poll(source)["queues"])
        return {name: found[name]["ready"] for name in names} == expected

    eventually(reported, what="the same depths as AMQP's")


@pytest.fixture
def settled(source: Source) -> dict[str, dict[str, Any]]:
    """The rows of ``queues``, once the statistics of every queue are there."""

    def known() -> dict[str, dict[str, Any]] | None:
        found = rows(poll(source)["queues"])
        waiting = [
            row["queue"]
            for row in found.values()
            if row["ready"] is None and row["type"] != "stream"
        ]
        return found if not waiting and found["orders.dead"]["ready"] == 7 else None

    return eventually(known, what="statistics of every queue")


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        pytest.param(
            "orders",
            {
                "kind": "plain",
                "ready": 5,
                "dead_letter_exchange": "failed",
                "dead_letter_routing_key": None,
                "dead_letter_queues": ["orders.dead"],
                "dead_letter_target_missing": False,
            },
            id="own key, through two exchanges",
        ),
        pytest.param(
            "payments",
            {
                "type": "quorum",
                "kind": "plain",
                "dead_letter_queues": ["payments.dead"],
                "dead_letter_target_missing": False,
                "delivery_limit": 3,
                "unacknowledged": 0,
            },
            id="quorum queue with a key of its own choice",
        ),
        pytest.param(
            "carts",
            {
                "kind": "plain",
                "policy": "short-lived",
                "dead_letter_exchange": "",
                "dead_letter_queues": ["expired"],
                "message_ttl_seconds": 0.1,
            },
            id="by policy, to the default exchange",
        ),
        pytest.param(
            "mails.wait",
            {
                "kind": "retry",
                "ready": 1,
                "dead_letter_queues": ["mails"],
                "message_ttl_seconds": 3600.0,
            },
            id="retry",
        ),
        pytest.param("mails", {"kind": "plain", "dead_letter_queues": ["mails.wait"]}, id="work"),
        pytest.param("payments.dead", {"kind": "dead letter", "ready": 1}, id="dead letters"),
        pytest.param(
            "lost.exchange",
            {"dead_letter_queues": [], "dead_letter_target_missing": True},
            id="missing exchange",
        ),
        pytest.param(
            "lost.binding",
            {"dead_letter_queues": [], "dead_letter_target_missing": True},
            id="missing binding",
        ),
        pytest.param(
            "log",
            {
                "type": "stream",
                "kind": "stream",
                "ready": None,
                "unknown_reason": "a stream keeps what was read: it has no backlog",
            },
            id="a stream is no backlog",
        ),
        pytest.param(
            "in another virtual host",
            {"vhost": "a b/ü", "kind": "plain", "dead_letter_target_missing": None, "consumers": 0},
            id="a virtual host whose name needs encoding",
        ),
    ],
)
def test_a_queue_is_described(
    settled: dict[str, dict[str, Any]], queue: str, expected: dict[str, Any]
) -> None:
    row = settled[queue]
    assert {key: row[key] for key in expected} == expected
    assert row["state"] == "running"
    assert row["node"].startswith("headroom-")


def test_dead_letter_queues_with_what_waits_and_since_when(
    source: Source, settled: dict[str, dict[str, Any]]
) -> None:
    found = rows(poll(source)["dead_letters"])
    assert found.keys() == {"/orders.dead", "/payments.dead", "/expired"}
    dead = found["/orders.dead"]
    assert dead["source"] == "rabbitmq"
    assert (dead["origin"], dead["found_by"]) == ("/orders", "arguments")
    assert (dead["unprocessed"], dead["retained"], dead["log_end"]) == (7, 7, None)
    assert dead["oldest_unprocessed_at"] == datetime.fromtimestamp(SENT_AT, UTC)
    assert found["/expired"]["found_by"] == "policy"
    assert found["/payments.dead"]["oldest_unprocessed_at"] is None  # without a timestamp


def test_rates_and_consumers(node: Running) -> None:
    """Given a consumer that holds what it got, then its queue's rates and capacity are reported."""
    node.server.virtual_host("/").queue("busy")
    source = node.source("headroom", queues={"include": ["busy"]})
    with node.channel() as channel:
        channel.basic_qos(prefetch_count=4)
        got: list[int] = []
        channel.basic_consume("busy", lambda _, method, *__: got.append(method.delivery_tag))

        def seen() -> dict[str, Any] | None:
            for _ in range(10):
                channel.basic_publish("", "busy", b"-")
            channel.connection.process_data_events(0.2)
            while len(got) > 3:
                channel.basic_ack(got.pop(0))
            row = rows(poll(source)["queues"])["busy"]
            rates = [row[f"{each}_per_second"] for each in ("publish", "deliver", "ack")]
            return row if all(rates) and row["unacknowledged"] else None

        row = eventually(seen, what="rates of a busy queue")
        assert row["consumers"] == 1
        assert 0 <= row["consumer_capacity"] < 1  # prefetch holds it back
        assert 1 <= row["unacknowledged"] <= 4
        assert row["redeliver_per_second"] == 0
        assert row["publish_per_second"] > row["ack_per_second"]
    source.close()


def test_more_queues_than_a_page_holds(node: Running) -> None:
    many = node.server.virtual_host("many")
    many.create()
    with node.channel("many") as channel:
        for number in range(503):
            channel.queue_declare(f"queue.{number:03}")
    source = node.source(vhosts={"include": ["many"]})
    result = poll(source)["queues"]
    source.close()
    assert result.status == "ok"
    assert set(rows(result)) == {f"queue.{number:03}" for number in range(503)}
    node.server.ask("DELETE", "/api/vhosts/many")


def test_a_virtual_host_without_a_permission_is_named(node: Running) -> None:
    source = node.source("headroom")
    sections = poll(source)
    source.close()
    for result in sections.values():
        assert result.status == "partial"
        assert result.error == (
            "virtual host hidden: not permitted; rabbitmqctl set_permissions -p hidden headroom "
            "'^$' '^$' '^$', or leave it out by vhosts.exclude"
        )
    assert {row["vhost"] for row in rows(sections["queues"]).values()} == {"/", "a b/ü"}


@pytest.mark.parametrize(
    ("user", "password", "message"),
    [
        pytest.param(
            "headroom",
            "wrong",
            "refused the credentials (401): check username",
            id="wrong password",
        ),
        pytest.param("nobody", "nobody", "Not management user", id="user without a tag"),
    ],
)
def test_a_refused_user_fails_every_section(
    node: Running, user: str, password: str, message: str
) -> None:
    source = node.source(user, password=password)
    for result in poll(source).values():
        assert result.status == "failed"
        assert message in (result.error or "")
        assert "wrong" not in (result.error or "")
        assert result.rows == 0
    (check,) = source.check()
    source.close()
    assert (check.feature, check.works, check.required) == ("reachable", False, True)
    assert message in check.detail


def test_selections(node: Running) -> None:
    source = node.source(vhosts={"include": ["/"]}, queues={"include": ["payments.*"]})
    sections = poll(source)
    source.close()
    assert set(rows(sections["queues"])) == {"payments", "payments.dead"}
    assert set(rows(sections["dead_letters"])) == {"/payments.dead"}


def test_check_names_what_works_and_what_is_missing(node: Running) -> None:
    source = node.source("headroom")
    checks = {each.feature: each for each in source.check()}
    source.close()
    assert checks["reachable"].detail.startswith("RabbitMQ 3.")
    assert checks["user's tag"].detail == "monitoring"
    assert checks["queues"].detail == "virtual hosts: /, a b/ü"
    assert "virtual host hidden: not permitted" in checks["every virtual host"].detail
    works = {feature: each.works for feature, each in checks.items()}
    assert works == {
        "reachable": True,
        "user's tag": True,
        "queues": True,
        "every virtual host": False,
        "message rates": True,
        "dead-letter routes": True,
    }


def test_rows_reach_the_lake(node: Running, tmp_path: Path) -> None:
    """Given a configuration file, when polled once, then the lake has the rows."""
    (tmp_path / "password").write_text("headroom\n")
    config = tmp_path / "headroom.yaml"
    config.write_text(
        "clusters: [{name: kafka, bootstrap_servers: 'localhost:1'}]\n"
        f"rabbitmq: [{{name: shop, url: '{node.server.url}', username: headroom, "
        f"password: {{file: {tmp_path / 'password'}}}, vhosts: {{exclude: [hidden]}}}}]\n"
        "lake: {uri: lake}\n"
    )
    settings = load(config)
    (source,) = make_sources(settings, only="shop")
    lake = Lake(settings.lake)
    now = datetime.now(UTC)
    stamp = Stamp.new(source.name, source.cluster, now)
    for result in source.poll(now):
        for table, frame in rows_of(result, stamp, source.interval_seconds):
            lake.append(table, frame)
    source.close()
    minute = timedelta(minutes=1)
    queues = lake.latest(QUEUES, cluster="shop", now=now, within=minute)
    dead = lake.latest(DEAD_LETTERS, cluster="shop", now=now, within=minute)
    assert {"orders", "mails.wait", "log"} <= set(queues["queue"])
    assert set(dead["source"]) == {"rabbitmq"}
    assert source.name == "rabbitmq/shop"
