from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.store import Lake
from spark_metrics.streaming import HistoryJob
from tests.spark import bronze
from tests.spark.comparing import assert_recomputed


def catch_up(spark: SparkSession, lake: Lake, settings: Settings) -> None:
    job = HistoryJob(spark, lake, settings)
    while not job.is_done:
        job.step(everything=True)


def eventful(seed: int, polls: int = 40) -> list[bronze.Rows]:
    """A past in which everything happens: gaps, resets, new partitions, a deleted group."""
    model = bronze.Model(seed=seed)
    step = timedelta(seconds=model.interval_seconds)
    rows, at = [], bronze.START
    for number in range(polls):
        if number == polls // 4:
            model.recreate("topic-0")
        if number == polls // 3:
            model.add_partition("shared")
        if number == polls // 2:
            model.rewind("group-1")
            at += timedelta(seconds=47)  # longer than a difference may reach
        if number == 2 * polls // 3:
            model.delete_group("group-2")
        rows.append(model.poll(at))
        at += step
    return rows


@pytest.mark.parametrize("seed", [pytest.param(seed, id=f"seed-{seed}") for seed in (1, 2)])
def test_history_equals_a_recomputation(
    spark: SparkSession, lake: Lake, settings: Settings, seed: int
) -> None:
    polls = eventful(seed)
    bronze.append(lake, *polls)
    catch_up(spark, lake, settings)
    assert_recomputed(lake, polls)
