from __future__ import annotations

import polars as pl
import pytest

from collectors.kafka.cluster.changes import (
    ClusterEvent,
    ClusterView,
    TopicIdentity,
    arrival_ratio,
    arrivals_by_topic,
    backward_ends,
    compare,
    compare_ends,
    ends_to_keep,
)

BROKERS = {1: "a:9092", 2: "b:9092", 3: "c:9092"}
BASE = ClusterView(
    controller=1,
    brokers=BROKERS,
    alive=frozenset(BROKERS),
    topics={"orders": TopicIdentity(topic_id="id-1", partitions=3)},
)


def seen(**changes: object) -> ClusterView:
    values = {
        "controller": BASE.controller,
        "brokers": BASE.brokers,
        "alive": BASE.alive,
        "topics": BASE.topics,
        **changes,
    }
    return ClusterView(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "now", "events"),
    [
        pytest.param(ClusterView(), BASE, [], id="first sight"),
        pytest.param(BASE, BASE, [], id="nothing"),
        pytest.param(
            BASE, seen(controller=2), [("controller changed", "controller", "1", "2")], id="moved"
        ),
        pytest.param(BASE, seen(controller=None), [], id="controller unknown"),
        pytest.param(
            BASE,
            seen(alive=frozenset({1, 3}), brokers={1: "a:9092", 3: "c:9092"}),
            [("broker missing", "2", "b:9092", None)],
            id="broker missing",
        ),
        pytest.param(
            seen(alive=frozenset({1, 3})),
            BASE,
            [("broker back", "2", None, "b:9092")],
            id="broker back",
        ),
        pytest.param(
            BASE,
            seen(alive=frozenset({1, 2, 3, 4}), brokers={**BROKERS, 4: "d:9092"}),
            [("broker added", "4", None, "d:9092")],
            id="broker added",
        ),
        pytest.param(
            ClusterView(controller=None, brokers=BROKERS, alive=frozenset(BROKERS)),
            seen(alive=frozenset({1, 2})),
            [("broker missing", "3", "c:9092", None)],
            id="after a restart brokers are recalled, and topics are at first sight",
        ),
        pytest.param(
            BASE,
            seen(
                topics={
                    "orders": TopicIdentity(topic_id="id-1", partitions=3),
                    "new": TopicIdentity(topic_id="id-2", partitions=1),
                }
            ),
            [("topic created", "new", None, "1 partition")],
            id="topic created",
        ),
        pytest.param(
            seen(alive=frozenset({1, 3}), registered=frozenset(BROKERS)),
            seen(alive=frozenset({1, 3}), registered=frozenset({1, 3})),
            [("broker unregistered", "2", "b:9092", None)],
            id="broker unregistered",
        ),
        pytest.param(
            seen(registered=frozenset(BROKERS)), BASE, [], id="registered brokers unknown"
        ),
        pytest.param(
            BASE,
            seen(topics={"orders": TopicIdentity(topic_id="id-9", partitions=3)}),
            [("topic recreated", "orders", "id-1", "id-9")],
            id="topic recreated",
        ),
        pytest.param(
            seen(topics={"orders": TopicIdentity(topic_id=None, partitions=3)}),
            BASE,
            [],
            id="ids not known before",
        ),
        pytest.param(
            BASE,
            seen(topics={"orders": TopicIdentity(topic_id="id-1", partitions=5)}),
            [("partitions added", "orders", "3 partitions", "5 partitions")],
            id="partitions added",
        ),
        pytest.param(BASE, seen(topics={}), [], id="not seen once"),
    ],
)
def test_events(
    before: ClusterView, now: ClusterView, events: list[tuple[str, str, str | None, str | None]]
) -> None:
    found, _ = compare(before, now)
    assert [(event.kind, event.subject, event.before, event.after) for event in found] == events


def test_a_topic_is_deleted_when_two_polls_do_not_see_it() -> None:
    _, kept = compare(BASE, seen(topics={}))
    found, kept = compare(kept, seen(topics={}))
    assert found == [
        ClusterEvent(kind="topic deleted", subject="orders", topic="orders", before="3 partitions")
    ]
    found, kept = compare(kept, seen(topics={}))
    assert found == []
    found, _ = compare(kept, BASE)
    assert [event.kind for event in found] == ["topic created"]


def test_stale_metadata_delete_no_topic_and_create_none() -> None:
    _, kept = compare(BASE, seen(topics={}))
    found, kept = compare(kept, BASE)
    assert found == []
    found, kept = compare(kept, seen(topics={}))
    assert found == []
    found, _ = compare(kept, seen(topics={"orders": TopicIdentity(topic_id="id-2", partitions=3)}))
    assert [event.kind for event in found] == ["topic recreated"]


def test_a_controller_that_was_unknown_in_between_has_changed_all_the_same() -> None:
    _, kept = compare(BASE, seen(controller=None))
    found, _ = compare(kept, seen(controller=3))
    assert [(event.before, event.after) for event in found] == [("1", "3")]


def ends(*rows: tuple[str, int, str | None, int | None, int | None]) -> pl.DataFrame:
    return pl.DataFrame(
        list(rows),
        schema={
            "topic": pl.String(),
            "partition": pl.Int32(),
            "topic_id": pl.String(),
            "leader": pl.Int32(),
            "log_end": pl.Int64(),
        },
        orient="row",
    )


def run(*polls: pl.DataFrame) -> pl.DataFrame:
    kept = None
    for poll in polls:
        compared = compare_ends(poll, kept)
        kept = ends_to_keep(compared)
    return compared


@pytest.mark.parametrize(
    ("polls", "events"),
    [
        pytest.param([ends(("t", 0, "a", 1, 9))], [], id="first poll"),
        pytest.param([ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 1, 9))], [], id="idle"),
        pytest.param([ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 2, 12))], [], id="moved on"),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 2, 5))],
            [("unclean election", "t-0", "9", "5")],
            id="another leader knows less",
        ),
        pytest.param(
            [
                ends(("t", 0, "a", 1, 9)),
                ends(("t", 0, "a", None, None)),
                ends(("t", 0, "a", None, None)),
                ends(("t", 0, "a", 2, 5)),
            ],
            [("unclean election", "t-0", "9", "5")],
            id="after a time without a leader",
        ),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 1, 5))],
            [("log truncated", "t-0", "9", "5")],
            id="the same leader knows less",
        ),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "b", 1, 0))], [], id="another topic"
        ),
        pytest.param(
            [ends(("t", 0, None, 1, 9)), ends(("t", 0, None, 1, 3))],
            [("log truncated", "t-0", "9", "3")],
            id="ids are not known",
        ),
        pytest.param(
            [ends(("t", 0, None, 1, 9)), ends(("t", 0, None, 2, 3))],
            [],
            id="ids are not known, another leader",
        ),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 2, 5)), ends(("t", 0, "a", 2, 6))],
            [],
            id="reported once",
        ),
    ],
)
def test_backward_ends(polls: list[pl.DataFrame], events: list[tuple[str, ...]]) -> None:
    found = backward_ends(run(*polls))
    assert [(event.kind, event.subject, event.before, event.after) for event in found] == events


@pytest.mark.parametrize(
    ("polls", "arrivals"),
    [
        pytest.param([ends(("t", 0, "a", 1, 9))], {"t": None}, id="first poll"),
        pytest.param(
            [
                ends(("t", 0, "a", 1, 9), ("t", 1, "a", 1, 0)),
                ends(("t", 0, "a", 1, 12), ("t", 1, "a", 1, 2)),
            ],
            {"t": 5},
            id="sum of partitions",
        ),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 1, 9), ("t", 1, "a", 1, 2))],
            {"t": None},
            id="a new partition",
        ),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 1, None)), ends(("t", 0, "a", 1, 20))],
            {"t": None},
            id="unknown at the poll before: the time would not be the same",
        ),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "a", 1, 4))], {"t": None}, id="backwards"
        ),
        pytest.param(
            [ends(("t", 0, "a", 1, 9)), ends(("t", 0, "b", 1, 40))], {"t": None}, id="recreated"
        ),
    ],
)
def test_arrivals(polls: list[pl.DataFrame], arrivals: dict[str, int | None]) -> None:
    assert arrivals_by_topic(run(*polls)) == arrivals


@pytest.mark.parametrize(
    ("arrivals", "origins", "ratio"),
    [
        pytest.param({"dead": 5, "orders": 100}, ["orders"], 0.05, id="share"),
        pytest.param({"dead": 0, "orders": 100}, ["orders"], 0.0, id="none of many"),
        pytest.param({"dead": 5, "orders": 0}, ["orders"], None, id="five of none"),
        pytest.param({"dead": 0, "orders": 0}, ["orders"], None, id="none of none"),
        pytest.param({"dead": None, "orders": 100}, ["orders"], None, id="unknown dead letters"),
        pytest.param({"dead": 5, "orders": None}, ["orders"], None, id="unknown origin's"),
        pytest.param({"dead": 5}, ["orders"], None, id="the origin is not here"),
        pytest.param({"dead": 5, "orders": 100}, [], None, id="no origin"),
        pytest.param({"dead": 5, "a": 90, "b": 10}, ["a", "b"], 0.05, id="several origins"),
        pytest.param({"dead": 5, "a": 90, "b": None}, ["a", "b"], None, id="one unknown"),
        pytest.param({"dead": 5, "orders": 2}, ["orders"], 2.5, id="more than arrived"),
    ],
)
def test_arrival_ratio(
    arrivals: dict[str, int | None], origins: list[str], ratio: float | None
) -> None:
    assert arrival_ratio(arrivals, "dead", origins) == ratio
