"""The generated history as rows of the history tables, and its command.

    python -m demo.history.tables --config demo.yaml --until 2026-01-05T12:34:00+00:00

Every row is marked ``generated``. It tells of rates and lag; what only real brokers can count
(offsets, bytes, replicas) stays null. It is written by delta-rs before Spark writes anything: two
engines never write at one time.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from deltalake import write_deltalake

from config.load import load
from demo.history.generated import simulate_history
from demo.workload.catalogue import CATALOGUE
from lake.schemas.grain import PARTITIONED_BY, Grain
from lake.schemas.model import Table
from lake.schemas.tables import (
    CLUSTER_HISTORY,
    GROUP_HISTORY,
    GROUP_PARTITION_HISTORY,
    TOPIC_HISTORY,
)
from lake.storage.append import conform
from lake.storage.store import Lake
from spark_metrics.rollups import histogram
from spark_metrics.rollups.windows import coarser, finished

MINUTES_FOR = timedelta(hours=24)
"""Of the newest part there are minutes, as far back as pages show minutes."""

_TABLES = (GROUP_PARTITION_HISTORY, GROUP_HISTORY, TOPIC_HISTORY, CLUSTER_HISTORY)


def history_rows(
    minutes: pl.DataFrame, *, cluster: str, poll_seconds: float
) -> dict[str, pl.DataFrame]:
    """Return rows of the history tables, at every grain.

    Returns:
        Rows by the table's name: minutes for the newest ``MINUTES_FOR``, hours and days for all.
    """
    groups, topics = _of_groups(minutes), _of_topics(minutes)
    common = (
        pl.lit(cluster).alias("cluster"),
        pl.col("at").alias("window_start"),
        pl.lit(60.0).alias("arrived_seconds"),
        pl.lit(round(60 / poll_seconds)).alias("samples"),
        pl.lit(0).alias("unknown_samples"),
        pl.lit(poll_seconds).alias("interval_seconds"),
        pl.lit(0).alias("resets"),
        pl.lit(True).alias("generated"),
    )
    samples = {
        GROUP_PARTITION_HISTORY: minutes.with_columns(*_LAG, *_TIME_LAG, _CONSUMED, *common),
        GROUP_HISTORY: groups.with_columns(*_LAG, *_TIME_LAG, _CONSUMED, *common),
        TOPIC_HISTORY: topics.with_columns(*common),
        CLUSTER_HISTORY: _of_cluster(groups, topics).with_columns(
            *(pl.col("lag").alias(name) for name in ("lag_max", "lag_last")),
            pl.col("time_lag_seconds").alias("time_lag_seconds_max"),
            _CONSUMED,
            *common,
        ),
    }
    return {table.name: _all_grains(table, rows) for table, rows in samples.items()}


def write_history(lake: Lake, rows: dict[str, pl.DataFrame]) -> int:
    """Write the rows into tables that do not exist yet; return how many rows were written."""
    written = 0
    for table in _TABLES:
        if lake.exists(table):
            continue
        Path(lake.uri(table)).mkdir(parents=True, exist_ok=True)
        ready = conform(table, rows[table.name]).sort(*table.series, table.time)
        write_deltalake(lake.uri(table), ready.to_arrow(), partition_by=list(PARTITIONED_BY))
        written += ready.height
    return written


_LAG = (
    *(pl.col("lag").alias(f"lag_{name}") for name in ("min", "mean", "max", "last", "p95")),
    pl.concat_list(histogram.bucket("lag")).alias(histogram.BUCKETS),
    pl.lit([1], pl.List(pl.Int32)).alias(histogram.COUNTS),
    pl.lit(0).alias("lost_messages_max"),
)
_TIME_LAG = tuple(
    pl.col("time_lag_seconds").alias(f"time_lag_seconds_{name}") for name in ("max", "last")
)
_CONSUMED = pl.lit(60.0).alias("consumed_seconds")


def _of_topics(minutes: pl.DataFrame) -> pl.DataFrame:
    """Return a row a topic and minute; a topic's groups all saw the same messages."""
    first = minutes.unique(["topic", "partition", "at"], keep="first", maintain_order=True)
    return first.group_by("topic", "at", maintain_order=True).agg(
        pl.col("arrived").sum(),
        (pl.col("arrived").max() / pl.col("arrived").sum()).alias("busiest_partition_ratio"),
        pl.len().alias("partitions_last"),
    )


def _of_groups(minutes: pl.DataFrame) -> pl.DataFrame:
    return minutes.group_by("group", "at", maintain_order=True).agg(
        pl.col("lag", "arrived", "consumed").sum(),
        pl.col("time_lag_seconds").max(),
        pl.col("members").max().alias("members_last"),
        pl.len().alias("partitions_last"),
        pl.lit(0).alias("unknown_partitions_max"),
    )


def _of_cluster(groups: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    arrived = topics.group_by("at").agg(pl.col("arrived").sum(), pl.len().alias("topics_last"))
    seen = groups.group_by("at").agg(
        pl.col("lag", "consumed").sum(),
        pl.col("time_lag_seconds").max(),
        pl.len().alias("groups_last"),
    )
    return seen.join(arrived, on="at").sort("at")


def _all_grains(table: Table, samples: pl.DataFrame) -> pl.DataFrame:
    absent = [
        pl.lit(None, type_).alias(name)
        for name, type_ in table.polars_schema.items()
        if name not in samples.columns
    ]
    minutes = finished(samples.with_columns(absent), table, Grain.MINUTE)
    hours = coarser(minutes, table, Grain.HOUR)
    newest = minutes["window_start"].max()
    assert isinstance(newest, datetime)  # noqa: S101 (there are rows)
    recent = minutes.filter(pl.col("window_start") > newest - MINUTES_FOR)
    return pl.concat([recent, hours, coarser(hours, table, Grain.DAY)])


def main(
    config: Annotated[Path, typer.Option("--config", help="The demo's configuration.")],
    until: Annotated[datetime, typer.Option(help="The end of the generated history, UTC.")],
) -> None:
    """Write the demo's generated history into a lake that has no history yet."""
    os.nice(10)  # brokers and clients start meanwhile
    settings = load(config)
    lake = Lake(settings.lake)
    if lake.exists(GROUP_HISTORY):
        return
    end = until.replace(tzinfo=UTC, second=0, microsecond=0)
    cluster = settings.clusters[0]
    rows = history_rows(
        simulate_history(CATALOGUE, end),
        cluster=cluster.name,
        poll_seconds=settings.poll_interval_seconds(cluster),
    )
    typer.echo(f"{write_history(lake, rows)} rows of generated history until {end}")


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app(prog_name="python -m demo.history.tables")
