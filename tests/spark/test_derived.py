from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession

from config.settings import Settings
from lake.schemas.model import Table
from lake.schemas.tables import (
    CAPACITY,
    CAPACITY_INTERVALS,
    CHANGES,
    CONTRIBUTORS,
    FORECASTS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
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

END = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
WEEKS, CAPACITY_PER_SECOND, POLL = 4, 50.0, timedelta(seconds=30)


def write_hours(lake: Lake, table: Table, **values: object) -> None:
    """Write hours up to ``END``, one value an hour or the same for all."""
    number = max(len(one) for one in values.values() if isinstance(one, np.ndarray))
    start = pl.datetime_range(
        END - timedelta(hours=number), END, "1h", closed="left", time_zone="UTC", eager=True
    )
    rows = pl.DataFrame({"window_start": start}).with_columns(
        pl.lit("demo").alias("cluster"),
        pl.lit(3600).alias("grain_seconds"),
        pl.lit(0).alias("hour"),
        pl.col("window_start").dt.date().alias("date"),
        *(
            pl.Series(name, one) if isinstance(one, np.ndarray) else pl.lit(one).alias(name)
            for name, one in values.items()
        ),
    )
    whole = rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None).alias(name)).cast(type_)
        for name, type_ in table.polars_schema.items()
    )
    write_deltalake(
        lake.uri(table),
        whole.to_arrow(),
        mode="append",
        partition_by=["date", "grain_seconds", "hour"],
    )


def write_history(lake: Lake) -> None:
    dice = np.random.default_rng(7)
    at = np.arange(WEEKS * 168)
    usual = 100 * (1 + 0.5 * np.sin(2 * np.pi * at / 24)) * np.exp(0.05 * dice.normal(size=at.size))
    halved = np.where(at >= at.size - 8 * 24, 0.5, 1.0) * usual
    lag = (10 * usual).astype(np.int64)
    lag[-3] = 100_000
    write_hours(lake, GROUP_HISTORY, group="steady", arrival_per_second=usual, lag_max=lag)
    write_hours(lake, GROUP_HISTORY, group="halved", consumption_per_second=halved)
    write_hours(lake, GROUP_HISTORY, group="young", arrival_per_second=usual[:100])
    write_hours(lake, TOPIC_HISTORY, topic="orders", arrival_per_second=usual)
    write_hours(lake, TOPIC_HISTORY, topic="new", arrival_per_second=np.where(at < 600, 1.0, 30.0))
    for partition, arrived in enumerate((9000, 1000, 1000, 1000)):
        write_hours(
            lake,
            GROUP_PARTITION_HISTORY,
            group="slow",
            topic="orders",
            partition=partition,
            arrived=np.full(24, arrived),
            arrived_seconds=3600.0,
            consumed=900,
            consumed_seconds=3600.0,
            lag_last=10,
            resets=0,
        )


def write_samples(lake: Lake, first: datetime, until: datetime) -> None:
    """Two members that never wait, each with two partitions."""
    dice = np.random.default_rng(8)
    polls = int((until - first) / POLL)
    times = [first + POLL * number for number in range(polls)]
    seconds = POLL.total_seconds()
    frames = []
    for partition in range(4):
        each = CAPACITY_PER_SECOND / 2 * seconds * np.exp(0.1 * dice.normal(size=polls))
        committed = np.cumsum(each).astype(np.int64)
        frames.append(
            pl.DataFrame(
                {
                    "observed_at": times,
                    "committed": committed,
                    "log_end": committed + 500_000,
                    "lag": np.full(polls, 500_000),
                }
            ).with_columns(
                pl.lit("slow").alias("group"),
                pl.lit("orders").alias("topic"),
                pl.lit(partition, pl.Int32).alias("partition"),
                pl.lit(f"member-{partition // 2}").alias("member_id"),
                pl.lit(f"/10.0.0.{partition // 2}").alias("host"),
            )
        )
    stamp = (pl.lit("demo").alias("cluster"), pl.col("observed_at").cast(str).alias("poll_id"))
    lake.append(GROUP_OFFSETS, pl.concat(frames).with_columns(*stamp))
    groups = pl.DataFrame({"observed_at": times, "group": "slow", "members": 2})
    lake.append(GROUPS, groups.with_columns(*stamp))


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
