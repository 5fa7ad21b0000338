from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from config.settings import ClusterSettings, Settings, SparkSettings
from lake.change_encoding.compact import ChangeEncoder
from lake.errors import LakeError
from lake.schemas.tables import (
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    JOBS,
    PARTITIONS,
)
from lake.storage.store import Lake
from spark_metrics.errors import HistoryError
from spark_metrics.history_tables import HistoryTables, backfill
from spark_metrics.progress import JobRecords, MicroBatch, Progress
from spark_metrics.samples import Source
from spark_metrics.streaming import HistoryJob
from tests.selection import exhaustive
from tests.spark import bronze
from tests.spark.comparing import HISTORIES, all_stored, assert_recomputed, assert_same
from tests.spark.jobs import catch_up
from tests.spark.pasts import eventful, quiet
from tests.support import compact


def test_history_equals_a_recomputation(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given samples, then history is what plain Python makes of them, and both engines read it;
    neither a compaction nor a backfill changes a row."""
    polls = eventful(seed=1, polls=60)
    for part in (polls[:20], polls[20:40], polls[40:]):
        bronze.append(lake, *part)
    job = HistoryJob(spark, lake, settings)
    catch_up(job)
    assert_recomputed(lake, polls)
    rounds = lake.read(JOBS)
    assert set(rounds["status"]) == {"read", "ok"}
    assert rounds["rows_read"].sum() == sum(len(rows) for poll in polls for rows in poll.values())
    newest = polls[-1]["collections"][0]["observed_at"]
    age = (rounds["finished_at"] - newest).dt.total_seconds()
    done = rounds["status"] == "ok"
    assert rounds["delay_seconds"].filter(done).to_list() == pytest.approx(
        age.filter(done).to_list(), abs=2
    )
    before = all_stored(lake)
    for table in HISTORIES:
        by_spark = spark.read.format("delta").load(lake.uri(table))
        assert by_spark.columns == list(table.polars_schema)
        assert by_spark.count() == lake.read(table).height > 0

    compact(lake, GROUP_OFFSETS)
    again = job.step(everything=True)
    assert (again.status, again.rows_read) == ("waiting", 0)
    by_spark = spark.read.format("delta").load(lake.uri(GROUP_OFFSETS))
    assert by_spark.count() == sum(len(poll["group_offsets"]) for poll in polls)
    assert_same(all_stored(lake), before)

    start, end = bronze.START + timedelta(minutes=1), bronze.START + timedelta(minutes=5)
    rebuilt = backfill(HistoryTables(spark, lake, settings), start, end)
    assert (rebuilt.start, rebuilt.end) == (start, end)
    assert_same(all_stored(lake), before)


def test_any_order_and_any_batches_give_the_same(
    request: pytest.FixtureRequest, spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Polls arrive out of order, late and some of them twice, in batches of any size; the job is
    made anew now and then, and tables are compacted in between. Other ones each day of the year."""
    seed = request.config.getoption("day")
    dice = random.Random(seed)  # noqa: S311 (a seeded test)
    polls = eventful(seed=seed, polls=40)
    arriving = sorted(range(len(polls)), key=lambda number: number + dice.choice((0, 0, 0, 17)))
    arriving += dice.sample(arriving, 3)  # appended twice, as after a time-out
    job = HistoryJob(spark, lake, settings)
    while arriving:
        size = dice.randrange(8, 19)
        batch, arriving = arriving[:size], arriving[size:]
        bronze.append(lake, *(polls[number] for number in batch))
        if dice.random() < 0.4:
            compact(lake, GROUP_OFFSETS)
        if dice.random() < 0.4:
            job = HistoryJob(spark, lake, settings)
        job.step(everything=dice.random() < 0.5)
    catch_up(job)
    assert_recomputed(lake, polls)


def test_backfill_leaves_what_it_cannot_know(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    tables = HistoryTables(spark, lake, settings)
    with pytest.raises(HistoryError, match="no samples yet"):
        backfill(tables, bronze.START, bronze.START + timedelta(hours=1))
    bronze.append(lake, *bronze.history(bronze.Model(seed=7), polls=2))
    with pytest.raises(HistoryError, match="no samples before 2026-01-05 23:57"):
        backfill(tables, bronze.START - timedelta(hours=2), bronze.START - timedelta(hours=1))
    rebuilt = backfill(tables, bronze.START - timedelta(days=9), bronze.START + timedelta(hours=1))
    assert rebuilt.start == bronze.START


def test_samples_that_come_too_late_are_counted_until_a_backfill(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    settings = Settings(
        clusters=[ClusterSettings(name="demo", bootstrap_servers="localhost:9092")],
        lake=settings.lake,
        spark=SparkSettings(late_after_seconds=3600),
    )
    now = datetime.now(UTC).replace(microsecond=0)
    model = bronze.Model(seed=8, calm=True)
    late = bronze.history(model, polls=2, start=now - timedelta(hours=2))
    in_time = bronze.history(model, polls=2, start=now - timedelta(minutes=20))
    newest = bronze.history(model, polls=1, start=now)
    bronze.append(lake, *newest)
    job = HistoryJob(spark, lake, settings)
    catch_up(job)
    bronze.append(lake, *late, *in_time)
    catch_up(job)
    assert_recomputed(lake, [*in_time, *newest])
    jobs = lake.read(JOBS)
    assert jobs["late_rows"].sum() == sum(len(rows) for poll in late for rows in poll.values())
    backfill(
        HistoryTables(spark, lake, settings), now - timedelta(hours=3), now - timedelta(hours=1)
    )
    assert_recomputed(lake, [*late, *in_time, *newest])


def test_all_batches_of_a_look_have_one_limit_for_late_samples(
    spark: SparkSession, lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a look that reads a commit a batch, the newest samples first, and that is killed after
    the first batch, when another process does it again, then none of its samples is late."""
    monkeypatch.setattr("spark_metrics.arrivals.MOST_FILES", 1)
    settings = settings.model_copy(update={"spark": SparkSettings(late_after_seconds=60)})
    model = bronze.Model(seed=14, calm=True)
    first = bronze.history(model, polls=1)
    older = bronze.history(model, polls=1, start=bronze.START + timedelta(minutes=2))
    newer = bronze.history(model, polls=1, start=bronze.START + timedelta(minutes=30))
    for poll in first:
        bronze.append(lake, poll)
    catch_up(HistoryJob(spark, lake, settings))
    for poll in (*newer, *older):
        bronze.append(lake, poll)

    add = JobRecords.add

    def killed(records: JobRecords, done: MicroBatch, progress: Progress | None) -> None:
        last = records.last()
        if (
            last is not None
            and last.newest is not None
            and last.newest > older[-1]["groups"][0]["observed_at"]
        ):
            raise LakeError("killed")
        add(records, done, progress)

    with monkeypatch.context() as patch:
        patch.setattr(JobRecords, "add", killed)
        with pytest.raises(HistoryError, match="killed"):
            HistoryJob(spark, lake, settings).step()
    catch_up(HistoryJob(spark, lake, settings))
    assert lake.read(JOBS)["late_rows"].sum() == 0
    assert_recomputed(lake, [*first, *older, *newer])


def test_unknown_is_not_zero(spark: SparkSession, lake: Lake, settings: Settings) -> None:
    """A poll that knows no partition has no lag; one that knows some has their sum."""
    base = {"cluster": "demo", "group": "g", "topic": "t"}
    rows = []
    for second, lags in ((0, (5, 7)), (5, (None, None)), (10, (9, None))):
        at = bronze.START + timedelta(seconds=second)
        for partition, lag in enumerate(lags):
            rows.append(
                {**base, "partition": partition, "lag": lag, "observed_at": at, "poll_id": str(at)}
            )
    lake.append(GROUP_OFFSETS, bronze.frame(GROUP_OFFSETS, rows))
    catch_up(HistoryJob(spark, lake, settings))
    minute = lake.read(GROUP_HISTORY, pl.col("grain_seconds") == 60).row(0, named=True)
    assert minute["lag_min"] == 9
    assert minute["lag_max"] == 12
    assert minute["lag_mean"] == 10.5
    assert minute["samples"] == 3
    assert minute["unknown_samples"] == 2
    assert minute["unknown_partitions_max"] == 2
    assert minute["arrived"] is None
    assert minute["arrival_per_second"] is None
    assert minute["samples_expected"] is None
    row = lake.read(
        GROUP_PARTITION_HISTORY, pl.col("grain_seconds") == 60, pl.col("partition") == 1
    ).row(0, named=True)
    assert (row["lag_mean"], row["unknown_samples"]) == (7.0, 2)


def test_a_step_that_was_not_written_down_and_a_lost_history_are_done_again(
    spark: SparkSession, lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a job that ends after the history has the minutes and before its progress is kept, and
    then a history of which a table is lost."""
    polls = eventful(seed=10, polls=24)
    bronze.append(lake, *polls[:16])

    add = JobRecords.add

    def lost(records: JobRecords, done: MicroBatch, progress: Progress | None) -> None:
        if done.status == "ok":
            raise LakeError("no room left")
        add(records, done, progress)

    with monkeypatch.context() as patch:
        patch.setattr(JobRecords, "add", lost)
        with pytest.raises(LakeError, match="no room left"):
            HistoryJob(spark, lake, settings).step(everything=True)
    assert lake.read(GROUP_HISTORY).height > 0
    bronze.append(lake, *polls[16:])
    catch_up(HistoryJob(spark, lake, settings))
    assert_recomputed(lake, polls)
    shutil.rmtree(lake.uri(GROUP_HISTORY))
    catch_up(HistoryJob(spark, lake, settings))
    assert_recomputed(lake, polls)


def without_deleted(lake: Lake) -> None:
    """Put files together, and delete at once what they were."""
    compact(lake, GROUP_OFFSETS)
    DeltaTable(lake.uri(GROUP_OFFSETS)).vacuum(0, dry_run=False, enforce_retention_duration=False)


def without_log(lake: Lake) -> None:
    """Delete the log of all versions but the newest."""
    table = DeltaTable(lake.uri(GROUP_OFFSETS))
    table.create_checkpoint()
    for version in range(table.version()):
        (Path(lake.uri(GROUP_OFFSETS)) / "_delta_log" / f"{version:020}.json").unlink()


def test_a_job_that_was_away_for_longer_than_what_it_missed_is_kept(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given a job that comes back when the files, or the versions, that it has not read yet are
    no longer there one by one, then it begins anew and misses nothing."""
    polls = bronze.history(bronze.Model(seed=16), polls=7)
    bronze.append(lake, polls[0])
    catch_up(HistoryJob(spark, lake, settings))
    streams = [_stream(lake)]
    for missed, upkeep in ((polls[1:4], without_deleted), (polls[4:], without_log)):
        for poll in missed:
            bronze.append(lake, poll)
        upkeep(lake)
        catch_up(HistoryJob(spark, lake, settings))
        streams.append(_stream(lake))
    assert len(set(streams)) == len(streams)
    assert_recomputed(lake, polls)


def _stream(lake: Lake) -> str:
    last = JobRecords(lake).last()
    assert last is not None
    return last.stream


def test_history_of_samples_that_were_left_out_is_the_same(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Collectors write what changed alone, commit by commit, and the job follows."""
    polls = eventful(seed=13, polls=30)
    encoders = {table.name: ChangeEncoder(table) for table in bronze.SOURCES if table.change_only}
    job = HistoryJob(spark, lake, settings)
    for number, poll in enumerate(polls, start=1):
        for table in bronze.SOURCES:
            rows = bronze.frame(table, poll[table.name])
            if table.name in encoders and not rows.is_empty():
                rows = encoders[table.name].compact("demo", rows)
            lake.append(table, rows)
        if number in (9, 20):
            job.step(everything=number == 20)
    catch_up(job)
    written = lake.scan(PARTITIONS).filter(pl.col("row_kind").is_null()).collect()
    assert written.height < sum(len(poll["partitions"]) for poll in polls)
    assert_recomputed(lake, polls)


@pytest.mark.parametrize("rows_a_task", [1_000_000, *exhaustive(40)])
def test_minutes_that_follow_the_last_ones_are_the_same(
    spark: SparkSession,
    lake: Lake,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    rows_a_task: int,
) -> None:
    """Given a large cluster, of which the job keeps what stands instead of reading a quarter of an
    hour again, when minutes come one by one, late and twice, then history is the recomputation."""
    monkeypatch.setattr("spark_metrics.history_tables.SMALL_ROWS", 0)
    monkeypatch.setattr("spark_metrics.history_tables.tune", lambda *_, **__: None)
    monkeypatch.setattr("spark_metrics.samples.ROWS_A_TASK", rows_a_task)
    used = []
    written = Source.written

    def noting(source: Source, *found: Any) -> DataFrame:
        used.append(found[-1] is not None)
        return written(source, *found)

    monkeypatch.setattr(Source, "written", noting)
    polls = quiet(seed=17, polls=50)
    late = polls[20]
    encoders = {table.name: ChangeEncoder(table) for table in bronze.SOURCES if table.change_only}
    job = HistoryJob(spark, lake, settings)
    minutes = groupby((poll for poll in polls if poll is not late), key=_minute_of)
    for number, (_, of_minute) in enumerate(minutes):
        for poll in of_minute:
            for table in bronze.SOURCES:
                rows = bronze.frame(table, poll[table.name])
                if table.name in encoders and not rows.is_empty():
                    rows = encoders[table.name].compact("demo", rows)
                lake.append(table, rows)
        if number == 2:
            bronze.append(lake, late, polls[3])
        job.step()
    assert used.count(True) >= 2 * 2
    catch_up(job)
    assert_recomputed(lake, polls)


def _minute_of(poll: bronze.Rows) -> datetime:
    moment: datetime = poll["collections"][0]["observed_at"]
    return moment.replace(second=0)
