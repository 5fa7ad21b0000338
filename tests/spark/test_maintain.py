"""Upkeep of a lake with history, through both engines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.settings import Settings
from config.storage import RetentionSettings
from lake.schema import Table
from lake.store import Lake
from lake.tables import GROUP_HISTORY, GROUP_OFFSETS, GROUP_PARTITION_HISTORY, JOBS
from spark_metrics.maintain import Upkeep
from spark_metrics.streaming import HistoryJob
from tests.spark import bronze
from tests.spark.comparing import HISTORIES, all_stored, assert_recomputed, assert_same
from tests.spark.processes import kill, run, start, wait_until
from tests.support import eventually

EVERYTHING = RetentionSettings(raw_days=None, minute_days=None, hour_days=None)


@pytest.fixture
def filled(spark: SparkSession, lake: Lake, settings: Settings) -> list[bronze.Rows]:
    """A lake with history, a poll a round, so that its parts lie in many files."""
    polls = bronze.history(bronze.Model(seed=21, calm=True), polls=6)
    job = HistoryJob(spark, lake, settings)
    for half in (polls[:3], polls[3:]):
        for poll in half:
            bronze.append(lake, poll)
        job.step(everything=True)
    return polls


def upkeep(lake: Lake, settings: Settings, retention: RetentionSettings) -> Upkeep:
    return Upkeep(lake, settings.lake.model_copy(update={"retention": retention}))


def files(lake: Lake, table: Table) -> int:
    return len(list(Path(lake.uri(table)).glob("date=*/**/*.parquet")))


def test_upkeep_changes_no_row_and_history_goes_on(
    spark: SparkSession, lake: Lake, settings: Settings, filled: list[bronze.Rows]
) -> None:
    before, samples = all_stored(lake), lake.read(GROUP_OFFSETS).height
    both = upkeep(lake, settings, EVERYTHING)
    done = {one.table: one for one in both.of_samples()}
    assert done["group_offsets"].compacted_files == 6
    assert {one.table for one in both.of_history(spark)} >= {table.name for table in HISTORIES}
    assert_same(all_stored(lake), before)
    assert lake.read(GROUP_OFFSETS).height == samples
    job = HistoryJob(spark, lake, settings)
    assert job.step(everything=True).status == "waiting"
    assert_recomputed(lake, filled)


def test_each_grain_is_kept_for_its_own_time(
    spark: SparkSession, lake: Lake, settings: Settings, filled: list[bronze.Rows]
) -> None:
    """Given history of months ago, when minutes are kept for 30 days and hours for 400,
    then the minutes are gone and hours and days are not."""
    both = upkeep(lake, settings, RetentionSettings(hour_days=None))
    both.of_samples()
    both.of_history(spark)
    assert lake.read(GROUP_OFFSETS).is_empty()
    assert set(lake.read(GROUP_HISTORY)["grain_seconds"]) == {3600, 86400}
    upkeep(lake, settings, RetentionSettings(hour_days=1)).of_history(spark)
    assert set(lake.read(GROUP_HISTORY)["grain_seconds"]) == {86400}


def test_parts_of_past_days_in_several_files_become_one(
    spark: SparkSession, lake: Lake, settings: Settings, filled: list[bronze.Rows]
) -> None:
    rows = spark.read.format("delta").load(lake.uri(GROUP_PARTITION_HISTORY))
    halves = [rows.where("partition = 0"), rows.where("partition <> 0")]
    for mode, half in zip(("overwrite", "append"), halves, strict=True):
        writer = half.coalesce(1).write.format("delta").mode(mode)
        writer.partitionBy("date", "grain_seconds", "part").save(lake.uri(GROUP_PARTITION_HISTORY))
    before = all_stored(lake)
    done = {one.table: one for one in upkeep(lake, settings, EVERYTHING).of_history(spark)}
    assert done[GROUP_PARTITION_HISTORY.name].compacted_files == 3  # an hour's minutes, hours, day
    assert_same(all_stored(lake), before)
    again = {one.table: one for one in upkeep(lake, settings, EVERYTHING).of_history(spark)}
    assert again[GROUP_PARTITION_HISTORY.name].compacted_files == 0


def test_in_the_service_it_is_told_in_jobs(
    spark: SparkSession, lake: Lake, settings: Settings, filled: list[bronze.Rows]
) -> None:
    broken = Path(lake.uri(GROUP_OFFSETS)) / "_delta_log" / f"{0:020}.json"
    broken.write_text("{broken\n")
    both = upkeep(lake, settings, EVERYTHING)
    with pytest.raises(Exception, match="group_offsets: upkeep failed"):
        both.of_samples()
    both.beside_history(spark)
    since = datetime.now(UTC) - timedelta(minutes=5)

    def told() -> dict[str, str | None]:
        rows = lake.read(JOBS, since=since).rows(named=True)
        return {row["status"]: row["error"] for row in rows if row["job"] == "upkeep"}

    found = eventually(lambda: told() if len(told()) == 2 else None, what="both halves in jobs")
    assert found["ok"] is None
    assert "group_offsets" in str(found["failed"])


def test_the_command_beside_a_running_job_leaves_history_to_it(
    config: Path, lake: Lake, settings: Settings
) -> None:
    for poll in bronze.history(bronze.Model(seed=22), polls=3):
        bronze.append(lake, poll)
    process = start(config, "run")
    try:
        wait_until((Path(lake.checkpoints_uri) / "history.lock").exists, process, 30)
        done = run(config, "maintain")
        assert done.returncode == 0, done.stderr
        assert "it keeps its own tables up" in done.stderr
        assert "6 tables, 0 days expired" not in done.stderr  # months ago: beyond retention
    finally:
        kill(process)
