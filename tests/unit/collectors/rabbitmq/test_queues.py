"""Rows of queues, against answers of RabbitMQ 4."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.collectors.rabbitmq.management import Management
from tests.unit.collectors.rabbitmq.polled import Polled, queue, rate


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
