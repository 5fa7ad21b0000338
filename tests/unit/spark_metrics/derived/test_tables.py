"""Over how many tasks groups are dealt out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import polars as pl
import pytest
from pyspark.sql import SparkSession

from config.settings import LakeSettings
from lake.schemas.tables import GROUPS
from lake.storage.store import Lake
from spark_metrics.derived.tables import GROUPS_A_TASK, DerivedTables

END = datetime(2026, 1, 6, tzinfo=UTC)
NO_SPARK = cast("SparkSession", None)


def poll(lake: Lake, at: datetime, groups: int) -> None:
    names = [f"group-{number}" for number in range(groups)]
    row = {"cluster": "c", "observed_at": at, "poll_id": str(at), "group": names}
    schema = {name: GROUPS.polars_schema[name] for name in row}
    lake.append(GROUPS, pl.DataFrame(row).cast(schema))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("newest", "tasks"),
    [
        pytest.param(END - timedelta(minutes=1), 1, id="counted-at-the-end"),
        pytest.param(END - timedelta(hours=1), 3, id="nothing-was-polled-at-the-end"),
    ],
)
def test_groups_are_counted_where_the_newest_polls_are(
    tmp_path: Path, newest: datetime, tasks: int
) -> None:
    settings = LakeSettings(uri=str(tmp_path))
    lake = Lake(settings)
    poll(lake, END - timedelta(hours=20), 3 * GROUPS_A_TASK)
    poll(lake, newest, GROUPS_A_TASK)
    tables = DerivedTables(NO_SPARK, lake, settings)
    assert tables.tasks(END - timedelta(days=1), END) == tasks
