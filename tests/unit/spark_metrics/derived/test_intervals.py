from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from lake.schemas.tables import CAPACITY_INTERVALS, GROUP_OFFSETS, GROUPS
from scaling.facts.intervals import Intervals, saturated
from spark_metrics.derived.intervals import NEEDED, gains, member_intervals

START = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
POLLS = 41


def offsets(
    partition: int,
    rate: int,
    *,
    lag: int,
    member: str = "a",
    arrival: int | None = None,
    polls: range = range(POLLS),
) -> pl.DataFrame:
    """A partition read every 15 s: ``rate`` messages a poll are consumed, ``arrival`` come."""
    come = rate if arrival is None else arrival
    rows = [
        {
            "cluster": "c",
            "observed_at": START + timedelta(seconds=15 * number),
            "poll_id": str(number),
            "group": "g",
            "topic": "t",
            "partition": partition,
            "committed": 1000 + rate * number,
            "log_end": 1000 + lag + come * number,
            "lag": lag + (come - rate) * number,
            "member_id": member,
        }
        for number in polls
    ]
    schema = {name: GROUP_OFFSETS.polars_schema[name] for name in NEEDED}
    return pl.DataFrame(rows, schema=schema)


def groups(members: int = 2) -> pl.DataFrame:
    rows = [
        {
            "cluster": "c",
            "observed_at": START + timedelta(seconds=15 * number),
            "poll_id": str(number),
            "group": "g",
            "members": members,
        }
        for number in range(POLLS)
    ]
    return pl.DataFrame(rows, schema={name: GROUPS.polars_schema[name] for name in rows[0]})


def found(*parts: pl.DataFrame, members: int = 2) -> pl.DataFrame:
    return member_intervals(gains(pl.concat(parts)), groups(members)).sort("member", "started_at")


def test_a_member_with_a_backlog_has_an_interval_a_minute() -> None:
    rows = found(offsets(0, 300, lag=50_000), offsets(1, 150, lag=50_000))
    whole = rows.filter(pl.col("started_at") == START + timedelta(minutes=1))
    (row,) = whole.rows(named=True)
    assert (row["member"], row["members"]) == ("a", 2)
    assert (row["seconds"], row["consumed"], row["arrived"]) == (60.0, 1800, 1800)
    assert (row["lag_start"], row["lag_end"]) == (100_000, 100_000)
    columns = rows.with_columns(started_at=pl.col("started_at").dt.epoch("us") / 1e6)
    assert saturated(Intervals.of(columns.to_dict())).sum() == 10


def test_a_member_that_waits_leaves_its_best_ten_minutes() -> None:
    (row,) = found(offsets(0, 30, lag=5)).rows(named=True)
    assert row["consumed"] / row["seconds"] == pytest.approx(2.0)
    assert row["seconds"] >= 300
    assert row["lag_start"] < 500


def test_minutes_in_which_a_partition_moved_are_left_out() -> None:
    moved = pl.concat(
        [
            offsets(0, 300, lag=50_000, polls=range(18)),
            offsets(0, 300, lag=50_000, member="b", polls=range(18, POLLS)),
        ]
    )
    rows = found(moved, offsets(1, 300, lag=50_000, member="b"))
    at = START + timedelta(seconds=15 * 18)
    assert rows["started_at"].n_unique() > 4
    assert at.replace(second=0) not in rows["started_at"].to_list()


def test_a_counter_that_went_backwards_leaves_its_minute_out() -> None:
    again = offsets(0, 300, lag=50_000).with_columns(
        committed=pl.when(pl.col("observed_at") >= START + timedelta(seconds=130))
        .then(pl.col("committed") - 2000)
        .otherwise("committed")
    )
    rows = found(again)
    assert START + timedelta(minutes=2) not in rows["started_at"].to_list()
    assert (rows["consumed"] >= 0).all()


def test_a_blocked_partition_is_named_and_does_not_make_its_member_busy() -> None:
    rows = found(offsets(0, 30, lag=5), offsets(1, 0, lag=90_000, arrival=40))
    assert rows["blocked"].to_list() == [["t-1"]]
    assert rows["lag_start"].to_list() == [5]


def test_an_idle_partition_is_not_blocked() -> None:
    rows = found(offsets(0, 30, lag=5), offsets(1, 0, lag=0), offsets(2, 0, lag=700))
    assert rows["blocked"].to_list() == [[]]


def test_a_group_without_members_has_no_interval() -> None:
    lonely = offsets(0, 300, lag=50_000).with_columns(member_id=pl.lit(None, pl.String))
    assert found(lonely).is_empty()


def test_nothing_comes_of_nothing() -> None:
    assert found(offsets(0, 300, lag=9, polls=range(0))).is_empty()
    assert found(offsets(0, 300, lag=9, polls=range(1))).is_empty()


def test_a_minute_with_a_backlog_and_the_best_ten_minutes_around_it_are_told_apart() -> None:
    number = (pl.col("observed_at") - START).dt.total_seconds() // 15
    drained = offsets(0, 30, lag=0).with_columns(
        lag=pl.when(number < 4).then(2000 - 400 * number).otherwise(5).cast(pl.Int64)
    )
    rows = found(drained.with_columns(committed=pl.col("log_end") + 2000 - pl.col("lag")))
    assert rows["started_at"].to_list() == [START, START + timedelta(minutes=1)]
    assert rows["seconds"].to_list() == pytest.approx([45.0, 540.0])
    assert rows.select(CAPACITY_INTERVALS.key).is_unique().all()
