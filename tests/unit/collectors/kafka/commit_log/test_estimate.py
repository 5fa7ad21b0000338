"""Commit times from changes of committed offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.kafka.commit_log.estimate import (
    ESTIMATE,
    LOG,
    NOTHING_SEEN,
    SHORTEST_WINDOW_SECONDS,
    WINDOW_SECONDS,
    CommitsSeen,
    estimate,
)

START = datetime(2026, 11, 21, 5, 0, tzinfo=UTC)
SCHEMA = {
    "group": pl.String(),
    "topic": pl.String(),
    "partition": pl.Int32(),
    "committed": pl.Int64(),
    "other": pl.String(),
    "committed_at": pl.Datetime("us", "UTC"),
    "commits_per_second": pl.Float64(),
    "commit_source": pl.String(),
}


class Polls:
    """Polls one after the other."""

    def __init__(self) -> None:
        self.seen: CommitsSeen = NOTHING_SEEN

    def poll(
        self,
        second: float,
        offsets: dict[int, int | None],
        reported: dict[int, tuple[datetime, float | None]] | None = None,
    ) -> dict[int, dict[str, Any]]:
        """Poll with the offsets by partition, and what the log tells by partition."""
        rows = []
        for partition, committed in offsets.items():
            log = (reported or {}).get(partition)
            rows.append(
                {
                    "group": "billing",
                    "topic": "orders",
                    "partition": partition,
                    "committed": committed,
                    "other": f"kept {partition}",
                    "committed_at": log[0] if log else None,
                    "commits_per_second": log[1] if log else None,
                    "commit_source": LOG if log else None,
                }
            )
        frame, self.seen = estimate(pl.DataFrame(rows, schema=SCHEMA), self.seen, at(second))
        assert frame.schema == SCHEMA
        assert frame["partition"].to_list() == list(offsets)
        assert frame["other"].to_list() == [f"kept {partition}" for partition in offsets]
        return {row["partition"]: row for row in frame.to_dicts()}


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def test_a_time_is_unknown_until_a_change_was_seen() -> None:
    polls = Polls()
    for second in (0, 15):
        row = polls.poll(second, {0: 5})[0]
        assert row["committed_at"] is None
        assert row["commit_source"] == ESTIMATE
    assert polls.poll(30, {0: 6})[0]["committed_at"] == at(30)
    assert polls.poll(45, {0: 6})[0]["committed_at"] == at(30)
    assert polls.poll(60, {0: 2})[0]["committed_at"] == at(60)  # an offset may be set back


def test_nothing_is_claimed_where_nothing_is_committed() -> None:
    polls = Polls()
    for second in (0, 60):
        row = polls.poll(second, {0: None})[0]
        assert (row["committed_at"], row["commits_per_second"], row["commit_source"]) == (
            None,
            None,
            None,
        )


def test_a_poll_that_does_not_know_the_offset_is_no_change() -> None:
    polls = Polls()
    polls.poll(0, {0: 5})
    polls.poll(15, {0: 6})
    assert polls.poll(30, {0: None})[0]["commit_source"] is None
    assert polls.poll(45, {0: 6})[0]["committed_at"] == at(15)
    polls.poll(60, {0: None})
    assert polls.poll(75, {0: 7})[0]["committed_at"] == at(75)


def test_the_rate_counts_polls_with_a_change() -> None:
    polls = Polls()
    for turn in range(20):
        row = polls.poll(turn * 15, {0: turn * 100, 1: turn // 4, 2: 7})
        if turn * 15 < SHORTEST_WINDOW_SECONDS:
            assert row[0]["commits_per_second"] is None
    assert row[0]["commits_per_second"] == pytest.approx(1 / 15)
    assert row[1]["commits_per_second"] == pytest.approx(4 / 285)
    assert row[2]["commits_per_second"] == 0.0


def test_the_rate_forgets() -> None:
    polls = Polls()
    turns = int(4 * WINDOW_SECONDS / 15)
    rates = [
        polls.poll(turn * 15, {0: min(turn, turns // 2)})[0]["commits_per_second"]
        for turn in range(turns)
    ]
    assert rates[turns // 2] == pytest.approx(1 / 15)
    assert rates[-1] == 0.0


def test_a_group_that_comes_later_is_counted_from_then() -> None:
    polls = Polls()
    for turn in range(10):
        polls.poll(turn * 15, {0: 1})
    for turn in range(10, 14):
        rows = polls.poll(turn * 15, {0: 1, 1: turn})
    assert rows[1]["commits_per_second"] == pytest.approx(3 / 45)


def test_a_group_that_is_gone_is_forgotten() -> None:
    polls = Polls()
    polls.poll(0, {0: 1, 1: 1})
    polls.poll(15, {0: 1})
    assert polls.seen.rows["partition"].to_list() == [0]


def test_what_the_log_tells_stays() -> None:
    polls = Polls()
    polls.poll(0, {0: 1, 1: 1})
    rows = polls.poll(15, {0: 2, 1: 2}, reported={0: (at(13), 7.5)})
    assert rows[0]["committed_at"] == at(13)
    assert rows[0]["commits_per_second"] == 7.5
    assert rows[0]["commit_source"] == LOG
    assert (rows[1]["committed_at"], rows[1]["commit_source"]) == (at(15), ESTIMATE)


def test_what_the_log_told_is_still_known_when_it_falls_silent() -> None:
    polls = Polls()
    polls.poll(0, {0: 1}, reported={0: (at(-100), None)})
    row = polls.poll(15, {0: 1})[0]
    assert (row["committed_at"], row["commit_source"]) == (at(-100), ESTIMATE)
    assert polls.poll(30, {0: 2})[0]["committed_at"] == at(30)
