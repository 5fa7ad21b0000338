"""A lake in which every row is stored twice gives the history job each sample once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from lake.change_encoding.compact import Thinning
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, GROUP_OFFSETS, GROUPS
from lake.storage.store import Lake
from spark_metrics.bronze import BronzeTable
from spark_metrics.derived.of_groups import Source
from spark_metrics.sampling import Reader
from spark_metrics.tasks import Share
from tests.support import double

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
END = AT + timedelta(minutes=2)
POLLS = 8
OWN = {
    GROUPS: {"group": "g", "members": 1},
    COLLECTIONS: {"source": "kafka", "section": "groups", "interval_seconds": 15.0},
    GROUP_OFFSETS: {"group": "g", "topic": "t", "partition": 0, "lag": 1},
}


@pytest.fixture
def settings(tmp_path: Path) -> LakeSettings:
    return LakeSettings(uri=str(tmp_path / "lake"))


@pytest.fixture
def lake(settings: LakeSettings) -> Lake:
    lake, thinning = Lake(settings), Thinning(GROUP_OFFSETS)
    for table, own in OWN.items():
        for number in range(POLLS):
            at = AT + timedelta(seconds=15 * number)
            row = {"cluster": "c", "observed_at": at, "poll_id": str(number), **own}
            rows = pl.DataFrame([row], schema={name: table.polars_schema[name] for name in row})
            lake.append(table, thinning.thinned("c", rows) if table.carried else rows)
        double(lake, table)
    return lake


@pytest.mark.parametrize("table", OWN, ids=lambda table: table.name)
def test_in_time_ranges_each_sample_is_there_once(
    lake: Lake, settings: LakeSettings, table: Table
) -> None:
    bronze = BronzeTable(lake, settings, table)
    assert bronze.position() is not None
    columns = ("interval_seconds",) if table is COLLECTIONS else ("group",)
    reader = Reader(table, columns, Share(), timedelta(seconds=30))
    middle = AT + timedelta(minutes=1)
    first = reader.read(bronze.files(AT, middle), AT, middle)
    second = reader.read(bronze.files(middle, END), middle, END)
    assert first.columns[:4] == ["cluster", "observed_at", "poll_id", columns[0]]
    for rows, polls in ((first, range(4)), (second, range(2, POLLS))):
        assert sorted(rows["poll_id"]) == [str(number) for number in polls]


@pytest.mark.parametrize("table", [GROUPS, GROUP_OFFSETS], ids=lambda table: table.name)
def test_of_groups_each_sample_is_there_once(
    lake: Lake, settings: LakeSettings, table: Table
) -> None:
    bronze = BronzeTable(lake, settings, table)
    assert bronze.position() is not None
    source = Source(bronze.files(AT, END), AT, END, POLLS)
    rows = source.whole(source.written(Share("group")))
    assert sorted(rows["poll_id"]) == [str(number) for number in range(POLLS)]
