from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from config.settings import LakeSettings
from lake.schemas.tables import GROUPS
from lake.storage.store import Lake

AT = datetime(2026, 1, 5, 10, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> LakeSettings:
    return LakeSettings(uri=str(tmp_path / "lake"))


def append(settings: LakeSettings, group: str) -> None:
    row = {"cluster": ["c"], "observed_at": [AT], "poll_id": [group], "group": [group]}
    Lake(settings).append(GROUPS, pl.DataFrame(row))


def groups(lake: Lake) -> set[str]:
    return set(lake.read(GROUPS)["group"])


def test_a_kept_handle_sees_what_others_append(settings: LakeSettings) -> None:
    append(settings, "a")
    reader = Lake(settings)
    assert groups(reader) == {"a"}
    assert groups(reader) == {"a"}
    append(settings, "b")
    assert groups(reader) == {"a", "b"}


def test_a_kept_handle_finds_the_newest_version_behind_a_log_that_was_cut(
    settings: LakeSettings,
) -> None:
    """Given a reader that has slept while old entries of the log were deleted, it goes on."""
    append(settings, "a")
    reader = Lake(settings)
    assert groups(reader) == {"a"}
    append(settings, "b")
    append(settings, "c")
    DeltaTable(reader.uri(GROUPS)).create_checkpoint()
    append(settings, "d")
    for version in range(3):
        Path(reader.uri(GROUPS), "_delta_log", f"{version:020}.json").unlink()
    assert groups(reader) == {"a", "b", "c", "d"}


def test_a_log_in_which_nothing_changed_is_not_read_again(
    settings: LakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(settings, "a")
    reader, looks = Lake(settings), 0
    real = DeltaTable.update_incremental

    def look(table: DeltaTable) -> None:
        nonlocal looks
        looks += 1
        real(table)

    monkeypatch.setattr(DeltaTable, "update_incremental", look)
    log = Path(reader.uri(GROUPS), "_delta_log")
    for _ in range(4):
        assert groups(reader) == {"a"}
    assert looks == 1, "once after it was opened"
    changed = log.stat().st_mtime_ns
    append(settings, "b")
    os.utime(log, ns=(changed, changed))  # a clock is not as fine as two commits may be
    assert groups(reader) == {"a", "b"}
