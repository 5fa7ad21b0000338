from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

from config.settings import Settings
from lake.schemas.tables import (
    CAPACITY,
    CAPACITY_INTERVALS,
    CHANGES,
    CONTRIBUTORS,
    FORECASTS,
    GROUP_HISTORY,
    JOBS,
    LAG_ANOMALIES,
    SEASONALITY,
    SKEW,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake
from spark_metrics.derived import from_history
from spark_metrics.derived.job import DerivedJob
from spark_metrics.errors import HistoryError
from spark_metrics.maintain import Maintenance
from tests.spark.weeks import CAPACITY_PER_SECOND, END, write_history, write_hours, write_samples


def test_all_that_is_derived(spark: SparkSession, lake: Lake, settings: Settings) -> None:
    write_history(lake)
    write_samples(lake, END - timedelta(hours=2), END)
    job = DerivedJob(spark, lake, settings)
    done = job.step()
    assert (done.status, done.error) == ("ok", None)

    forecasts = lake.read(FORECASTS).filter(pl.col("subject") == "group")
    steady = forecasts.filter(pl.col("name") == "steady").sort("window_start")
    assert steady["window_start"].to_list() == [END + timedelta(hours=n) for n in range(24)]
    expected = 100 * (1 + 0.5 * np.sin(2 * np.pi * np.arange(24) / 24))
    assert steady["median"].to_numpy() == pytest.approx(expected, rel=0.15)
    assert (steady["low_90"] < steady["high_90"]).all()
    assert steady["coverage_90"][0] == pytest.approx(0.9, abs=0.12)
    (young,) = forecasts.filter(pl.col("name") == "young").rows(named=True)
    assert (young["status"], young["median"]) == ("too little history", None)
    assert "is 100 h long" in young["reason"]

    seasons = lake.read(SEASONALITY).filter(pl.col("name") == "steady")
    assert seasons.group_by("metric").len().sort("metric").rows() == [
        ("arrival_per_second", 168),
        ("lag_max", 168),
    ]
    (change,) = lake.read(CHANGES).filter(pl.col("name") == "halved").rows(named=True)
    assert abs(change["changed_at"] - (END - timedelta(days=8))) <= timedelta(hours=3)
    assert change["ratio"] == pytest.approx(0.5, rel=0.1)
    (unusual,) = lake.read(LAG_ANOMALIES).rows(named=True)
    assert (unusual["group"], unusual["window_start"]) == ("steady", END - timedelta(hours=3))
    first = lake.read(CONTRIBUTORS).filter(pl.col("span_seconds") == 7 * 86400).sort("rank")[0]
    assert (first["topic"][0], first["share_ratio"][0]) == ("new", pytest.approx(1, abs=0.2))

    skews = {row["group"]: row for row in lake.read(SKEW).rows(named=True)}
    for row in (skews["slow"], skews[None]):
        assert (row["busiest_partition"], row["hot_partitions"]) == (0, [0])
        assert row["busiest_ratio"] == pytest.approx(0.75)

    capacity = {row["member"]: row for row in lake.read(CAPACITY).rows(named=True)}
    assert capacity[None]["status"] == "identified"
    assert capacity[None]["low"] < CAPACITY_PER_SECOND * 1.01
    assert capacity[None]["high"] > CAPACITY_PER_SECOND * 0.99
    assert capacity[None]["per_second"] == pytest.approx(CAPACITY_PER_SECOND, rel=0.05)
    assert {"member-0", "member-1"} <= capacity.keys()

    rounds = lake.read(JOBS).filter(pl.col("job") == "derived")
    assert rounds["status"].to_list() == ["ok"]
    assert job.step().status == "waiting"
    assert DerivedJob(spark, lake, settings).step().status == "waiting"
    maintained = {one.table for one in Maintenance(lake, settings.lake).of_history(spark)}
    assert {FORECASTS.name, CAPACITY.name, CAPACITY_INTERVALS.name} <= maintained


def test_a_young_lake_need_not_wait_for_the_end_of_an_hour(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given a history without samples, and samples of the hour that follows it, then capacity is
    derived from these within the hour, every ten minutes until one is known."""
    write_hours(lake, GROUP_HISTORY, group="slow", arrival_per_second=np.full(48, 100.0))
    job = DerivedJob(spark, lake, settings)
    assert not job.look_early(END)
    assert job.step().error is None
    assert not job.look_early(END + timedelta(minutes=5))  # there is no sample

    write_samples(lake, END, END + timedelta(minutes=40))
    assert not job.look_early(END + timedelta(minutes=10))  # looked five minutes ago
    assert job.look_early(END + timedelta(minutes=40))
    (group,) = lake.read(CAPACITY).filter(pl.col("member").is_null()).rows(named=True)
    assert group["status"] == "identified"
    assert group["low"] < CAPACITY_PER_SECOND < group["high"]
    assert not job.look_early(END + timedelta(minutes=55))  # it is known

    old = DerivedJob(spark, lake, settings)
    assert old.step().status == "waiting"
    assert not old.look_early(END + timedelta(hours=4))


def test_nothing_is_derived_from_nothing(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    assert DerivedJob(spark, lake, settings).step().status == "waiting"
    assert not lake.exists(FORECASTS)


def test_what_failed_is_told_and_tried_again_for_the_same_hour(
    spark: SparkSession, lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a derivation that fails twice, each time in another way, then the others are done, and
    after a pause all are tried again until nothing fails, by a job that was started anew too."""
    write_hours(lake, TOPIC_HISTORY, topic="orders", arrival_per_second=np.full(48, 100.0))
    failures: list[Exception] = [HistoryError("a table is locked"), ValueError("a bug")]
    contributors = from_history.contributors

    def failing(topics: DataFrame, now: datetime) -> DataFrame:
        if failures:
            raise failures.pop(0)
        return contributors(topics, now)

    monkeypatch.setattr("spark_metrics.derived.from_history.contributors", failing)
    job = DerivedJob(spark, lake, settings)
    done = job.step()
    assert (done.status, done.error) == ("failed", "a table is locked")
    assert lake.exists(FORECASTS)
    assert job.step().status == "waiting"  # the pause is not over

    monkeypatch.setattr("spark_metrics.derived.job.RETRY_AFTER", timedelta())
    monkeypatch.setattr("spark_metrics.derived.job.MAX_TIME_FRACTION", 1e9)
    job = DerivedJob(spark, lake, settings)
    assert job.step().error == "ValueError: a bug"
    assert job.step().status == "ok"
    assert lake.exists(CONTRIBUTORS)
    rounds = lake.read(JOBS).filter(pl.col("job") == "derived").sort("started_at")
    assert rounds["status"].to_list() == ["failed", "failed", "ok"]
    assert rounds["error"].to_list() == ["a table is locked", "ValueError: a bug", None]
    assert job.step().status == "waiting"
