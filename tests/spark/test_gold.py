"""Files of history that workers write, and their commits."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.schemas.grain import Grain
from lake.schemas.tables import GROUP_HISTORY
from lake.storage.store import Lake, conform
from spark_metrics.commits import commit
from spark_metrics.errors import HistoryError
from spark_metrics.files import TableFiles
from spark_metrics.gold import GoldTable
from spark_metrics.target import written

START = datetime(2026, 1, 5, 23, 58, tzinfo=UTC)


def minutes(groups: int, first: int, last: int) -> pl.DataFrame:
    rows = [
        {
            "cluster": "demo",
            "group": f"group {number:05} é",
            "grain_seconds": Grain.MINUTE.seconds,
            "window_start": (start := START + timedelta(minutes=minute)),
            "part": start.hour,
            "lag_max": number,
            "lag_buckets": [number, number + 1],
        }
        for minute in range(first, last)
        for number in reversed(range(groups))
    ]
    return conform(GROUP_HISTORY, pl.DataFrame(rows))


@pytest.fixture
def gold(spark: SparkSession, lake: Lake, settings: Settings) -> GoldTable:
    return GoldTable(spark, lake, settings.lake, GROUP_HISTORY)


def append(spark: SparkSession, gold: GoldTable, *tasks: tuple[pl.DataFrame, ...]) -> None:
    gold.append_minutes(written(spark, gold.target, tasks, iter))


def test_frames_become_a_file_a_part_with_what_readers_look_for(
    spark: SparkSession, lake: Lake, gold: GoldTable
) -> None:
    """Given two tasks, one with several frames over midnight,
    then each part of each task is one file in the order of series, whose statistics are true."""
    early = (minutes(300, 0, 1), minutes(300, 1, 3))
    append(spark, gold, early, (minutes(2, 3, 4),))

    table = DeltaTable(lake.uri(GROUP_HISTORY))
    actions = pl.DataFrame(table.get_add_actions(flatten=True)).sort("num_records")
    assert actions["num_records"].to_list() == [2, 300, 600]
    assert actions["partition.part"].to_list() == [0, 0, 23]
    assert actions["min.group"].to_list() == ["group 00000 é"] * 3
    assert actions["max.group"].to_list() == ["group 00001 é", *["group 00299 é"] * 2]
    lowest = START + timedelta(minutes=3), START + timedelta(minutes=2), START
    assert actions["min.window_start"].to_list() == list(lowest)
    assert actions["max.window_start"][2] == START + timedelta(minutes=1)
    for row in actions.iter_rows(named=True):
        path = Path(lake.uri(GROUP_HISTORY), row["path"])
        assert path.stat().st_size == row["size_bytes"]
        groups = pl.read_parquet(path)["group"]
        assert groups.is_sorted()
    wanted = pl.concat([*early, minutes(2, 3, 4)]).sort("group", "window_start")
    assert lake.read(GROUP_HISTORY).sort("group", "window_start").equals(wanted)
    by_spark = spark.read.format("delta").load(lake.uri(GROUP_HISTORY))
    assert (
        by_spark.where("group = 'group 00299 é' AND array_contains(lag_buckets, 300)").count() == 3
    )


def test_no_rows_are_a_table_without_any(spark: SparkSession, lake: Lake, gold: GoldTable) -> None:
    append(spark, gold, (minutes(1, 0, 1).clear(),))
    assert gold.exists()
    assert lake.read(GROUP_HISTORY).is_empty()


def test_what_was_changed_meanwhile_is_not_replaced(
    spark: SparkSession, lake: Lake, settings: Settings, gold: GoldTable
) -> None:
    append(spark, gold, (minutes(1, 0, 1),))
    files = TableFiles(lake.uri(GROUP_HISTORY), settings.lake)
    seen = files.position()
    replaced = list(files.current())
    append(spark, gold, (minutes(1, 1, 2),))

    (files_written,) = gold.target.write([minutes(1, 0, 1)])
    added = files_written["action"].to_list()
    with pytest.raises(HistoryError, match="changed by somebody else"):
        commit(spark, lake.uri(GROUP_HISTORY), added, replaced=replaced, seen=seen)
    assert lake.read(GROUP_HISTORY).height == 2

    seen = files.position()
    commit(spark, lake.uri(GROUP_HISTORY), added, replaced=replaced, seen=seen)
    assert lake.read(GROUP_HISTORY).height == 2
    log = Path(lake.uri(GROUP_HISTORY), "_delta_log", f"{3:020}.json").read_text()
    kinds = [next(iter(json.loads(line))) for line in log.splitlines()]
    assert sorted(kinds) == ["add", "commitInfo", "remove"]


def test_a_thread_of_its_own_commits_to_a_table_with_a_checkpoint(
    spark: SparkSession, lake: Lake, gold: GoldTable
) -> None:
    """Given a table whose log has a checkpoint, as it has after upkeep or fifty commits,
    then a thread that has not used Spark before commits to it."""
    append(spark, gold, (minutes(2, 0, 1),))
    DeltaTable(lake.uri(GROUP_HISTORY)).create_checkpoint()
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 (the way to Delta's classes)
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    with ThreadPoolExecutor(1) as pool:
        for minute in (1, 2):
            pool.submit(append, spark, gold, (minutes(2, minute, minute + 1),)).result()
    assert lake.read(GROUP_HISTORY).height == 6
