"""What each of the last evaluations found, for the ends of charts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.current.course import GROUPS_FOLLOWED, cluster_course, group_course
from alerting.current.flows import Flows
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


def group(seconds: float, name: str, lag: int | None, **more: Any) -> dict[str, Any]:
    return {"group": name, "status": "OK", "lag": lag, "observed_at": at(seconds), **more}


def groups(seconds: float, **lags: int | None) -> pl.DataFrame:
    rows = [group(seconds, name, lag) for name, lag in lags.items()]
    return status(GROUP_STATUS, seconds, *rows)


def cluster_lags(*evaluated: tuple[int | None, dict[str, Any]]) -> list[int | None]:
    """Return the course of a cluster's lag, from what was known of one of its groups."""
    course = CLUSTER_COURSE.empty
    for number, (lag, found) in enumerate(evaluated):
        seconds = 15 * number
        row = {"lag": 9, "time_lag_seconds": 4.0, "newest_poll_at": at(seconds), "brokers": 3}
        cluster = status(CLUSTER_STATUS, seconds, row | {"missing_brokers": []})
        of_groups = status(GROUP_STATUS, seconds, group(seconds, "a", lag, **found))
        course = cluster_course(course, cluster, of_groups, at(seconds), Flows(3.0, 2.0))
        assert course["arrival_per_second"].to_list()[-1] == 3.0, "topics are read all the same"
        unknown = course["lag"].is_null().to_list()
        for name in ("time_lag_seconds", "consumption_per_second"):
            assert course[name].is_null().to_list() == unknown
    return course["lag"].to_list()


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


def test_a_group_that_is_late_is_followed_however_few_messages_wait() -> None:
    many = groups(0, **{f"g{number}": number for number in range(GROUPS_FOLLOWED)})
    late = status(GROUP_STATUS, 0, group(0, "late", 0, status="STOPPED"))
    course = group_course(GROUP_COURSE.empty, pl.concat([many, late]), at(0))
    assert course.height == GROUPS_FOLLOWED
    assert {"late", "g1"} <= set(course["group"])
    assert "g0" not in set(course["group"])


@pytest.mark.parametrize(
    ("lag", "found", "is_drawn"),
    [
        pytest.param(None, {"known_lag": 7}, False, id="unread"),
        pytest.param(2, {"known_lag": 7, "unknown_partitions": 1}, False, id="read in part"),
        pytest.param(None, {"known_lag": 0}, True, id="unread, and nothing waited"),
        pytest.param(2, {"unknown_partitions": 1}, True, id="never read in full"),
    ],
)
def test_while_a_group_cannot_be_read_no_fall_is_drawn(
    lag: int | None, found: dict[str, Any], is_drawn: bool
) -> None:
    whole: tuple[int, dict[str, Any]] = (7, {"known_lag": 7, "unknown_partitions": 0})
    assert cluster_lags(whole, (lag, found), whole) == [9, 9 if is_drawn else None, 9]
    of_group = status(GROUP_STATUS, 0, group(0, "a", lag, **found))
    own = group_course(GROUP_COURSE.empty, of_group, at(0))
    assert own["lag"].to_list() == ([lag] if is_drawn and lag is not None else [])


def test_the_course_of_a_cluster_counts_the_brokers_that_are_there() -> None:
    row = {
        **{"lag": 4, "under_replicated": 70, "offline": 0},
        **{"brokers": 3, "missing_brokers": [2], "newest_poll_at": at(1)},
    }
    found = cluster_course(
        CLUSTER_COURSE.empty, status(CLUSTER_STATUS, 2, row), GROUP_STATUS.empty, at(2)
    )
    assert found.select(
        *("observed_at", "lag", "under_replicated", "brokers_alive", "brokers_known")
    ).rows() == [(at(1), 4, 70, 2, 3)]


def test_of_a_cluster_of_which_nothing_is_known_there_is_no_course() -> None:
    row = {"newest_poll_at": at(1), "groups": 0}
    found = cluster_course(
        CLUSTER_COURSE.empty, status(CLUSTER_STATUS, 2, row), GROUP_STATUS.empty, at(2)
    )
    assert found.is_empty()
