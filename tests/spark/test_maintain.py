"""Maintenance of a lake with history, through both engines."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from config.settings import Settings
from config.storage import RetentionSettings
from lake.maintenance.run import maintain
from lake.schemas.tables import (
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    JOBS,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake
from lake.storage.table_maintenance import Maintained
from spark_metrics.maintain import Maintenance
from spark_metrics.streaming import HistoryJob
from tests.spark import bronze
from tests.spark.comparing import HISTORIES, all_stored, assert_recomputed, assert_same
from tests.spark.processes import DEADLINE_SECONDS, kill, start, wait_until

EVERYTHING = RetentionSettings(raw_days=None, minute_days=None, hour_days=None)


def maintenance(lake: Lake, settings: Settings, retention: RetentionSettings) -> Maintenance:
    return Maintenance(lake, settings.lake.model_copy(update={"retention": retention}))


def maintained(lake: Lake, settings: Settings, retention: RetentionSettings) -> list[Maintained]:
    return maintain(lake, settings.lake.model_copy(update={"retention": retention}))


def test_upkeep_deletes_what_is_too_old_and_changes_nothing_else(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given history of months ago, when maintenance runs with one retention after the other,
    then only the rows of grains that are too old go, and the job goes on; how it went in the
    service stands in ``jobs``."""
    polls = bronze.history(bronze.Model(seed=21, calm=True), polls=6)
    for poll in polls:
        bronze.append(lake, poll)
    HistoryJob(spark, lake, settings).step(everything=True)
    before, samples = all_stored(lake), lake.read(GROUP_OFFSETS).height

    done = {one.table: one for one in maintained(lake, settings, EVERYTHING)}
    assert done["group_offsets"].compacted_files == 6
    assert lake.read(GROUP_OFFSETS).height == samples
    _scatter(spark, lake.uri(GROUP_PARTITION_HISTORY))
    done = {one.table: one for one in maintenance(lake, settings, EVERYTHING).of_history(spark)}
    assert done.keys() >= {table.name for table in HISTORIES}
    assert GROUP_OFFSETS.name not in done  # what delta-rs writes is the collectors' to maintain
    assert done[GROUP_PARTITION_HISTORY.name].compacted_files == 6  # of minutes, hours, day
    assert_same(all_stored(lake), before)
    assert_recomputed(lake, polls)
    assert HistoryJob(spark, lake, settings).step(everything=True).status == "waiting"

    kept = RetentionSettings(hour_days=None)
    maintained(lake, settings, kept)
    history = maintenance(lake, settings, kept)
    history.between_micro_batches(spark)
    assert lake.read(GROUP_OFFSETS).is_empty()
    assert set(lake.read(GROUP_HISTORY)["grain_seconds"]) == {3600, 86400}

    broken = Path(lake.uri(GROUP_HISTORY)) / "_delta_log" / f"{0:020}.json"
    broken.write_text("{broken\n")
    history.between_micro_batches(spark)
    rows = lake.read(JOBS, pl.col("job") == "maintenance").sort("started_at").rows(named=True)
    assert [row["status"] for row in rows] == ["ok", "failed"]
    assert rows[0]["error"] is None
    assert "group_history: maintenance failed" in rows[1]["error"]


def _scatter(spark: SparkSession, uri: str, first_half: str = "partition = 0") -> None:
    """Write a history table anew, each part of it in two files."""
    rows = spark.read.format("delta").load(uri).localCheckpoint()
    halves = [rows.where(first_half), rows.where(f"NOT ({first_half})")]
    for mode, half in zip(("overwrite", "append"), halves, strict=True):
        writer = half.coalesce(1).write.format("delta").mode(mode)
        writer.partitionBy("date", "grain_seconds", "hour").save(uri)


@pytest.mark.exhaustive
def test_killed_between_two_tables_it_changes_no_row_and_is_done_again(
    spark: SparkSession, config: Path, lake: Lake, settings: Settings
) -> None:
    """Given history in many files, when ``maintain`` is killed as soon as it has put those of one
    table together, then all rows are there, and the next one does what was left."""
    polls = bronze.history(bronze.Model(seed=24, calm=True), polls=4)
    for poll in polls:
        bronze.append(lake, poll)
    HistoryJob(spark, lake, settings).step(everything=True)
    before = all_stored(lake)
    tables = [GROUP_PARTITION_HISTORY, TOPIC_HISTORY]
    for table in tables:
        _scatter(spark, lake.uri(table), "hash(topic, window_start) % 2 = 0")

    def optimised() -> list[str]:
        return [
            table.name
            for table in tables
            if any(
                commit["operation"] == "OPTIMIZE"
                for commit in DeltaTable(lake.uri(table)).history()
            )
        ]

    process = start(config, "maintain")
    try:
        wait_until(lambda: bool(optimised()), process, DEADLINE_SECONDS)
    finally:
        kill(process)
    assert len(optimised()) == 1
    assert_same(all_stored(lake), before)

    maintenance(lake, settings, EVERYTHING).of_history(spark)
    assert len(optimised()) == 2
    assert_same(all_stored(lake), before)
    assert_recomputed(lake, polls)
