"""How long the advice on all groups of a large cluster takes: the job in Spark, lake to table."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from bench.cases.history import CORES
from bench.support.figures import Figure
from bench.support.samples import (
    CLUSTER,
    IDLE_RATIO,
    Collector,
    Workload,
    fill,
    ten_minutes_ago,
)
from config.scaling import ScalingSettings
from config.settings import LakeSettings, SparkSettings
from lake.schemas.tables import CAPACITY, FORECASTS, RECOMMENDATIONS
from lake.storage.store import Lake
from spark_metrics.derived.advice import recommend
from spark_metrics.derived.job import derived_tables
from spark_metrics.derived.tables import DerivedTables
from spark_metrics.session import spark_session

GROUPS = 10_000
MOST_SECONDS = 60.0
_TURNS = 3


def measure(groups: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Give advice on groups of 15 partitions and 5 members, from ten minutes of polls.

    The capacity of every group is known, and the forecast of its next day. The first run is cold
    and has no advice to confirm; the next runs confirm it.
    """
    with TemporaryDirectory(prefix="headroom-bench-advice-") as folder:
        settings = LakeSettings(uri=str(Path(folder) / "lake"))
        lake = Lake(settings)
        on_progress("writing ten minutes of polls")
        workload = Workload(groups=groups, idle_ratio=IDLE_RATIO, start=ten_minutes_ago())
        now = fill(Collector(lake, workload))
        spark = spark_session(SparkSettings(master=f"local[{CORES}]", driver_memory="2g"))
        try:
            tables = derived_tables(spark, lake, settings)
            _derive(tables, groups, now)
            seconds = []
            for turn in range(_TURNS):
                on_progress(f"advice on {groups:,} groups, time {turn + 1} of {_TURNS}")
                begun = time.perf_counter()
                recommend(tables, lake, now + timedelta(seconds=turn), ScalingSettings())
                seconds.append(time.perf_counter() - begun)
        finally:
            spark.stop()
        advice = lake.read(RECOMMENDATIONS, columns=["subject_kind", "subject"])
    advised = advice.filter(pl.col("subject_kind") == "group")["subject"].n_unique()
    goal = MOST_SECONDS if groups == GROUPS else None
    return [
        Figure(name="groups that have advice", value=advised, unit="groups", least=groups),
        Figure(name="advice on all of them, the first time", value=seconds[0], unit="s", most=goal),
        Figure(name="the slowest time after that", value=max(seconds[1:]), unit="s", most=goal),
    ]


def _derive(tables: DerivedTables, groups: int, now: datetime) -> None:
    """Write what the other derivations would have found: capacity and forecasts."""
    random = np.random.default_rng(2)
    names = [f"team-{n // 50}.service-{n}" for n in range(groups)]
    rate = random.uniform(100, 1000, groups)
    capacity = pl.DataFrame({"group": names, "per_second": rate}).with_columns(
        pl.lit(CLUSTER).alias("cluster"),
        pl.lit("identified").alias("status"),
        (pl.col("per_second") * 0.9).alias("low"),
        (pl.col("per_second") * 1.1).alias("high"),
        pl.lit(300, pl.Int32).alias("samples"),
        pl.lit(8, pl.Int32).alias("episodes"),
    )
    as_of = now.replace(minute=0, second=0)
    hours = [as_of + timedelta(hours=hour) for hour in range(24)]
    forecasts = (
        pl.DataFrame({"name": names, "median": rate})
        .join(pl.DataFrame({"window_start": hours}), how="cross")
        .with_columns(
            pl.lit(CLUSTER).alias("cluster"),
            pl.lit("group").alias("subject"),
            pl.lit("arrival_per_second").alias("metric"),
            pl.lit(3600, pl.Int32).alias("grain_seconds"),
            pl.lit("ok").alias("status"),
            *((pl.col("median") * by).alias(name) for name, by in _BAND.items()),
        )
    )
    for table, rows in ((CAPACITY, capacity), (FORECASTS, forecasts)):
        typed = rows.select(
            pl.col(name).cast(type_)
            for name, type_ in table.polars_schema.items()
            if name in rows.columns
        )
        tables.replace(table, tables.spark.createDataFrame(typed.to_arrow()), as_of)


_BAND = {"low_80": 0.8, "high_80": 1.2, "low_90": 0.7, "high_90": 1.3}
