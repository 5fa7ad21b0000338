"""Backup while rows come in, and restore: what comes back is what was there."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from config.load import load
from config.settings import Settings
from lake.__main__ import app
from lake.errors import LakeError
from lake.maintenance import backup as copies
from lake.maintenance.backup import MANIFEST, backup, restore
from lake.schemas.format_version import FORMAT
from lake.schemas.tables import BROKERS, PARTITIONS
from lake.storage.store import Lake
from tests.support import compact

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def quiet(_: str) -> None:
    """Say nothing."""


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Settings]:
    """Settings whose lake and state lie in a folder of that name."""

    def settings(name: str) -> Settings:
        folder = tmp_path / name
        folder.mkdir()
        file = folder / "headroom.yaml"
        file.write_text(
            "clusters: [{name: a, bootstrap_servers: 'k:1'}]\n"
            "lake: {uri: lake}\nalerting: {state: state/alerts.sqlite}\n"
        )
        return load(file)

    return settings


def poll(number: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "cluster": ["a"] * 3,
            "observed_at": [NOW + timedelta(hours=number)] * 3,
            "poll_id": [str(number)] * 3,
            "broker_id": [1, 2, 3],
        }
    )


def fill(settings: Settings, polls: int = 30) -> Lake:
    lake = Lake(settings.lake)
    for number in range(polls):
        lake.append(BROKERS, poll(number))
        if number % 7 == 6:
            compact(lake, BROKERS)
    state = Path(settings.alerting.state)
    state.parent.mkdir(parents=True)
    with sqlite3.connect(state) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE silences (id INTEGER)")
        connection.execute("INSERT INTO silences VALUES (7)")
    return lake


def test_what_comes_back_is_what_was_there(make: Callable[[str], Settings], tmp_path: Path) -> None:
    before, after, folder = make("before"), make("after"), tmp_path / "backup"
    lake = fill(before)
    done = backup(before, folder, quiet)
    expected = lake.read(BROKERS).sort("observed_at", "broker_id")
    lake.append(BROKERS, poll(99))  # not part of it any more
    assert restore(after, folder, quiet) == done
    assert done.state
    found = Lake(after.lake)
    assert found.read(BROKERS).sort("observed_at", "broker_id").equals(expected)
    assert expected.height == 90
    assert not found.exists(PARTITIONS)
    with sqlite3.connect(after.alerting.state) as connection:
        assert connection.execute("SELECT id FROM silences").fetchall() == [(7,)]
    # Services go on: appending, reading and maintenance.
    found.append(BROKERS, poll(31))
    compact(found, BROKERS)
    assert found.read(BROKERS).height == 93


def test_maintenance_meanwhile_harms_nothing(
    make: Callable[[str], Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = make("before"), make("after")
    lake, disturbed = fill(before, polls=5), []
    plain = copies._copy  # noqa: SLF001 (the moment between two files)

    def copy(source: object, path: str, target: Path) -> None:
        if not disturbed and path.startswith("bronze"):
            disturbed.append(path)
            table = DeltaTable(lake.uri(BROKERS))
            table.optimize.compact()
            table.vacuum(0, dry_run=False, enforce_retention_duration=False)
            lake.append(BROKERS, poll(50))
        plain(source, path, target)  # type: ignore[arg-type]

    monkeypatch.setattr(copies, "_copy", copy)
    backup(before, tmp_path / "backup", quiet)
    restore(after, tmp_path / "backup", quiet)
    assert disturbed
    assert Lake(after.lake).read(BROKERS).height == 18


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        pytest.param(lambda folder: (folder / MANIFEST).unlink(), "no whole backup", id="cut"),
        pytest.param(
            lambda folder: next(folder.rglob("*.parquet")).write_bytes(b"x"),
            "not what was written",
            id="damaged",
        ),
        pytest.param(
            lambda folder: next(folder.rglob("*.parquet")).unlink(), "is missing", id="missing"
        ),
        pytest.param(
            lambda folder: (folder / MANIFEST).write_text(
                json.dumps({"format": FORMAT + 1, "files": {}})
            ),
            "newer Headroom",
            id="newer",
        ),
        pytest.param(
            lambda folder: (folder / MANIFEST).write_text(
                json.dumps({"format": FORMAT, "files": {"../before/headroom.yaml": {}}})
            ),
            "names a file outside",
            id="outside",
        ),
    ],
)
def test_a_backup_that_is_not_whole_restores_nothing(
    harm: Callable[[Path], object],
    sentence: str,
    make: Callable[[str], Settings],
    tmp_path: Path,
) -> None:
    before, after, folder = make("before"), make("after"), tmp_path / "backup"
    fill(before, polls=3)
    backup(before, folder, quiet)
    harm(folder)
    with pytest.raises(LakeError, match=sentence):
        restore(after, folder, quiet)
    assert not Path(after.lake.uri).exists()


def test_a_backup_of_nothing_is_none(make: Callable[[str], Settings], tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"nothing to copy: .*/lake has no tables"):
        backup(make("mistyped"), tmp_path / "backup", quiet)
    assert not (tmp_path / "backup" / MANIFEST).exists()


def test_nothing_is_replaced(make: Callable[[str], Settings], tmp_path: Path) -> None:
    before, folder = make("before"), tmp_path / "backup"
    fill(before, polls=3)
    backup(before, folder, quiet)
    with pytest.raises(LakeError, match="not empty"):
        backup(before, folder, quiet)
    with pytest.raises(LakeError, match="has tables already"):
        restore(before, folder, quiet)
    shutil.rmtree(before.lake.uri)
    with pytest.raises(LakeError, match="move it away first"):
        restore(before, folder, quiet)


def test_the_commands_say_what_they_did(make: Callable[[str], Settings], tmp_path: Path) -> None:
    before = make("before")
    fill(before, polls=3)
    config, folder = str(tmp_path / "before" / "headroom.yaml"), str(tmp_path / "backup")
    done = CliRunner().invoke(app, ["backup", "--config", config, "--to", folder])
    assert done.exit_code == 0, done.output
    assert "MB, with a file of alerts' state" in done.stderr
    again = CliRunner().invoke(app, ["restore", "--config", config, "--from", folder])
    assert (again.exit_code, "has tables already" in again.stderr) == (1, True)
