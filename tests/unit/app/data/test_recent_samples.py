from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from app.data import recent_samples
from app.data.history import TIME
from lake.replication import with_replication
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
)
from spark_metrics.rollups.passes import of_groups

POLLED_EVERY = 20.0
START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def rows(table: Any, *given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"cluster": "c", "poll_id": str(one["observed_at"]), **one} for one in given],
        schema=table.polars_schema,
    )


def offset(second: float, partition: int, committed: int | None, end: int | None) -> dict[str, Any]:
    known = committed is not None and end is not None
    return {
        "observed_at": at(second),
        "group": "g",
        "topic": "t",
        "partition": partition,
        "committed": committed,
        "log_end": end,
        "lag": max(0, end - committed) if known else None,  # type: ignore[operator]
        "time_lag_seconds": 1.0 * partition if known else None,
    }


def test_what_a_group_reads_no_more_is_in_no_sum() -> None:
    found = recent_samples.of_groups(
        rows(GROUP_OFFSETS, offset(0, 0, 5, 10), {**offset(0, 1, 0, 3), "is_subscribed": False}),
        rows(GROUPS, {"observed_at": at(0), "group": "g", "members": 2}),
        POLLED_EVERY,
    )
    assert found["lag"].to_list() == [5]


def test_groups_are_sums_of_partitions() -> None:
    found = recent_samples.of_groups(
        rows(GROUP_OFFSETS, offset(0, 0, 5, 10), offset(0, 1, 0, 3), offset(10, 0, 15, 30),
             offset(10, 1, 3, 3)),
        rows(GROUPS, {"observed_at": at(0), "group": "g", "members": 2}),
        POLLED_EVERY,
    )  # fmt: skip
    assert found["lag"].to_list() == [8, 15]
    assert found["time_lag_seconds"].to_list() == [1.0, 1.0]
    assert found["arrival_per_second"].to_list() == [None, 2.0]
    assert found["consumption_per_second"].to_list() == [None, 1.3]
    assert found["members"].to_list() == [2, None]


def test_unknown_is_not_zero() -> None:
    found = recent_samples.of_groups(
        rows(GROUP_OFFSETS, offset(0, 0, None, 10), offset(5, 0, None, 20)),
        rows(GROUPS),
        POLLED_EVERY,
    )
    assert found["lag"].to_list() == [None, None]
    assert found["consumption_per_second"].to_list() == [None, None]
    assert found["arrival_per_second"].to_list() == [None, 2.0]


def test_a_recreated_topic_gives_no_negative_rate() -> None:
    found = recent_samples.of_groups(
        rows(GROUP_OFFSETS, offset(0, 0, 90, 100), offset(5, 0, 0, 3), offset(10, 0, 2, 13)),
        rows(GROUPS),
        POLLED_EVERY,
    )
    assert found["arrival_per_second"].to_list() == [None, None, 2.0]
    assert found["consumption_per_second"].to_list() == [None, None, 0.4]


def partition(second: float, number: int, **given: Any) -> dict[str, Any]:
    usual = {
        "topic": "t",
        "leader": 1,
        "preferred_leader": 1,
        "replicas": [1, 2, 3],
        "in_sync_replicas": [1, 2, 3],
        "min_in_sync_replicas": 2,
        "log_start": 0,
        "log_end": 0,
    }
    return {**usual, "observed_at": at(second), "partition": number, **given}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, (False, False, False), id="in sync"),
        pytest.param({"in_sync_replicas": [1, 2]}, (True, False, False), id="under-replicated"),
        pytest.param(
            {"replicas": [1, 2, 3, 4], "adding_replicas": [4]}, (False, False, False), id="moves"
        ),
        pytest.param({"in_sync_replicas": [1]}, (True, True, False), id="under min ISR"),
        pytest.param({"in_sync_replicas": [], "leader": None}, (True, True, True), id="offline"),
        pytest.param(
            {"in_sync_replicas": [1], "min_in_sync_replicas": None},
            (True, None, False),
            id="setting unknown",
        ),
        pytest.param({"in_sync_replicas": None}, (None, None, False), id="replicas unknown"),
    ],
)
def test_replication(given: dict[str, Any], expected: tuple[bool | None, ...]) -> None:
    found = with_replication(rows(PARTITIONS, partition(0, 0, **given)))
    assert found.select("is_under_replicated", "is_under_min_isr", "is_offline").row(0) == expected


def test_the_cluster_is_one_row_a_poll() -> None:
    found = recent_samples.of_cluster(
        rows(GROUP_OFFSETS, offset(0, 0, 5, 10), offset(10, 0, 10, 20)),
        rows(GROUPS),
        rows(
            PARTITIONS,
            partition(0, 0, log_end=10),
            partition(10, 0, log_end=30, in_sync_replicas=[1]),
        ),
        rows(
            BROKERS,
            *({"observed_at": at(0), "broker_id": one, "is_alive": True} for one in (1, 2, 3)),
            *({"observed_at": at(10), "broker_id": one, "is_alive": one != 2} for one in (1, 2, 3)),
        ),
        POLLED_EVERY,
    )
    assert found["lag"].to_list() == [5, 10]
    assert found["arrival_per_second"].to_list() == [None, 2.0]
    assert found["under_min_isr"].to_list() == [0, 1]
    assert found["brokers_alive"].to_list() == [3, 2]
    assert found["brokers_known"].to_list() == [3, 3]


@pytest.mark.parametrize(("seconds", "is_known"), [(80, True), (81, False)])
def test_a_gap_has_no_rate_here_and_none_in_history(seconds: int, is_known: bool) -> None:
    """Four polls are the limit of both: the same samples give the same rate, or none."""
    samples = [(0, 0, 10), (seconds, 40, 90)]
    times = [{"observed_at": at(second)} for second, *_ in samples]
    offsets = rows(GROUP_OFFSETS, *(offset(second, 0, done, end) for second, done, end in samples))
    groups = rows(GROUPS, *({**time, "group": "g"} for time in times))
    polls = rows(COLLECTIONS, *({**time, "interval_seconds": POLLED_EVERY} for time in times))
    kept = {"group_offsets": offsets, "groups": groups}

    shown = recent_samples.of_groups(offsets, groups, POLLED_EVERY).filter(
        pl.col(TIME) == at(seconds)
    )
    made = of_groups({**kept, "collections": polls}, at(0), at(seconds + 60))
    history = made["group_history"].filter(pl.col("lag_last") == 50)

    rates = ("arrival_per_second", "consumption_per_second")
    assert shown.select(rates).row(0) == history.select(rates).row(0)
    expected = (80 / seconds, 40 / seconds) if is_known else (None, None)
    assert shown.select(rates).row(0) == expected
    newest = recent_samples.latest_rates(offsets, POLLED_EVERY)
    assert newest["arrival_per_second"].to_list() == [expected[0]]


def test_rates_of_the_newest_polls() -> None:
    found = recent_samples.latest_rates(
        rows(
            PARTITIONS,
            partition(0, 0, log_end=0),
            partition(10, 0, log_end=50),
            partition(20, 0, log_end=60),
            partition(0, 1, log_end=9),
            partition(10, 1, log_end=2),
            partition(20, 2, log_end=2),
            partition(0, 3, log_end=None),
            partition(10, 3, log_end=4),
            partition(20, 3, log_end=14),
        ),
        POLLED_EVERY,
    )
    assert found["arrival_per_second"].to_list() == [3.0, None, None, 1.0]


def test_dead_letters_arrive_by_the_growth_of_their_log() -> None:
    found = recent_samples.of_dead_letters(
        rows(
            DEAD_LETTERS,
            *(
                {"observed_at": at(second), "source": "kafka", "name": "d", "log_end": end}
                for second, end in ((0, 4), (10, 9))
            ),
        ),
        POLLED_EVERY,
    )
    assert found["arrival_per_second"].to_list() == [None, 0.5]


@pytest.mark.parametrize(
    ("seconds", "log_ends", "said"),
    [
        pytest.param(
            [0], [5], "yet: they take 3 polls over 1 min. The last minutes have 1:", id="one"
        ),
        pytest.param([0, 10, 20], [5, 6, 7], "The last minutes have 3:", id="too short"),
        pytest.param([0, 15, 30], [None] * 3, "no poll of the last minutes could read", id="none"),
        pytest.param([0, 60, 90, 99], [5, 6, 7, None], "the newest polls could not", id="no more"),
        pytest.param([0, 60, 120], [5, 4, 3], "could not be read or went back", id="went back"),
    ],
)
def test_why_a_rate_is_not_known(seconds: list[int], log_ends: list[int | None], said: str) -> None:
    start = datetime(2026, 11, 25, tzinfo=UTC)
    samples = pl.DataFrame(
        {
            "observed_at": [start + timedelta(seconds=one) for one in seconds],
            "log_end": pl.Series(log_ends, dtype=pl.Int64),
        }
    )
    found = recent_samples.why_no_rate(samples, ["log_end"], polls=3, seconds=60.0)
    assert said in found
