"""Which minutes new samples touch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from config.settings import LakeSettings
from lake.change_encoding.expand import REWRITTEN_AFTER
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_OFFSETS, GROUPS
from lake.storage.store import Lake
from spark_metrics.arrivals import (
    LostStreamError,
    UnreadableFileError,
    cause,
    late_before,
)
from spark_metrics.arrivals import touched as touched_at
from spark_metrics.broken_files import minutes_of_file
from spark_metrics.progress import EVER, MINUTE, Progress, TimeRange

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
GROUPS_TIME = {"observed_at": GROUPS.polars_schema["observed_at"]}
LATER = NOON + timedelta(days=1)


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


def touched(progress: Progress, samples: pl.DataFrame, now: datetime = LATER) -> Progress:
    return touched_at(progress, samples, now)


def test_a_sample_touches_its_minute_and_as_far_as_a_difference_reaches() -> None:
    """Given samples of half an hour, when one comes late, then its minute and the next are."""
    before = Progress(newest=NOON + 30 * MINUTE)
    late = NOON + 3 * MINUTE + timedelta(seconds=50)
    noted = touched(before, found(GROUPS, late))
    assert noted.pending == (TimeRange(start=NOON + 3 * MINUTE, end=NOON + 5 * MINUTE),)
    assert noted.newest == before.newest


def test_nothing_is_late_where_nothing_is_known() -> None:
    hour = timedelta(hours=1)
    assert late_before(NOON, hour) == NOON - hour
    assert late_before(None, hour).year == 1970


def test_a_slow_cadence_reaches_further() -> None:
    before = Progress(newest=NOON + 90 * MINUTE)
    noted = touched(before, found(GROUPS, NOON, interval=300.0))
    assert noted.pending == (TimeRange(start=NOON, end=NOON + 21 * MINUTE),)
    again = touched(noted, found(GROUPS, NOON + 50 * MINUTE, interval=15.0))
    assert again.pending[1] == TimeRange(start=NOON + 50 * MINUTE, end=NOON + 71 * MINUTE)


def test_what_is_not_written_again_touches_as_long_as_it_stands() -> None:
    noted = touched(Progress(newest=NOON + 30 * MINUTE), found(GROUP_OFFSETS, NOON))
    assert noted.pending == (TimeRange(start=NOON, end=NOON + REWRITTEN_AFTER + 2 * MINUTE),)


def test_nothing_is_touched_after_the_newest_sample() -> None:
    newest = NOON + timedelta(seconds=59)
    noted = touched(Progress(), found(GROUP_OFFSETS, NOON - MINUTE, newest))
    assert noted.pending == (TimeRange(start=NOON - MINUTE, end=NOON + MINUTE),)
    assert noted.newest == newest
    assert touched(noted, found(GROUPS, NOON)) == noted


def test_a_sample_from_the_future_makes_nothing_after_it_late() -> None:
    noted = touched(Progress(newest=NOON), found(GROUPS, NOON + timedelta(days=9)), NOON)
    assert noted.newest == NOON + MINUTE
    assert noted.pending[0].start == NOON + timedelta(days=9)
    after = touched(noted, found(GROUPS, NOON + 10 * MINUTE), NOON + 10 * MINUTE)
    assert after.newest == NOON + 10 * MINUTE


def test_why_spark_failed_is_told_in_one_line() -> None:
    said = "Encountered error while reading file file:///l/groups/a.parquet. S"
    failure = cause(OSError(f"[FAILED_READ_FILE.NO_HINT] {said}"))
    assert isinstance(failure, UnreadableFileError)
    assert str(failure) == "groups: a file cannot be read: file:///l/groups/a.parquet"
    assert isinstance(cause(OSError("x\n[DELTA_LOG_FILE_NOT_FOUND] gone")), LostStreamError)
    resumed = "[DELTA_MISSING_FILES_UNEXPECTED_VERSION] Delta stream cannot resume from version 1"
    assert isinstance(cause(OSError(resumed)), LostStreamError)
    gone = cause(OSError(f"[FAILED_READ_FILE.FILE_NOT_EXIST] {said}"))
    assert isinstance(gone, LostStreamError)
    assert isinstance(gone, UnreadableFileError)
    assert not isinstance(failure, LostStreamError)
    assert not isinstance(cause(OSError("[DELTA_SCHEMA_CHANGED_V2] x")), LostStreamError)
    assert str(cause(OSError("Connection refused\nat x"))) == "Connection refused at x"


def test_what_a_worker_lacks_is_told_without_its_traceback() -> None:
    said = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 1, in main
    import polars
ModuleNotFoundError: No module named 'polars'
"""
    assert str(cause(OSError(said))) == "ModuleNotFoundError: No module named 'polars'"
    of_lake = said.replace("ModuleNotFoundError: No", "lake.errors.LakeError: jobs: no")
    assert str(cause(OSError(of_lake))) == "jobs: no module named 'polars'"


def test_which_minutes_a_broken_file_has_samples_of(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    paths: set[Path] = set()
    added = []
    for at in (NOON, NOON + timedelta(hours=9)):
        times = [at, at + 3 * MINUTE]
        row = {"cluster": "c", "group": "g", "poll_id": "1", "observed_at": times}
        lake.append(GROUPS, pl.DataFrame(row, schema_overrides=GROUPS_TIME))
        (new,) = set((tmp_path / "lake").rglob("groups/*/*.parquet")) - paths
        paths.add(new)
        added.append(UnreadableFileError(f"file://{new}"))
    for at, broken in zip((NOON, NOON + timedelta(hours=9)), added, strict=True):
        assert minutes_of_file(lake, broken) == TimeRange(start=at, end=at + 4 * MINUTE)
    gone = UnreadableFileError(f"file://{tmp_path}/groups/date=2026-01-05/gone.parquet")
    assert minutes_of_file(lake, gone) is None
    assert minutes_of_file(lake, UnreadableFileError("x.parquet")) == EVER
