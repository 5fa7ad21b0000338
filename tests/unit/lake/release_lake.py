"""A backup as a release makes it: a row of every table, and a state of alerts.

    python -m tests.unit.lake.release_lake VERSION

writes one beside this file; do so with each release. ``test_released`` reads all of them.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from deltalake import write_deltalake

from alerting.notify.store import AlertStore
from config.settings import ClusterSettings, LakeSettings, Settings
from lake.maintenance.backup import backup
from lake.schemas.format_version import DESCRIPTION
from lake.schemas.tables import TABLES
from lake.storage.append import conform
from lake.storage.store import Lake
from tests.unit.alerting.notify.storing import step

FOLDER = Path(__file__).parent / "released"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MATCHER = "group=~payments.*"
_OF_A_FULL_ROW = ("stream", "row_kind")
"""Null where nothing of a row was left out."""


def settings_in(folder: Path) -> Settings:
    """Return settings whose lake and state lie in a folder."""
    found = Settings(
        clusters=[ClusterSettings(name="c", bootstrap_servers="k:1")],
        lake=LakeSettings(uri=str(folder / "lake")),
    )
    state = found.alerting.model_copy(update={"state": str(folder / "alerts.sqlite")})
    return found.model_copy(update={"alerting": state})


def value_of(name: str, kind: pl.DataType) -> Any:
    """Return the value that a column of the row has."""
    if name in _OF_A_FULL_ROW:
        return None
    if isinstance(kind, pl.List):
        return [value_of(name, kind.inner)]  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return {field.name: value_of(field.name, field.dtype) for field in kind.fields}  # type: ignore[arg-type]
    if isinstance(kind, pl.Datetime):
        return NOW
    if kind == pl.Date():
        return NOW.date()
    if kind == pl.Boolean():
        return True
    if kind == pl.Binary():
        return name.encode()
    return 7 if kind.is_integer() else 1.5 if kind.is_float() else name


def make(version: str) -> Path:
    """Write the backup of a release, and return where."""
    with tempfile.TemporaryDirectory() as made:
        settings = settings_in(Path(made))
        lake = Lake(settings.lake)
        for table in TABLES.values():
            row = {name: [value_of(name, kind)] for name, kind in table.polars_schema.items()}
            rows = conform(table, pl.DataFrame(row, schema=table.polars_schema).drop("date"))
            write_deltalake(
                lake.uri(table), rows.to_arrow(), partition_by=["date"], description=DESCRIPTION
            )
        store = AlertStore(Path(settings.alerting.state))
        step(store, NOW.timestamp(), "billing")
        store.silence(
            [MATCHER],
            starts_at=NOW.timestamp(),
            ends_at=NOW.timestamp() + 3600,
            author="ana",
            comment="deploy",
            now=NOW.timestamp(),
        )
        store.close()
        backup(settings, Path(made) / "backup", lambda _: None)
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{version}.tar.xz"
        with tarfile.open(path, "w:xz") as archive:
            archive.add(Path(made) / "backup", arcname="backup")
    return path


if __name__ == "__main__":
    print(make(sys.argv[1]))
