"""What charts are drawn from: history, and samples where these tell more."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from app.data import queue_history
from app.data.context import View
from app.data.history import History
from app.data.history_queries import (
    cluster_history,
    dead_letter_history,
    group_history,
    group_rates,
    history,
    lags,
    partition_history,
)
from app.data.time_range import RANGES, between
from lake.schemas.current import CLUSTER_COURSE, CLUSTER_STATUS, GROUP_COURSE
from lake.schemas.model import Table
from lake.schemas.tables import (
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    QUEUES,
)
from tests.unit.app.views_of import NOW


def gold(first: float, last: float, *, generated: bool | None = None) -> pl.DataFrame:
    """Return a history from some minutes ago until some minutes ago."""
    times = [NOW - timedelta(minutes=minute) for minute in (first, last)]
    schema = {"window_start": pl.Datetime("us", "UTC"), "generated": pl.Boolean}
    return pl.DataFrame({"window_start": times, "generated": [generated] * 2}, schema=schema)


@pytest.mark.parametrize(
    ("range_", "history", "late"),
    [
        pytest.param("1h", gold(60, 1), False, id="current"),
        pytest.param("1h", gold(60, 4), False, id="on a busy machine"),
        pytest.param("1h", gold(60, 6), True, id="late"),
        pytest.param("1h", gold(4, 1), True, id="has begun"),
        pytest.param("1h", gold(6, 1), False, id="has begun a while ago"),
        pytest.param("1h", gold(60, 1).clear(), True, id="none"),
        pytest.param("1h", gold(60, 1, generated=True), True, id="generated only"),
        pytest.param("24h", gold(1200, 1, generated=True), False, id="generated, a longer range"),
        pytest.param("7d", gold(9000, 50), False, id="by the hour"),
    ],
)
def test_samples_tell_more_than_history_only_where_it_is_late(
    view: View, range_: str, history: pl.DataFrame, late: bool
) -> None:
    assert lags(replace(view, range=RANGES[range_]), history) is late


def test_a_range_of_the_past_is_not_late(view: View) -> None:
    ended = NOW - timedelta(hours=5)
    chosen = between(ended - timedelta(hours=1), ended, NOW, None)
    assert not lags(replace(view, range=chosen), gold(360, 301))


def put_letters(view: View, table: Table, minutes: range, **values: object) -> None:
    """Write a row of a dead-letter topic for each of some minutes before now."""
    rows = [
        {
            "cluster": "east",
            table.time: NOW - timedelta(minutes=minute),
            "source": "kafka",
            "name": "dlq",
            **({"poll_id": str(minute)} if "poll_id" in table.polars_schema else {}),
            **values,
        }
        for minute in minutes
    ]
    schema = {name: table.polars_schema[name] for name in rows[0]}
    view.lake.append(table, pl.DataFrame(rows, schema=schema))


@pytest.mark.parametrize(
    ("range_", "written_until", "sampled_since", "gap"),
    [
        pytest.param("6h", 3, 20, None, id="history is current"),
        pytest.param("6h", 26, 80, None, id="late, and samples are read as far back"),
        pytest.param("6h", 26, 20, (25, 20), id="late, and there are no samples of then"),
        pytest.param("6h", 90, 120, (89, 60), id="so late that not all samples are read"),
    ],
)
def test_between_late_history_and_samples_is_no_hole_without_a_word(
    view: View,
    range_: str,
    written_until: int,
    sampled_since: int,
    gap: tuple[int, int] | None,
) -> None:
    written = {"grain_seconds": 60, "retained_last": 1}
    put_letters(view, DEAD_LETTER_HISTORY, range(200, written_until - 1, -1), **written)
    put_letters(view, DEAD_LETTERS, range(sampled_since, 0, -1), retained=2)
    found = dead_letter_history(replace(view, range=RANGES[range_]))
    minutes = [int((NOW - at) / timedelta(minutes=1)) for at in found.frame["time"]]
    missing = set(range(written_until, 0, -1)) - set(minutes)
    if gap is None:
        assert found.gap is None
        assert missing == (set() if written_until > 5 else {1, 2})
    else:
        first, last = gap
        assert found.gap == tuple(NOW - timedelta(minutes=minute) for minute in gap)
        assert missing == set(range(first, last, -1))


def put_group(view: View, group: str, *, written_until: int) -> None:
    """Write an hour by the minute up to some minutes ago, and samples up to now."""
    partition = {"cluster": "east", "group": group, "topic": "t", "partition": 0}
    minutes = [
        partition | {"window_start": NOW - timedelta(minutes=minute), "grain_seconds": 60}
        for minute in range(60, written_until - 1, -1)
    ]
    for table in (GROUP_HISTORY, GROUP_PARTITION_HISTORY):
        kept = [{name: row[name] for name in row if name in table.polars_schema} for row in minutes]
        schema = {name: table.polars_schema[name] for name in kept[0]}
        view.lake.append(table, pl.DataFrame(kept, schema=schema).with_columns(lag_max=1))
    samples = [
        partition | {"observed_at": NOW - timedelta(seconds=15 * poll), "poll_id": str(poll)}
        for poll in range(40)
    ]
    view.lake.append(GROUP_OFFSETS, pl.DataFrame(samples).with_columns(lag=2))


def put_course(view: View, group: str, *, since: float) -> None:
    """Write what the evaluations of the last seconds found of a group: the newest of now."""
    seconds = [second for second in range(0, 240, 15) if second <= since]
    course = pl.DataFrame(
        [{"group": group, "observed_at": NOW - timedelta(seconds=one), "lag": 3} for one in seconds]
    )
    rows = course.with_columns(cluster=pl.lit("east"), evaluated_at=pl.lit(NOW))
    service = pl.DataFrame({"cluster": ["east"], "evaluated_at": [NOW]})
    for table, found in ((GROUP_COURSE, rows), (CLUSTER_STATUS, service)):
        whole = pl.concat([table.empty, found], how="diagonal_relaxed")
        view.lake.current.replace(table, "east", whole)


LAST = NOW - timedelta(minutes=1)


def test_the_rates_of_a_cluster_end_now_as_its_lag_does(view: View) -> None:
    hour = replace(view, range=RANGES["1h"])
    minutes = pl.DataFrame({"window_start": [NOW - timedelta(minutes=m) for m in range(60, 2, -1)]})
    rates = {"arrival_per_second": 5.0, "consumption_per_second": 4.0}
    values = {"cluster": "east", "grain_seconds": 60, "lag_max": 1, **rates}
    hour.lake.append(
        CLUSTER_HISTORY,
        minutes.with_columns(pl.lit(one).alias(name) for name, one in values.items()),
    )
    polls = pl.DataFrame({"observed_at": [NOW - timedelta(seconds=15 * one) for one in range(12)]})
    now = {"cluster": "east", "lag": 2, "arrival_per_second": 9.0, "consumption_per_second": 8.0}
    course = polls.with_columns(
        pl.lit(NOW).alias("evaluated_at"), *(pl.lit(one).alias(name) for name, one in now.items())
    )
    service = pl.DataFrame({"cluster": ["east"], "evaluated_at": [NOW]})
    for table, found in ((CLUSTER_COURSE, course), (CLUSTER_STATUS, service)):
        whole = pl.concat([table.empty, found], how="diagonal_relaxed")
        view.lake.current.replace(table, "east", whole)
    found = cluster_history(hour)
    assert found.newest == NOW
    ended = NOW - timedelta(minutes=2)
    polls = [(ended + timedelta(seconds=15 * one), 2, 9.0, 8.0) for one in range(9)]
    step = pl.col("time") + timedelta(minutes=1)
    assert found.frame.select(step, "lag", *rates).rows()[-10:] == [(ended, 1, 5.0, 4.0), *polls]


def hour_of(view: View, *, written_until: int = 3, course_since: float | None = None) -> View:
    hour = replace(view, range=RANGES["1h"])
    for group in ("a", "b"):
        put_group(hour, group, written_until=written_until)
    if course_since is not None:
        put_course(hour, "a", since=course_since)
    return hour


def test_the_chart_of_one_group_ends_with_what_the_last_evaluations_found(view: View) -> None:
    hour = hour_of(view, course_since=220)
    one = group_history(hour, ["a"])
    assert one.newest == NOW
    ended = NOW - timedelta(minutes=2)
    polls = [(ended + timedelta(seconds=15 * one), 3) for one in range(9)]
    ends = one.frame.select(pl.col("time") + timedelta(minutes=1), "lag")
    assert ends.rows()[-10:] == [(ended, 1), *polls]
    both = group_history(hour, ["a", "b"]).of("group", "a")
    assert both.frame["time", "lag"].equals(one.frame["time", "lag"]), "as in a chart of several"
    assert group_rates(hour, "a").frame["time"].max() == LAST, "a rate is of a full minute"


@pytest.mark.parametrize(
    "course_since",
    [pytest.param(None, id="not followed"), pytest.param(30, id="followed since a moment ago")],
)
def test_what_evaluations_do_not_tell_of_one_group_its_samples_do(
    view: View, course_since: float | None
) -> None:
    hour = hour_of(view, course_since=course_since)
    for one in (group_history(hour, ["a"]), partition_history(hour, "a")):
        assert one.step_seconds == 60
        assert one.newest is None
        assert one.frame["time"].to_list()[-2:] == [LAST - timedelta(minutes=1), LAST]
        assert one.frame["lag"].to_list()[-3:] == [1, 2, 2]
    # To read the samples of many takes longer than they are worth.
    both = group_history(hour, ["b", "c"])
    assert both.frame["time"].max() == NOW - timedelta(minutes=3)


def test_where_history_is_late_one_group_is_drawn_from_samples(view: View) -> None:
    found = group_history(hour_of(view, written_until=7, course_since=220), ["a"])
    assert found.frame["lag"].to_list()[-6:] == [2] * 6


@pytest.mark.parametrize(
    ("range_", "ended_minutes", "is_read"),
    [
        pytest.param("1h", 0, True, id="the last minutes"),
        pytest.param("1h", 20, False, id="a time that is over"),
        pytest.param("7d", 0, False, id="by the hour"),
    ],
)
def test_samples_that_are_not_drawn_are_not_read(
    view: View, range_: str, ended_minutes: int, is_read: bool
) -> None:
    hour = hour_of(view)
    for file in Path(view.lake.uri(GROUP_OFFSETS)).rglob("*.parquet"):
        file.unlink()
    end = NOW - timedelta(minutes=ended_minutes) if ended_minutes else None
    chosen = replace(hour, range=replace(RANGES[range_], end=end))
    if range_ == "7d":
        hours = [{"cluster": "east", "group": "a", "grain_seconds": 3600, "lag_max": 1}]
        times = [NOW - timedelta(hours=2), NOW - timedelta(hours=1)]
        view.lake.append(
            GROUP_HISTORY,
            pl.DataFrame(hours).join(pl.DataFrame({"window_start": times}), how="cross"),
        )
    note = group_history(chosen, ["a"]).note
    assert (note is not None and "samples cannot be read" in note) is is_read


def test_of_history_only_what_is_drawn_is_read(view: View) -> None:
    put_letters(view, DEAD_LETTER_HISTORY, range(9, 0, -1), grain_seconds=60, unprocessed_max=7)
    found = history(replace(view, range=RANGES["1h"]), DEAD_LETTER_HISTORY)
    assert found.height == 9
    assert set(found.columns) == {
        *("window_start", "generated", "source", "name"),
        *("unprocessed_last", "retained_last", "arrival_per_second"),
        *("samples", "samples_expected", "arrived_seconds"),  # how far a rate is known
    }


def put(view: View, *samples: tuple[float, str, int | None], vhost: str = "/") -> None:
    """Write samples of queues: how many seconds ago, the queue, and what is ready."""
    rows = [
        {
            "cluster": "rabbit",
            "observed_at": NOW - timedelta(seconds=seconds),
            "poll_id": str(seconds),
            "vhost": vhost,
            "queue": queue,
            "ready": ready,
        }
        for seconds, queue, ready in samples
    ]
    schema = {name: QUEUES.polars_schema[name] for name in rows[0]}
    view.lake.append(QUEUES, pl.DataFrame(rows, schema=schema))


def waiting(view: View, range_: str, **changed: datetime) -> History:
    beside = replace(view, cluster="rabbit", range=RANGES[range_], **changed)
    return queue_history.of_queues(beside, [("/", "a"), ("/", "b")], 15.0)


def points(history: History, queue: str) -> list[tuple[float, int | None]]:
    """Return how many minutes ago each point of a queue lies, and its value."""
    rows = history.frame.filter(queue=queue).sort("time")
    return [((NOW - at).total_seconds() / 60, ready) for at, ready in rows["time", "ready"].rows()]


def test_what_waited_in_queues_is_the_most_of_each_minute_and_a_gap_where_unknown(
    view: View,
) -> None:
    put(view, (170, "a", 4), (150, "a", 9), (130, "a", None), (100, "a", None), (10, "a", 5))
    put(view, (100, "b", 0), (100, "c", 7), (-30, "a", 8))
    put(view, (100, "b", 70), vhost="other")
    found = waiting(view, "1h")
    assert found.step_seconds == 60
    assert points(found, "a") == [(3, 9), (2, None), (1, 5)]
    assert points(found, "b") == [(2, 0)]
    assert set(found.frame["queue"]) == {"a", "b"}, "others are not read"
    assert set(found.frame["vhost"]) == {"/"}


def test_samples_of_queues_are_read_once_a_step(view: View) -> None:
    put(view, (90, "a", 1))
    assert points(waiting(view, "1h"), "a") == [(2, 1)]
    put(view, (30, "a", 2))
    soon = NOW + timedelta(seconds=30)
    assert points(waiting(view, "1h", now=soon), "a") == [(2, 1)]
    later = NOW + timedelta(seconds=60)
    assert points(waiting(view, "1h", now=later), "a") == [(2, 1), (1, 2)]


@pytest.mark.parametrize(
    ("range_", "hours", "is_cut"),
    [
        pytest.param("24h", 23.97, False, id="the whole range"),
        pytest.param("7d", 23.97, True, id="a day of it"),
        pytest.param("90d", 5.0, False, id="less than a day is known"),
    ],
)
def test_samples_of_queues_are_drawn_for_a_day_at_most(
    view: View, range_: str, hours: float, is_cut: bool
) -> None:
    put(view, (25 * 3600, "a", 1), (hours * 3600, "a", 2), (90, "a", 3))
    found = waiting(view, range_)
    assert [ready for _, ready in points(found, "a")] == [2, 3]
    assert found.step_seconds == 180, "at most 500 points of a day"
    assert (found.note is not None) is is_cut


def test_no_queue_was_read(view: View) -> None:
    assert waiting(view, "1h").frame.is_empty()
