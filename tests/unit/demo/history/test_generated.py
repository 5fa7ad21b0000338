from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from demo.history.generated import mean_rate, simulate_history
from demo.history.tables import history_rows, write_history
from demo.workload.catalogue import CATALOGUE
from lake.schemas.tables import (
    CLUSTER_HISTORY,
    GROUP_HISTORY,
    GROUP_PARTITION_HISTORY,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake
from spark_metrics.derived.season import season

UNTIL = datetime(2026, 1, 7, 10, 34, tzinfo=UTC)


@pytest.fixture(scope="module")
def minutes() -> pl.DataFrame:
    return simulate_history(CATALOGUE, UNTIL, days=15)


@pytest.fixture(scope="module")
def rows(minutes: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return history_rows(minutes, cluster="demo", poll_seconds=5)


def _hours(rows: dict[str, pl.DataFrame], group: str) -> pl.DataFrame:
    return (
        rows[GROUP_HISTORY.name]
        .filter(pl.col("grain_seconds") == 3600, pl.col("group") == group)
        .sort("window_start")
    )


def test_every_group_and_partition_has_every_minute(minutes: pl.DataFrame) -> None:
    counts = minutes.group_by("group", "partition").agg(
        pl.len(), pl.col("at").min(), pl.col("at").max().alias("last")
    )
    assert counts["len"].unique().to_list() == [15 * 1440]
    assert counts["last"].unique().to_list() == [UNTIL - timedelta(minutes=1)]
    assert counts["at"].unique().to_list() == [UNTIL - timedelta(days=15)]
    assert set(minutes["group"]) == {group.name for group in CATALOGUE.groups}


def test_the_same_past_for_the_same_start() -> None:
    one = simulate_history(CATALOGUE, UNTIL, days=0.2)
    assert one.equals(simulate_history(CATALOGUE, UNTIL, days=0.2))


def test_it_reaches_the_real_rates_when_the_demo_starts(minutes: pl.DataFrame) -> None:
    last = minutes.filter(pl.col("at") >= UNTIL - timedelta(minutes=30))
    for group in CATALOGUE.groups:
        arrived = last.filter(pl.col("group") == group.name)["arrived"].sum() / 1800
        assert arrived == pytest.approx(mean_rate(CATALOGUE, group.topic), rel=0.1)


def test_groups_of_one_topic_see_the_same_messages(minutes: pl.DataFrame) -> None:
    arrived = minutes.group_by("group").agg(pl.col("arrived").sum())
    by_group = dict(arrived.iter_rows())
    assert by_group["order-fulfilment"] == by_group["connect-warehouse_sink"]


def test_it_has_a_day_a_week_and_growth(rows: dict[str, pl.DataFrame]) -> None:
    hours = _hours(rows, "fraud-scoring").with_columns(
        pl.col("window_start").dt.hour().alias("hour"),
        pl.col("window_start").dt.weekday().alias("day"),
    )
    rate = pl.col("arrival_per_second").mean()
    by_hour = dict(hours.group_by("hour").agg(rate).iter_rows())
    by_day = dict(hours.group_by("day").agg(rate).iter_rows())
    assert by_hour[10] > 1.7 * by_hour[22]
    assert by_day[7] < 0.9 * by_day[2]
    payments = _hours(rows, "payment-settlement")["arrival_per_second"]
    assert payments[-25:-1].mean() > 1.2 * payments[24 * 7 : 24 * 8].mean()  # type: ignore[operator]


@pytest.mark.parametrize("day", range(7))
def test_a_slow_deploy_shows_in_the_lag_and_not_in_what_is_usual_around_the_start(
    day: int,
) -> None:
    until = UNTIL + timedelta(days=day)
    only = replace(CATALOGUE, groups=(CATALOGUE.group("order-fulfilment"),))
    hours = (
        simulate_history(only, until)
        .group_by("at", maintain_order=True)
        .agg(pl.col("lag").sum(), pl.col("time_lag_seconds").max())
        .group_by_dynamic("at", every="1h")
        .agg(pl.col("lag", "time_lag_seconds").max())
    )
    slow = pl.col("at").is_between(until - timedelta(hours=233), until - timedelta(hours=222))
    assert hours.filter(slow)["time_lag_seconds"].max() > 1800  # type: ignore[operator]
    assert hours.filter(~slow)["time_lag_seconds"].max() < 400  # type: ignore[operator]
    newest = hours.filter(pl.col("at") > until - timedelta(days=9))
    assert newest["time_lag_seconds"].max() < 10  # type: ignore[operator]
    first = hours["at"].item(0).timestamp() // 3600
    usual = season(int(first), hours["lag"].cast(pl.Float64).to_numpy()).quantiles
    for away in range(-6, 7):
        at = until + timedelta(hours=away)
        low, *_, high = usual[at.weekday() * 24 + at.hour]
        assert high < 10 * 120  # ten seconds of arrivals
        if away == 0:
            assert low < 445 < high  # the most in 23 minutes of the demo on an idle machine


def test_rows_say_that_they_were_generated_and_what_is_unknown(
    rows: dict[str, pl.DataFrame],
) -> None:
    for frame in rows.values():
        assert frame["generated"].all()
        assert frame["window_start"].max() < UNTIL  # type: ignore[operator]
        assert (frame["samples"] <= frame["samples_expected"]).all()
    assert rows[GROUP_PARTITION_HISTORY.name]["log_end_last"].null_count() > 0
    assert rows[GROUP_PARTITION_HISTORY.name]["log_end_last"].drop_nulls().is_empty()
    assert rows[CLUSTER_HISTORY.name]["brokers_alive_min"].drop_nulls().is_empty()


def test_grains_agree(rows: dict[str, pl.DataFrame], minutes: pl.DataFrame) -> None:
    for name in (GROUP_HISTORY.name, TOPIC_HISTORY.name, CLUSTER_HISTORY.name):
        grains = rows[name].group_by("grain_seconds").agg(pl.col("arrived").sum())
        arrived = dict(grains.iter_rows())
        assert arrived[3600] == arrived[86400]
        assert 0 < arrived[60] < arrived[3600]
    partitions = rows[GROUP_PARTITION_HISTORY.name].filter(pl.col("grain_seconds") == 86400)
    assert partitions["consumed"].sum() == minutes["consumed"].sum()
    newest = rows[GROUP_HISTORY.name].filter(pl.col("grain_seconds") == 60)
    assert newest["window_start"].min() == UNTIL - timedelta(hours=24)


def test_it_is_written_once(tmp_path: Path, minutes: pl.DataFrame) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    recent = minutes.filter(pl.col("at") >= UNTIL - timedelta(hours=3))
    rows = history_rows(recent, cluster="demo", poll_seconds=5)
    assert write_history(lake, rows) == sum(frame.height for frame in rows.values())
    assert write_history(lake, rows) == 0
    found = lake.read(GROUP_HISTORY, since=UNTIL - timedelta(hours=1), cluster="demo")
    wanted = rows[GROUP_HISTORY.name].filter(pl.col("window_start") >= UNTIL - timedelta(hours=1))
    assert found.height == wanted.height > 0


def test_what_is_sent_on_counts_as_arrival() -> None:
    assert mean_rate(CATALOGUE, "ledger.entries") == 30
    assert mean_rate(CATALOGUE, "orders.placed-dlt") == pytest.approx(120 / 150)
