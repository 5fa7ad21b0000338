from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from alerting.inputs.windows import GroupKey
from alerting.status.group_status import Status
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    REBALANCES,
    TOPICS,
)
from scaling.advice.model import AdviceKind
from scaling.advisers.recommend import recommend_topic
from scaling.facts.group_facts import group_facts
from scaling.facts.longer_memory import KnownPartition, KnownStatus
from scaling.facts.topic_facts import Reader, topic_facts, topic_readers
from tests.unit.scaling.advisers.advising import advice_on

BEGIN = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEY = GroupKey("demo", "billing")
Row = dict[str, object]


def frame(table: Table, rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**table.polars_schema})


def at(poll: int) -> Row:
    return {
        "cluster": "demo",
        "observed_at": BEGIN + timedelta(seconds=15 * poll),
        "poll_id": f"p{poll}",
    }


POLLS = range(41)


def offsets(consumed: int = 1500, arrived: int = 1500) -> pl.DataFrame:
    return frame(
        GROUP_OFFSETS,
        [
            {
                **at(poll),
                "group": "billing",
                "topic": "orders",
                "partition": partition,
                "committed": consumed * poll,
                "log_start": 0,
                "log_end": arrived * poll + 3,
                "lag": (arrived - consumed) * poll + 3,
                "member_id": f"m{partition % 2}",
            }
            for poll in POLLS
            for partition in range(4)
        ],
    )


def groups(**more: object) -> pl.DataFrame:
    return frame(
        GROUPS,
        [
            {
                **at(poll),
                "group": "billing",
                "state": "stable",
                "type": "classic",
                "protocol": "range",
                "members": 2,
                "kind": "plain",
                **more,
            }
            for poll in POLLS
        ],
    )


def topics(**more: object) -> pl.DataFrame:
    return frame(
        TOPICS,
        [
            {
                **at(0),
                "topic": "orders",
                "kind": "application",
                "partitions": 4,
                "replication_factor": 3,
                "min_in_sync_replicas": 2,
                "retention_seconds": 3600.0,
                "retention_bytes": -1,
                "cleanup_policy": "delete",
                **more,
            }
        ],
    )


def partitions(polls: range = POLLS, numbers: int = 4) -> pl.DataFrame:
    return frame(
        PARTITIONS,
        [
            {
                **at(poll),
                "topic": "orders",
                "partition": number,
                "log_start": 0,
                "log_end": 1500 * poll + 3,
                "size_bytes": 100 * (1500 * poll + 3),
            }
            for poll in polls
            for number in range(numbers)
        ],
    )


def brokers(alive: int = 3) -> pl.DataFrame:
    return frame(
        BROKERS,
        [{**at(40), "broker_id": number, "is_alive": number <= alive} for number in (1, 2, 3)],
    )


def test_group_facts_from_rows() -> None:
    of_members = {"idle_members": 1, "static_members": 1}
    found = group_facts(offsets(), groups(**of_members), topics(), partitions())[KEY]

    assert found.status.status is Status.OK
    assert (found.members, found.idle_members, found.static_members) == (2, 1, 1)
    assert [part.member_id for part in found.partitions] == ["m0", "m1", "m0", "m1"]
    assert found.partitions[0].bytes_per_message == 100.0
    assert found.subscribed == {"orders": 4}
    assert found.topics["orders"].retention.seconds == 3600.0
    assert found.topics["orders"].retention.bytes_per_partition is None


@pytest.mark.parametrize(
    ("courses", "before"),
    [
        pytest.param([(0, (3, 0))], 3, id="at once"),
        pytest.param([(0, (3, 2)), (60, (2, 1)), (70, (1, 0))], 3, id="one after the other"),
        pytest.param([(0, (9, 0)), (600, (0, 3)), (900, (3, 0))], 3, id="the last time counts"),
        pytest.param([(0, (None, 0))], None, id="unknown"),
        pytest.param([(0, (3, 2))], None, id="when they left is not known"),
        pytest.param([], None, id="nothing known"),
    ],
)
def test_how_many_members_ran_before_all_left(
    courses: list[tuple[int, tuple[int | None, int]]], before: int | None
) -> None:
    rebalances = frame(
        REBALANCES,
        [
            {
                **at(0),
                "group": "billing",
                "rebalanced_at": BEGIN + timedelta(seconds=second),
                "members_before": first,
                "members": last,
            }
            for second, (first, last) in courses
        ],
    )
    known = (topics(), partitions())
    gone, there = (
        group_facts(offsets(), groups(members=members), *known, rebalances=rebalances)[KEY]
        for members in (0, 2)
    )
    assert (gone.members_before, there.members_before) == (before, None)


def test_a_group_that_may_commit_once_an_hour_does_not_stall_within_ten_minutes() -> None:
    found = group_facts(offsets(consumed=0), groups(), topics(), partitions())[KEY]

    assert {found.status.status, *(part.status.status for part in found.partitions)} == {
        Status.UNKNOWN
    }
    (advice,) = advice_on(found)
    assert advice.kind is AdviceKind.UNKNOWN
    assert "alerting service" in (advice.unknown_reason or "")


def test_no_commit_in_all_that_is_looked_at_is_a_stall_where_others_commit() -> None:
    """An alert waits for half an hour of sight; here are never more than ten minutes."""
    stuck = pl.col("partition") == 2
    rows = pl.concat([offsets().filter(~stuck), offsets(consumed=0).filter(stuck)])
    found = group_facts(rows, groups(), topics(), partitions())[KEY]

    assert found.status.status is Status.STALLED
    assert AdviceKind.BLOCKED_PARTITION in [one.kind for one in advice_on(found)]


def test_a_partition_is_what_the_alerting_service_found_it_to_be() -> None:
    """Ten minutes without a commit are no stall of a group that commits once an hour."""
    known = KnownStatus(status=Status.OK, reason="Commits once an hour.", is_lasting=True)

    found = group_facts(
        offsets(consumed=0), groups(), topics(), partitions(), statuses={KEY: known}
    )[KEY]

    assert {part.status.status for part in found.partitions} == {Status.OK}
    assert found.status.is_lasting, "as the memory of it says"
    assert AdviceKind.BLOCKED_PARTITION not in [one.kind for one in advice_on(found)]


def test_of_a_group_in_trouble_each_partition_has_its_own_status() -> None:
    stuck = KnownPartition(
        status=Status.STALLED, reason="No commit for 3 h.", without_commit_seconds=10_800.0
    )
    known = KnownStatus(status=Status.STALLED, reason="Stalled.", partitions={("orders", 2): stuck})

    found = group_facts(offsets(), groups(), topics(), partitions(), statuses={KEY: known})[KEY]

    assert [part.status.status for part in found.partitions] == [
        Status.OK,
        Status.OK,
        Status.STALLED,
        Status.OK,
    ]
    assert found.partitions[2].status.numbers.without_commit_seconds == 10_800.0


@pytest.mark.parametrize("is_lasting", [True, False])
def test_whether_a_partition_keeps_falling_behind_is_as_the_memory_of_it_says(
    is_lasting: bool,
) -> None:
    late = KnownPartition(status=Status.FALLING_BEHIND, reason="", is_lasting=is_lasting)
    known = KnownStatus(status=Status.FALLING_BEHIND, reason="", partitions={("orders", 2): late})

    found = group_facts(offsets(), groups(), topics(), partitions(), statuses={KEY: known})[KEY]

    assert found.partitions[2].status.is_lasting is is_lasting


def test_rows_lead_to_advice() -> None:
    found = group_facts(offsets(consumed=1000), groups(), topics(), partitions())[KEY]

    advice = advice_on(found)

    assert found.status.status is Status.FALLING_BEHIND
    assert AdviceKind.ADD_CONSUMERS in [one.kind for one in advice]


def test_topic_whose_partitions_grew_counts_all_of_them() -> None:
    found = group_facts(offsets(), groups(), topics(), partitions(numbers=8))[KEY]

    assert found.subscribed == {"orders": 8}


def test_group_without_offsets_is_unknown_not_gone() -> None:
    found = group_facts(frame(GROUP_OFFSETS, []), groups(), topics(), partitions())[KEY]

    assert found.status.status is Status.UNKNOWN
    assert advice_on(found)[0].kind is AdviceKind.UNKNOWN


def test_one_or_two_polls_without_offsets_take_nothing_back() -> None:
    """The newest poll may be half written: groups come before their offsets."""

    def advised(read_until: int) -> list[AdviceKind]:
        overtaken = pl.when(pl.col("observed_at") < BEGIN + timedelta(seconds=15 * 30)).then(
            pl.lit(0)
        )
        rows = offsets(consumed=1000).with_columns(
            log_start=overtaken.otherwise(pl.col("committed") + 70).cast(pl.Int64)
        )
        read = rows.filter(pl.col("observed_at") <= BEGIN + timedelta(seconds=15 * read_until))
        found = group_facts(read, groups(), topics(), partitions())[KEY]
        assert (found.status.numbers.lag is None) == (read_until < 38)
        [reader] = topic_readers({KEY: found})["demo", "orders"]
        assert reader.lost_messages, "the topic is advised as its group is"
        return [one.kind for one in advice_on(found)]

    assert advised(40)[0] is AdviceKind.DATA_LOST
    assert advised(39) == advised(40)
    assert advised(38) == advised(40)
    assert AdviceKind.DATA_LOST in advised(34)


def test_deleted_group_is_gone() -> None:
    old = groups().filter(pl.col("poll_id") == "p0")
    other = groups(group="other").filter(pl.col("poll_id") == "p40")

    found = group_facts(offsets(), pl.concat([old, other]), topics(), partitions())

    assert list(found) == [GroupKey("demo", "other")]


def test_group_of_a_topic_whose_settings_were_not_read_has_no_retention() -> None:
    found = group_facts(offsets(consumed=1000), groups(), frame(TOPICS, []), partitions())[KEY]

    assert found.topics == {}
    assert AdviceKind.RETENTION_DEADLINE not in [one.kind for one in advice_on(found)]


def test_topic_facts_from_rows() -> None:
    groups_found = group_facts(offsets(consumed=1000), groups(), topics(), partitions())

    readers = topic_readers(groups_found)
    found = topic_facts(topics(), partitions(), brokers(alive=2), readers)["demo", "orders"]

    assert (found.brokers, found.partitions) == (2, 4)
    assert (found.replication_factor, found.min_in_sync_replicas) == (3, 2)
    assert found.rates == {number: 100.0 for number in range(4)}
    assert found.span_seconds == 600.0
    assert found.slowest_group == "billing"
    assert found.slowest_age_seconds == pytest.approx(20_003 / 100, rel=0.01)
    assert recommend_topic(found)[0].kind is AdviceKind.KEEP
    alike = {("demo", "orders"): tuple(Reader(group=name, age_seconds=9.0) for name in "zak")}
    found = topic_facts(topics(), partitions(), brokers(alive=2), alike)["demo", "orders"]
    assert found.slowest_group == "a", "as pages say"


def test_a_reader_says_what_it_lost_of_the_topic() -> None:
    def lost(rows: pl.DataFrame) -> int:
        found = group_facts(rows, groups(), topics(), partitions())
        (reader,) = topic_readers(found)["demo", "orders"]
        return reader.lost_messages

    given = offsets(consumed=1000)
    assert lost(given) == 0
    assert lost(given.with_columns(log_start=pl.col("committed") + 9)) > 0


def test_deleted_topic_has_no_facts() -> None:
    both = pl.concat([topics(), topics(topic="gone")])

    assert list(topic_facts(both, partitions(), brokers(), {})) == [("demo", "orders")]


def test_single_poll_has_no_rates() -> None:
    found = topic_facts(topics(), partitions(range(1)), brokers(), {})["demo", "orders"]

    assert set(found.rates.values()) == {None}


def test_recreated_topic_has_no_negative_rate() -> None:
    again = pl.concat(
        [partitions(range(30)), partitions(range(30, 41)).with_columns(pl.col("log_end") - 45_000)]
    )

    found = topic_facts(topics(), again, brokers(), {})["demo", "orders"]

    assert set(found.rates.values()) == {None}


@pytest.mark.parametrize(
    ("at_poll", "expected"),
    [pytest.param(7, True, id="in one poll"), pytest.param(None, False, id="in none")],
)
def test_a_topic_with_an_open_transaction_is_transactional(
    at_poll: int | None, expected: bool
) -> None:
    open_since = pl.lit(None if at_poll is None else BEGIN, pl.Datetime("us", "UTC"))
    rows = offsets().with_columns(
        open_since=pl.when(pl.col("poll_id") == f"p{at_poll}").then(open_since)
    )
    assert rows["open_since"].is_null().any()

    found = group_facts(rows, groups(), topics(), partitions())[KEY]

    assert {part.is_transactional for part in found.partitions} == {expected}
