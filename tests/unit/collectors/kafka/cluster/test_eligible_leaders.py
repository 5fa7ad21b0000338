"""Who may lead partitions that have no leader: what is asked, and what odd answers cost."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import polars as pl

from collectors.kafka.cluster.eligible_leaders import (
    ELIGIBLE_SCHEMA,
    MOST_PARTITIONS,
    read_eligible_leaders,
)
from collectors.kafka.protocol.broker_requests import Deadline, Wire

ON_TIME = Deadline(60, 60)


class Broker:
    """Answers with what it is given; notes which topics are asked for."""

    def __init__(self, *topics: Any) -> None:
        self.topics = topics
        self.asked: list[str] = []

    def any(self, make: Callable[[], Any], _: Deadline) -> Any:
        self.asked = [topic.name for topic in make().topics]
        return SimpleNamespace(topics=self.topics)

    def read(self, *partitions: tuple[str, int, int | None]) -> list[tuple[Any, ...]]:
        schema = {"topic": pl.String, "partition": pl.Int32, "leader": pl.Int32}
        rows = pl.DataFrame(partitions, schema=schema, orient="row")
        found = read_eligible_leaders(cast(Wire, self), rows, ON_TIME)
        assert found.schema == ELIGIBLE_SCHEMA
        return found.sort("topic", "partition").rows()


def topic(name: str | None, *partitions: tuple[int, list[int] | None], code: int = 0) -> Any:
    return SimpleNamespace(
        error_code=code,
        name=name,
        partitions=[
            SimpleNamespace(partition_index=number, eligible_leader_replicas=eligible)
            for number, eligible in partitions
        ],
    )


def test_only_partitions_without_a_leader_are_told_of() -> None:
    broker = Broker(topic("orders", (0, [2, 3]), (1, []), (2, None)), topic("gone", code=3))
    found = broker.read(
        ("gone", 0, None), ("orders", 0, None), ("orders", 1, 1), ("orders", 2, None), ("x", 0, 2)
    )
    assert broker.asked == ["gone", "orders"]
    assert found == [("orders", 0, [2, 3]), ("orders", 2, None)]


def test_nothing_is_asked_where_every_partition_has_a_leader() -> None:
    broker = Broker()
    assert broker.read(("orders", 0, 1)) == []
    assert broker.asked == []


def test_a_partition_that_is_told_of_twice_stays_one() -> None:
    broker = Broker(topic("orders", (0, [2]), (0, [3])), topic(None, (0, [4])))
    assert broker.read(("orders", 0, None)) == [("orders", 0, [2])]


def test_no_more_is_asked_than_one_answer_holds() -> None:
    broker = Broker()
    broker.read(*((f"t{number:05}", 0, None) for number in range(MOST_PARTITIONS + 5)))
    assert len(broker.asked) == MOST_PARTITIONS
