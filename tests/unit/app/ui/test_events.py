"""Rows of the lake as events with words and names, and which of them concern whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.inputs.event_phrases import missing_broker
from alerting.rules.lifecycle import Told
from alerting.rules.model import AlertSeverity
from app.ui.changes import events, relevant
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


@pytest.mark.parametrize(
    ("row", "sentence", "sort"),
    [
        pytest.param(
            {"kind": "broker missing", "subject": "2", "before": "host:9092"},
            "Broker 2 is missing",
            Sort.BROKERS,
            id="a broker",
        ),
        pytest.param(
            {"kind": "controller changed", "subject": "controller", "before": "1", "after": "3"},
            "Controller moved to 3: from 1",
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
            "Leaders moved: broker 2 → broker 1, 3: 2 partitions: a-0, a-1",
            Sort.LEADERS,
            id="leaders",
        ),
        pytest.param(
            {"kind": "topic created", "subject": "connect-offsets", "after": "25 partitions"},
            "topic connect-offsets appeared",
            Sort.TOPICS,
            id="a topic by its name",
        ),
        pytest.param(
            {"kind": "acl changed", "subject": "User:a", "before": "read", "after": None},
            "Acl changed: User:a: read",
            Sort.SETTINGS,
            id="rights",
        ),
        pytest.param(
            {"kind": "schema version changed", "subject": "a-value", "before": "1", "after": "2"},
            "Schema version changed: a-value: 1 → 2",
            Sort.SCHEMAS,
            id="a schema",
        ),
        pytest.param(
            {"kind": "deploy", "subject": "orders 1.4.2", "group": "billing", "detail": "by ana"},
            "Deploy orders 1.4.2: billing, by ana",
            Sort.DEPLOYS,
            id="a deploy",
        ),
        pytest.param(
            {"kind": "a kind of tomorrow", "subject": "x"},
            "A kind of tomorrow: x",
            Sort.SETTINGS,
            id="unknown",
        ),
    ],
)
def test_words(row: dict[str, Any], sentence: str, sort: Sort) -> None:
    (found,) = events.of_changes(rows(row))
    assert (found.sentence, found.sort) == (sentence, sort)


def test_an_alert_and_an_event_say_the_same_of_a_broker() -> None:
    (found,) = events.of_changes(rows({"kind": "broker missing", "subject": "2"}))
    assert found.sentence == missing_broker(2)


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
    assert internal.sentence == "3 changes of internal topics: in sync: 1, out of sync: 2"
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
    assert found.sentence == sentence


def test_nobody_follows_advice_that_is_given_later() -> None:
    row = {"changed_at": START, "kind": "members", "name": "g", "before": 3, "after": 6}
    changes = pl.DataFrame([row], schema=RECENT_CHANGES.polars_schema)
    later = START + timedelta(seconds=1)
    (found,) = events.of_members(changes, {"g": (6, later)}, START + events.STANDS_AFTER)
    assert found.sentence == "g went from 3 to 6 members"


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
    assert [one.sentence for one in found] == sentences


def test_a_short_list_drops_no_loss_for_what_was_undone_and_counts_the_rest() -> None:
    def event(minute: int, sort: Sort, **given: bool) -> Event:
        return Event(at=START + timedelta(minutes=minute), sort=sort, what=str(minute), **given)

    broker = event(0, Sort.BROKERS)
    emptied = event(1, Sort.REBALANCES, is_loss=True, is_undone=True)
    fired = event(2, Sort.ALERTS)
    settled = event(3, Sort.REBALANCES)
    newer = event(4, Sort.TOPICS)
    undone = [event(minute, Sort.REBALANCES, is_undone=True) for minute in range(5, 9)]
    every = [*undone, settled, broker, newer, fired, emptied]
    assert events.foremost(every, 1) == ([broker], "8 more: rebalances 6, alerts 1, topics 1")
    assert events.foremost(every, 2)[0] == [emptied, broker]
    assert events.foremost(every, 3)[0] == [fired, emptied, broker]
    shown = [undone[-1], newer, settled, fired, emptied, broker]
    assert events.foremost(every, 6) == (shown, "3 more: rebalances 3")
    assert events.foremost(every, 9)[1] == ""


def test_a_mark_of_what_fired_is_named_before_a_rebalance() -> None:
    def kind(sort: Sort, **given: bool) -> str:
        (mark,) = events.chart_events([Event(at=START, sort=sort, what="x", **given)])
        return mark.kind

    assert kind(Sort.ALERTS, is_loss=True) == "act"
    assert kind(Sort.ALERTS) == kind(Sort.BROKERS) == "main"
    assert kind(Sort.REBALANCES) == "quiet"


def test_a_name_begins_as_it_is_written() -> None:
    one = Event(at=START, sort=Sort.TOPICS, what="orders.placed: 3 → 6 partitions")
    assert one.sentence.startswith("orders.placed")


def test_what_fired_is_an_event_by_what_it_fired_for() -> None:
    fired = START + timedelta(minutes=5)
    stopped = alert(
        started_at=START.timestamp(),
        last_true_at=fired.timestamp(),
        what="g is catching up",
        fired_at=fired.timestamp(),
        before_mending=Told(
            until=fired.timestamp(),
            severity=AlertSeverity.CRITICAL,
            what="g stopped",
            detail="",
            step="",
        ),
    )
    causes = [
        stopped,
        replace(stopped, fired_at=None),
        replace(stopped, fired_at=START.timestamp() - 60),
    ]
    (found,) = events.of_causes(causes, START, zone=UTC, now=fired)
    assert (found.at, found.sentence, found.is_loss) == (START, "Alert: g stopped", True)
    (marked,) = events.of_alerts([stopped], "g")
    assert (marked.what, marked.detail) == ("stopped", "GroupStopped")


@pytest.mark.parametrize(
    ("began", "at", "lasted"),
    [pytest.param(1, 1, "8 min", id="began since"), pytest.param(-51, 9, "1 h", id="began before")],
)
def test_what_is_over_says_when_it_ended_and_how_long_it_lasted(
    began: int, at: int, lasted: str
) -> None:
    first, last = (START + timedelta(minutes=minute) for minute in (began, 9))
    stalled = alert(
        started_at=first.timestamp(),
        last_true_at=last.timestamp(),
        what="payments stalled",
        fired_at=first.timestamp(),
        resolved_at=last.timestamp(),
    )
    (found,) = events.of_causes([stalled], START, zone=UTC, now=last)
    assert found.at == START + timedelta(minutes=at)
    assert found.sentence == f"Alert: payments stalled: lasted {lasted}, alert over at 08:09"
    was = Told(
        until=last.timestamp() - 180, severity=stalled.severity, what="late", detail="", step=""
    )
    mended = replace(stalled, before_mending=was)
    (found,) = events.of_causes([mended], START, zone=UTC, now=last)
    until = "5 min" if began > 0 else "57 min"
    assert found.detail == f"lasted {until}, alert over at 08:09"
    assert not events.of_causes([stalled], last + timedelta(minutes=1), zone=UTC, now=last)
