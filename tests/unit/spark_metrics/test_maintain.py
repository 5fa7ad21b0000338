"""Checkpoints of streams that nothing reads any more."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from config.settings import LakeSettings
from lake.storage.store import Lake
from spark_metrics.maintain import delete_checkpoints
from spark_metrics.progress import JobRecords, MicroBatch, Progress

OLD, FOREIGN = "0" * 32, "from-somebody-else"
NOW = datetime.now(UTC)


def test_only_streams_that_were_given_up_are_deleted(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path)))
    used = Progress()
    folder = Path(lake.checkpoints_uri, "history")
    for name in (used.stream, OLD, FOREIGN):
        (folder / name / "offsets").mkdir(parents=True)
        (folder / name / "offsets" / "0").touch()
        (folder / name / "offsets" / ".0.crc").touch()
    (folder / ("1" * 32)).touch()
    assert delete_checkpoints(lake) == []  # nobody knows which one is in use
    JobRecords(lake).add(MicroBatch(started_at=NOW, status="ok"), used)
    assert delete_checkpoints(lake) == [OLD]
    assert {one.name for one in folder.iterdir()} == {used.stream, FOREIGN, "1" * 32}
    assert (folder / used.stream / "offsets" / "0").exists()
    assert delete_checkpoints(lake) == []


def test_a_lake_without_checkpoints_has_none_to_delete(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path)))
    JobRecords(lake).add(MicroBatch(started_at=NOW, status="ok"), Progress())
    assert delete_checkpoints(lake) == []
