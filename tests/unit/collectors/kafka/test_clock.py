"""A clock that is set while a cluster is polled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from collectors.kafka.commit_log.estimate import CommitsSeen, estimate
from collectors.kafka.poll.state import Memory
from collectors.kafka.time_lag.partition_times import PartitionTimes
from collectors.kafka.time_lag.timeline import RecordResult

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_a_clock_that_is_set_back_stops_no_timeline() -> None:
    memory = Memory()
    times = memory.times["orders", 0] = PartitionTimes(topic_id="id")
    memory.follow_clock(NOW)
    times.record(10, NOW.timestamp(), "id")
    times.stable = (5, NOW.timestamp())

    earlier = NOW - timedelta(hours=1)
    memory.follow_clock(earlier)
    assert times.timeline.record(20, earlier.timestamp() + 1) is RecordResult.INSERTED
    at = times.timeline.time_at(10)
    assert at is not None
    assert abs(at - earlier.timestamp()) < 1
    assert abs(times.stable[1] - earlier.timestamp()) < 1


def test_a_clock_that_runs_on_moves_nothing() -> None:
    memory = Memory()
    times = memory.times["orders", 0] = PartitionTimes(topic_id="id")
    memory.follow_clock(NOW)
    times.record(10, NOW.timestamp(), "id")
    memory.follow_clock(NOW + timedelta(milliseconds=100))
    assert times.timeline.time_at(10) == NOW.timestamp()


def test_estimated_commits_go_on_after_the_clock_was_set_back() -> None:
    rows = pl.DataFrame(
        {
            "group": ["billing"],
            "topic": ["orders"],
            "partition": [0],
            "committed": [7],
            "committed_at": [None],
            "commits_per_second": [None],
            "commit_source": [None],
        },
        schema={
            "group": pl.String(),
            "topic": pl.String(),
            "partition": pl.Int32(),
            "committed": pl.Int64(),
            "committed_at": pl.Datetime("us", "UTC"),
            "commits_per_second": pl.Float64(),
            "commit_source": pl.String(),
        },
    )
    memory = Memory()
    memory.follow_clock(NOW)
    _, memory.commits_seen = estimate(rows, memory.commits_seen, NOW)
    earlier = NOW - timedelta(hours=1)
    memory.follow_clock(earlier)
    assert isinstance(memory.commits_seen, CommitsSeen)
    moved = rows.with_columns(pl.lit(9, pl.Int64()).alias("committed"))
    found, _ = estimate(moved, memory.commits_seen, earlier + timedelta(seconds=60))
    assert found["commits_per_second"].to_list()[0] > 0
    assert found["committed_at"].to_list() == [earlier + timedelta(seconds=60)]
