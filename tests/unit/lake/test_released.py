"""What a release wrote is read by this version: every value of every table, and alerts' state."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from deltalake import DeltaTable

from alerting.notify.store import AlertStore
from lake.maintenance.backup import restore
from lake.schemas.tables import TABLES
from lake.storage.store import Lake
from tests.unit.lake.release_lake import FOLDER, MATCHER, NOW, settings_in, value_of

RELEASES = sorted(FOLDER.glob("*.tar.xz"))
assert RELEASES
GONE = {"host_history"}
"""Tables that this version has no more; they lie in the lake, and nothing reads them."""


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_lake_of_a_release_is_read_and_written_on(release: Path, tmp_path: Path) -> None:
    with tarfile.open(release) as archive:
        archive.extractall(tmp_path, filter="data")
    settings = settings_in(tmp_path)
    restore(settings, tmp_path / "backup", lambda _: None)
    lake = Lake(settings.lake)
    there = [Path(path).parts[-2:] for path in (tmp_path / "lake").glob("*/*")]
    assert len(there) > 20
    assert {name for _, name in there} - TABLES.keys() <= GONE
    for layer, name in there:
        if name in GONE:
            continue
        table = TABLES[name]
        assert table.layer == layer
        (row,) = lake.read(table).to_dicts()
        written = [field.name for field in DeltaTable(lake.uri(table)).schema().fields]
        for column, kind in table.polars_schema.items():
            expected = value_of(column, kind) if column in written else None
            assert row[column] == expected, f"{name}.{column}"
        assert set(written) <= set(table.polars_schema), f"{name} has lost columns"
        if layer == "bronze":
            assert lake.append(table, lake.read(table).drop("date")) == 1
    store = AlertStore(Path(settings.alerting.state))
    try:
        assert [one.labels["group"] for one in store.alerts().values()] == ["billing"]
        (silence,) = store.silences(NOW.timestamp())
        assert [str(matcher) for matcher in silence.matchers] == [MATCHER]
    finally:
        store.close()
