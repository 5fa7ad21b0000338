"""Rebalances of real groups: what brokers write of them, and what the collector tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Consumer, ShareConsumer

from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poller, polling
from tests.support import Names, eventually


@pytest.fixture
def poller(kafka_cluster: KafkaCluster) -> Iterator[Poller]:
    """A poller whose second poll, and with it the reading of the log, is over."""
    with polling(kafka_cluster) as made:
        made.poll()
        made.poll()
        yield made


def joined(names: Names, group: str, topic: str, client: str, protocol: str) -> Consumer:
    settings = {"session.timeout.ms": 8000} if protocol == "classic" else {}
    consumer = Consumer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "group.id": group,
            "group.protocol": protocol,
            "client.id": client,
            "enable.auto.commit": False,
            **settings,
        }
    )
    consumer.subscribe([topic])
    return consumer


def poll_all(consumers: list[Consumer]) -> None:
    for consumer in consumers:
        consumer.poll(0.05)


def await_rebalance(
    poller: Poller, group: str, consumers: list[Consumer], reason: str
) -> dict[str, Any]:
    """Let consumers work until the collector tells a rebalance for a reason."""

    def found() -> list[dict[str, Any]]:
        poll_all(consumers)
        rows = poller.poll().table("rebalances").filter(group=group).to_dicts()
        return [row for row in rows if row["reason"] == reason]

    (row,) = eventually(found, timeout_seconds=40, what=f"rebalance: {reason}")
    return row  # type: ignore[no-any-return]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_that_join_and_leave(names: Names, poller: Poller, protocol: str) -> None:
    topic, group = names.topic("orders", partitions=2), names.group("billing")
    begun_at = datetime.now(UTC)
    first = joined(names, group, topic, "till-1", protocol)
    row = await_rebalance(poller, group, [first], "till-1 at 127.0.0.1 joined")
    assert (row["members_before"], row["members"], row["joined"]) == (0, 1, 1)
    assert begun_at - timedelta(seconds=1) < row["rebalanced_at"] < datetime.now(UTC)
    if protocol == "classic":
        assert (row["session_timeout_seconds"], row["protocol"]) == (8.0, "range")
    second = joined(names, group, topic, "till-2", protocol)
    row = await_rebalance(poller, group, [first, second], "till-2 at 127.0.0.1 joined")
    assert (row["members_before"], row["members"]) == (1, 2)
    assert row["rebalance_timeout_seconds"] == 300.0
    generation = row["generation"]
    with closing(second):
        poll_all([first, second])
    row = await_rebalance(poller, group, [first], "till-2 at 127.0.0.1 left")
    assert (row["members_before"], row["members"], row["left"]) == (2, 1, 1)
    assert row["generation"] > generation
    first.close()
    row = await_rebalance(poller, group, [], "till-1 at 127.0.0.1 left")
    assert row["members"] == 0


def test_share_groups(names: Names, poller: Poller) -> None:
    topic, group = names.topic("orders", partitions=1), names.group("packing")
    settings = {"bootstrap.servers": names.cluster.bootstrap_servers, "group.id": group}
    with closing(ShareConsumer({**settings, "client.id": "packer"})) as consumer:
        consumer.subscribe([topic])

        def found() -> list[dict[str, Any]]:
            consumer.poll(0.2)
            return poller.poll().table("rebalances").filter(group=group).to_dicts()

        (row, *_) = eventually(found, timeout_seconds=40, what="epoch of the share group")
    assert row["reason"] == "packer at 127.0.0.1 joined"


def test_a_restart_tells_none_twice_and_leaves_none_out(
    kafka_cluster: KafkaCluster, names: Names, poller: Poller
) -> None:
    topic, group = names.topic("orders", partitions=1), names.group("billing")
    with closing(joined(names, group, topic, "till-1", "classic")) as consumer:
        await_rebalance(poller, group, [consumer], "till-1 at 127.0.0.1 joined")
    row = await_rebalance(poller, group, [], "till-1 at 127.0.0.1 left")
    seen: list[str] = []
    with closing(joined(names, group, topic, "till-2", "classic")) as consumer:
        eventually(lambda: consumer.poll(0.2) or consumer.assignment(), what="member")
        with polling(kafka_cluster) as second:
            second.source.remember({"rebalances": pl.DataFrame([row])})

            def found() -> bool:
                seen.extend(second.poll().table("rebalances").filter(group=group)["reason"])
                return bool(seen)

            second.poll()
            eventually(found, timeout_seconds=30, what="rebalance while nobody polled")
    assert seen == ["till-2 at 127.0.0.1 joined"]
