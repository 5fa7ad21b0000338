"""How derived tables are read and written; what Spark makes of it, ``tests/spark`` says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import polars as pl
import pytest
from pyspark.sql import SparkSession

from config.settings import LakeSettings
from lake.schemas.tables import CAPACITY, CAPACITY_INTERVALS, GROUPS
from lake.storage.store import Lake
from spark_metrics.derived import tables as derived
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


def test_what_a_killed_process_has_asked_for_is_left_out_once_another_one_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of the writes is in the log when the next one is numbered."""
    seen: list[tuple[str, int]] = []

    def save(*_: object, txnAppId: str, txnVersion: str, **__: str) -> None:
        seen.append((txnAppId, int(txnVersion)))

    monkeypatch.setattr(derived, "save", save)
    monkeypatch.setattr(derived, "with_all_columns", lambda rows, _: rows)
    monkeypatch.setattr(derived, "F", Mock())
    settings = LakeSettings(uri=str(tmp_path))
    for _ in range(2):
        tables = DerivedTables(NO_SPARK, Lake(settings), settings)
        tables.rewrite(CAPACITY, Mock(), "cluster")
        tables.replace_hours(CAPACITY_INTERVALS, Mock())
    writers, numbers = zip(*seen, strict=True)
    assert len(set(writers)) == 1
    assert list(numbers) == sorted(set(numbers))
