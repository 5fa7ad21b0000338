"""Groups and the overview, shaped from facts made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.attention import AttentionItem, Kind, Link, Severity
from alerting.samples import GroupStatus, LagNumbers, PartitionStatus, Status
from app import grouppage, grouptable, overview
from app.tables import NEVER, NONE
from lake.tables import GROUP_MEMBERS, GROUP_OFFSETS
from scaling.facts import GroupFacts, PartitionFacts

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def rows(table: Any, *given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"cluster": "c", "poll_id": "p", "observed_at": START, **one} for one in given],
        schema=table.polars_schema,
    )


def partition(number: int, **numbers: Any) -> PartitionStatus:
    return PartitionStatus(
        "t", number, numbers.pop("status", Status.OK), "fine", None, False, LagNumbers(**numbers)
    )


def group(name: str, status: Status = Status.OK, members: int | None = 1, **numbers: Any) -> Any:
    unknown = numbers.pop("unknown_partitions", 0)
    parts = numbers.pop("parts", (partition(0),))
    return GroupFacts(
        "c",
        name,
        GroupStatus(
            status, f"{name} 1,000", None, False, LagNumbers(**numbers), None, unknown, parts
        ),
        tuple(PartitionFacts(part, member_id=f"m{part.partition}") for part in parts),
        members=members,
        idle_members=0 if members is not None else None,
    )


def test_groups_are_listed_worst_first() -> None:
    facts = {
        "fine": group("fine", lag=3),
        "unsure": group("unsure", Status.UNKNOWN, members=None),
        "slow": group("slow", Status.FALLING_BEHIND, lag=10, behind_seconds=60.0),
        "slower": group("slower", Status.FALLING_BEHIND, lag=10, behind_seconds=600.0),
        "lost": group("lost", Status.LOSING_DATA, lag=1),
    }
    found = grouptable.rows(facts, None)
    assert found["group"].to_list() == ["lost", "slower", "slow", "unsure", "fine"]
    unsure = found.row(3, named=True)
    assert (unsure["lag"], unsure["members"], unsure["idle"]) == (None, None, None)
    assert unsure["label"] == ["? unknown"]


@pytest.mark.parametrize(
    ("status", "numbers", "expected"),
    [
        pytest.param(Status.CATCHING_UP, {"lag": 9, "drain_seconds": 4.0}, 4.0, id="it is drained"),
        pytest.param(
            Status.FALLING_BEHIND,
            {"lag": 9, "growth_per_second": 1.0, "arrival_per_second": 9.0},
            NEVER,
            id="it grows",
        ),
        pytest.param(
            Status.OK,
            {"lag": 9, "growth_per_second": 0.1, "arrival_per_second": 9.0},
            NONE,
            id="it breathes",
        ),
        pytest.param(Status.OK, {"lag": 0}, NONE, id="nothing waits"),
        pytest.param(Status.UNKNOWN, {}, None, id="nobody knows"),
    ],
)
def test_time_to_drain(status: Status, numbers: dict[str, Any], expected: float | None) -> None:
    assert grouptable.drain_seconds(group("g", status, **numbers).status) == expected


def test_the_sentence_of_groups_never_hides_what_is_unknown() -> None:
    late = group("a", Status.STOPPED, lag=5, behind_seconds=120.0)
    unsure = group("b", Status.UNKNOWN, unknown_partitions=2)
    title, detail = grouptable.sentence({"a": late.status, "b": unsure.status})
    assert title == "1 of 2 groups is late"
    assert "without 1 group that could not be read in full" in detail
    assert "furthest behind is a by 2 min" in detail
    title, _ = grouptable.sentence({"b": unsure.status})
    assert title == "No group is known to be late, 1 cannot be judged"


def test_filters_and_quiet_groups() -> None:
    found = grouptable.rows(
        {"Orders": group("Orders", lag=1), "old": group("old", members=0, lag=0)}, None
    )
    named = grouptable.filtered(found, search="ord", statuses=[], kinds=[])
    assert named["group"].to_list() == ["Orders"]
    assert found.filter(grouptable.is_quiet())["group"].to_list() == ["old"]
    assert grouptable.filtered(found, search="", statuses=[Status.STOPPED], kinds=[]).is_empty()


def test_what_a_group_reads_no_more_is_named() -> None:
    read = {"group": "g", "topic": "t", "partition": 0, "lag": 1, "is_subscribed": True}
    left = {"group": "g", "topic": "old", "partition": 0, "lag": 9, "is_subscribed": False}
    unknown = {"group": "g", "topic": "u", "partition": 0, "lag": 9}
    assert grouppage.left_over(rows(GROUP_OFFSETS, read, unknown)) is None
    note = grouppage.left_over(rows(GROUP_OFFSETS, read, left, unknown))
    assert note is not None
    assert note.startswith("Left out: 1 partitions of old.")


def test_members_with_what_they_hold_and_the_idle_last() -> None:
    facts = group(
        "g",
        members=2,
        parts=(partition(0, lag=4, consumption_per_second=3.0, behind_seconds=1.0),),
    )
    members = rows(
        GROUP_MEMBERS,
        {"group": "g", "member_id": "spare", "client_id": "a", "assigned_partitions": 0},
        {"group": "g", "member_id": "m0", "client_id": "b", "assigned_partitions": 1},
    )
    found = grouppage.member_rows(facts, members)
    assert found["client_id"].to_list() == ["b", "a"]
    assert found["does"].to_list() == ["works", "idle"]
    assert found["load"].to_list() == [1.0, 0.0]
    assert found["lag"].to_list() == [4, 0]


def test_a_member_with_an_unknown_partition_has_no_sum() -> None:
    facts = group("g", parts=(partition(0, lag=None, consumption_per_second=None),))
    members = rows(
        GROUP_MEMBERS, {"group": "g", "member_id": "m0", "client_id": "b", "assigned_partitions": 1}
    )
    found = grouppage.member_rows(facts, members)
    assert (found["lag"][0], found["consumption"][0]) == (None, None)


def test_partitions_say_why_a_value_is_unknown() -> None:
    facts = group("g", parts=(partition(0, lag=1), partition(1, status=Status.UNKNOWN)))
    offsets = rows(
        GROUP_OFFSETS,
        {"group": "g", "topic": "t", "partition": 0, "lag": 1, "committed_at": at(-30)},
        {"group": "g", "topic": "t", "partition": 1, "unknown_reason": "no leader"},
    )
    found = grouppage.partition_rows(facts, offsets, START)
    assert found["partition"].to_list() == [1, 0]
    assert found["unknown_reason"].to_list() == ["no leader", None]
    assert found["commit_age_seconds"].to_list() == [None, 30.0]


def test_a_heatmap_names_topics_only_where_there_are_several() -> None:
    frame = pl.DataFrame(
        {
            "time": [START] * 3,
            "topic": ["a", "a", "b"],
            "partition": [0, 10, 2],
            "lag": [1, None, 3],
            "time_lag_seconds": [1.0, None, 3.0],
        }
    )
    found, total = grouppage.heat_rows(frame)
    assert total == 3
    assert found.sort("order")["label"].to_list() == ["a-0", "a-10", "b-2"]
    one, _ = grouppage.heat_rows(frame.filter(pl.col("topic") == "a"))
    assert one.sort("order")["label"].to_list() == ["0", "10"]


def history(**values: list[int | None]) -> pl.DataFrame:
    length = len(next(iter(values.values())))
    return pl.DataFrame(
        {"time": [at(60 * number) for number in range(length)], **values},
    )


def test_changes_of_the_last_hour() -> None:
    groups = history(members=[2, 0, 0, 4, 5]).with_columns(pl.lit("g").alias("group"))
    cluster = history(brokers_alive=[3, 3, 2, 2, 3], topics=[9, 9, 9, 9, 10])
    found = overview.changes(groups, cluster, since=at(60))
    assert [change.text for change in found] == [
        "g went from 4 to 5 members",
        "A broker came back: 2 → 3",
        "Topics appeared: 9 → 10",
        "g started with 4 members",
        "A broker was lost: 3 → 2",
        "g stopped: 2 members left",
    ]
    later = overview.changes(groups, cluster, since=at(200))
    assert len(later) == 3


def test_an_unknown_number_of_members_is_no_change() -> None:
    groups = history(members=[2, None, 2]).with_columns(pl.lit("g").alias("group"))
    assert overview.changes(groups, history(brokers_alive=[3], topics=[1]), since=START) == []


def test_broker_events_are_marks() -> None:
    found = overview.broker_events(history(brokers_alive=[3, 2, 3]))
    assert [(event.text, event.kind) for event in found] == [
        ("broker lost", "act"),
        ("broker back", "quiet"),
    ]


@pytest.mark.parametrize(
    ("until", "severity", "expected"),
    [
        pytest.param(None, Severity.WATCH, "", id="not known"),
        pytest.param(None, Severity.ACT_NOW, "hurts now", id="now"),
        pytest.param(3600.0, Severity.WATCH, "data lost in **1 h**", id="later"),
        pytest.param(-5.0, Severity.ACT_NOW, "data is being lost now", id="over"),
    ],
)
def test_how_long_until_it_hurts(until: float | None, severity: Severity, expected: str) -> None:
    item = AttentionItem(
        severity,
        Kind.GROUP,
        "c",
        "g",
        "why",
        "step",
        Link("group"),
        until=None if until is None else START.timestamp() + until,
    )
    assert overview.deadline(item, START) == expected


def test_the_course_of_a_tile_ends_with_the_newest_value() -> None:
    found = overview.course(history(lag=list(range(130))), "lag")
    assert len(found) <= 60
    assert found[-1] == 129
    assert overview.growth(history(lag=[None, 5, 9]), "lag") == "+4 in 1 min"
    assert overview.growth(history(lag=[9, 5, 4]), "lag") == "-5 in 2 min"
    assert overview.growth(history(lag=[5]), "lag") is None


def test_a_delay_that_lacks_a_partition_is_left_out() -> None:
    whole = history(lag=[5, 6]).with_columns(pl.Series("time_lag_seconds", [1.0, 2.0]))
    parts = pl.DataFrame(
        {
            "time": [START, at(60), at(60)],
            "lag": [5, 1, 5],
            "time_lag_seconds": [1.0, 2.0, None],
        }
    )
    found = grouppage.with_whole_delays(whole, parts)
    assert found["time_lag_seconds"].to_list() == [1.0, None]
    assert grouppage.lacks_delays(parts)
    assert not grouppage.lacks_delays(parts.filter(pl.col("time_lag_seconds").is_not_null()))


def test_what_arrives_in_a_minute_is_normal_for_a_partition() -> None:
    busy = group("g", parts=(partition(0), partition(1)), arrival_per_second=10.0)
    assert grouppage.neutral_lag(busy, 60.0) == 300.0
    assert grouppage.neutral_lag(group("g"), 60.0) == 10.0
