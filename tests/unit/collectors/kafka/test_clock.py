"""A clock that is set while a cluster is polled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from collectors.kafka.poll.group_states import GroupStates
from collectors.kafka.poll.memory import Memory

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


EARLIER = NOW - timedelta(hours=1)


def ends(end: int, stable: int) -> pl.DataFrame:
    return pl.DataFrame(
        {"topic": ["orders"], "partition": [0], "log_end": [end], "last_stable": [stable]},
        schema_overrides={"partition": pl.Int32()},
    )


def times_at(memory: Memory, *offsets: int) -> list[float]:
    wanted = np.zeros(len(offsets), dtype=np.intp)
    return list(memory.time_lags.timelines.time_at(wanted, np.array(offsets)))


def test_a_clock_that_is_set_back_stops_no_timeline() -> None:
    memory = Memory()
    memory.follow_clock(NOW)
    memory.time_lags.record(ends(10, 5), NOW, {"orders": "id"})

    memory.follow_clock(EARLIER)
    memory.time_lags.record(ends(20, 5), EARLIER + timedelta(seconds=1), {"orders": "id"})
    first, second = times_at(memory, 10, 20)
    assert abs(first - EARLIER.timestamp()) < 1
    assert second == EARLIER.timestamp() + 1
    since = memory.time_lags.partitions["open_since"].item()
    assert abs(since - EARLIER.timestamp()) < 1


def test_a_clock_that_runs_on_moves_nothing() -> None:
    memory = Memory()
    memory.follow_clock(NOW)
    memory.time_lags.record(ends(10, 10), NOW, {"orders": "id"})
    memory.follow_clock(NOW + timedelta(milliseconds=100))
    assert times_at(memory, 10) == [NOW.timestamp()]


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
