"""How much retention deleted before a group had read it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from app.data import losses
from app.data.context import View
from lake.schemas.current import GROUP_STATUS
from lake.schemas.tables import GROUP_OFFSETS, GROUP_PARTITION_HISTORY
from tests.unit.app.views_of import NOW

Window = tuple[int | None, int | None, int | None]
"""The most that was lost at one time; log start and committed offset at the end."""


def minutes(
    windows: list[Window | None], *, start: datetime = NOW, topic: str = "t", partition: int = 0
) -> pl.DataFrame:
    """Return the history of a partition by the minute; None: it lacks one."""
    rows = [
        {
            "cluster": "east",
            "grain_seconds": 60,
            "window_start": start + timedelta(minutes=number),
            "group": "g",
            "topic": topic,
            "partition": partition,
            "lost_messages_max": window[0],
            "log_start_last": window[1],
            "committed_last": window[2],
            "date": start.date(),
        }
        for number, window in enumerate(windows)
        if window is not None
    ]
    return pl.DataFrame(rows, schema_overrides={"grain_seconds": pl.Int32, "partition": pl.Int32})


@pytest.mark.parametrize(
    ("windows", "messages"),
    [
        pytest.param([(0, 0, 10), (0, 5, 20)], [0, 0], id="all is read"),
        pytest.param(
            [(0, 100, 100), (50, 150, 100), (80, 180, 100), (80, 180, 100)],
            [0, 50, 30, 0],
            id="nobody reads: what is lost already counts once",
        ),
        pytest.param(
            [(0, 100, 100), (50, 150, 160), (0, 150, 190), (40, 240, 250)],
            [0, 50, 0, 40],
            id="it reads on behind what is gone, and is overtaken again",
        ),
        pytest.param(
            [(0, 100, 100), (50, 150, 140), (60, 200, 140)],
            [0, 50, 50],
            id="what it commits of what was deleted is not lost again",
        ),
        pytest.param(
            [(50, 150, 100), None, None, (70, 170, 100)], [50, 20], id="history has a gap"
        ),
        pytest.param(
            [(50, 150, 100), (None, None, None), (70, 170, 100)],
            [50, 20],
            id="a minute of which nothing is known",
        ),
    ],
)
def test_what_is_deleted_unread_counts_once(
    windows: list[Window | None], messages: list[int]
) -> None:
    found = losses.deleted_unread(minutes(windows))
    assert found["messages"].to_list() == messages


def test_partitions_add_up_and_each_has_its_own_past() -> None:
    first = minutes([(50, 150, 100), (50, 150, 100)])
    second = minutes([(0, 10, 20), (5, 25, 20)], partition=1)
    found = losses.deleted_unread(pl.concat([second, first]))
    assert found["messages"].to_list() == [50, 5]


def written(view: View, *frames: pl.DataFrame, observed_at: datetime | None = None) -> None:
    rows = pl.concat([GROUP_PARTITION_HISTORY.empty, *frames], how="diagonal_relaxed")
    view.lake.append(GROUP_PARTITION_HISTORY, rows)
    status = {"cluster": "east", "group": "g", "topics": ["t"], "evaluated_at": NOW}
    status |= {"observed_at": observed_at}
    found = pl.concat([GROUP_STATUS.empty, pl.DataFrame([status])], how="diagonal_relaxed")
    view.lake.current.replace_all("east", {GROUP_STATUS: found})


def test_a_loss_is_counted_from_its_begin_to_its_end(view: View) -> None:
    start = NOW - timedelta(minutes=30)
    steps = [(10 * number, 100 + 10 * number, 100) for number in range(20)]
    other = minutes([(5, 5, 0)] * 20, start=start, topic="read no more")
    written(view, minutes([*steps], start=start), other)
    began = start + timedelta(minutes=5, seconds=40)
    history_ends = start + timedelta(minutes=20)
    found = losses.of_group(view, "g", began, None)
    assert found == losses.Deleted(messages=150, until=history_ends), "minutes 5 to 19"
    ended = start + timedelta(minutes=9, seconds=10)
    found = losses.of_group(view, "g", began, ended)
    assert found == losses.Deleted(messages=50, until=ended)
    assert losses.of_group(view, "g", NOW, None) is None, "history has not come so far"
    assert losses.of_group(view, "another", began, None) is None


def sample(at: datetime, lost: int, start: int, committed: int, topic: str = "t") -> dict[str, Any]:
    return {
        "cluster": "east",
        "observed_at": at,
        "poll_id": f"{at:%H%M%S}",
        "group": "g",
        "topic": topic,
        "partition": 0,
        "committed": committed,
        "log_start": start,
        "lost_messages": lost,
        "date": at.date(),
    }


def test_what_came_after_the_history_is_counted_from_samples(view: View) -> None:
    start = NOW - timedelta(minutes=5)
    second = timedelta(seconds=1)
    rows = [
        sample(start + 50 * second, 10, 110, 100),  # of a minute that history has
        sample(start + 130 * second, 25, 125, 100),
        sample(start + 170 * second, 30, 130, 100),
        sample(start + 190 * second, 0, 130, 150),
        sample(start + 250 * second, 4, 154, 150),
        sample(start + 250 * second, 7, 7, 0, topic="read no more"),
        sample(start + 265 * second, 9, 159, 150),  # no evaluation was of it yet
    ]
    found = pl.concat([GROUP_OFFSETS.empty, pl.DataFrame(rows)], how="diagonal_relaxed")
    view.lake.append(GROUP_OFFSETS, found)
    polled_at = start + 250 * second
    written(view, minutes([(0, 100, 100), (10, 110, 100)], start=start), observed_at=polled_at)
    total = losses.of_group(view, "g", start, None)
    assert total == losses.Deleted(messages=10 + 20 + 4, until=polled_at)
    ended = start + 150 * second
    total = losses.of_group(view, "g", start, ended)
    assert total == losses.Deleted(messages=10 + 15, until=start + 130 * second)
