from __future__ import annotations

import random
import signal
import time
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.schemas.grain import PARTITIONED_BY
from lake.schemas.tables import GROUP_OFFSETS, GROUP_PARTITION_HISTORY, JOBS, TOPIC_HISTORY
from lake.storage.store import Lake
from spark_metrics.gold import define
from spark_metrics.history_tables import HistoryTables
from spark_metrics.progress import TimeRange
from spark_metrics.samples import read
from spark_metrics.streaming import HistoryJob
from tests.selection import exhaustive
from tests.spark import bronze
from tests.spark.comparing import HISTORIES, assert_recomputed
from tests.spark.pasts import eventful
from tests.spark.processes import DEADLINE_SECONDS, kill, run, start, wait_until

RAW_DAYS = "HEADROOM_LAKE__RETENTION__RAW_DAYS"


def commits(lake: Lake) -> int:
    """Count what the job has written so far: commits of the last table and rounds."""
    folder = Path(lake.uri(GROUP_PARTITION_HISTORY)).parent
    return len(list(folder.glob("*/_delta_log/*.json")))


@pytest.mark.parametrize("kills", [1, *exhaustive(3)])
def test_killed_at_random_points_the_history_is_the_same(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    config: Path,
    lake: Lake,
    settings: Settings,
    kills: int,
) -> None:
    """Given a lake that grows, when the job is killed again and again between any two commits,
    then what it leaves in the end is what plain Python computes."""
    polls = eventful(seed=11, polls=9 * (kills + 1))
    dice = random.Random(request.config.getoption("day"))  # noqa: S311 (a seeded test)
    bronze.append(lake, *polls[:9])
    for part in range(1, kills + 1):
        before = commits(lake)
        process = start(config, "run")
        enough = dice.randrange(1, 8)
        try:
            wait_until(lambda: commits(lake) >= before + enough, process, DEADLINE_SECONDS)  # noqa: B023
            time.sleep(dice.random())
        finally:
            kill(process, alone=dice.random() < 0.5)
        bronze.append(lake, *polls[9 * part : 9 * (part + 1)])
    job = HistoryJob(spark, lake, settings)
    job.step(everything=True)
    while not job.is_done:
        job.step(everything=True)
    assert_recomputed(lake, polls)


def test_what_a_killed_jobs_spark_still_writes_is_left_out(
    spark: SparkSession, settings: Settings, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a job that was killed when it had seen that there is nothing to replace, when another
    has written the minutes by the time that its Spark appends them, then they are there once."""
    polls = eventful(seed=12, polls=24)
    bronze.append(lake, *polls)
    middle, end = bronze.START + timedelta(minutes=2), bronze.START + timedelta(minutes=5)
    killed = HistoryTables(spark, lake, settings)
    killed.compute(TimeRange(start=bronze.START, end=middle))
    seen = {table: lake.files(table) for table in HISTORIES}
    rest = TimeRange(start=middle, end=end)
    HistoryTables(spark, Lake(settings.lake), settings).compute(rest)
    written = {table: read(spark, lake, table).count() for table in HISTORIES}
    with monkeypatch.context() as patch:
        patch.setattr(lake, "files", seen.__getitem__)
        killed.compute(rest)
    assert {table: read(spark, lake, table).count() for table in HISTORIES} == written


def test_run_waits_for_the_first_samples_works_alone_and_stops_when_told(
    config: Path, lake: Lake
) -> None:
    """Beside it a second job is refused, and ``maintain`` leaves history to it."""
    process = start(config, "run")
    try:
        wait_until((Path(lake.checkpoints_uri) / "history.lock").exists, process, DEADLINE_SECONDS)
        second = run(config, "once")
        assert second.returncode == 1
        assert "another history job works on" in second.stderr
        assert len(second.stderr.strip().splitlines()) == 1
        wait_until(lambda: lake.exists(JOBS), process, DEADLINE_SECONDS)
        assert set(lake.read(JOBS)["status"]) == {"waiting"}
        polls = bronze.history(bronze.Model(seed=3), polls=4)
        bronze.append(lake, *polls)
        wait_until(lambda: "ok" in lake.read(JOBS)["status"].to_list(), process, DEADLINE_SECONDS)
        assert lake.read(GROUP_PARTITION_HISTORY).height > 0
        maintained = run(config, "maintain", environment={RAW_DAYS: "7"})
        assert maintained.returncode == 0, maintained.stderr
        assert "it maintains its own tables" in maintained.stderr
        assert "days expired" in maintained.stderr
        assert lake.read(GROUP_OFFSETS).is_empty()  # months ago: beyond retention
        stopped_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        assert time.monotonic() - stopped_at < 10
    finally:
        if process.poll() is None:
            kill(process)


def test_a_table_whose_making_was_cut_off_is_made_with_its_partitions(
    spark: SparkSession, lake: Lake
) -> None:
    """Given folders without a commit, as a kill leaves them, when the table is made, then it has
    its partitions: the first rows would make one without."""
    (Path(lake.uri(TOPIC_HISTORY)) / "_delta_log" / "_staged_commits").mkdir(parents=True)
    define(spark, lake, TOPIC_HISTORY, PARTITIONED_BY)
    handle = lake.handle(TOPIC_HISTORY)
    assert handle is not None
    assert handle.metadata().partition_columns == list(PARTITIONED_BY)
