"""Leaders that move, replicas that fall out of sync and come back, voters."""

from __future__ import annotations

import polars as pl
import pytest

from collectors.kafka.cluster.metadata import PARTITIONS_SCHEMA
from collectors.kafka.cluster.replica_changes import (
    SEEN,
    replica_changes,
    voter_changes,
)
from lake.schemas.bronze import NAMED_TOPICS


def seen(*rows: tuple[str, int, int | None, list[int]], topic_id: str | None = "a") -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "topic": topic,
                "partition": partition,
                "topic_id": topic_id,
                "leader": leader,
                "in_sync_replicas": isr,
            }
            for topic, partition, leader, isr in rows
        ],
        schema={name: PARTITIONS_SCHEMA[name] for name in SEEN},
    )


def test_a_broker_that_dies_is_one_event_a_kind() -> None:
    before = seen(("a", 0, 2, [1, 2, 3]), ("a", 1, 2, [2, 3]), ("b", 0, 1, [1, 2]))
    after = seen(("a", 0, 1, [1, 3]), ("a", 1, None, []), ("b", 0, 1, [1]))
    found = replica_changes(before, after)
    assert [(one.kind, one.subject, one.before, one.after, one.detail) for one in found] == [
        ("leaders moved", "2", "broker 2", "broker 1, no leader", "2 partitions: a-0, a-1"),
        ("isr shrunk", "2", None, None, "3 partitions: a-0, a-1, b-0"),
        ("isr shrunk", "3", None, None, "1 partition: a-1"),
    ]
    assert [one.topics for one in found] == [("a",), ("a", "b"), ("a",)]


def test_what_comes_back() -> None:
    found = replica_changes(seen(("a", 0, None, [])), seen(("a", 0, 1, [1, 2])))
    assert [(one.kind, one.subject, one.before, one.after) for one in found] == [
        ("leaders moved", "none", "no leader", "broker 1"),
        ("isr expanded", "1", None, None),
        ("isr expanded", "2", None, None),
    ]


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(seen(("a", 0, 1, [2, 1])), id="another order"),
        pytest.param(seen(("b", 0, 2, [2])), id="a topic that is new"),
        pytest.param(seen(("a", 0, 2, [2]), topic_id="b"), id="a topic that was created anew"),
        pytest.param(seen(), id="a topic that is gone"),
    ],
)
def test_what_is_no_move(now: pl.DataFrame) -> None:
    assert replica_changes(seen(("a", 0, 1, [1, 2])), now) == []


def test_topics_without_ids_are_compared_by_name() -> None:
    (found,) = replica_changes(
        seen(("a", 0, 1, [1]), topic_id=None), seen(("a", 0, 2, [1]), topic_id=None)
    )
    assert found.kind == "leaders moved"


def test_many_partitions_are_counted_and_not_all_named() -> None:
    topics = [f"t{number:04}" for number in range(NAMED_TOPICS + 10)]
    before = seen(*((topic, 0, 1, [1, 2]) for topic in topics))
    after = seen(*((topic, 0, 2, [2]) for topic in topics))
    moved, shrunk = replica_changes(before, after)
    assert moved.detail == (
        "110 partitions: t0000-0, t0001-0, t0002-0, t0003-0, t0004-0 and 105 more"
    )
    assert moved.topics == shrunk.topics == tuple(topics[:NAMED_TOPICS])


def test_voters() -> None:
    (found,) = voter_changes({1, 2, 3}, {2, 3})
    assert (found.kind, found.before, found.after) == ("quorum voters changed", "1, 2, 3", "2, 3")
    assert list(voter_changes({1}, {1})) == []
    assert list(voter_changes(None, {1})) == []
    assert list(voter_changes({1}, None)) == []
