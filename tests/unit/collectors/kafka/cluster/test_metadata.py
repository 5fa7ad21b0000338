"""Offsets of all partitions, from a broker that goes on receiving between two answers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from collectors.errors import OddAnswerError
from collectors.kafka.cluster.metadata import read_metadata, read_topic_configs
from collectors.kafka.cluster.offsets import read_offsets
from collectors.kafka.protocol.broker_requests import Deadline, Wire


class BusyBroker:
    """Answers each request with an end that is further on than the one before.

    Attributes:
        open_from: Where an open transaction holds readers back; None: there is none.
    """

    def __init__(self, open_from: int | None) -> None:
        self.open_from = open_from
        self.end = 1000

    def each(
        self, requests: dict[int, list[Any]], deadline: Deadline, read: Callable[[Any], Any]
    ) -> dict[int, list[Any]]:
        return {
            broker: [read(self.answer(one)) for one in asked] for broker, asked in requests.items()
        }

    def answer(self, request: Any) -> Any:
        self.end += 10
        offset = 0 if request.time == -2 else self.end
        if request.isolation_level == 1 and self.open_from is not None:
            offset = self.open_from
        answer = SimpleNamespace(partition_index=0, error_code=0, offset=offset)
        return SimpleNamespace(topics=[SimpleNamespace(name="orders", partitions=[answer])])


def gap(open_from: int | None) -> int:
    partitions = pl.DataFrame(
        {"topic": ["orders"], "partition": [0], "leader": [1]},
        schema={"topic": pl.String, "partition": pl.Int32, "leader": pl.Int32},
    )
    wire = cast(Wire, BusyBroker(open_from))
    (row,) = read_offsets(wire, partitions, Deadline(5.0, 5.0)).rows(named=True)
    return int(row["log_end"] - row["last_stable"])


def test_what_arrives_between_two_requests_is_no_open_transaction() -> None:
    assert gap(None) == 0


def test_an_open_transaction_holds_readers_back() -> None:
    assert gap(900) == 120


class OneAnswer:
    """A wire that knows the answer."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def any(self, *_: object) -> Any:
        return self._answer

    def meet(self, *_: object) -> None:
        """Take no notice."""


def test_a_negative_offset_is_unknown() -> None:
    broker = BusyBroker(None)
    broker.end = -5000
    partitions = pl.DataFrame({"topic": ["orders"], "partition": [0], "leader": [1]})
    partitions = partitions.cast({"partition": pl.Int32, "leader": pl.Int32})
    (row,) = read_offsets(cast(Wire, broker), partitions, Deadline(5.0, 5.0)).rows(named=True)
    assert (row["log_start"], row["log_end"], row["last_stable"]) == (0, None, None)
    assert row["offsets_unknown"] == "the broker answered with a negative offset"


def test_topics_that_the_cluster_cannot_describe_are_named() -> None:
    partition = SimpleNamespace(partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1])
    topics = [
        SimpleNamespace(name=name, topic_id=None, error_code=code, is_internal=False, partitions=of)
        for name, code, of in [
            ("orders", 0, [partition]),
            *((f"lost-{number}", 3, []) for number in range(7)),
            ("electing", 5, []),
        ]
    ]
    brokers = [SimpleNamespace(node_id=1, host="k", port=9092, rack=None)]
    answer = SimpleNamespace(brokers=brokers, cluster_id="c", controller_id=-1, topics=topics)
    found = read_metadata(cast(Wire, OneAnswer(answer)), Deadline(5.0, 5.0))
    assert found.partitions["topic"].to_list() == ["orders"]
    assert found.problems == [
        "the cluster cannot describe the topics lost-0, lost-1, lost-2, lost-3, lost-4 and 2 more: "
        "the topic or partition does not exist",
        "the cluster cannot describe the topics electing: the partition has no leader",
    ]


def test_a_cluster_without_a_broker_is_not_known_yet() -> None:
    answer = SimpleNamespace(brokers=[], cluster_id="c", controller_id=-1, topics=[])
    with pytest.raises(OddAnswerError, match="no broker"):
        read_metadata(cast(Wire, OneAnswer(answer)), Deadline(5.0, 5.0))


def test_a_setting_without_a_name_is_left_out() -> None:
    settings = [
        SimpleNamespace(name=name, value="1", config_source=1, is_sensitive=False)
        for name in (None, "retention.ms")
    ]
    result = SimpleNamespace(error_code=0, resource_name="orders", configs=settings)
    wire = SimpleNamespace(each=lambda *_: {1: [SimpleNamespace(results=[result])]})
    found = read_topic_configs(cast(Wire, wire), {1: ["orders"]}, Deadline(5.0, 5.0), {})
    assert found == {"orders": {"retention.ms": ("1", True)}}
