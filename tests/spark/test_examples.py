"""The query of docs/history-internals.md in plain Spark SQL, as it is printed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from tests.change_only import COLUMNS, example, write_polls


def test_the_sql_gives_every_poll_whole(spark: SparkSession, tmp_path: Path) -> None:
    whole = write_polls(tmp_path / "lake")
    query = example("sql").replace("headroom-data/lake", str(tmp_path / "lake"))
    found = pl.DataFrame(spark.sql(query).toArrow())
    assert found.sort(COLUMNS).rows() == whole.sort(COLUMNS).rows()
