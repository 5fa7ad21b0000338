"""A clock that is set while a cluster is polled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from collectors.kafka.poll.group_states import GroupStates
from collectors.kafka.poll.memory import Memory
from collectors.kafka.time_lag.partition_times import PartitionTimes
from collectors.kafka.time_lag.time_lags import TimeLags
from collectors.kafka.time_lag.timeline import RecordResult

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


EARLIER = NOW - timedelta(hours=1)


def test_a_clock_that_is_set_back_stops_no_timeline() -> None:
    times = PartitionTimes(topic_id="id")
    memory = Memory(time_lags=TimeLags({("orders", 0): times}))
    memory.follow_clock(NOW)
    times.record(10, NOW.timestamp(), "id")
    times.stable = (5, NOW.timestamp())

    memory.follow_clock(EARLIER)
    assert times.timeline.record(20, EARLIER.timestamp() + 1) is RecordResult.INSERTED
    at = times.timeline.time_at(10)
    assert at is not None
    assert abs(at - EARLIER.timestamp()) < 1
    assert abs(times.stable[1] - EARLIER.timestamp()) < 1


def test_a_clock_that_runs_on_moves_nothing() -> None:
    times = PartitionTimes(topic_id="id")
    memory = Memory(time_lags=TimeLags({("orders", 0): times}))
    memory.follow_clock(NOW)
    times.record(10, NOW.timestamp(), "id")
    memory.follow_clock(NOW + timedelta(milliseconds=100))
    assert times.timeline.time_at(10) == NOW.timestamp()


def test_states_of_groups_move_with_the_clock() -> None:
    memory = Memory(group_states=GroupStates({"billing": ("stable", NOW)}))
    memory.follow_clock(NOW)
    memory.follow_clock(EARLIER)
    rows = pl.DataFrame({"group": ["billing"], "state": ["stable"]})
    since = memory.group_states.record(rows, EARLIER)["billing"]
    assert since is not None
    assert abs((since - EARLIER).total_seconds()) < 1


def test_estimated_commits_go_on_after_the_clock_was_set_back() -> None:
    def rows(committed: int) -> pl.DataFrame:
        return pl.DataFrame(
            {"group": ["billing"], "topic": ["orders"], "partition": [0], "committed": [committed]},
            schema_overrides={"partition": pl.Int32()},
        )

    metadata: Any = None  # which only a log needs
    memory = Memory()
    memory.follow_clock(NOW)
    memory.commit_times.add(rows(7), metadata, NOW)
    memory.follow_clock(EARLIER)
    found = memory.commit_times.add(rows(9), metadata, EARLIER + timedelta(seconds=60))
    assert found["commits_per_second"].to_list()[0] > 0
    assert found["committed_at"].to_list() == [EARLIER + timedelta(seconds=60)]
