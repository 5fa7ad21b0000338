from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_metrics.progress import MINUTE, Progress, TimeRange, merge, without

ZERO = datetime(2026, 1, 5, tzinfo=UTC)


def span(start: int, end: int) -> TimeRange:
    return TimeRange(ZERO + start * MINUTE, ZERO + end * MINUTE)


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


def test_progress_survives_being_written_down() -> None:
    progress = Progress(
        stream="abc",
        tables={"partitions": "id"},
        pending=(span(0, 2), span(5, 9)),
        hours=frozenset({ZERO, ZERO + timedelta(hours=1)}),
        newest=ZERO + timedelta(microseconds=1),
    )
    assert Progress.from_json(progress.to_json()) == progress
    beginning = Progress()
    assert Progress.from_json(beginning.to_json()) == beginning
