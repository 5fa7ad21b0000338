"""A real RabbitMQ that freezes, that is killed, that counts nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.rabbitmq.server import Running, descendants, poll, rabbit, rows, runs
from tests.support import eventually


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A node that counts no messages, with one queue."""
    folder = tmp_path_factory.mktemp("rabbit-faults")
    with rabbit(folder, {"management.rates_mode": "none"}) as running:
        running.server.virtual_host("/").queue("quiet")
        yield running


def test_without_rates_depths_are_known_and_rates_are_not(node: Running) -> None:
    source = node.source()

    def known() -> dict[str, Any] | None:
        row = rows(poll(source)["queues"])["quiet"]
        return row if row["ready"] is not None else None

    row = eventually(known, what="a queue's depth")
    assert row["ready"] == 0
    assert row["publish_per_second"] is None
    result = poll(source)["queues"]
    assert result.status == "partial"
    assert "message rates are switched off" in (result.error or "")
    checks = {each.feature: each.works for each in source.check()}
    source.close()
    assert checks["message rates"] is False


def test_a_frozen_node_fails_in_time_and_is_polled_again(node: Running) -> None:
    """Given a node that answers nothing, then a poll ends in its time, and the next one is well."""
    source = node.source(request_timeout_seconds=1)
    assert poll(source)["queues"].rows == 1
    node.freeze()
    try:
        start = time.monotonic()
        sections = poll(source)
        took = time.monotonic() - start
    finally:
        node.thaw()
    for result in sections.values():
        assert result.status == "failed"
        assert "did not answer within" in (result.error or "")
    assert took < 4
    eventually(lambda: poll(source)["queues"].rows == 1, what="a poll of the thawed node")
    source.close()


def test_a_node_that_is_killed_and_comes_back(node: Running) -> None:
    """Given a node that is killed, then nothing of it is left, and its successor is polled."""
    source = node.source(poll_interval_seconds=2)
    assert rows(poll(source)["queues"]).keys() == {"quiet"}
    left = descendants(node.node.pid)
    assert len(left) >= 2
    node.kill()
    for result in poll(source).values():
        assert result.status == "failed"
        assert "cannot be reached" in (result.error or "")
    eventually(lambda: not any(map(runs, left)), what="end of every process of the node")
    node.start_again()
    eventually(lambda: poll(source)["queues"].rows == 1, what="a poll of the node that came back")
    source.close()
