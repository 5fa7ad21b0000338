"""What each of the last evaluations found, for the ends of charts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from alerting.current.course import GROUPS_FOLLOWED, cluster_course, group_course
from lake.schemas.current import CLUSTER_COURSE, CLUSTER_STATUS, GROUP_COURSE, GROUP_STATUS
from lake.schemas.model import Table

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def status(table: Table, seconds: float, *rows: dict[str, Any]) -> pl.DataFrame:
    """Return rows of an evaluation."""
    known = {"cluster": "c", "evaluated_at": at(seconds)}
    kept = [{**known, **row} for row in rows]
    return pl.DataFrame(kept, schema=table.polars_schema)


def groups(seconds: float, **lags: int | None) -> pl.DataFrame:
    rows = [
        {"group": name, "status": "OK", "lag": lag, "observed_at": at(seconds)}
        for name, lag in lags.items()
    ]
    return status(GROUP_STATUS, seconds, *rows)


def test_each_evaluation_adds_the_groups_that_are_known_and_minutes_later_they_are_gone() -> None:
    course = group_course(GROUP_COURSE.empty, groups(0, a=5, b=None), at(0))
    course = group_course(course, groups(15, a=7, b=9), at(15))
    assert course.select("group", "lag").rows() == [("a", 5), ("b", 9), ("a", 7)]
    later = group_course(course, groups(254, a=1), at(254))
    assert later.select("observed_at", "lag").rows() == [
        *((at(15), lag) for lag in (9, 7)),
        (at(254), 1),
    ]


def test_a_poll_that_is_evaluated_twice_is_one_point_as_it_was_last_said() -> None:
    course = group_course(GROUP_COURSE.empty, groups(0, a=5), at(0))
    again = group_course(course, groups(0, a=6), at(15))
    assert again["lag"].to_list() == [6]


def test_of_many_groups_those_are_followed_that_are_furthest_behind() -> None:
    many = groups(0, **{f"g{number}": number for number in range(GROUPS_FOLLOWED + 5)})
    course = group_course(GROUP_COURSE.empty, many, at(0))
    assert course.height == GROUPS_FOLLOWED
    assert course["lag"].min() == 5


def test_the_course_of_a_cluster_counts_the_brokers_that_are_there() -> None:
    row = {
        **{"lag": 4, "under_replicated": 70, "offline": 0},
        **{"brokers": 3, "missing_brokers": [2], "newest_poll_at": at(1)},
    }
    found = cluster_course(CLUSTER_COURSE.empty, status(CLUSTER_STATUS, 2, row), at(2))
    assert found.select(
        *("observed_at", "lag", "under_replicated", "brokers_alive", "brokers_known")
    ).rows() == [(at(1), 4, 70, 2, 3)]


def test_of_a_cluster_of_which_nothing_is_known_there_is_no_course() -> None:
    row = {"newest_poll_at": at(1), "groups": 0}
    found = cluster_course(CLUSTER_COURSE.empty, status(CLUSTER_STATUS, 2, row), at(2))
    assert found.is_empty()
