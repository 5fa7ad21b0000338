"""What a poll says of the log of commits."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from collectors.kafka.commit_log.commit_times import CommitTimes
from collectors.kafka.commit_log.follower import NEEDS, LogState
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.sections import commit_log
from collectors.source.rows import frame
from lake.schemas.tables import REBALANCES

FOUND = frame(
    REBALANCES,
    [{"group": group, "reason": "one left", "log_offset": 7} for group in ("billing", "console-1")],
)


def collected(state: LogState | None, *switched_off: str) -> tuple[list[str], list[str]]:
    """Return the groups whose rebalances are told, and the problems of the section."""
    times = CommitTimes()
    if state is not None:
        log: Any = SimpleNamespace(rebalances=lambda: (FOUND, ["one is odd"]), state=state)
        times.follow(log)
    reads: Any = SimpleNamespace(
        metadata=Outcome(found=None),
        commit_log=Outcome(found=times.report(lambda group: group.startswith("b"))),
        problems=[],
    )
    settings: Any = SimpleNamespace(switched_off=list(switched_off))
    now = datetime(2026, 11, 20, tzinfo=UTC)
    rows: pl.DataFrame = commit_log.collect(reads, settings, now)["rebalances"]
    return rows["group"].to_list(), reads.problems


READ = LogState(partitions=4, reported=4, late=True)
HALF = LogState(partitions=4, reported=1, late=True, behind=1200)


def test_rebalances_of_watched_groups() -> None:
    assert collected(READ) == (["billing"], ["one is odd"])


def test_rebalances_that_are_switched_off() -> None:
    assert collected(READ, "rebalances") == ([], [])


@pytest.mark.parametrize(
    ("state", "said"),
    [
        pytest.param(
            HALF,
            "3 of 4 partitions of __consumer_offsets are not read to their end; "
            "1200 records are known to be left",
            id="behind",
        ),
        pytest.param(
            LogState(partitions=4, late=True, denied=True, problems=(NEEDS,)), NEEDS, id="denied"
        ),
        pytest.param(
            LogState(partitions=4, reported=4, lost=("batch at 7 is lost",)),
            "batch at 7 is lost",
            id="lost",
        ),
    ],
)
def test_what_keeps_the_log_from_being_read_is_said(state: LogState, said: str) -> None:
    assert collected(state)[1] == [said, "one is odd"]


def test_a_first_read_that_goes_on_is_no_problem() -> None:
    assert collected(LogState(partitions=4, behind=1200))[1] == ["one is odd"]


def test_without_a_log_there_are_no_rows() -> None:
    assert collected(None) == ([], [])
