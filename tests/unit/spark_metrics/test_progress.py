from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import ClassVar, Self, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.settings import LakeSettings
from lake.storage.store import Lake
from spark_metrics.progress import (
    MINUTE,
    JobRecords,
    MicroBatch,
    Progress,
    TimeRange,
    merge,
    without,
)

ZERO = datetime(2026, 1, 5, tzinfo=UTC)


def span(start: int, end: int) -> TimeRange:
    return TimeRange(start=ZERO + start * MINUTE, end=ZERO + end * MINUTE)


def minutes(spans: tuple[TimeRange, ...]) -> set[int]:
    found = set()
    for one in spans:
        start, end = ((moment - ZERO) // MINUTE for moment in (one.start, one.end))
        found |= set(range(start, end))
    return found


spans = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 20)).map(lambda pair: span(pair[0], sum(pair)))
)


@given(spans)
def test_merged_spans_hold_the_same_minutes_and_do_not_touch(found: list[TimeRange]) -> None:
    merged = merge(found)
    assert minutes(merged) == minutes(tuple(found))
    assert all(one.end < other.start for one, other in itertools.pairwise(merged))


@given(spans, spans)
def test_what_is_done_is_taken_out(found: list[TimeRange], done: list[TimeRange]) -> None:
    left = merge(found)
    for one in done:
        left = without(left, one)
    assert minutes(left) == minutes(tuple(found)) - minutes(tuple(done))


def test_moments_are_widened_to_their_minutes() -> None:
    second = timedelta(seconds=1)
    assert TimeRange.around(ZERO + 59 * second, ZERO + 60 * second) == span(0, 2)
    assert TimeRange.around(ZERO, ZERO) == span(0, 1)


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        pytest.param(0, None, id="nothing-before"),
        pytest.param(3, span(1, 3), id="a-part"),
        pytest.param(9, span(1, 5), id="all"),
    ],
)
def test_the_part_before(limit: int, wanted: TimeRange | None) -> None:
    assert span(1, 5).before(ZERO + limit * MINUTE) == wanted


@given(spans, spans)
def test_ranges_overlap_where_they_share_a_minute(
    one: list[TimeRange], two: list[TimeRange]
) -> None:
    for first, second in itertools.product(one, two):
        assert first.overlaps(second) == bool(minutes((first,)) & minutes((second,)))


def test_progress_survives_being_written_down() -> None:
    progress = Progress(
        stream="abc",
        tables={"partitions": "id"},
        pending=(span(0, 2), span(5, 9)),
        hours=frozenset({ZERO, ZERO + timedelta(hours=1)}),
        newest=ZERO + timedelta(microseconds=1),
        late_before=ZERO,
        number=7,
    )
    assert Progress.from_json(progress.to_json()) == progress
    beginning = Progress()
    assert Progress.from_json(beginning.to_json()) == beginning


class Clock(datetime):
    """Tells the time that it is given."""

    told: ClassVar[datetime]

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cast("Self", cls.told)


def test_the_last_row_is_that_which_was_written_last_whatever_the_clock_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = JobRecords(Lake(LakeSettings(uri=str(tmp_path))))
    monkeypatch.setattr("spark_metrics.progress.datetime", Clock)
    monkeypatch.setattr(Clock, "told", ZERO + timedelta(hours=2), raising=False)
    records.add(MicroBatch(started_at=ZERO, status="read"), Progress(pending=(span(0, 1),)))
    first = records.last()
    assert first is not None
    assert first.pending == (span(0, 1),)
    monkeypatch.setattr(Clock, "told", ZERO, raising=False)
    records.add(MicroBatch(started_at=ZERO, status="read"), replace(first, pending=(span(0, 5),)))
    records.add(MicroBatch(started_at=ZERO, status="failed"), None)
    last = records.last()
    assert last is not None
    assert last.pending == (span(0, 5),)
    assert last.number == first.number + 1
