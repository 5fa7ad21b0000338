"""Rows of the lake as events with words and names, and which of them concern whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.inputs.event_phrases import missing_broker
from app.ui.changes import event_marks, events, relevant
from app.ui.changes.events import Event, Sort
from lake.schemas.bronze import NAMED_TOPICS
from lake.schemas.current import RECENT_CHANGES
from lake.schemas.tables import CLUSTER_EVENTS, REBALANCES
from tests.alert_of import alert

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def rows(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"observed_at": START + timedelta(minutes=number), "subject": "x", **row}
            for number, row in enumerate(given)
        ],
        schema=CLUSTER_EVENTS.polars_schema,
    )


def said(one: Event) -> str:
    return f"{one.what}: {one.detail}" if one.detail else one.what


@pytest.mark.parametrize(
    ("row", "sentence", "sort"),
    [
        pytest.param(
            {"kind": "broker missing", "subject": "2", "before": "host:9092"},
            "broker 2 is missing",
            Sort.BROKERS,
            id="a broker",
        ),
        pytest.param(
            {"kind": "controller changed", "subject": "controller", "before": "1", "after": "3"},
            "controller moved to 3: from 1",
            Sort.BROKERS,
            id="the controller",
        ),
        pytest.param(
            {
                "kind": "leaders moved",
                "subject": "2",
                "before": "broker 2",
                "after": "broker 1, 3",
                "detail": "2 partitions: a-0, a-1",
            },
            "leaders moved: broker 2 → broker 1, 3: 2 partitions: a-0, a-1",
            Sort.LEADERS,
            id="leaders",
        ),
        pytest.param(
            {"kind": "topic created", "subject": "connect-offsets", "after": "25 partitions"},
            "topic connect-offsets appeared: 25 partitions",
            Sort.TOPICS,
            id="a topic by its name",
        ),
        pytest.param(
            {"kind": "acl changed", "subject": "User:a", "before": "read", "after": None},
            "acl changed: User:a: read",
            Sort.SETTINGS,
            id="rights",
        ),
        pytest.param(
            {"kind": "schema version changed", "subject": "a-value", "before": "1", "after": "2"},
            "schema version changed: a-value: 1 → 2",
            Sort.SCHEMAS,
            id="a schema",
        ),
        pytest.param(
            {"kind": "deploy", "subject": "orders 1.4.2", "group": "billing", "detail": "by ana"},
            "deploy orders 1.4.2: billing, by ana",
            Sort.DEPLOYS,
            id="a deploy",
        ),
        pytest.param(
            {"kind": "a kind of tomorrow", "subject": "x"},
            "a kind of tomorrow: x",
            Sort.SETTINGS,
            id="unknown",
        ),
    ],
)
def test_words(row: dict[str, Any], sentence: str, sort: Sort) -> None:
    (found,) = events.of_changes(rows(row))
    assert (said(found), found.sort) == (sentence, sort)


def test_an_alert_and_an_event_say_the_same_of_a_broker() -> None:
    (found,) = events.of_changes(rows({"kind": "broker missing", "subject": "2"}))
    assert f"B{said(found)[1:]}" == missing_broker(2)


def test_what_was_lost_is_red() -> None:
    found = events.of_changes(
        rows({"kind": "broker missing"}, {"kind": "unclean election"}, {"kind": "broker back"})
    )
    assert [one.is_loss for one in found] == [True, True, False]


MANY = [f"t{number}" for number in range(NAMED_TOPICS)]
HAPPENED = rows(
    {"kind": "topic configuration changed", "topic": "orders"},
    {"kind": "topic created", "topic": "other"},
    {"kind": "leaders moved", "topics": ["other", "orders"]},
    {"kind": "isr shrunk", "topics": ["other"]},
    {"kind": "isr expanded", "topics": MANY},
    {"kind": "acl changed"},
    {"kind": "schema version changed", "subject": ":.east:orders-value"},
    {"kind": "schema version changed", "subject": "orders-eu-value"},
    {"kind": "registry mode changed", "subject": "orders-value"},
    {"kind": "deploy", "subject": "a", "group": "billing"},
    {"kind": "deploy", "subject": "b", "topic": "other"},
    {"kind": "deploy", "subject": "c"},
    {"kind": "broker missing", "subject": "1"},
    {"kind": "broker back", "subject": "2"},
)


def places(found: pl.DataFrame) -> list[int]:
    return [int((at - START) / timedelta(minutes=1)) for at in found["observed_at"]]


def test_what_concerns_a_topic_a_group_the_cluster() -> None:
    assert places(relevant.about_topic(HAPPENED, "orders", [2, 3])) == [0, 2, 6, 13]
    assert places(relevant.about_topic(HAPPENED, "orders", [])) == [0, 2, 6, 12, 13]
    of_cluster = [8, 11, 12, 13]
    assert places(relevant.about(HAPPENED, "billing", ["orders"])) == sorted(
        [*of_cluster, 0, 2, 4, 5, 6, 9]
    )
    assert places(relevant.about(HAPPENED, None, ["other"])) == sorted(
        [*of_cluster, 1, 2, 3, 4, 5, 10]
    )
    assert places(relevant.about_cluster(HAPPENED)) == sorted([*of_cluster, 2, 3, 4, 5, 9, 10])


OFFSETS = "__consumer_offsets"


@pytest.mark.parametrize(
    ("moved", "detail"),
    [
        pytest.param(["orders"], "50 partitions: a-0", id="its own alone"),
        pytest.param(
            [OFFSETS, "orders", "x"],
            "partitions of orders, and of 2 other topics",
            id="among others",
        ),
        pytest.param(
            [*MANY[1:], "orders"],
            f"partitions of orders, and of {NAMED_TOPICS - 1} or more other topics",
            id="among more than are named",
        ),
    ],
)
def test_what_moved_among_others_names_no_other_topic(moved: list[str], detail: str) -> None:
    given = rows({"kind": "leaders moved", "topics": moved, "detail": "50 partitions: a-0"})
    assert relevant.about_topic(given, "orders", [])["detail"].to_list() == [detail]
    assert relevant.about(given, None, ["orders"])["detail"].to_list() == [detail]


def test_what_may_be_among_many_names_no_other_topic() -> None:
    given = rows({"kind": "leaders moved", "topics": MANY, "detail": "50 partitions: a-0"})
    (told,) = relevant.about(given, None, ["orders"])["detail"]
    assert told == f"partitions of {NAMED_TOPICS} or more topics"


def test_moves_of_internal_topics_are_one_event() -> None:
    given = (
        {"kind": "broker missing", "subject": "2"},
        {"kind": "isr shrunk", "topics": [OFFSETS]},
        {"kind": "isr expanded", "topics": [OFFSETS, "__transaction_state"]},
        {"kind": "isr shrunk", "topics": [OFFSETS]},
        {"kind": "isr shrunk", "topics": [OFFSETS, "orders"]},
        {"kind": "isr shrunk", "topics": None},
    )
    lost, *shrunk, internal = events.of_changes_folded(rows(*given))
    assert (lost.what, len(shrunk)) == ("broker 2 is missing", 2)
    assert said(internal) == "3 changes of internal topics: in sync: 1, out of sync: 2"
    assert internal.at == START + timedelta(minutes=1)
    assert len(events.of_changes_folded(rows(*given[:2]))) == 2, "a single one stays itself"


def test_brokers_by_their_number_where_nothing_names_them_any_more() -> None:
    course = pl.DataFrame(
        {
            "time": [START + timedelta(hours=number) for number in range(5)],
            "brokers_alive": [3, 1, None, 3, 2],
        }
    )
    found = events.of_brokers(course, START + timedelta(hours=4))
    assert [(one.what, one.is_loss) for one in found] == [
        ("2 brokers are missing", True),
        ("2 brokers are back", False),
    ]


def test_rebalances_of_one_poll_are_one_event() -> None:
    given = [
        *(("a", 0, "1 member left", 3, 2), ("a", 1, "1 member joined", 2, 3)),
        *(("b", 2, None, None, 3), ("c", 3, None, 3, 1), ("c", 4, None, 1, 0)),
    ]
    frame = pl.DataFrame(
        [
            {"poll_id": poll, "rebalanced_at": START + timedelta(seconds=at), "reason": reason}
            | {"members_before": before, "members": members}
            for poll, at, reason, before, members in given
        ],
        schema=REBALANCES.polars_schema,
    )
    found = events.of_rebalances(frame)
    assert [(one.at.second, one.detail) for one in found] == [
        *((1, "1 member joined"), (2, ""), (4, "members 3 → 0"))
    ]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        pytest.param(4, 5, "g went from 4 to 5 members", id="members"),
        pytest.param(0, 4, "g started with 4 members", id="started"),
        pytest.param(2, 0, "g stopped: 2 members left", id="stopped"),
        pytest.param(3, 6, "g went from 3 to 6 members: as advised", id="advice followed"),
    ],
)
def test_members(before: int, after: int, sentence: str) -> None:
    row = {"changed_at": START, "kind": "members", "name": "g", "before": before, "after": after}
    changes = pl.DataFrame([row], schema=RECENT_CHANGES.polars_schema)
    (found,) = events.of_members(changes, {"g": (6, START)}, START + events.STANDS_AFTER)
    assert said(found) == sentence


def test_nobody_follows_advice_that_is_given_later() -> None:
    row = {"changed_at": START, "kind": "members", "name": "g", "before": 3, "after": 6}
    changes = pl.DataFrame([row], schema=RECENT_CHANGES.polars_schema)
    later = START + timedelta(seconds=1)
    (found,) = events.of_members(changes, {"g": (6, later)}, START + events.STANDS_AFTER)
    assert said(found) == "g went from 3 to 6 members"


@pytest.mark.parametrize(
    ("steps", "sentences"),
    [
        pytest.param([(0, 1, 2)], ["g went from 1 to 2 members"], id="it may not stand"),
        pytest.param(
            [(0, 1, 2), (2, 2, 1)], ["g went from 1 to 2 members and back"], id="undone at once"
        ),
        pytest.param(
            [(-9, 1, 2), (-2, 2, 3), (0, 3, 2)],
            ["g went from 2 to 3 members and back", "g went from 1 to 2 members: as advised"],
            id="only the last one undone",
        ),
        pytest.param(
            [(-9, 1, 2), (0, 2, 1)],
            ["g went from 1 to 2 members: as advised", "g went from 2 to 1 member"],
            id="undone later",
        ),
        pytest.param(
            [(-2, 1, 0), (0, 0, 1)],
            ["g lost all its members: 1 was back after 2 min"],
            id="its only one",
        ),
        pytest.param(
            [(-2, 4, 0), (-1, 0, 2), (0, 2, 4)],
            ["g lost all its members: 4 were back after 2 min"],
            id="back in two steps",
        ),
        pytest.param(
            [(-2, 2, 1), (-1, 1, 0), (0, 0, 1), (1, 1, 2)],
            ["g lost all its members: 2 were back after 3 min"],
            id="one by one",
        ),
        pytest.param(
            [(-9, 1, 2), (-8, 2, 1), (-1, 1, 2), (0, 2, 1)],
            ["g went from 1 to 2 members and back", "g went from 1 to 2 members and back"],
            id="twice",
        ),
    ],
)
def test_a_change_that_is_undone_soon_is_one_event_and_followed_no_advice(
    steps: list[tuple[int, int, int]], sentences: list[str]
) -> None:
    rows = [
        {
            "changed_at": START + timedelta(minutes=minute),
            "kind": "members",
            "name": "g",
            "before": before,
            "after": after,
        }
        for minute, before, after in reversed(steps)
    ]
    changes = pl.DataFrame(rows, schema=RECENT_CHANGES.polars_schema)
    advised = {"g": (2, START - timedelta(hours=1))}
    found = events.of_members(changes, advised, START + timedelta(minutes=3))
    assert [said(one) for one in found] == sentences


def test_what_is_alike_and_of_one_minute_is_one_line_the_newest_first() -> None:
    rows = pl.DataFrame(
        [
            {"observed_at": START + timedelta(seconds=at), "kind": kind, "subject": subject}
            | {"before": before, "after": after, "detail": detail}
            for at, kind, subject, before, after, detail in (
                (0, "deploy", "a", None, None, None),
                (1, "deploy", "b", None, None, None),
                (20, "topic created", "orders", None, "6 partitions", None),
                (50, "topic created", "clicks", None, "1 partition", None),
                (61, "topic created", "late", None, "1 partition", None),
                (120, "isr shrunk", "2", None, None, "a-0"),
                (121, "isr shrunk", "2", None, None, "a-1"),
                (180, "leaders moved", "2", "broker 2", "broker 1", "a-0"),
                (181, "leaders moved", "3", "broker 3", "broker 1", None),
                (182, "partitions added", "orders", "3", "6 partitions", None),
                (183, "partitions added", "clicks", "1", "2 partitions", None),
                (240, "acl changed", "User:a", None, "read", None),
                (241, "acl changed", "User:b", "write", None, None),
            )
        ],
        schema=CLUSTER_EVENTS.polars_schema,
    )
    found = events.together(events.of_changes(rows))
    assert [said(one) for one in found] == [
        "2 acl changes: User:a (read), User:b (write)",
        "2 topics got more partitions: clicks: 1 → 2 partitions, orders: 3 → 6 partitions",
        "2 moves of leaders: broker 2 → broker 1 (a-0), broker 3 → broker 1",
        "broker 2 out of sync: a-0; a-1",
        "topic late appeared: 1 partition",
        "2 topics appeared: clicks (1 partition), orders (6 partitions)",
        "deploy b",
        "deploy a",
    ]
    assert found[5].at == START + timedelta(seconds=50)


def test_several_that_lose_something_are_a_loss() -> None:
    given = ({"kind": "broker missing", "subject": one} for one in ("1", "2"))
    both = events.of_changes(rows(*given))
    (found,) = events.together(replace(one, at=START) for one in both)
    assert (found.what, found.detail, found.is_loss) == ("2 brokers are missing", "1, 2", True)


def test_what_began_before_it_was_watched_is_no_event_of_that_moment() -> None:
    began = [alert(fired_at=1000.0, began_before=is_before) for is_before in (True, False)]
    assert len(events.of_alerts(began, "g")) == len(events.of_late_groups(began)) == 1


def test_how_many_alerts_began_and_ended() -> None:
    def counted(*given: tuple[float | None, float | None]) -> str:
        alerts = [alert(fired_at=fired, resolved_at=ended) for fired, ended in given]
        return events.began_and_ended(alerts, datetime.fromtimestamp(100, UTC))

    assert counted() == ""
    assert counted((50, None), (None, 150), (50, 99)) == ""
    assert counted((100, None), (120, 130), (50, 120)) == "2 alerts began, 2 ended"
    assert counted((100, None)) == "1 alert began"
    assert counted((50, 120)) == "1 alert ended"


def test_a_mark_of_what_fired_is_named_before_a_rebalance() -> None:
    def kind(sort: Sort, **given: bool) -> str:
        (mark,) = event_marks.chart_events([Event(at=START, sort=sort, what="x", **given)])
        return mark.kind

    assert kind(Sort.BROKERS, is_loss=True) == "act"
    assert kind(Sort.ALERTS, is_loss=True) == "fired"
    assert kind(Sort.ALERTS) == kind(Sort.BROKERS) == "main"
    assert kind(Sort.REBALANCES) == "quiet"
