"""A lake that moves from a folder into an object store and back, by backup and restore."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from config.load import load
from config.settings import LakeSettings, Settings
from lake.maintenance.backup import backup, restore
from lake.schemas.tables import GROUP_OFFSETS, GROUPS, PARTITIONS
from lake.storage.store import Lake
from tests.servers.s3.server import S3Server
from tests.spark import bronze
from tests.support import compact

TABLES = (GROUPS, GROUP_OFFSETS, PARTITIONS)


def settings_for(folder: Path, lake: LakeSettings) -> Settings:
    """Write a configuration with a lake and a state of its own."""
    folder.mkdir()
    options: dict[str, object] = {}
    for key, value in lake.plain_storage_options().items():
        (folder / key).write_text(value)
        options[key] = {"file": str(folder / key)}
    content = {
        "clusters": [{"name": "demo", "bootstrap_servers": "kafka:9092"}],
        "lake": {"uri": lake.uri, "storage_options": options},
        "alerting": {"state": "alerts.sqlite"},
    }
    (folder / "headroom.yaml").write_text(yaml.safe_dump(content))
    return load(folder / "headroom.yaml")


def test_a_lake_moves_into_a_bucket_and_back(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lake.maintenance.backup._PIECE", 1000)  # as if the files were large
    here = settings_for(tmp_path / "here", LakeSettings(uri=str(tmp_path / "lake")))
    there = settings_for(tmp_path / "there", s3.bucket("moved"))
    back = settings_for(tmp_path / "back", LakeSettings(uri=str(tmp_path / "lake-again")))
    polls = bronze.history(bronze.Model(seed=5), polls=8)
    bronze.append(Lake(here.lake), *polls[:6])
    compact(Lake(here.lake), GROUP_OFFSETS)

    backup(here, tmp_path / "first", lambda _: None)
    restore(there, tmp_path / "first", lambda _: None)
    moved = Lake(there.lake)
    for table in TABLES:
        assert moved.read(table).equals(Lake(here.lake).read(table))
    bronze.append(moved, *polls[6:])  # it is a lake like any other

    backup(there, tmp_path / "second", lambda _: None)
    restore(back, tmp_path / "second", lambda _: None)
    for table in TABLES:
        rows = Lake(back.lake).read(table)
        assert rows.equals(moved.read(table))
        assert rows["poll_id"].n_unique() == 8
