"""What is made of answers about open transactions, odd ones included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from collectors.errors import CollectorError, NoAnswerError, UnsupportedError
from collectors.kafka.cluster.transactions import MOST_TRANSACTIONS, read_transactions
from collectors.kafka.protocol.broker_requests import Deadline, Wire

ON_TIME = Deadline(60, 60)


def listed(*names: str | None, error: int = 0) -> Any:
    states = [SimpleNamespace(transactional_id=name) for name in names]
    return SimpleNamespace(error_code=error, transaction_states=states)


def described(name: str, **values: Any) -> Any:
    return SimpleNamespace(
        **{
            **{"error_code": 0, "transactional_id": name, "transaction_state": "Ongoing"},
            **{"transaction_timeout_ms": 60000, "transaction_start_time_ms": 1000},
            **{"producer_id": 7, "topics": [SimpleNamespace(topic="orders")]},
            **values,
        }
    )


class Answers:
    """A wire that answers ListTransactions first, then DescribeTransactions."""

    def __init__(self, first: Mapping[int, Any], second: Sequence[Any] = ()) -> None:
        self.first, self.second = first, second
        self.asked: list[Mapping[int, Any]] = []

    def each(self, requests: Mapping[int, Any], deadline: Deadline) -> dict[int, Any]:
        self.asked.append(requests)
        if len(self.asked) == 1:
            return {
                broker: answer if isinstance(answer, CollectorError) else [answer]
                for broker, answer in self.first.items()
            }
        answer = SimpleNamespace(transaction_states=list(self.second))
        return {broker: [answer] for broker in requests}


def test_open_transactions() -> None:
    wire = Answers(
        {1: listed("writer", "ended", None), 2: listed()},
        [
            described("writer", topics=None, transaction_start_time_ms=-1),
            described("ended", error_code=105),
            described("half \ud800", transaction_timeout_ms=-1),
        ],
    )
    found, problems = read_transactions(cast(Wire, wire), [1, 2], ON_TIME)
    assert problems == []
    # The broker that coordinates none is not asked again.
    assert list(wire.asked[1]) == [1]
    assert [
        (one.transactional_id, one.started_at, one.timeout_seconds, one.topics) for one in found
    ] == [
        ("writer", None, 60.0, []),
        ("half \\ud800", datetime.fromtimestamp(1, UTC), None, ["orders"]),
    ]


def test_what_stayed_unknown_is_said() -> None:
    wire = Answers(
        {
            1: NoAnswerError("broker 1: did not answer in time"),
            2: listed(error=14),
            3: listed(*(f"writer-{number}" for number in range(MOST_TRANSACTIONS + 5))),
        },
        [
            described("writer-0"),
            *(described(f"writer-{n}", error_code=16) for n in range(1, MOST_TRANSACTIONS)),
        ],
    )
    _, problems = read_transactions(cast(Wire, wire), [1, 2, 3], ON_TIME)
    assert problems == [
        "broker 1: did not answer in time",
        "broker 2: its transactions are being loaded or moved",
        "broker 3: 1000 of 1005 open transactions are read",
        "transactions of broker 3 are unknown: it did not answer for some; "
        "the group's coordinator is moving",
    ]


def test_brokers_without_such_a_request() -> None:
    with pytest.raises(UnsupportedError):
        read_transactions(cast(Wire, Answers({1: UnsupportedError("old")})), [1], ON_TIME)
