"""A lake in which every row is stored twice gives the history job each sample once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from lake.change_encoding.compact import ChangeEncoder
from lake.change_encoding.expand import HEARTBEAT, NEEDED
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, GROUP_OFFSETS, GROUPS
from lake.storage.store import Lake
from spark_metrics.samples import Source
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
def lake(tmp_path: Path) -> Lake:
    lake, encoder = Lake(LakeSettings(uri=str(tmp_path / "lake"))), ChangeEncoder(GROUP_OFFSETS)
    for table, own in OWN.items():
        for number in range(POLLS):
            at = AT + timedelta(seconds=15 * number)
            row = {"cluster": "c", "observed_at": at, "poll_id": str(number), **own}
            rows = pl.DataFrame([row], schema={name: table.polars_schema[name] for name in row})
            lake.append(table, encoder.compact("c", rows) if table.change_only else rows)
        double(lake, table)
    return lake


def source_of(lake: Lake, table: Table, together: str, since: datetime) -> Source:
    polls = (
        lake.scan(table).filter(pl.col("row_kind") == HEARTBEAT).collect()
        if table.change_only
        else None
    )
    columns = tuple(name for name in table.polars_schema if name != "date")
    if polls is not None:
        polls = polls.select(NEEDED)
    return Source(
        table=table,
        columns=columns,
        together=("cluster", together),
        since=since,
        until=END,
        polls=polls,
    )


def written(lake: Lake, table: Table) -> pl.DataFrame:
    rows = lake.scan(table).collect()
    return rows.filter(pl.col("row_kind").ne_missing(HEARTBEAT)) if table.change_only else rows


@pytest.mark.parametrize("table", OWN, ids=lambda table: table.name)
def test_each_sample_is_there_once(lake: Lake, table: Table) -> None:
    middle = AT + timedelta(minutes=1)
    source = source_of(lake, table, "cluster", middle)
    rows = written(lake, table).select(source.names)
    if not table.change_only:
        rows = rows.filter(pl.col("observed_at") >= middle)
    assert sorted(source.whole(rows)["poll_id"]) == [str(number) for number in range(4, POLLS)]
