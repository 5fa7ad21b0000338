"""One consumer group, shaped from facts made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.status.explain import Feature
from app.style.columns import NEVER, NONE
from app.views.group import view_model as group_view_model
from lake.schemas.current import OPEN_ALERTS
from lake.schemas.tables import CONNECTORS, GROUP_MEMBERS, GROUP_OFFSETS, REBALANCES
from tests.unit.app.views.made_rows import START, at, history, partition_statuses, rows


def test_what_a_group_reads_no_more_is_named() -> None:
    read = {"group": "g", "topic": "t", "partition": 0, "lag": 1, "is_subscribed": True}
    left = {"group": "g", "topic": "old", "partition": 0, "lag": 9, "is_subscribed": False}
    unknown = {"group": "g", "topic": "u", "partition": 0, "lag": 9}
    assert group_view_model.left_over(rows(GROUP_OFFSETS, read, unknown)) is None
    note = group_view_model.left_over(rows(GROUP_OFFSETS, read, left, unknown))
    assert note is not None
    assert note.startswith("Left out: 1 partition of old.")


def test_offsets_are_of_the_poll_that_was_evaluated_or_say_when_they_were_read() -> None:
    samples = rows(GROUP_OFFSETS, *({"observed_at": at(5.0 * poll)} for poll in range(3)))
    for polled_at, last, read_at in (
        (at(5), at(5), None),
        (at(9), at(5), at(5)),
        (None, at(10), None),
    ):
        row = {"observed_at": polled_at}
        found = group_view_model.evaluated(samples, row)
        assert found["observed_at"].max() == last
        assert group_view_model.read_earlier(found, row) == read_at


def test_nothing_that_was_measured_is_a_table_without_rows() -> None:
    assert group_view_model.feature_rows(()).columns == ["of", "name", "value", "compared"]
    one = group_view_model.feature_rows([Feature(of="t-0", name="lag", value="5")])
    assert one.rows() == [("t-0", "lag", "5", "")]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"drain_seconds": 90.0}, ("1 min 30 s", "at these rates"), id="drained"),
        pytest.param({"drain_seconds": NONE}, ("steady", "at these rates"), id="steady"),
        pytest.param(
            {"drain_seconds": NONE, "consumption_per_second": 225.0},
            ("caught up", "a backlog was drained lately"),
            id="caught up",
        ),
        pytest.param(
            {"drain_seconds": NONE, "consumption_per_second": None},
            ("steady", "at these rates"),
            id="unknown rate",
        ),
        pytest.param(
            {"drain_seconds": NONE, "lag": 0}, ("nothing waits", "at these rates"), id="empty"
        ),
        pytest.param(
            {"drain_seconds": NEVER, "grows": True}, ("not now", "it grew lately"), id="grows"
        ),
        pytest.param(
            {"drain_seconds": NONE, "grows": True}, ("not late", "its lag grows"), id="not late"
        ),
        pytest.param({"drain_seconds": NEVER}, ("not now", "at the last rates"), id="behind"),
        pytest.param({"drain_seconds": None}, ("unknown", "at these rates"), id="unknown"),
        pytest.param(
            {"drain_seconds": NEVER, "grows": True, "status": "LOSING_DATA"},
            ("not drained", "retention deletes some"),
            id="deleted",
        ),
        pytest.param(
            {"drain_seconds": None, "status": "LOSING_DATA"},
            ("not drained", "retention deletes some"),
            id="deleted and read",
        ),
    ],
)
def test_what_drains_a_backlog_is_said_with_its_time(
    given: dict[str, Any], said: tuple[str, str]
) -> None:
    rates = {"arrival_per_second": 121.0, "consumption_per_second": 121.5}
    row = {"status": "OK", "lag": 9, "grows": False, **rates, **given}
    assert group_view_model.drained_in(row) == said


def test_messages_are_lost_since_the_alert_began_not_since_the_newest_loss() -> None:
    def alert(check: str, group: str, second: float, **given: Any) -> dict[str, Any]:
        return {
            **{"cluster": "c", "fingerprint": f"{check} {group}", "check": check},
            **{"labels": [{"key": "group", "value": group}], "since": at(second)},
            **{"severity": "critical", "started_at": at(second), "last_true_at": START},
            **{"state": "firing", "since_at_least": False, "evaluated_at": START, **given},
        }

    def of(*given: dict[str, Any]) -> tuple[datetime, bool] | None:
        return group_view_model.lost_since(
            pl.DataFrame(list(given), schema=OPEN_ALERTS.polars_schema), "g"
        )

    loses = alert("losing_data", "g", -600)
    others = alert("stopped", "g", -900), alert("losing_data", "h", -900)
    assert of(loses, *others) == (at(-600), False)
    assert of({**loses, "since_at_least": True}) == (at(-600), True)
    back = {"fired_at": at(-600), "first_since": at(-2400), "first_since_at_least": True}
    assert of({**loses, **back}) == (at(-2400), True), "it came back: since its first time"
    assert of(*others) is None
    assert of({**loses, "state": "resolved"}) is None


def rebalance(second: float, members: int) -> dict[str, Any]:
    return {"group": "g", "rebalanced_at": at(second), "members": members}


@pytest.mark.parametrize(
    ("found", "left_at"),
    [
        pytest.param([rebalance(-70, 1), rebalance(-10, 0)], at(-10), id="just before"),
        pytest.param([rebalance(-40, 0), rebalance(-30, 2)], None, id="long before, and back"),
        pytest.param([rebalance(-10, 1)], None, id="one member stayed"),
        pytest.param([], None, id="no log of commits"),
    ],
)
def test_when_the_last_member_left_of_a_group_that_polls_found_empty(
    found: list[dict[str, Any]], left_at: datetime | None
) -> None:
    known = rows(REBALANCES, *found)
    assert group_view_model.last_left_at(known, at(0), timedelta(seconds=30)) == left_at


@pytest.mark.parametrize(
    ("left_at", "said"),
    [
        pytest.param(at(-50), " as polls saw it; the last member left at **{}**", id="earlier"),
        pytest.param(at(0), "", id="the same minute"),
        pytest.param(None, "", id="not known"),
    ],
)
def test_when_the_last_member_left_stands_beside_when_polls_saw_it(
    left_at: datetime | None, said: str
) -> None:
    for now in (at(60), at(60) + timedelta(days=1)):  # the date was said just before
        found = group_view_model.also_left(left_at, at(0), zone=UTC, now=now)
        assert found == said.format(f"{at(-50):%H:%M}")


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [
        pytest.param("FALLING_BEHIND", "90/s arrive, 30/s consumed.", "5 min", id="rates"),
        pytest.param("CATCHING_UP", "9/min arrive, 30/s consumed.", "1 to 5 min", id="drains"),
        pytest.param("OK", "Keeps up: 153 messages wait.", None, id="none is told"),
        pytest.param("UNKNOWN", None, None, id="nothing is told"),
    ],
)
def test_a_sentence_with_rates_says_of_how_long_they_are_the_mean(
    status: str, reason: str | None, said: str | None
) -> None:
    row = {"status": status, "reason": reason}
    assert group_view_model.of_window(row) == (f" Rates are means of {said}." if said else "")


@pytest.mark.parametrize(
    ("group", "said"),
    [
        pytest.param(
            "connect-sink",
            ("It is the consumer group of the Kafka Connect sink connector sink.", True),
            id="of a connector that is known",
        ),
        pytest.param(
            "renamed",
            ("It is the consumer group of the Kafka Connect sink connector other.", True),
            id="by its settings",
        ),
        pytest.param(
            "connect-gone",
            (
                "By its name it is the consumer group of a Kafka Connect sink connector gone, if "
                "there is one.",
                False,
            ),
            id="by its name",
        ),
        pytest.param("orders", None, id="another group"),
        pytest.param("connect-", None, id="no connector's name"),
    ],
)
def test_a_group_of_a_sink_connector_says_so(group: str, said: tuple[str, bool] | None) -> None:
    connectors = rows(
        CONNECTORS,
        {"connector": "sink", "group": "connect-sink"},
        {"connector": "other", "group": "renamed"},
        {"connector": "source", "group": None},
    )
    assert group_view_model.of_connector(group, connectors) == said


def held(number: int, **given: Any) -> dict[str, Any]:
    return {"group": "g", "topic": "t", "partition": number, "member_id": "m0", **given}


def rates(*per_second: float | None) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"topic": "t", "partition": number, "consumption_per_second": one}
            for number, one in enumerate(per_second)
        ],
        schema={"topic": pl.String, "partition": pl.Int32, "consumption_per_second": pl.Float64},
    )


def test_members_with_what_they_hold_and_the_idle_last() -> None:
    members = rows(
        GROUP_MEMBERS,
        {"group": "g", "member_id": "spare", "client_id": "a", "assigned_partitions": 0},
        {"group": "g", "member_id": "m0", "client_id": "b", "assigned_partitions": 1},
    )
    offsets = rows(GROUP_OFFSETS, held(0, lag=4))
    found = group_view_model.member_rows(members, offsets, partition_statuses(), rates(3.0))
    assert found["client_id"].to_list() == ["b", "a"]
    assert found["does"].to_list() == ["consumes", "idle"]
    assert found["load"].to_list() == [1.0, 0.0]
    assert found["lag"].to_list() == [4, 0]


def test_a_member_with_an_unknown_partition_has_no_sum() -> None:
    members = rows(
        GROUP_MEMBERS, {"group": "g", "member_id": "m0", "client_id": "b", "assigned_partitions": 2}
    )
    offsets = rows(GROUP_OFFSETS, held(0, lag=None), held(1, lag=3))
    found = group_view_model.member_rows(members, offsets, partition_statuses(), rates(None, 1.0))
    assert (found["lag"][0], found["consumption_per_second"][0]) == (None, None)


def test_partitions_say_why_a_value_is_unknown() -> None:
    offsets = rows(
        GROUP_OFFSETS,
        held(0, lag=1, committed_at=at(-30)),
        held(1, unknown_reason="no leader"),
    )
    decided = partition_statuses(
        {"partition": 0, "status": "OK", "reason": "fine"},
        {"partition": 1, "status": "UNKNOWN", "reason": "no leader"},
    )
    found = group_view_model.partition_rows(decided, offsets, START)
    assert found["partition"].to_list() == [1, 0]
    assert found["unknown_reason"].to_list() == ["no leader", None]
    assert found["commit_age_seconds"].to_list() == [None, 30.0]


def test_an_open_transaction_shows_where_readers_of_committed_records_stop() -> None:
    waits = held(0, lag=4, log_end=9, last_stable=5, open_since=START - timedelta(seconds=90))
    offsets = rows(GROUP_OFFSETS, waits, held(1, lag=0, log_end=9, last_stable=9))
    found = group_view_model.partition_rows(partition_statuses(), offsets, START).sort("partition")
    assert found["last_stable"].to_list() == [5, None]
    assert found["open_seconds"].to_list() == [90.0, None]


def test_partitions_of_a_group_that_is_ok_are_ok_where_their_lag_is_known() -> None:
    offsets = rows(GROUP_OFFSETS, held(0, lag=1), held(1, unknown_reason="no leader"))
    found = group_view_model.partition_rows(partition_statuses(), offsets, START)
    assert dict(found.select("partition", "status").iter_rows()) == {0: "OK", 1: "UNKNOWN"}


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
    found, total = group_view_model.heat_rows(frame)
    assert total == 3
    assert found.sort("order")["label"].to_list() == ["a-0", "a-10", "b-2"]
    one, _ = group_view_model.heat_rows(frame.filter(pl.col("topic") == "a"))
    assert one.sort("order")["label"].to_list() == ["0", "10"]


def test_a_delay_that_lacks_a_partition_is_left_out() -> None:
    whole = history(lag=[5, 6]).with_columns(pl.Series("time_lag_seconds", [1.0, 2.0]))
    parts = pl.DataFrame(
        {
            "time": [START, at(60), at(60)],
            "lag": [5, 1, 5],
            "time_lag_seconds": [1.0, 2.0, None],
        }
    )
    found = group_view_model.with_whole_delays(whole, parts, step_seconds=60)
    assert found["time_lag_seconds"].to_list() == [1.0, None]
    later = whole.vstack(whole.tail(1).with_columns(pl.col("time") + timedelta(minutes=1)))
    found = group_view_model.with_whole_delays(later, parts, step_seconds=60)
    assert found["time_lag_seconds"].to_list() == [1.0, None, None], "partitions are known no later"
    polls = whole.vstack(whole.head(1).with_columns(pl.col("time") + timedelta(seconds=30)))
    ending = parts.vstack(parts.tail(1).with_columns(pl.col("time") + timedelta(minutes=1)))
    found = group_view_model.with_whole_delays(polls, ending, step_seconds=60)
    assert found["time_lag_seconds"].to_list() == [1.0, None, None], "a poll is of its own minute"
    assert group_view_model.lacks_delays(parts)
    assert not group_view_model.lacks_delays(parts.filter(pl.col("time_lag_seconds").is_not_null()))


def test_what_arrives_in_a_minute_is_normal_for_a_partition() -> None:
    assert group_view_model.neutral_lag(10.0, 2, 60.0) == 300.0
    assert group_view_model.neutral_lag(None, 2, 60.0) == 10.0


def test_a_rebalance_tells_its_members_before_and_after() -> None:
    rows = pl.DataFrame(
        {
            "rebalanced_at": [at(0), at(5)],
            "generation": [7, 8],
            "members_before": [3, 2],
            "members": [2, 2],
        }
    )
    assert group_view_model.rebalance_rows(rows)["course"].to_list() == ["2", "3 → 2"], (
        "the newest first"
    )
