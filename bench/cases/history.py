"""What history costs: from samples to minutes, beside DuckDB; keeping up; bytes; a page's query.

What is compared runs in turn on the same rows, since the speed of a machine varies.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import polars as pl
from pyspark.sql import SparkSession

from bench.support.figures import Figure
from bench.support.process_usage import resident_bytes, usage_of_tree
from bench.support.samples import CLUSTER, INTERVAL_SECONDS, START, Collector, Workload
from config.settings import ClusterSettings, LakeSettings, Settings, SparkSettings
from config.storage import RetentionSettings
from lake.change_encoding.compact import ChangeEncoder
from lake.schemas.grain import PARTITIONED_BY
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_HISTORY, GROUP_OFFSETS, GROUP_PARTITION_HISTORY, TABLES
from lake.storage.append import conform
from lake.storage.store import Lake
from lake.storage.table_maintenance import maintain_table
from spark_metrics.gold import GoldTable, define, properties
from spark_metrics.history_tables import Collections, minutes_of
from spark_metrics.rollups.passes import PASSES
from spark_metrics.samples import address, rows_of, with_all_columns
from spark_metrics.session import SMALL_ROWS, spark_session, tune
from spark_metrics.streaming import HistoryJob

CORES = 2
_TURNS = 3
_HOURS = 24 * 30

_DUCKDB = """
COPY (
  WITH gained AS (
    SELECT *, time_bucket(INTERVAL 1 MINUTE, observed_at) AS window_start,
      log_end - lag(log_end) OVER series AS arrived,
      committed - lag(committed) OVER series AS consumed,
      epoch(observed_at) - epoch(lag(observed_at) OVER series) AS seconds,
      CASE WHEN lag > 0 THEN ceil(ln(lag) / ln(1.02 / 0.98)) + 1 ELSE 0 END::INT AS bucket
    FROM read_parquet(?)
    WINDOW series AS (PARTITION BY cluster, "group", topic, partition ORDER BY observed_at)
  )
  SELECT cluster, "group", topic, partition, window_start,
    min(lag) AS lag_min, avg(lag) AS lag_mean, max(lag) AS lag_max,
    arg_max(lag, observed_at) AS lag_last, quantile_cont(lag, 0.95) AS lag_p95,
    histogram(bucket) AS lag_buckets, max(time_lag_seconds) AS time_lag_seconds_max,
    arg_max(time_lag_seconds, observed_at) AS time_lag_seconds_last,
    arg_max(committed, observed_at) AS committed_last,
    arg_max(log_start, observed_at) AS log_start_last,
    arg_max(log_end, observed_at) AS log_end_last, max(lost_messages) AS lost_messages_max,
    sum(arrived) FILTER (arrived >= 0) AS arrived, sum(seconds) AS arrived_seconds,
    sum(consumed) FILTER (consumed >= 0) AS consumed,
    count(*) FILTER (arrived < 0 OR consumed < 0) AS resets,
    count(*) AS samples, count(*) - count(lag) AS unknown_samples
  FROM gained GROUP BY ALL
) TO '{path}' (FORMAT parquet)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something took."""

    seconds: float
    processor_seconds: float


def measure(groups: int, polls: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Measure everything."""
    on_progress(f"history of {groups:,} groups")
    with TemporaryDirectory(prefix="headroom-bench-history-") as folder:
        settings = _settings(Path(folder) / "spark")
        spark = spark_session(settings.spark)
        try:
            figures = batch(spark, Path(folder) / "batch", groups, polls)
            figures += follow(spark, Path(folder) / "stream", groups, polls // 4)
            figures += page_query(spark, Path(folder) / "page", groups)
        finally:
            spark.stop()
        figures += idle_bytes(Path(folder) / "idle", groups)
    return figures


def batch(spark: SparkSession, folder: Path, groups: int, polls: int) -> list[Figure]:
    """Compare raw → minute of group partitions: Spark into a Delta table, DuckDB into a file.

    Both write anew each time: new minutes are appended, nothing is there to be replaced.
    """
    settings = _settings(folder)
    lake = Lake(settings.lake)
    workload = Workload(groups=groups)
    for _ in range(polls):
        for name, rows in workload.poll().items():
            lake.append(TABLES[name], rows)
    files = [str(path) for path in Path(lake.uri(GROUP_OFFSETS)).glob("date=*/*.parquet")]
    end = START + timedelta(seconds=INTERVAL_SECONDS) * polls
    tune(spark, is_small=polls * workload.rows <= SMALL_ROWS)

    def empty(turn: int) -> GoldTable:
        gold = Lake(_settings(folder / f"turn-{turn}").lake)
        define(spark, gold, GROUP_PARTITION_HISTORY, PARTITIONED_BY)
        table = GoldTable(spark, gold, GROUP_PARTITION_HISTORY)
        nothing = spark.createDataFrame([], GROUP_PARTITION_HISTORY.spark_ddl)
        table.replace_minutes(nothing, START, end)  # a process's first write replaces
        return table

    def by_spark(gold: GoldTable) -> None:
        collections = Collections.read(spark, lake, START, end)
        made = minutes_of(spark, lake, PASSES[:1], collections, START, end)
        gold.replace_minutes(rows_of(made, GROUP_PARTITION_HISTORY), START, end)

    def by_duckdb() -> None:
        with duckdb.connect(config={"threads": CORES}) as connection:
            connection.execute(_DUCKDB.format(path=folder / "minutes.parquet"), [files])

    by_spark(empty(0))  # warm
    ours, theirs = [], []
    for turn in range(1, _TURNS + 1):
        ours.append(_cost(partial(by_spark, empty(turn)), _with_java))
        theirs.append(_cost(by_duckdb, time.process_time))
    count = float(polls * workload.rows)
    seconds = statistics.median(cost.seconds for cost in ours)
    ratio = statistics.median(
        one.seconds / other.seconds for one, other in zip(ours, theirs, strict=True)
    )
    return [
        Figure(
            name=f"raw to minutes, {count / 1e6:.1f} million rows",
            value=count / seconds,
            unit="rows/s",
        ),
        Figure(name="the same against DuckDB, by the clock", value=ratio, unit="times", most=1.5),
        Figure(
            name="the same, processor time",
            value=statistics.median(cost.processor_seconds for cost in ours),
            unit="s",
        ),
        Figure(
            name="DuckDB, processor time",
            value=statistics.median(cost.processor_seconds for cost in theirs),
            unit="s",
        ),
    ]


def follow(spark: SparkSession, folder: Path, groups: int, minutes: int) -> list[Figure]:
    """Let the job follow a cluster minute by minute; 80 % of its partitions are idle."""
    settings = _settings(folder)
    lake = Lake(settings.lake)
    collector = Collector(lake, Workload(groups=groups, idle_ratio=0.8))
    job = HistoryJob(spark, lake, settings)
    costs: list[Cost] = []
    for minute in range(minutes + 2):
        for _ in range(4):
            collector.poll()
        # Hours and days are due every five minutes; here as often, in the last of them.
        is_last = minute % 5 == 4
        cost = _cost(partial(job.step, everything=is_last), _with_java)
        if minute >= 2:
            costs.append(cost)
    share = sum(cost.processor_seconds for cost in costs) / (60.0 * CORES * len(costs))
    return [
        Figure(name="keeping up, share of two cores", value=share, unit="of 1", most=0.2),
        Figure(
            name="keeping up, slowest micro-batch: delay after a minute's end",
            value=max(cost.seconds for cost in costs),
            unit="s",
            most=60.0,
        ),
    ]


def idle_bytes(folder: Path, groups: int) -> list[Figure]:
    """Write an hour of a cluster with 80 % idle partitions: whole, and without what repeats.

    Beside it the hour of a cluster in which none is idle.
    """
    lakes = {name: Lake(LakeSettings(uri=str(folder / name))) for name in ("whole", "thin", "busy")}
    idle, busy = Workload(groups=groups, idle_ratio=0.8), Workload(groups=groups)
    of_idle, of_busy = ChangeEncoder(GROUP_OFFSETS), ChangeEncoder(GROUP_OFFSETS)
    memory = []
    for _ in range(240):
        rows = idle.poll()[GROUP_OFFSETS.name]
        lakes["whole"].append(GROUP_OFFSETS, rows)
        lakes["thin"].append(GROUP_OFFSETS, of_idle.compact(CLUSTER, rows))
        rows = busy.poll()[GROUP_OFFSETS.name]
        lakes["busy"].append(GROUP_OFFSETS, of_busy.compact(CLUSTER, rows))
        memory.append(resident_bytes())
    sizes = {name: _bytes(lake) for name, lake in lakes.items()}
    for lake in lakes.values():
        maintain_table(
            GROUP_OFFSETS, lake.uri(GROUP_OFFSETS), None, RetentionSettings(raw_days=None)
        )
    samples = 240.0 * idle.rows
    hour = "an hour with 80 % idle partitions"
    return [
        Figure(
            name=f"{hour}, bytes appended",
            value=sizes["thin"] / sizes["busy"],
            unit="of one with none",
        ),
        Figure(
            name="the same, compacted",
            value=_bytes(lakes["thin"]) / _bytes(lakes["busy"]),
            unit="of one with none",
            most=0.25,
        ),
        Figure(
            name="the same, against a row of each partition at each poll",
            value=sizes["thin"] / sizes["whole"],
            unit="of whole",
        ),
        Figure(
            name="the same, memory growth after the tenth poll",
            value=(memory[-1] - memory[9]) / 2**20,
            unit="MiB",
        ),
        Figure(
            name="bytes a raw sample after compaction",
            value=_bytes(lakes["thin"]) / samples,
            unit="bytes",
            most=6.0,
        ),
        Figure(
            name="the same where none is idle", value=_bytes(lakes["busy"]) / samples, unit="bytes"
        ),
    ]


def page_query(spark: SparkSession, folder: Path, groups: int) -> list[Figure]:
    """Read thirty days of hours of one group, from a table as the job leaves it."""
    settings = _settings(folder)
    lake = Lake(settings.lake)
    folder.mkdir()
    names = pl.DataFrame({"group": [f"team-{n // 50}.service-{n}" for n in range(groups)]})
    dice = np.random.default_rng(7)
    for day in range(_HOURS // 24):
        start = START.replace(hour=0) + timedelta(days=day)
        starts = pl.datetime_range(
            start, start + timedelta(hours=23), "1h", time_unit="us", eager=True
        ).alias("window_start")
        rows = names.join(starts.to_frame(), how="cross").sort("group", "window_start")
        lag = pl.Series("lag_max", dice.integers(0, 100_000, rows.height))
        rows = rows.with_columns(
            lag,
            (lag / 2).alias("lag_mean"),
            (lag / 60.0).alias("arrival_per_second"),
            pl.lit(CLUSTER).alias("cluster"),
            pl.lit(3600, pl.Int32).alias("grain_seconds"),
            pl.lit(0, pl.Int32).alias("hour"),
        )
        hours = spark.createDataFrame(conform(GROUP_HISTORY, rows).to_arrow())
        one_file = (
            with_all_columns(hours, GROUP_HISTORY).repartition(1).sortWithinPartitions("group")
        )
        writer = one_file.write.format("delta").mode("append").options(**properties(GROUP_HISTORY))
        writer.partitionBy(*PARTITIONED_BY).save(address(lake, GROUP_HISTORY))
    times = []
    for number in range(9):
        begun = time.perf_counter()
        found = lake.read(
            GROUP_HISTORY,
            pl.col("grain_seconds") == 3600,
            pl.col("group") == names["group"][number * groups // 9],
            since=START.replace(hour=0),
            cluster=CLUSTER,
        )
        times.append(time.perf_counter() - begun)
        if found.height != _HOURS:
            raise RuntimeError(f"{found.height} hours instead of {_HOURS}")
    return [
        Figure(
            name=f"30 days of one group of {groups:,}, median",
            value=statistics.median(times) * 1000,
            unit="ms",
            most=300.0,
        )
    ]


def _bytes(lake: Lake, table: Table = GROUP_OFFSETS) -> int:
    found = lake.statistics(table)
    return 0 if found is None else found.size_bytes


def _settings(folder: Path) -> Settings:
    return Settings(
        clusters=[ClusterSettings(name=CLUSTER, bootstrap_servers="localhost:9092")],
        lake=LakeSettings(uri=str(folder)),
        spark=SparkSettings(master=f"local[{CORES}]", driver_memory="2g", late_after_seconds=1e9),
    )


def _cost(work: Callable[[], object], processor_seconds: Callable[[], float]) -> Cost:
    before, begun = processor_seconds(), time.perf_counter()
    work()
    return Cost(seconds=time.perf_counter() - begun, processor_seconds=processor_seconds() - before)


def _with_java() -> float:
    """Return the processor time of this process, and of the JVM with its Python workers."""
    return usage_of_tree(os.getpid())[0]
