"""RabbitMQ as a source: requests, routes, virtual hosts, and a broken server."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.unit.collectors.rabbitmq.management import Answer, Management
from tests.unit.collectors.rabbitmq.polled import Polled, queue

NOT_AUTHORISED = {"error": "not_authorised", "reason": "User not authorised to access virtual host"}


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
    polled = Polled(api, 4.0, request_timeout_seconds=1.0)
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
    polled = Polled(api, 2.0, request_timeout_seconds=1.0)
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
