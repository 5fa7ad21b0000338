from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from collectors.service.maintenance import maintaining, once
from config.settings import LakeSettings
from lake.errors import LakeError
from lake.maintenance.lease import only_one
from lake.schemas.tables import BROKERS, JOBS
from lake.storage.store import Lake
from tests.support import eventually

ROOT = Path(__file__).parents[4]
FILES = 4


@pytest.fixture
def settings(tmp_path: Path) -> LakeSettings:
    return LakeSettings(uri=str(tmp_path / "lake"))


@pytest.fixture
def lake(settings: LakeSettings) -> Lake:
    """A lake with the polls of one day in small files."""
    lake = Lake(settings)
    noon = datetime.now(UTC).replace(hour=12)
    for number in range(FILES):
        at = noon + timedelta(seconds=number)
        row = {"cluster": ["c"], "observed_at": [at], "poll_id": [str(number)], "broker_id": [1]}
        lake.append(BROKERS, pl.DataFrame(row))
    return lake


@pytest.fixture
def config(tmp_path: Path, settings: LakeSettings) -> Path:
    path = tmp_path / "headroom.yaml"
    path.write_text(
        "clusters: [{name: c, bootstrap_servers: ['localhost:1']}]\n"
        f"lake: {{uri: {settings.uri}}}\n"
    )
    return path


def files(lake: Lake) -> int:
    return len(DeltaTable(lake.uri(BROKERS)).file_uris())


def rounds(lake: Lake) -> list[tuple[str, str, str | None]]:
    return lake.read(JOBS, columns=["job", "status", "error"]).rows()


def test_beside_the_polls_small_files_are_compacted(lake: Lake, config: Path) -> None:
    with maintaining(config, first_seconds=0.0):
        eventually(lambda: rounds(lake), timeout_seconds=90, what="a row in jobs")
    assert rounds(lake) == [("maintenance", "ok", None)]
    assert files(lake) == 1
    assert lake.read(BROKERS).height == FILES


def test_while_another_process_maintains_it_is_skipped_and_said(
    lake: Lake, config: Path, settings: LakeSettings
) -> None:
    with only_one(settings, "maintenance", lost=lambda error: pytest.fail(str(error))):
        done = subprocess.run(
            [sys.executable, "-m", "collectors", "maintain", "--config", str(config)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=90,
            check=True,
        )
    assert "skipped: another maintenance job works on" in done.stderr
    assert files(lake) == FILES
    assert not lake.exists(JOBS)


def test_a_failure_is_written_down(lake: Lake, settings: LakeSettings) -> None:
    (Path(lake.uri(BROKERS)) / "_delta_log" / f"{0:020}.json").write_text("{broken\n")
    with pytest.raises(LakeError, match="brokers: maintenance failed"):
        once(settings)
    ((job, status, error),) = rounds(lake)
    assert (job, status) == ("maintenance", "failed")
    assert "brokers" in str(error)
