from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from lake.errors import UnreadableTableError
from lake.schemas.tables import GROUPS
from lake.storage.store import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path)))


def rows(group: str) -> pl.DataFrame:
    at = datetime(2026, 11, 20, 8, tzinfo=UTC)
    return pl.DataFrame({"cluster": ["c"], "observed_at": [at], "poll_id": ["p"], "group": [group]})


def test_a_table_that_was_never_written_has_none(lake: Lake) -> None:
    assert lake.statistics(GROUPS) is None


def test_files_and_bytes_add_up(lake: Lake, tmp_path: Path) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    lake.append(GROUPS, rows("a"))
    lake.append(GROUPS, rows("b"))
    found = lake.statistics(GROUPS)
    assert found is not None
    files = list(tmp_path.rglob("*.parquet"))
    assert (found.files, found.version) == (2, 1)
    assert found.size_bytes == sum(file.stat().st_size for file in files)
    assert found.written_at is not None
    assert before < found.written_at < datetime.now(UTC) + timedelta(seconds=1)


def test_a_broken_log_is_an_error_that_names_the_table(lake: Lake, tmp_path: Path) -> None:
    lake.append(GROUPS, rows("a"))
    for file in (tmp_path / "bronze" / "groups" / "_delta_log").glob("*.json"):
        file.write_text("{ not json")
    with pytest.raises(UnreadableTableError, match=r"^groups: "):
        Lake(LakeSettings(uri=str(tmp_path))).statistics(GROUPS)
