"""What a poll says of the log of commits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from collectors.kafka.commit_log.follower import NEEDS, LogState
from collectors.kafka.sections import commit_log
from collectors.source.rows import frame
from lake.schemas.tables import REBALANCES

FOUND = frame(
    REBALANCES,
    [{"group": group, "reason": "one left", "log_offset": 7} for group in ("billing", "console-1")],
)


def collected(state: LogState, *switched_off: str) -> tuple[list[str], list[str]]:
    """Return the groups whose rebalances are told, and the problems of the section."""
    log = SimpleNamespace(rebalances=lambda: (FOUND, ["one is odd"]), state=state)
    view: Any = SimpleNamespace(
        metadata=None,
        memory=SimpleNamespace(commit_log=log),
        problems=[],
        selects_groups=lambda groups: groups.str.starts_with("b"),
    )
    settings: Any = SimpleNamespace(switched_off=list(switched_off))
    rows: pl.DataFrame = commit_log.collect(view, settings, None)["rebalances"]  # type: ignore[arg-type]
    return rows["group"].to_list(), view.problems


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
    view: Any = SimpleNamespace(metadata=None, memory=SimpleNamespace(commit_log=None), problems=[])
    assert commit_log.collect(view, None, None)["rebalances"].is_empty()  # type: ignore[arg-type]
    assert view.problems == []
