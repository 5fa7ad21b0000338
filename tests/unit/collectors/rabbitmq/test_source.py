"""RabbitMQ as a source, against answers of RabbitMQ 4 and of a broken server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from collectors.rabbitmq.checks import check
from collectors.rabbitmq.client import RabbitClient
from collectors.rabbitmq.source import SECTIONS
from collectors.source.http_source import HttpSource
from collectors.source.model import SectionResult
from config.integrations import RabbitMQSettings
from tests.unit.collectors.rabbitmq.management import Answer, Management, serve

NOT_AUTHORISED = {"error": "not_authorised", "reason": "User not authorised to access virtual host"}


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def queue(name: str, **fields: Any) -> dict[str, Any]:
    """What RabbitMQ 4 tells of a classic queue that is idle."""
    return {
        "name": name,
        "vhost": "/",
        "type": "classic",
        "state": "running",
        "node": "rabbit@one",
        "arguments": {},
        "effective_policy_definition": {},
        "policy": None,
        "operator_policy": None,
        "messages": 0,
        "messages_ready": 0,
        "messages_unacknowledged": 0,
        "message_bytes": 0,
        "memory": 1000,
        "consumers": 0,
        "consumer_capacity": 0,
        **fields,
    }


def rate(**per_second: float) -> dict[str, Any]:
    """Counters with their rates."""
    stats: dict[str, Any] = {}
    for name, value in per_second.items():
        stats |= {name: 10, f"{name}_details": {"rate": value}}
    return stats


@pytest.fixture
def api() -> Iterator[Management]:
    with serve(Management()) as management:
        yield management


class Polled:
    """A source on the API, with a clock of the test's own."""

    def __init__(self, api: Management, interval_seconds: float = 2.0, **settings: Any) -> None:
        found = RabbitMQSettings(
            name="rabbit",
            url=api.url,
            username="headroom",
            password=SecretStr("secret"),
            **{"request_timeout_seconds": 1.0, **settings},
        )
        self.clock = Clock()
        client = RabbitClient(found, self.clock)
        self.source = HttpSource(
            "rabbitmq", found, "rabbit", interval_seconds, client, SECTIONS, check
        )

    def poll(self) -> tuple[SectionResult, SectionResult]:
        queues, dead_letters = self.source.poll(datetime.now(UTC))
        return queues, dead_letters

    def rows(self) -> dict[str, dict[str, Any]]:
        """Rows of ``queues`` by name."""
        result, _ = self.poll()
        assert result.status == "ok", result.error
        return {row["queue"]: row for row in result.frames["queues"].iter_rows(named=True)}


def test_version_4_tells_rates_only_where_columns_are_named(api: Management) -> None:
    stats = rate(publish=3.5, deliver_get=2.0, ack=1.5, redeliver=0.5)
    api.queues["/"] = [
        queue("orders", consumers=2, consumer_capacity=0.25, message_stats=stats, messages_ready=7)
    ]
    row = Polled(api).rows()["orders"]
    assert row["ready"] == 7
    assert (row["publish_per_second"], row["deliver_per_second"]) == (3.5, 2.0)
    assert (row["ack_per_second"], row["redeliver_per_second"]) == (1.5, 0.5)
    assert (row["consumers"], row["consumer_capacity"]) == (2, 0.25)


@pytest.mark.parametrize(
    ("fields", "overview", "expected"),
    [
        pytest.param({}, {}, 0.0, id="a counter that was never needed is 0"),
        pytest.param({"message_stats": rate(publish=2.0)}, {}, 2.0, id="a counter"),
        pytest.param(
            {"messages_ready": None}, {}, None, id="no statistics of the queue yet: unknown"
        ),
        pytest.param({"message_stats": {"publish": 3}}, {}, None, id="a counter without a rate"),
        pytest.param({}, {"rates_mode": "none"}, None, id="rates are switched off"),
        pytest.param({}, {"disable_stats": True}, None, id="statistics are switched off"),
    ],
)
def test_a_missing_rate(
    api: Management, fields: dict[str, Any], overview: dict[str, Any], expected: float | None
) -> None:
    api.queues["/"] = [queue("orders", **fields)]
    api.overview |= overview
    (result, _) = Polled(api).poll()
    assert result.frames["queues"]["publish_per_second"].to_list() == [expected]
    assert (result.status == "partial") == bool(overview)


@pytest.mark.parametrize(
    ("version", "arguments", "policy", "expected"),
    [
        pytest.param("4.1.0", {}, {}, 20, id="the default from 4.0"),
        pytest.param("3.13.7", {}, {}, None, id="none before 4.0"),
        pytest.param("4.1.0", {"x-delivery-limit": 5}, {}, 5, id="argument"),
        pytest.param("4.1.0", {}, {"delivery-limit": 6}, 6, id="policy"),
        pytest.param(
            "4.1.0", {"x-delivery-limit": 8}, {"delivery-limit": 6}, 6, id="the smaller of both"
        ),
        pytest.param("4.1.0", {"x-delivery-limit": -1}, {}, None, id="-1 is without a limit"),
        pytest.param("4.1.0", {"x-delivery-limit": 2**40}, {}, None, id="as good as no limit"),
    ],
)
def test_the_delivery_limit_of_a_quorum_queue(
    api: Management,
    version: str,
    arguments: dict[str, Any],
    policy: dict[str, Any],
    expected: int | None,
) -> None:
    api.overview["rabbitmq_version"] = version
    api.queues["/"] = [
        queue("q", type="quorum", arguments=arguments, effective_policy_definition=policy)
    ]
    assert Polled(api).rows()["q"]["delivery_limit"] == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {
                "arguments": {"x-message-ttl": 5000},
                "effective_policy_definition": {"message-ttl": 900},
            },
            {"message_ttl_seconds": 0.9},
            id="the shorter time to live",
        ),
        pytest.param(
            {"head_message_timestamp": 1_700_000_000},
            {"oldest_at": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)},
            id="the oldest message",
        ),
        pytest.param(
            {"head_message_timestamp": 1_700_000_000_000}, {"oldest_at": None}, id="milliseconds"
        ),
        pytest.param({"head_message_timestamp": ""}, {"oldest_at": None}, id="no timestamp"),
        pytest.param(
            {"policy": "ours", "operator_policy": "theirs"},
            {"policy": "ours, theirs"},
            id="both policies",
        ),
        pytest.param(
            {"node": None, "leader": "rabbit@two"}, {"node": "rabbit@two"}, id="the leader's node"
        ),
        pytest.param(
            {"state": "down", "messages_ready": None, "messages_unacknowledged": None},
            {"ready": None, "unknown_reason": "its state is down"},
            id="down",
        ),
        pytest.param(
            {"messages_ready": None},
            {"ready": None, "unknown_reason": "RabbitMQ has no statistics of it yet"},
            id="without statistics",
        ),
        pytest.param(
            {"consumer_capacity": None, "consumer_utilisation": 0.5},
            {"consumer_capacity": 0.5},
            id="the older name of the capacity",
        ),
        pytest.param(
            {"arguments": [], "effective_policy_definition": None, "message_stats": []},
            {"dead_letter_exchange": None, "ready": 0},
            id="as Erlang writes empty objects",
        ),
    ],
)
def test_a_field(api: Management, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    api.queues["/"] = [queue("orders", **fields)]
    row = Polled(api).rows()["orders"]
    assert {key: row[key] for key in expected} == expected


def test_a_stream_that_receives_dead_letters_has_no_depth(api: Management) -> None:
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "log"}
    api.queues["/"] = [
        queue("orders", arguments=dead),
        queue("log", type="stream", messages=99, messages_ready=99),
    ]
    _, result = Polled(api).poll()
    (row,) = result.frames["dead_letters"].iter_rows(named=True)
    assert (row["name"], row["unprocessed"], row["retained"]) == ("/log", None, None)
    assert row["unknown_reason"] == "a stream keeps what was read: it has no backlog"


def with_exchange(api: Management) -> None:
    """Let orders dead-letter into dead, by the exchange dlx."""
    api.queues["/"] = [
        queue("orders", arguments={"x-dead-letter-exchange": "dlx"}),
        queue("dead"),
    ]
    api.exchanges["/"] = [{"name": "dlx", "type": "fanout", "arguments": {}}]
    api.bindings["/"] = [
        {"source": "dlx", "destination": "dead", "destination_type": "queue", "routing_key": ""}
    ]


def test_a_poll_costs_three_requests_and_routes_are_read_once_a_minute(api: Management) -> None:
    with_exchange(api)
    polled = Polled(api)
    assert polled.rows()["orders"]["dead_letter_queues"] == ["dead"]
    base = ["/api/overview", "/api/vhosts", "/api/queues/%2F"]
    assert api.asked == [*base, "/api/exchanges/%2F", "/api/bindings/%2F"]
    api.asked.clear()
    polled.clock.now = 59.0
    polled.poll()
    assert api.asked == base
    api.asked.clear()
    polled.clock.now = 61.0
    polled.poll()
    assert api.asked == [*base, "/api/exchanges/%2F", "/api/bindings/%2F"]


def test_routes_are_read_anew_when_a_queue_asks_for_others(api: Management) -> None:
    with_exchange(api)
    polled = Polled(api)
    polled.poll()
    api.asked.clear()
    api.queues["/"].append(queue("new", arguments={"x-dead-letter-exchange": "dlx"}))
    assert polled.rows()["new"]["dead_letter_queues"] == ["dead"]
    assert api.asked.count("/api/bindings/%2F") == 1


def test_without_dead_letters_nobody_asks_for_routes(api: Management) -> None:
    api.queues["/"] = [
        queue("a", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "b"}),
        queue("b"),
    ]
    assert Polled(api).rows()["b"]["kind"] == "dead letter"
    assert api.asked == ["/api/overview", "/api/vhosts", "/api/queues/%2F"]


def test_routes_that_cannot_be_read_are_unknown_and_nothing_else_is(api: Management) -> None:
    with_exchange(api)
    api.replaced["/api/bindings/%2F"] = Answer(500, {"error": "boom"})
    (queues, dead_letters) = Polled(api).poll()
    assert queues.status == dead_letters.status == "partial"
    row = {row["queue"]: row for row in queues.frames["queues"].iter_rows(named=True)}["orders"]
    assert row["ready"] == 0
    assert row["dead_letter_target_missing"] is None
    assert "exchanges and bindings could not be read" in row["unknown_reason"]
    assert "answered 500" in row["unknown_reason"]


def test_queues_that_go_while_pages_are_turned_lose_nothing_else(api: Management) -> None:
    api.queues["/"] = [queue(f"queue.{number:04}") for number in range(501)]
    ready_made = api.answer

    def shrinking(path: str, query: Any) -> Answer:
        answer = ready_made(path, query)
        if path.startswith("/api/queues"):
            del api.queues["/"][500:]
        return answer

    api.answer = shrinking  # type: ignore[method-assign]
    assert len(Polled(api).rows()) == 500


BROKEN = [
    pytest.param(Answer(500, {"error": "boom"}), "answered 500", id="500"),
    pytest.param(Answer(200, b"<html>hello"), "not JSON", id="garbage"),
    pytest.param(Answer(200, [1, 2]), "answered", id="another shape"),
    pytest.param(Answer(200, {"items": 3, "page_count": 1}), "than a list", id="no list"),
    pytest.param(Answer(200, b"{}", wait_seconds=30), "did not answer within", id="silent"),
    pytest.param(Answer(200, b"x" * 100, trickle_seconds=0.1), "too slowly", id="trickling"),
    pytest.param(Answer(200, b'{"items": []}', is_cut=True), "cut the connection", id="cut"),
    pytest.param(Answer(302, b"", {"location": "/"}), "redirects", id="redirect"),
    pytest.param(
        Answer(401, b"{}", {"www-authenticate": "Basic"}), "refused the credentials", id="401"
    ),
    pytest.param(Answer(401, NOT_AUTHORISED), "not permitted", id="401 of a right"),
    pytest.param(Answer(403, NOT_AUTHORISED), "not permitted", id="403"),
]


def test_what_is_no_queue_is_left_out_and_said(api: Management) -> None:
    api.queues["/"] = [queue("orders"), {"messages": 5}, queue("carts", message_stats="?")]  # type: ignore[list-item]
    polled = Polled(api)
    result = next(iter(polled.poll()))
    rows = {row["queue"]: row for row in result.frames["queues"].to_dicts()}
    assert set(rows) == {"orders", "carts"}
    assert rows["carts"]["publish_per_second"] is None, "unknown, not 0"
    assert result.status == "partial"
    assert "2 values of the answers could not be understood" in (result.error or "")


@pytest.mark.parametrize(("answer", "message"), BROKEN)
def test_a_broken_virtual_host_costs_the_others_nothing(
    api: Management, answer: Answer, message: str
) -> None:
    api.queues = {"a": [queue("mine")], "broken": [queue("theirs")], "z": []}
    api.replaced["/api/queues/broken"] = answer
    start = time.monotonic()
    polled = Polled(api, 4.0)
    for result in polled.poll():
        assert result.status == "partial"
        assert message in (result.error or "")
        assert "virtual host broken" in (result.error or "")
        assert "secret" not in (result.error or "")
    assert time.monotonic() - start < 4.0
    api.replaced.clear()
    assert set(polled.rows()) == {"mine", "theirs"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(Answer(500, {"error": "boom"}), "answered 500", id="500"),
        pytest.param(Answer(200, b"<html>hello"), "is this the right URL", id="garbage"),
        pytest.param(
            Answer(200, {"version": 1}), "not RabbitMQ's management API", id="another API"
        ),
        pytest.param(Answer(200, b"{}", wait_seconds=30), "did not answer within", id="silent"),
        pytest.param(Answer(200, b'{"a": 1}', is_cut=True), "cut the connection", id="cut"),
        pytest.param(
            Answer(401, b"{}", {"www-authenticate": "Basic"}), "check username", id="wrong password"
        ),
    ],
)
def test_a_broken_server_fails_in_time_and_is_asked_again(
    api: Management, answer: Answer, message: str
) -> None:
    """Given a server whose overview is broken, then both sections fail once, in the poll's time."""
    api.replaced["/api/overview"] = answer
    polled = Polled(api)
    start = time.monotonic()
    for result in polled.poll():
        assert result.status == "failed"
        assert message in (result.error or "")
    assert time.monotonic() - start < 2.0
    (found,) = polled.source.check()
    assert (found.works, found.required) == (False, True)
    api.replaced.clear()
    api.queues["/"] = [queue("back")]
    assert set(polled.rows()) == {"back"}


def test_no_virtual_host_is_selected(api: Management) -> None:
    for result in Polled(api, vhosts={"include": ["shop"]}).poll():
        assert result.status == "failed"
        assert "none of the virtual hosts that this user may see (/) is selected" in str(
            result.error
        )


def test_permitted_nowhere(api: Management) -> None:
    api.replaced["/api/queues/%2F"] = Answer(401, NOT_AUTHORISED)
    for result in Polled(api).poll():
        assert result.status == "failed"
        assert "rabbitmqctl set_permissions -p / headroom" in (result.error or "")


def test_a_virtual_host_that_goes_is_no_problem(api: Management) -> None:
    api.queues = {"a": [queue("mine")]}
    api.replaced["/api/vhosts"] = Answer(body=[{"name": "a"}, {"name": "gone"}])
    assert set(Polled(api).rows()) == {"mine"}


@pytest.mark.parametrize(
    ("path", "answer", "feature", "works", "detail"),
    [
        pytest.param(
            "/api/whoami",
            Answer(body={"name": "headroom", "tags": "management"}),
            "user's tag",
            False,
            "rabbitmqctl set_user_tags headroom monitoring",
            id="another tag",
        ),
        pytest.param(
            "/api/whoami",
            Answer(body={"name": "headroom", "tags": "management,administrator"}),
            "user's tag",
            True,
            "management, administrator",
            id="tags as one text, of versions before 3.9",
        ),
        pytest.param(
            "/api/overview",
            Answer(body={"rabbitmq_version": "3.13.1", "rates_mode": "none"}),
            "message rates",
            False,
            "switched off",
            id="rates are switched off",
        ),
        pytest.param(
            "/api/bindings/%2F",
            Answer(403, NOT_AUTHORISED),
            "dead-letter routes",
            False,
            "not permitted",
            id="bindings are refused",
        ),
        pytest.param(
            "/api/queues/%2F",
            Answer(401, NOT_AUTHORISED),
            "queues",
            False,
            "virtual hosts: none",
            id="no virtual host is permitted",
        ),
    ],
)
def test_check(
    api: Management, path: str, answer: Answer, feature: str, works: bool, detail: str
) -> None:
    api.replaced[path] = answer
    found = {each.feature: each for each in Polled(api).source.check()}[feature]
    assert found.works is works
    assert detail in found.detail
