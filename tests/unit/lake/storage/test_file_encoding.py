from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from config.settings import LakeSettings
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_MEMBERS, GROUP_OFFSETS, PARTITIONS
from lake.storage.store import Lake

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SERIES, ROWS_OF_EACH = 5_000, 6


def _poll(table: Table, name: str, further: list[pl.Expr]) -> pl.DataFrame:
    """Return the rows of a poll in the order in which brokers answer: by no name."""
    rows = pl.DataFrame({"number": range(SERIES * ROWS_OF_EACH)})
    return rows.select(
        pl.lit("a").alias("cluster"),
        pl.lit(NOW).cast(table.polars_schema["observed_at"]).alias("observed_at"),
        pl.lit("1").alias("poll_id"),
        (pl.lit(f"{name}-") + (pl.col("number") * 7 % SERIES).cast(pl.String)).alias(name),
        *further,
    )


@pytest.mark.parametrize(
    ("table", "name", "further"),
    [
        pytest.param(
            GROUP_OFFSETS,
            "group",
            [pl.lit("t").alias("topic"), pl.col("number").cast(pl.Int32).alias("partition")],
            id="offsets",
        ),
        pytest.param(
            GROUP_MEMBERS,
            "group",
            [pl.col("number").cast(pl.String).alias("member_id")],
            id="members",
        ),
        pytest.param(
            PARTITIONS,
            "topic",
            [pl.col("number").cast(pl.Int32).alias("partition")],
            id="partitions",
        ),
    ],
)
def test_a_series_lies_in_a_part_of_a_large_file_that_is_found_by_its_name(
    tmp_path: Path, table: Table, name: str, further: list[pl.Expr]
) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    rows = _poll(table, name, further)
    lake.append(table, rows)
    (file,) = Path(lake.uri(table)).glob("*/*.parquet")
    parts = pq.ParquetFile(file).metadata
    column = parts.schema.names.index(name)
    ranges = [
        (found.min, found.max)
        for part in range(parts.num_row_groups)
        for found in (parts.row_group(part).column(column).statistics,)
    ]
    wanted = f"{name}-1234"
    assert sum(first <= wanted <= last for first, last in ranges) == 1
    assert len(ranges) > 1
    found = lake.read(table, pl.col(name) == wanted, cluster="a")
    expected = rows.filter(pl.col(name) == wanted)
    assert found.select(expected.columns).rows() == expected.rows()
