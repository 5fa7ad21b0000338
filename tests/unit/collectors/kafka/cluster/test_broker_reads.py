from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from collectors.errors import CollectorError, NoAnswerError
from collectors.kafka.cluster.broker_reads import (
    OFFLINE,
    LogDirectories,
    read_log_directories,
    read_quorum,
    read_reassignments,
)
from collectors.kafka.protocol.broker_requests import Deadline, Wire

ON_TIME = Deadline(10, 10)


class Answers:
    """A wire whose answers are chosen."""

    def __init__(self, one: Any = None, each: dict[int, Any] | None = None) -> None:
        self._one = one
        self._each = each or {}

    def any(self, *_: object) -> Any:
        return self._one

    forwarded = any

    def each(self, _: object, __: object, read: Callable[[Any], Any]) -> dict[int, Any]:
        return {
            broker: [read(one) for one in said] if isinstance(said, list) else said
            for broker, said in self._each.items()
        }


def wire(one: Any = None, each: dict[int, Any] | None = None) -> Wire:
    return cast("Wire", Answers(one, each))


def replica(node: int, end: int, fetched: int = -1, caught_up: int = -1) -> SimpleNamespace:
    return SimpleNamespace(
        replica_id=node,
        log_end_offset=end,
        last_fetch_timestamp=fetched,
        last_caught_up_timestamp=caught_up,
    )


def quorum(leader: int, voters: list[Any], observers: list[Any], code: int = 0) -> SimpleNamespace:
    partition = SimpleNamespace(
        error_code=code, leader_id=leader, current_voters=voters, observers=observers
    )
    return SimpleNamespace(error_code=0, topics=[SimpleNamespace(partitions=[partition])])


def test_quorum() -> None:
    found = read_quorum(
        wire(
            quorum(
                1, [replica(1, 50), replica(2, 47, 2000, 1000), replica(3, -1)], [replica(9, 50)]
            )
        ),
        ON_TIME,
    )
    assert found.leader == 1
    rows = [(node.node_id, node.role, node.log_end, node.lag) for node in found.nodes]
    assert rows == [
        (1, "leader", 50, 0),
        (2, "voter", 47, 3),
        (3, "voter", None, None),
        (9, "observer", 50, 0),
    ]
    assert found.nodes[0].last_fetch_at is None
    assert found.nodes[1].last_fetch_at == datetime.fromtimestamp(2, UTC)
    assert found.nodes[1].last_caught_up_at == datetime.fromtimestamp(1, UTC)


def test_quorum_without_a_leader() -> None:
    found = read_quorum(wire(quorum(-1, [replica(1, 50)], [])), ON_TIME)
    assert found.leader is None
    assert [(node.role, node.lag) for node in found.nodes] == [("voter", None)]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(SimpleNamespace(error_code=31, topics=[]), id="refused"),
        pytest.param(quorum(-1, [], [], 31), id="refused for the partition"),
        pytest.param(quorum(-1, [], [], 29), id="refused as a topic"),
    ],
)
def test_quorum_without_the_right(answer: Any) -> None:
    with pytest.raises(CollectorError, match="needs DESCRIBE on the cluster"):
        read_quorum(wire(answer), ON_TIME)


def test_quorum_of_an_empty_answer() -> None:
    with pytest.raises(CollectorError, match="do not tell of a metadata quorum"):
        read_quorum(wire(SimpleNamespace(error_code=0, topics=[])), ON_TIME)


def test_reassignments() -> None:
    part = SimpleNamespace(partition_index=2, adding_replicas=[4], removing_replicas=[1])
    answer = SimpleNamespace(
        error_code=0, topics=[SimpleNamespace(name="orders", partitions=[part])]
    )
    assert read_reassignments(wire(answer), ON_TIME).rows() == [("orders", 2, [4], [1])]


def test_reassignments_without_the_right() -> None:
    with pytest.raises(CollectorError, match="needs DESCRIBE on the cluster"):
        read_reassignments(wire(SimpleNamespace(error_code=31, topics=[])), ON_TIME)


def directory(path: str, sizes: list[int], code: int = 0, **more: Any) -> SimpleNamespace:
    partitions = [
        SimpleNamespace(partition_index=index, partition_size=size, is_future_key=False)
        for index, size in enumerate(sizes)
    ]
    topics = [SimpleNamespace(name="orders", partitions=partitions)]
    values = {"total_bytes": 1000, "usable_bytes": 400, "is_cordoned": False, **more}
    return SimpleNamespace(error_code=code, log_dir=path, topics=topics, **values)


def disks(results: list[Any], version: int = 5, code: int = 0) -> LogDirectories | str:
    answer = SimpleNamespace(error_code=code, results=results, version=version)
    found, _ = read_log_directories(wire(each={1: [answer]}), [1], ON_TIME)
    return found[1]


def test_log_directories() -> None:
    found = disks([directory("/a", [10, 20]), directory("/b", [5], is_cordoned=True)])
    assert isinstance(found, LogDirectories)
    assert (found.log_bytes, found.total_bytes, found.free_bytes) == (35, 2000, 800)
    assert [(each.path, each.replicas, each.is_cordoned) for each in found.directories] == [
        ("/a", 2, False),
        ("/b", 1, True),
    ]
    assert found.problems == []


def test_a_directory_that_is_offline_makes_the_sums_unknown() -> None:
    broken = directory("/b", [], 56, total_bytes=-1, usable_bytes=-1)
    found = disks([directory("/a", [10]), broken])
    assert isinstance(found, LogDirectories)
    assert (found.log_bytes, found.total_bytes, found.free_bytes) == (None, None, None)
    assert [each.is_offline for each in found.directories] == [False, True]
    assert found.problems == [f"log directory /b: {OFFLINE}"]


def test_sums_that_no_column_holds_are_unknown() -> None:
    """File systems of clouds say that they have 8 EiB."""
    vast = {"total_bytes": 2**63 - 2**20, "usable_bytes": 2**63 - 2**20}
    found = disks([directory(path, [10], **vast) for path in ("/a", "/b")])
    assert isinstance(found, LogDirectories)
    assert (found.log_bytes, found.total_bytes, found.free_bytes) == (20, None, None)


def test_before_cordoning_was_known() -> None:
    found = disks([directory("/a", [10])], version=4)
    assert isinstance(found, LogDirectories)
    assert found.directories[0].is_cordoned is None


@pytest.mark.parametrize(
    ("version", "code"), [pytest.param(5, 31, id="refused"), pytest.param(2, 0, id="no answer")]
)
def test_log_directories_without_the_right(version: int, code: int) -> None:
    found = disks([], version, code)
    assert isinstance(found, str)
    assert "needs DESCRIBE on the cluster" in found


def test_a_silent_broker_costs_only_its_own_disks() -> None:
    answer = SimpleNamespace(error_code=0, results=[directory("/a", [10])], version=5)
    silent = NoAnswerError("broker 2: did not answer in time")
    found, sizes = read_log_directories(wire(each={1: [answer], 2: silent}), [1, 2], ON_TIME)
    assert isinstance(found[1], LogDirectories)
    assert found[2] == "broker 2: did not answer in time"
    assert sizes.rows() == [(1, "orders", 0, 10)]
