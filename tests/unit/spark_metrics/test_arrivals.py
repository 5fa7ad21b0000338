"""Which minutes new samples touch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from lake.change_encoding.expand import REWRITTEN_AFTER
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_OFFSETS, GROUPS
from spark_metrics.arrivals import LostStreamError, UnreadableFileError, cause, touched
from spark_metrics.progress import MINUTE, Progress, TimeRange

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def found(table: Table, *moments: datetime, interval: float | None = None) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "source": [table.name for _ in moments],
            "minute": [at.replace(second=0) for at in moments],
            "last": list(moments),
            "interval_seconds": [interval for _ in moments],
        },
        schema_overrides={"interval_seconds": pl.Float64},
    )


def test_a_sample_touches_its_minute_and_as_far_as_a_difference_reaches() -> None:
    """Given samples of half an hour, when one comes late, then its minute and the next are."""
    before = Progress(newest=NOON + 30 * MINUTE)
    late = NOON + 3 * MINUTE + timedelta(seconds=50)
    noted = touched(before, found(GROUPS, late))
    assert noted.pending == (TimeRange(NOON + 3 * MINUTE, NOON + 5 * MINUTE),)
    assert noted.newest == before.newest


def test_a_slow_cadence_reaches_further() -> None:
    before = Progress(newest=NOON + 90 * MINUTE)
    noted = touched(before, found(GROUPS, NOON, interval=300.0))
    assert noted.pending == (TimeRange(NOON, NOON + 21 * MINUTE),)
    again = touched(noted, found(GROUPS, NOON + 50 * MINUTE, interval=15.0))
    assert again.pending[1] == TimeRange(NOON + 50 * MINUTE, NOON + 71 * MINUTE)


def test_what_is_not_written_again_touches_as_long_as_it_stands() -> None:
    noted = touched(Progress(newest=NOON + 30 * MINUTE), found(GROUP_OFFSETS, NOON))
    assert noted.pending == (TimeRange(NOON, NOON + REWRITTEN_AFTER + 2 * MINUTE),)


def test_nothing_is_touched_after_the_newest_sample() -> None:
    newest = NOON + timedelta(seconds=59)
    noted = touched(Progress(), found(GROUP_OFFSETS, NOON - MINUTE, newest))
    assert noted.pending == (TimeRange(NOON - MINUTE, NOON + MINUTE),)
    assert noted.newest == newest
    assert touched(noted, found(GROUPS, NOON)) == noted


def test_why_spark_failed_is_told_in_one_line() -> None:
    said = "Encountered error while reading file file:///l/groups/a.parquet. S"
    failure = cause(OSError(f"[FAILED_READ_FILE.NO_HINT] {said}"))
    assert isinstance(failure, UnreadableFileError)
    assert str(failure) == "groups: a file cannot be read: file:///l/groups/a.parquet"
    assert isinstance(cause(OSError("x\n[DELTA_LOG_FILE_NOT_FOUND] gone")), LostStreamError)
    assert not isinstance(cause(OSError("[DELTA_SCHEMA_CHANGED_V2] x")), LostStreamError)
    assert str(cause(OSError("Connection refused\nat x"))) == "Connection refused at x"
