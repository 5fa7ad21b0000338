"""Which version's tables are used: those without one, ours, and no newer one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake

from config.settings import LakeSettings
from lake.errors import LakeError
from lake.schemas.format_version import DESCRIPTION, FORMAT
from lake.schemas.tables import BROKERS
from lake.storage.store import Lake

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROW = pl.DataFrame({"cluster": ["a"], "observed_at": [NOW], "poll_id": ["1"], "broker_id": [1]})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path)))


def test_a_table_carries_the_version_however_it_was_made(lake: Lake) -> None:
    lake.append(BROKERS, ROW)
    assert DeltaTable(lake.uri(BROKERS)).metadata().description == DESCRIPTION


def test_a_table_that_was_created_carries_it_too(lake: Lake) -> None:
    lake.create(BROKERS)
    assert DeltaTable(lake.uri(BROKERS)).metadata().description == DESCRIPTION


def test_a_table_of_a_release_without_versions_and_with_fewer_columns_is_used(lake: Lake) -> None:
    old = ROW.with_columns(pl.col("observed_at").dt.date().alias("date"))
    write_deltalake(lake.uri(BROKERS), old.to_arrow(), partition_by=["date"])
    assert lake.read(BROKERS)["broker_id"].to_list() == [1]
    lake.append(BROKERS, ROW.with_columns(poll_id=pl.lit("2"), host=pl.lit("kafka-1")))
    assert sorted(lake.read(BROKERS)["host"].to_list(), key=str) == [None, "kafka-1"]


def test_a_newer_table_is_neither_read_nor_written_and_loses_nothing(lake: Lake) -> None:
    newer = ROW.with_columns(pl.col("observed_at").dt.date().alias("date"))
    uri = lake.uri(BROKERS)
    description = f"Headroom, format {FORMAT + 1}"
    write_deltalake(uri, newer.to_arrow(), partition_by=["date"], description=description)
    sentence = rf"brokers: .*written by a newer Headroom \(format {FORMAT + 1}, this one knows"
    for use in (
        lambda: lake.read(BROKERS),
        lambda: lake.append(BROKERS, ROW),
        lambda: lake.append(BROKERS, ROW, {"a": 1}),
        lambda: lake.statistics(BROKERS),
    ):
        with pytest.raises(LakeError, match=sentence):
            use()
    assert DeltaTable(uri).version() == 0
