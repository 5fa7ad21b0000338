"""Files of samples that cannot be read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.schemas.tables import GROUP_OFFSETS
from lake.storage.store import Lake
from spark_metrics.errors import HistoryError
from spark_metrics.history_tables import HistoryTables, backfill
from spark_metrics.streaming import TRIES, HistoryJob
from tests.spark import bronze
from tests.spark.comparing import assert_recomputed
from tests.spark.jobs import catch_up


def test_a_file_that_stays_broken_holds_up_nothing_else(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given a file of samples that was lost, then after a few tries history goes on without it,
    says which one it is, and a backfill takes it in once it is restored."""
    polls = bronze.history(bronze.Model(seed=14), polls=9)
    bronze.append(lake, *polls[:3])
    (path,) = Path(lake.uri(GROUP_OFFSETS)).glob("*/*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    bronze.append(lake, *polls[3:6])
    job = HistoryJob(spark, lake, settings)
    for _ in range(TRIES - 1):
        with pytest.raises(HistoryError, match="group_offsets: a file cannot be read"):
            job.step(everything=True)
    with pytest.raises(HistoryError, match=f"left out, .*{path.name}.*backfill"):
        job.step(everything=True)
    catch_up(job)
    bronze.append(lake, *polls[6:])
    catch_up(job)
    lost = [{**poll, GROUP_OFFSETS.name: []} for poll in polls[:3]]
    assert_recomputed(lake, [*lost, *polls[3:]])

    path.write_bytes(whole)
    backfill(HistoryTables(spark, lake, settings), bronze.START, bronze.START + timedelta(hours=2))
    assert_recomputed(lake, polls)


@pytest.mark.exhaustive
def test_a_second_broken_file_is_named_like_the_first(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given two broken files of the same minutes, when history goes on without one of them, then
    it does not go on without the other before that one was named, too."""
    polls = bronze.history(bronze.Model(seed=16), polls=9)
    bronze.append(lake, *polls[:3])
    bronze.append(lake, *polls[3:6])
    broken = sorted(Path(lake.uri(GROUP_OFFSETS)).glob("*/*.parquet"))
    for path in broken:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    bronze.append(lake, *polls[6:])
    job = HistoryJob(spark, lake, settings)
    left_out = []
    for _ in broken:
        for _ in range(TRIES):
            with pytest.raises(HistoryError, match="group_offsets: a file cannot be read") as error:
                job.step(everything=True)
        left_out.append(str(error.value))
    assert all("from now on left out" in line for line in left_out)
    assert {path.name for path in broken for line in left_out if path.name in line} == {
        path.name for path in broken
    }
    catch_up(job)
    lost = [{**poll, GROUP_OFFSETS.name: []} for poll in polls[:6]]
    assert_recomputed(lake, [*lost, *polls[6:]])


@pytest.mark.exhaustive
def test_a_half_written_file_and_one_that_is_lost_once_it_was_noted(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given a file that is half there, then history stops until it is whole; given that it is gone
    once looking for new samples reads it no more, then computing its minutes anew fails a few
    times only."""
    polls = bronze.history(bronze.Model(seed=15), polls=6)
    bronze.append(lake, *polls[:3])
    (path,) = Path(lake.uri(GROUP_OFFSETS)).glob("*/*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    job = HistoryJob(spark, lake, settings)
    with pytest.raises(HistoryError, match="group_offsets: a file cannot be read") as failure:
        job.step(everything=True)
    assert len(str(failure.value).splitlines()) == 1
    path.write_bytes(whole)
    catch_up(job)
    assert_recomputed(lake, polls[:3])
    path.unlink()
    bronze.append(lake, *polls[3:])
    for _ in range(TRIES - 1):
        with pytest.raises(HistoryError, match="group_offsets: a file cannot be read"):
            job.step(everything=True)
    with pytest.raises(HistoryError, match=f"left out, .*{path.name}.*backfill"):
        job.step(everything=True)
    catch_up(job)
    lost = [{**poll, GROUP_OFFSETS.name: []} for poll in polls[:3]]
    assert_recomputed(lake, [*lost, *polls[3:]])
    assert spark.conf.get("spark.sql.files.ignoreCorruptFiles") == "false"
    assert spark.conf.get("spark.sql.files.ignoreMissingFiles") == "false"
